"""A partition of weight w counts w times; a partition of weight 0 has no vote."""

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

import clusterlens as cl
from clusterlens.compute.consensus.cohesion import consensus_cdf
from clusterlens.compute.consensus.criteria import one_hot_loss
from clusterlens.compute.consensus.maximum_tree import agreement_tree
from clusterlens.compute.consensus.partition import CONSENSUS_FUNCTIONS
from clusterlens.compute.consensus.tile_source import TileSource
from clusterlens.compute.ensemble.votes import mean_consensus, votes_together
from clusterlens.compute.pool.resampling import measure_consensus
from clusterlens.compute.ranking.ranking import SCORES
from tests.definitions import discotec_scores, label_matrices

FAMILIES = ("a", "a", "b", "b", "c")


@st.composite
def weighted_and_repeated(draw, *, zero=True):
    """Draw an ensemble with weights, the same written out, and where each came from."""
    labels = draw(label_matrices(max_partitions=5))
    lowest = 0 if zero else 1
    size = len(labels)
    weights = draw(st.lists(st.integers(lowest, 3), min_size=size, max_size=size))
    weights = np.maximum(weights, [1, 1, 1, *[lowest] * (size - 3)])
    families = FAMILIES[:size]
    origin = np.repeat(np.arange(size), weights)
    weighted = cl.Ensemble(labels, families=families, weights=weights)
    repeated = cl.Ensemble(labels[origin], families=[families[t] for t in origin])
    return weighted, repeated, origin


def a_fixed_case():
    rng = np.random.default_rng(4)
    truth = np.arange(60) % 3
    labels = np.stack([rng.permutation(7)[truth] for _ in range(5)])
    for row in labels:
        moved = rng.integers(0, 60, 14)
        row[moved] = rng.integers(0, 4, 14)
    weights = np.array([2, 1, 3, 0, 1])
    origin = np.repeat(np.arange(5), weights)
    weighted = cl.Ensemble(labels, families=FAMILIES, weights=weights)
    return weighted, cl.Ensemble(labels[origin]), origin


@settings(max_examples=20)
@given(weighted_and_repeated())
def test_counts_and_scores_are_those_of_repeated_partitions(case):
    weighted, repeated, origin = case
    counted, written = cl.count_agreements(weighted), cl.count_agreements(repeated)
    assert_array_equal(counted.pair_counts, written.pair_counts)
    assert_array_equal(counted.joint_counts[origin], written.joint_counts)
    assert (counted.total, counted.threshold) == (written.total, written.threshold)
    assert counted.mean == written.mean
    assert_array_equal(consensus_cdf(counted), consensus_cdf(written))
    assert_allclose(
        cl.sample_disagreement(weighted), cl.sample_disagreement(repeated), atol=1e-12
    )
    for score in SCORES:
        for given_as, other in ((weighted, repeated), (counted, written)):
            ours = cl.rank_partitions(given_as, score)
            theirs = cl.rank_partitions(other, score)
            assert_allclose(ours.values[origin], theirs.values, atol=1e-12)


@settings(max_examples=15)
@given(weighted_and_repeated(), st.integers(0, 6))
def test_every_threshold_counts_votes(case, threshold):
    weighted, repeated, origin = case
    threshold = min(threshold, weighted.n_votes + 1)
    found = cl.discotec(weighted, threshold=threshold)
    assert_allclose(found[origin], cl.discotec(repeated, threshold=threshold))
    tile, other = (
        cl.consensus_tile(one, kind="binarised", threshold=threshold)
        for one in (weighted, repeated)
    )
    assert_array_equal(tile.values, other.values)
    assert_allclose(
        cl.consensus_tile(weighted).values,
        cl.consensus_tile(repeated).values,
        rtol=1e-6,
    )
    assert TileSource(weighted).threshold == TileSource(repeated).threshold


@settings(max_examples=15)
@given(weighted_and_repeated())
def test_what_is_read_of_samples_and_clusters_counts_votes(case):
    weighted, repeated, _ = case
    labels = repeated.labels[0]
    assert_array_equal(votes_together(weighted, 0), votes_together(repeated, 0))
    every = np.arange(weighted.n_samples)
    assert_allclose(mean_consensus(weighted, every), mean_consensus(repeated, every))
    for measure in (cl.density, cl.ensemble_nmi, one_hot_loss):
        assert_allclose(measure(weighted, labels), measure(repeated, labels))
    ours, theirs = (cl.cluster_consensus(e, labels) for e in (weighted, repeated))
    for name in ("within", "between", "items"):
        assert_allclose(getattr(ours, name), getattr(theirs, name))
    one, two = (cl.inspect_sample(e, 0, labels) for e in (weighted, repeated))
    assert one.disagreement == two.disagreement
    assert_allclose(one.consensus, two.consensus)
    trees = agreement_tree(weighted), agreement_tree(repeated)
    assert_array_equal(trees[0].n_components, trees[1].n_components)
    assert_allclose(measure_consensus(weighted)[1:], measure_consensus(repeated)[1:])


