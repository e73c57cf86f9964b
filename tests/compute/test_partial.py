"""Models that left samples out: a pair is judged by the votes that saw both."""

import inspect

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import clusterlens as cl
from clusterlens.compute.consensus.cohesion import consensus_cdf
from clusterlens.compute.consensus.partition import CONSENSUS_FUNCTIONS
from clusterlens.compute.consensus.tile_source import TileSource
from clusterlens.compute.ensemble.overlaps import partition_overlaps
from clusterlens.compute.ranking.ranking import SCORES
from tests.definitions import label_matrices
from tests.right_calls import call, parameters, public_callables

REFUSING = {
    *("agreement_tree", "density", "ensemble_nmi", "one_hot_loss"),
    *("models_for_answers", "rank_progressively", "suggest_pairs"),
}
DISCOTEC = ["kl", "tv", "hellinger", "binary"]


@st.composite
def partial_ensembles(draw):
    """Draw small ensembles with gaps, votes and noise; each model saw two samples.

    If noise is silent, a model saw the samples that it put into a cluster.
    """
    labels = draw(label_matrices(max_partitions=5, max_samples=14))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    missing = rng.random(labels.shape) < rng.choice([0.1, 0.4, 0.7])
    missing[rng.integers(len(labels))] = False
    for row in missing:
        row[rng.permutation(len(row))[:2]] = False
    weights = rng.integers(1, 4, len(labels)) if draw(st.booleans()) else None
    noise = draw(st.sampled_from(["cluster", "singletons", "silent"]))
    if noise == "silent":
        for row, gaps in zip(labels, missing, strict=True):
            seen = np.flatnonzero(~gaps)
            seen = seen[:2] if gaps.any() else seen[row[seen] == -1]
            row[seen] = rng.integers(0, 2, len(seen))
    return cl.Ensemble(labels, noise=noise, weights=weights, missing=missing)


def seen_of(ensemble):
    seen = np.ones(ensemble.labels.shape, bool)
    if ensemble.missing is not None:
        seen = ~ensemble.missing
    return seen & (ensemble.labels != -1) if ensemble.noise == "silent" else seen


def joined_and_seen(ensemble):
    """Whether each model joins and saw each pair, shape (T, n, n), and its votes."""
    seen, joined = [], []
    for labels, known in zip(ensemble.labels, seen_of(ensemble), strict=True):
        both = np.outer(known, known)
        same = labels[:, None] == labels
        if ensemble.noise == "singletons":
            same &= (labels[:, None] != -1) | np.eye(len(labels), dtype=bool)
        seen.append(both)
        joined.append(both & same)
    return np.array(joined), np.array(seen), ensemble.votes


def consensus_of(ensemble):
    """Votes that join each pair over the votes that saw it, NaN where none did."""
    joined, seen, votes = joined_and_seen(ensemble)
    a, p = np.tensordot(votes, joined, 1), np.tensordot(votes, seen, 1)
    return np.divide(a, p, out=np.full(a.shape, np.nan), where=p > 0), a, p