@settings(max_examples=15)
@given(weighted_and_repeated())
def test_other_make_ups_of_the_pool_count_votes(case):
    weighted, repeated, origin = case
    for score in SCORES:
        ours, theirs = (cl.rank_robustness(e, score) for e in (weighted, repeated))
        for name in ("ranks_majority", "ranks_equal_families"):
            rank = getattr(ours, name)[origin]
            # Ranks among more models, in the same order.
            other = np.unique(getattr(theirs, name), return_inverse=True)[1]
            assert_array_equal(np.unique(rank, return_inverse=True)[1], other)


@pytest.mark.parametrize("method", CONSENSUS_FUNCTIONS)
def test_consensus_functions_obey_weights(method):
    weighted, repeated, _ = a_fixed_case()
    if "metis" in CONSENSUS_FUNCTIONS[method].cost.lower():
        pytest.importorskip("pymetis")
    ours, theirs = (cl.consensus_partition(e, 3, method) for e in (weighted, repeated))
    assert adjusted_rand_score(ours, theirs) == 1


def test_trees_orders_and_pairs_to_ask_obey_weights():
    weighted, repeated, _ = a_fixed_case()
    ours, theirs = (cl.consensus_tree(e, 6) for e in (weighted, repeated))
    assert_allclose(ours.losses, theirs.losses)
    assert_array_equal(ours.cut(4), theirs.cut(4))
    ours, theirs = (cl.closest_cut(e) for e in (weighted, repeated))
    assert_allclose(ours.distances, theirs.distances)
    assert_array_equal(ours.labels, theirs.labels)
    assert_array_equal(cl.order_samples(weighted), cl.order_samples(repeated))
    asked, other = (cl.suggest_pairs(e, n=5) for e in (weighted, repeated))
    assert [one.pair for one in asked] == [one.pair for one in other]
    assert [one.joined for one in asked] == [one.joined for one in other]
    ours, theirs = (cl.answer_posterior(e, None) for e in (weighted, repeated))
    assert ours.entropy == pytest.approx(theirs.entropy)
    answers = cl.Constraints(must_link=[(0, 1)], cannot_link=[(0, 2), (1, 3)])
    ours, theirs = (
        cl.models_for_answers(e, answers, n_clusters=[3]) for e in (weighted, repeated)
    )
    for one, other in zip(
        ours.ensemble.labels[-2:], theirs.ensemble.labels[-2:], strict=True
    ):
        assert adjusted_rand_score(one, other) == 1
    assert_array_equal(ours.posterior.outcomes[-2:], theirs.posterior.outcomes[-2:])


def test_estimates_obey_weights():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, (4, 900))
    weights = [3, 1, 0, 2]
    origin = np.repeat(np.arange(4), weights)
    weighted = cl.Ensemble(labels, weights=weights)
    repeated = cl.Ensemble(labels[origin])
    ours, theirs = (cl.estimate_agreements(e, 300) for e in (weighted, repeated))
    assert_array_equal(ours.joint_counts[origin], theirs.joint_counts)
    one, two = (
        next(cl.rank_progressively(e, first_size=500)) for e in (weighted, repeated)
    )
    assert_allclose(one.ranking.values[origin], two.ranking.values, atol=1e-12)
    assert_allclose(one.standard_errors[origin], two.standard_errors, atol=1e-12)


def test_a_partition_without_a_vote_is_scored_but_has_no_say():
    labels = [[0, 0, 1, 1, 2], [0, 0, 1, 1, 1], [0, 1, 1, 1, 1], [0, 1, 0, 1, 0]]
    whole = cl.Ensemble(labels, weights=[1, 1, 1, 0])
    three = cl.Ensemble(labels[:3])
    for score in SCORES:
        found = cl.rank_partitions(whole, score).values
        assert_allclose(found[:3], cl.rank_partitions(three, score).values, atol=1e-12)
        assert np.isfinite(found).all()
    assert whole.voters.names == three.names
    assert cl.count_agreements(whole).joint_counts.shape == (4, 4)


@settings(max_examples=15)
@given(weighted_and_repeated(zero=False))
def test_weighted_scores_follow_their_definition(case):
    weighted, _, _ = case
    for variant in ("kl", "tv", "hellinger", "binary"):
        defined = discotec_scores(weighted.labels, variant, weights=weighted.votes)
        assert_allclose(cl.discotec(weighted, variant), defined, atol=1e-12)