def scores_by_definition(ensemble, variant, threshold):
    """Mean cost of the pairs that each model saw, pairs (i, i) weighing 1 / n."""
    joined, seen, _ = joined_and_seen(ensemble)
    share, a, p = consensus_of(ensemble)
    n, votes = ensemble.n_samples, ensemble.n_votes
    different = ~np.eye(n, dtype=bool)
    scores = []
    for own, known in zip(joined, seen, strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            probability = np.where(own, share, 1 - share)
            cost = {
                "kl": -np.log(probability),
                "tv": 1 - probability,
                "hellinger": 1 - np.sqrt(probability),
                "binary": (own != (a * votes >= threshold * p)).astype(float),
            }[variant]
        pairs = known & different
        m = np.count_nonzero(known.diagonal())
        own_pairs = n if m == n else m * (m - 1) / (n - 1)
        alone = own_pairs * float(variant == "binary" and threshold > votes)
        total = cost[pairs].sum() + alone
        scores.append(total / (np.count_nonzero(pairs) + own_pairs))
    return np.array(scores)


@settings(max_examples=60)
@given(partial_ensembles(), st.integers(0, 6))
def test_counts_and_scores_follow_the_definition(ensemble, threshold):
    agreement = cl.count_agreements(ensemble)
    _, a, p = consensus_of(ensemble)
    assert agreement.mean == pytest.approx(a.sum() / p.sum())
    assert (agreement.threshold - 1) * p.sum() < a.sum() * ensemble.n_votes
    assert agreement.threshold * p.sum() >= a.sum() * ensemble.n_votes
    threshold = min(threshold, ensemble.n_votes + 1)
    for variant in DISCOTEC:
        at = threshold if variant == "binary" else None
        ours = cl.discotec(agreement, variant, at)
        theirs = scores_by_definition(ensemble, variant, threshold)
        assert_allclose(ours, theirs, atol=1e-12, err_msg=variant)
        assert_allclose(cl.discotec(ensemble, variant, at), ours, atol=1e-12)
    every = cl.threshold_scores(agreement)
    scores = cl.discotec(agreement, threshold=threshold)
    assert_allclose(every[:, threshold], scores, atol=1e-12)
    above = np.triu(np.ones_like(p, bool), 1) & (p > 0)
    if above.any():
        shares = (a[above] / p[above])[:, None]
        steps = np.arange(ensemble.n_votes + 1) / ensemble.n_votes
        expected = (shares <= steps + 1e-12).mean(axis=0)
        assert_allclose(consensus_cdf(agreement), expected)


@pytest.mark.parametrize(
    ("n", "n_models", "n_clusters"), [(1_300, 3, 4), (200, 70, 5), (600, 4, 300)]
)
def test_tables_follow_the_definition_beyond_one_register_and_tile(
    n, n_models, n_clusters
):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_clusters, (n_models, n))
    labels[-1] = labels[0]
    missing = rng.random(labels.shape) < 0.3
    missing[-1] = missing[0]
    ensemble = cl.Ensemble(labels, missing=missing)
    agreement = cl.count_agreements(ensemble)
    joined, seen, _ = joined_and_seen(ensemble)
    _, a, p = consensus_of(ensemble)
    pairs = ~np.eye(n, dtype=bool) & (p > 0)
    level = agreement.levels.place[p[pairs], a[pairs]]
    assert_array_equal(agreement.shares[level], a[pairs] / p[pairs])
    n_levels = len(agreement.shares)
    inner = np.arange(n_levels) < n_levels - 1  # pairs (i, i) stand in the last column
    for t in range(n_models):
        for table, by_definition in (
            (agreement.joint_counts, joined),
            (agreement.seen_counts, seen),
        ):
            counts = np.bincount(level[by_definition[t][pairs]], minlength=n_levels)
            assert_array_equal(table[t][inner], counts[inner])
            assert table[t, -1] >= counts[-1]
    counts = np.bincount(level, minlength=n_levels)
    counts[-1] += n
    assert_array_equal(agreement.pair_counts, counts)


@settings(max_examples=40)
@given(partial_ensembles())
def test_pictures_and_samples_follow_the_definition(ensemble):
    share, a, p = consensus_of(ensemble)
    assert_allclose(cl.consensus_tile(ensemble).values, share, atol=1e-6)
    n = ensemble.n_samples
    coarse = cl.consensus_tile(ensemble, shape=(1, 1)).values
    assert_allclose(coarse, [[a.sum() / p.sum()]], rtol=1e-5)
    for threshold in range(ensemble.n_votes + 2):
        tile = cl.consensus_tile(ensemble, kind="binarised", threshold=threshold)
        expected = np.where(p > 0, a * ensemble.n_votes >= threshold * p, np.nan)
        assert_array_equal(tile.values, expected)
    assert TileSource(ensemble).threshold == cl.count_agreements(ensemble).threshold
    doubt = np.nanmean(4 * share * (1 - share), axis=1, where=p.any(axis=1)[:, None])
    known = p.any(axis=1)
    assert_allclose(cl.sample_disagreement(ensemble)[known], doubt[known], atol=1e-12)
    report = cl.inspect_sample(ensemble, 0, np.arange(n) % 2)
    assert_array_equal(report.votes, a[0])
    assert_array_equal(report.seen, p[0])
    if known[0]:
        assert report.disagreement == pytest.approx(doubt[0])


@settings(max_examples=40)
@given(partial_ensembles())
def test_clusters_follow_the_definition(ensemble):
    _, a, p = consensus_of(ensemble)
    n = ensemble.n_samples
    labels = np.arange(n) % 2
    found = cl.cluster_consensus(ensemble, labels)
    members = [np.flatnonzero(labels == k) for k in found.clusters]
    for k, some in enumerate(members):
        for i in range(n):
            others = some[some != i]
            seen = p[i, others].sum()
            expected = a[i, others].sum() / seen if seen else 0.0
            assert found.items[i, k] == pytest.approx(expected)
        pairs = np.ix_(some, some)
        off = ~np.eye(len(some), dtype=bool)
        seen = p[pairs][off].sum()
        mean = a[pairs][off].sum() / seen if seen else np.nan
        assert found.within[k] == pytest.approx(np.nan_to_num(mean))
        inside = cl.mean_consensus(ensemble, some)
        assert inside == pytest.approx(mean, nan_ok=True)
    if len(members) == 2:
        block = np.ix_(*members)
        seen = p[block].sum()
        expected = a[block].sum() / seen if seen else 0.0
        assert found.between[0, 1] == pytest.approx(expected)


@settings(max_examples=40)
@given(partial_ensembles())
def test_models_are_compared_on_the_samples_both_saw(ensemble):
    known = seen_of(ensemble)
    if ensemble.noise == "singletons":
        labels = np.where(ensemble.labels == -1, 50 + np.arange(known.shape[1]), 0)
        labels = labels + ensemble.labels
    else:
        labels = ensemble.labels
    overlaps = partition_overlaps(ensemble)
    for s in range(len(labels)):
        for t in range(len(labels)):
            both = known[s] & known[t]
            if both.sum() < 2 and ensemble.is_partial:
                assert overlaps.adjusted_rand[s, t] == 0
                assert overlaps.normalized_information[s, t] == 0
                continue
            pair = labels[s][both], labels[t][both]
            ari = adjusted_rand_score(*pair)
            nmi = normalized_mutual_info_score(*pair)
            assert overlaps.adjusted_rand[s, t] == pytest.approx(ari)
            assert overlaps.normalized_information[s, t] == pytest.approx(nmi, abs=1e-7)
    for score in SCORES:
        ranking = cl.rank_partitions(ensemble, score)
        assert np.isfinite(ranking.values).all()


@settings(max_examples=20)
@given(label_matrices())
def test_a_mask_without_gaps_changes_nothing(labels):
    plain = cl.Ensemble(labels)
    masked = cl.Ensemble(labels, missing=np.zeros(labels.shape, bool))
    assert not masked.is_partial
    assert_array_equal(plain.codes, masked.codes)


@settings(max_examples=20)
@given(partial_ensembles(), st.randoms(use_true_random=False))
def test_what_a_gap_was_labelled_does_not_matter(ensemble, random):
    rng = np.random.default_rng(random.randrange(2**32))
    missing = ensemble.missing
    gaps = False if missing is None else missing
    other = np.where(gaps, rng.integers(-1, 9), ensemble.labels)
    again = cl.Ensemble(
        other, noise=ensemble.noise, weights=ensemble.votes, missing=missing
    )
    assert_allclose(cl.consensus_tile(ensemble).values, cl.consensus_tile(again).values)
    orders = [cl.order_samples(one) for one in (ensemble, again)]
    assert_array_equal(*orders)