def test_weights_in_the_same_ratio_are_the_same_small_votes():
    labels = [[0, 1], [0, 0], [1, 1]]
    assert cl.Ensemble(labels, weights=[0.5, 0.25, 1 / 3]).votes.tolist() == [6, 3, 4]
    assert cl.Ensemble(labels, weights=[0.1, 0.1, 0]).votes.tolist() == [1, 1, 0]
    assert cl.Ensemble(labels, weights=[2, 2, 2]).votes.tolist() == [2, 2, 2]
    assert cl.Ensemble(labels).votes.tolist() == [1, 1, 1]


def test_a_weight_next_to_nothing_is_no_vote_but_a_candidate():
    labels = [[0, 1], [0, 0], [1, 1], [1, 0]]
    ensemble = cl.Ensemble(labels, weights=[2, 1, 2.0**-100, 0])
    assert ensemble.votes.tolist() == [2, 1, 0, 0]
    assert ensemble.voters.n_partitions == 2
    assert ensemble.candidates.weights.tolist() == [2, 1, 2.0**-100]
    assert ensemble.with_weights(None).candidates.n_partitions == 4
    assert ensemble.select([2]).votes.tolist() == [1]  # nobody else is there to vote


def test_votes_of_uneven_weights_are_rounded_and_never_to_nothing():
    labels = [[0, 1], [0, 0], [1, 1]]
    votes = cl.Ensemble(labels, weights=[np.pi, np.e, 1e-9]).votes
    assert votes.min() == 1
    assert votes.sum() == pytest.approx(4096, abs=2)
    assert votes[0] / votes[1] == pytest.approx(np.pi / np.e, rel=1e-3)
    assert cl.Ensemble(labels, weights=[1e308, 1e308, 1]).votes.tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    "weights", [[1, 1], [0, 0, 0], [1, -1, 1], [1, np.nan, 1], "abc", [[1, 1, 1]]]
)
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(ValueError, match="weights"):
        cl.Ensemble([[0, 1], [0, 0], [1, 1]], weights=weights)


def test_weights_stay_with_their_partitions(tmp_path):
    whole = cl.Ensemble([[0, 1, 1], [0, 0, 1], [1, 1, 1]], weights=[1, 0, 2.5])
    whole.save(tmp_path / "e.parquet")
    assert cl.load_ensemble(tmp_path / "e.parquet").weights.tolist() == [1, 0, 2.5]
    assert whole.select([2, 0]).weights.tolist() == [2.5, 1]
    assert whole.select([1]).votes.tolist() == [1]  # nobody else is there to vote
    assert whole.take_samples([0, 1]).weights.tolist() == [1, 0, 2.5]
    assert whole.with_weights(None).votes.tolist() == [1, 1, 1]
    assert cl.find_hubs(whole, min_models=1).as_families().weights.tolist() == [
        1,
        0,
        2.5,
    ]


def test_the_make_up_of_a_pool_counts_models_and_shares_votes():
    labels = [[0, 1, 1], [0, 0, 1], [1, 1, 1]]
    found = cl.pool_make_up(cl.Ensemble(labels, None, list("aab"), weights=[1, 0, 3]))
    assert (found.families["a"], found.votes["a"]) == (2, 1)
    assert found.to_frame()["share"].to_dict() == {"a": 0.25, "b": 0.75}


def test_too_few_votes_to_compare_are_refused():
    with pytest.raises(ValueError, match="1 partition with a vote"):
        cl.discotec(cl.Ensemble([[0, 1], [0, 0], [1, 1]], weights=[1, 0, 0]))


COUNT_VOTES = {
    "answer_posterior",
    "agreement_cost",
    "agreement_seconds",
    "agreement_tree",
    "average_ari",
    "average_nmi",
    "closest_cut",
    "cluster_consensus",
    "compare_models",
    "consensus_kmeans",
    "consensus_partition",
    "consensus_tile",
    "consensus_tree",
    "count_agreements",
    "density",
    "discotec",
    "ensemble_nmi",
    "estimate_agreements",
    "inspect_sample",
    "mean_consensus",
    "models_for_answers",
    "one_hot_loss",
    "order_samples",
    "plot_consensus",
    "pool_make_up",
    "rank_partitions",
    "rank_progressively",
    "rank_robustness",
    "sample_disagreement",
    "suggest_pairs",
    "vote_weights",
    "votes_together",
}
OF_PARTITIONS_ALONE = {
    "find_hubs",
    "label_rows",  # the ranking of all rows chooses votes of its own
    "map_models",
    "near_copies",
    "order_by_partition",
    "pool_agreement",
}


def test_every_public_function_of_an_ensemble_was_thought_of():
    takes = {
        name
        for name in cl.__all__
        if inspect.isfunction(getattr(cl, name))
        and "ensemble" in inspect.signature(getattr(cl, name)).parameters
    }
    assert takes == COUNT_VOTES | OF_PARTITIONS_ALONE