def planted(gaps=0.5, n=90, n_models=30, seed=0):
    """Three clusters that every model finds among the samples it saw."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    labels = np.stack([rng.permutation(3)[truth] for _ in range(n_models)])
    return cl.Ensemble(labels, missing=rng.random(labels.shape) < gaps), truth


@pytest.mark.parametrize(
    "method", [name for name, one in CONSENSUS_FUNCTIONS.items() if one.partial]
)
def test_consensus_functions_find_what_all_models_saw_parts_of(method):
    ensemble, truth = planted(gaps=0.3)
    labels = cl.consensus_partition(ensemble, 3, method)
    assert adjusted_rand_score(truth, labels) == 1.0


def test_samples_that_were_seen_apart_are_not_torn_apart():
    """Filling gaps with singletons would group samples by the models that saw them."""
    truth = np.tile([0, 1], 30)
    early = np.arange(60) < 34
    missing = np.stack([~early] * 5 + [early & (np.arange(60) < 26)] * 5)
    ensemble = cl.Ensemble(np.tile(truth, (10, 1)), missing=missing)
    for method in ("kmeans", "bisecting-kmeans"):
        labels = cl.consensus_partition(ensemble, 2, method)
        assert adjusted_rand_score(truth, labels) == 1.0


def test_pairs_that_nobody_saw_have_no_linkage():
    missing = np.array([[False] * 3 + [True] * 3, [True] * 3 + [False] * 3])
    ensemble = cl.Ensemble([[0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1]], missing=missing)
    with pytest.raises(cl.DataError, match="9 pairs of samples that no model saw"):
        cl.consensus_partition(ensemble, 2, "average")


@pytest.mark.parametrize(
    "method", [name for name, one in CONSENSUS_FUNCTIONS.items() if not one.partial]
)
def test_other_consensus_functions_refuse_and_name_those_that_do_not(method):
    with pytest.raises(cl.DataError, match="partial; give one of 'kmeans'"):
        cl.consensus_partition(planted()[0], 3, method)


def test_every_function_takes_partial_partitions_or_says_why_not():
    """Refused by one sentence with a way out, never by wrong numbers or a crash."""
    ensemble, _ = planted(gaps=0.2, n=24, n_models=5)
    for name in public_callables():
        if "ensemble" not in parameters(name) or inspect.isclass(getattr(cl, name)):
            continue
        if name in REFUSING:
            with pytest.raises(cl.DataError, match="partial"):
                call(name, ensemble=ensemble)
        else:
            call(name, ensemble=ensemble)


def test_indices_judge_the_samples_that_a_model_saw():
    ensemble, truth = planted(gaps=0.3, n_models=3)
    X = truth[:, None] + np.random.default_rng(0).normal(0, 0.1, (90, 2))
    table = cl.compare_models(ensemble, X, truth)
    reached = cl.pool_agreement(ensemble, truth).values
    for t, known in enumerate(~ensemble.missing):
        labels = ensemble.labels[t][known]
        assert table["CHI"][t] == pytest.approx(
            float(cl.internal_index("CHI", X[known], labels))
        )
        assert table["ari"][t] == reached[t] == 1.0
    assert table["n_missing"].tolist() == ensemble.n_missing.tolist()


def test_external_indices_of_a_model_that_saw_one_labelled_sample_are_missing():
    missing = np.array([[False] * 2 + [True] * 4, [False] * 6, [False] * 6])
    ensemble = cl.Ensemble([[0, 0, 0, 1, 1, 1]] * 3, missing=missing)
    X = np.arange(6.0)[:, None]
    table = cl.compare_models(ensemble, X, ["a", None, "a", "b", "b", "b"])
    assert table["ari"].isna().tolist() == [True, False, False]


def test_links_count_where_a_model_saw_both_ends():
    ensemble = cl.Ensemble(
        [[0, 0, 1], [0, 1, 1]], missing=[[False] * 3, [False, False, True]]
    )
    links = cl.Constraints(must_link=[(1, 2)], cannot_link=[(0, 1)])
    assert links.violations(ensemble).tolist() == [1.0, 0.0]


def test_gaps_are_kept_in_files_and_parts(tmp_path):
    ensemble, _ = planted()
    ensemble.save(tmp_path / "e.parquet")
    again = cl.load_ensemble(tmp_path / "e.parquet")
    assert_array_equal(again.missing, ensemble.missing)
    assert_array_equal(again.labels, ensemble.labels)
    assert_array_equal(ensemble.select([3, 1]).missing, ensemble.missing[[3, 1]])
    some = ensemble.take_samples(np.arange(0, 90, 2))
    assert_array_equal(some.missing, ensemble.missing[:, ::2])
    assert "30 partial" in repr(ensemble)


def test_imported_gaps_take_part_without_being_filled():
    table = pd.DataFrame({"a": [1, 1, None, 2], "b": [3, 3, 4, 4]}, index=list("wxyz"))
    ensemble = cl.load_partitions(table)
    assert ensemble.n_missing.tolist() == [1, 0]
    assert "says nothing about them" in ensemble.notes[-1]
    share, _, seen = consensus_of(ensemble)
    assert seen[2].tolist() == [1, 1, 1, 1]
    assert_allclose(cl.consensus_tile(ensemble).values, share)


def test_noise_that_says_nothing_is_told_from_what_was_left_out(tmp_path):
    labels = [[0, 0, 1, -1, -1], [0, 1, 1, 0, -1], [0, 0, 1, 1, 0]]
    missing = np.zeros((3, 5), bool)
    missing[0, 4] = True
    ensemble = cl.Ensemble(labels, noise="silent", missing=missing)
    assert ensemble.n_noise.tolist() == [1, 1, 0]
    assert ensemble.n_missing.tolist() == [1, 0, 0]
    assert ensemble.n_gaps.tolist() == [2, 1, 0]
    assert ensemble.n_clusters.tolist() == [2, 2, 2]
    assert ensemble.seen_by_all.tolist() == [0, 1, 2]
    ensemble.save(tmp_path / "e.parquet")
    read = cl.load_ensemble(tmp_path / "e.parquet")
    for one in (ensemble, read, ensemble.concat(ensemble)[[3, 4, 5]], ensemble[:]):
        assert one.noise == "silent"
        assert_array_equal(one.gaps, ensemble.gaps)
        assert_array_equal(one.missing, missing)
    counted = read.replace(noise="singletons")
    assert counted.n_gaps.tolist() == [1, 0, 0]
    assert counted.n_clusters.tolist() == [2, 2, 2]
    with pytest.raises(cl.DataError, match=r"replace\(noise='cluster'\)"):
        _ = cl.Ensemble(labels, noise="silent").codes
    with pytest.raises(cl.DataError, match="labels 1 of 5"):
        cl.Ensemble([[0, -1, -1, -1, -1], labels[2]], noise="silent")


def test_silent_noise_is_the_same_as_leaving_the_samples_out():
    rng = np.random.default_rng(2)
    labels = rng.integers(-1, 3, (6, 30))
    silent = cl.Ensemble(labels, noise="silent")
    left_out = cl.Ensemble(labels, missing=labels == -1)
    assert_array_equal(silent.codes_and_gaps, left_out.codes_and_gaps)
    for score in ("discotec-binary", "aari", "anmi", "discotec-tv"):
        assert_array_equal(
            cl.rank_partitions(silent, score).values,
            cl.rank_partitions(left_out, score).values,
        )
    assert_array_equal(
        cl.consensus_partition(silent, 3, random_state=0),
        cl.consensus_partition(left_out, 3, random_state=0),
    )


def test_a_model_that_saw_one_sample_is_refused():
    with pytest.raises(cl.DataError, match="partition 2 of 2 labels 1 of 3"):
        cl.Ensemble([[0, 0, 1]] * 2, missing=[[False] * 3, [False, True, True]])


def test_codes_are_refused_with_the_ways_out():
    with pytest.raises(cl.DataError, match=r"30 of 30 partitions are partial: .* 90"):
        _ = planted()[0].codes
