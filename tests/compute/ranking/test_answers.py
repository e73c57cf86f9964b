from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.special import softmax
from scipy.stats import beta

from clusterlens.compute._validation import DataError
from clusterlens.compute.ensemble.agreement import count_agreements
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.answers import answer_posterior
from clusterlens.compute.ranking.preview import preview_link
from clusterlens.compute.ranking.progressive import rank_progressively
from clusterlens.compute.ranking.ranking import SCORES, Score, rank_partitions
from clusterlens.compute.ranking.robustness import rank_robustness
from clusterlens.compute.ranking.suggestions import suggest_pairs
from tests.definitions import discotec_scores, label_matrices

EVIDENCE = {"constraint_weight": "evidence"}


def planted(n_samples=40, n_partitions=9, n_clusters=4, seed=1):
    """Truth and partitions that keep more or less of it."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_clusters, n_samples)
    noise = rng.integers(0, n_clusters, (n_partitions, n_samples))
    follows = rng.random(noise.shape) < rng.uniform(0.2, 0.9, (n_partitions, 1))
    return truth, Ensemble(np.where(follows, truth, noise))


def answers(truth, pairs, wrong=()):
    same = [(truth[i] == truth[j]) != (k in wrong) for k, (i, j) in enumerate(pairs)]
    must = [pair for pair, s in zip(pairs, same, strict=True) if s]
    return Constraints(must, [p for p, s in zip(pairs, same, strict=True) if not s])


def apart_pairs(n):
    """Pairs that share no sample, so that no answers contradict each other."""
    return [(2 * k, 2 * k + 1) for k in range(n)]


def broken(labels, known):
    joined = [[row[i] == row[j] for i, j in known.must_link] for row in labels]
    apart = [[row[i] != row[j] for i, j in known.cannot_link] for row in labels]
    return np.logical_not(np.hstack([joined, apart])).sum(axis=1)


def test_the_posterior_with_a_given_error_rate_is_bayes_rule():
    truth, ensemble = planted()
    known = answers(truth, apart_pairs(12), wrong=[3])
    scores = discotec_scores(ensemble.labels, "binary")
    b = broken(ensemble.labels, known)
    expected = np.exp(-scores / scores.std()) * 0.2**b * 0.8 ** (12 - b)
    found = answer_posterior(ensemble, known, error_rate=0.2)
    assert_allclose(found.values, expected / expected.sum())
    assert found.error_rate == pytest.approx(0.2)


def test_an_unknown_error_rate_is_integrated_out():
    truth, ensemble = planted()
    known = answers(truth, apart_pairs(12), wrong=[3, 5])
    scores = discotec_scores(ensemble.labels, "binary")
    prior = softmax(-scores / scores.std())

    def integral(b, power=0):
        def density(e):
            return beta.pdf(e, 2, 8) * e ** (b + power) * (1 - e) ** (12 - b)

        return quad(density, 0.02, 0.5)[0]

    b = broken(ensemble.labels, known)
    expected = prior * [integral(k) for k in b]
    rate = prior @ [integral(k, 1) for k in b] / expected.sum()
    found = answer_posterior(count_agreements(ensemble), known)
    assert_allclose(found.values, expected / expected.sum(), rtol=0.02)
    assert found.error_rate == pytest.approx(rate, rel=0.01)


@settings(max_examples=25)
@given(
    labels=label_matrices(), seed=st.integers(0, 99), score=st.sampled_from([*SCORES])
)
@pytest.mark.filterwarnings("ignore:ensemble has 2 partitions")
def test_the_ranking_by_evidence_has_the_order_of_the_posterior(labels, seed, score):
    if len(labels) < 2:
        return
    rng, ensemble = np.random.default_rng(seed), Ensemble(labels)
    pairs = apart_pairs(ensemble.n_samples // 2)
    known = answers(rng.integers(0, 3, ensemble.n_samples), pairs)
    found = answer_posterior(ensemble, known, score=score)
    ranking = rank_partitions(ensemble, score, constraints=known, **EVIDENCE)
    assert found.values.sum() == pytest.approx(1)
    assert_allclose(ranking.posterior, found.values)
    assert_array_equal(ranking.to_frame()["posterior"], found.values[ranking.order])
    _, group, copies = np.unique(
        ensemble.codes, axis=0, return_inverse=True, return_counts=True
    )
    mass = (found.values * copies[group.ravel()])[ranking.order]
    assert (np.diff(mass) <= 1e-9).all()


def test_without_answers_the_order_is_that_of_the_score():
    _, ensemble = planted()
    plain, by_evidence = (rank_partitions(ensemble, **k) for k in ({}, EVIDENCE))
    assert_allclose(by_evidence.values, plain.values)
    assert plain.posterior is None
    assert "posterior" not in plain.to_frame()


def test_the_posterior_does_not_depend_on_the_scale_of_a_score(monkeypatch):
    truth, ensemble = planted()
    known = answers(truth, apart_pairs(8))
    tv = SCORES["discotec-tv"].values
    for name, factor in (("less", 0.01), ("reversed", -50.0)):
        score = Score(name, factor < 0, "", "", lambda e, f=factor, **k: f * tv(e, **k))
        monkeypatch.setitem(SCORES, name, score)
        scaled = answer_posterior(ensemble, known, score=name)
        expected = answer_posterior(ensemble, known, score="discotec-tv")
        assert_allclose(scaled.values, expected.values)


def test_more_answers_weigh_more_where_a_share_does_not():
    truth, ensemble = planted()
    few, many = (answers(truth, apart_pairs(n)) for n in (4, 20))
    assert (
        answer_posterior(ensemble, few).n_effective
        > answer_posterior(ensemble, many).n_effective
    )


def test_copies_share_the_probability_of_one_and_votes_are_copies():
    truth, ensemble = planted()
    known = answers(truth, apart_pairs(8))
    labels = ensemble.labels[[0, 0, 0, *range(1, 9)]]
    repeated = answer_posterior(Ensemble(labels), known)
    weights = [3, *[1] * 8]
    weighted = answer_posterior(Ensemble(ensemble.labels, weights=weights), known)
    assert_allclose(repeated.values[:3].sum(), weighted.values[0])
    assert_allclose(repeated.values[3:], weighted.values[1:])
    assert repeated.entropy == pytest.approx(weighted.entropy)
    assert repeated.n_effective == pytest.approx(weighted.n_effective)


def test_near_copies_do_not_add_up():
    truth, ensemble = planted(n_samples=200)
    near = np.tile(ensemble.labels[0], (6, 1))
    near[np.arange(6), np.arange(6)] = 3 - near[np.arange(6), np.arange(6)]
    known = answers(truth, [(20, 21), (22, 23)])
    found = answer_posterior(Ensemble([*ensemble.labels, *near]), known)
    same = found.groups == found.groups[0]
    assert_array_equal(np.flatnonzero(same), [0, *range(9, 15)])
    means = np.append(found.values[1:9], found.values[same].mean())
    assert found.group_values[found.groups[0]] == pytest.approx(means[-1] / means.sum())
    assert found.group_values[found.groups[0]] < found.values[same].sum() / 2


def test_partitions_without_a_vote_are_ranked_but_improbable():
    truth, ensemble = planted()
    silent = ensemble.with_weights([0, *[1] * 8])
    known = answers(truth, apart_pairs(8))
    found = answer_posterior(silent, known)
    assert found.values[0] == 0
    assert found.values.sum() == pytest.approx(1)
    assert set(rank_partitions(silent, constraints=known, **EVIDENCE).order) == {
        *range(9)
    }


def test_a_model_without_a_vote_wins_by_answers_that_it_fits():
    truth, others = np.arange(40) % 4, planted()[1]
    ensemble = Ensemble([truth, *others.labels])
    halved = ensemble.with_weights([2.0**-100, *[1] * 9])
    assert halved.votes[0] == 0
    before = answer_posterior(halved, None)
    assert before.values.argmin() == 0
    scores = rank_partitions(halved).values
    assert_allclose(before.values, softmax(-scores / scores.std()))
    pairs = [(k, k + 4 * (1 + k % 2) + k % 3) for k in range(12)]
    found = answer_posterior(halved, answers(truth, pairs))
    assert found.values.argmax() == 0
    assert found.group_values[found.groups[0]] > 0.5
    assert 0 < found.expected_change < 1
    assert_allclose(found.voting.weights, found.values * len(found.values))
    assert found.voting.votes.argmax() == 0


def test_questions_tell_apart_models_without_a_vote():
    rows = np.arange(20) // 5
    ensemble = Ensemble([rows, rows, rows, np.arange(20) % 4, np.arange(20) % 3])
    halved = ensemble.with_weights([1, 1, 1, 2.0**-100, 2.0**-100])
    asked = suggest_pairs(halved, n=4, constraint_weight="evidence")
    assert len(asked) == 4
    assert asked[0].joined in (0, 3)
    assert asked[0].reason.endswith("separate the pair, some without a vote do not.")
    assert not suggest_pairs(halved.voters, n=4, constraint_weight="evidence")


def test_noise_and_gaps_say_nothing_certain():
    labels = np.array([[0, 0, 1, 1], [-1, -1, 0, 1], [0, 1, 1, 1], [0, 0, 0, 1]])
    known = Constraints(must_link=[(0, 1)])
    found = answer_posterior(Ensemble(labels), known, error_rate=0.1)
    prior = answer_posterior(Ensemble(labels), None, error_rate=0.1)
    assert_allclose(
        found.values / prior.values / (found.values / prior.values)[0],
        np.array([0.9, 0.5, 0.1, 0.9]) / 0.9,
    )
    missing = labels == -1
    partial = answer_posterior(Ensemble(labels, missing=missing), known, 0.1)
    assert partial.values[1] > partial.values[2]
    assert 0 <= partial.expected_change <= 1


def test_the_error_rate_grows_with_wrong_answers():
    truth, ensemble = planted()
    ensemble = Ensemble([*ensemble.labels, truth])
    rates = [
        answer_posterior(ensemble, answers(truth, apart_pairs(20), wrong)).error_rate
        for wrong in ((), range(4), range(8))
    ]
    assert rates == sorted(rates)
    assert rates[0] < 0.1 < 0.2 < rates[2]


def test_answers_that_contradict_every_model_fit_none():
    truth, ensemble = planted()
    ensemble = Ensemble(ensemble.labels[ensemble.labels.shape[0] // 2 :])
    agreed = Ensemble([truth, *np.where(np.eye(4, 40), 9, truth)])
    pairs = apart_pairs(20)[2:]
    assert not answer_posterior(agreed, answers(truth, pairs)).none_fits
    found = answer_posterior(agreed, answers(truth, pairs, wrong=range(18)))
    assert found.none_fits
    assert not found.enough
    assert not answer_posterior(ensemble, None).none_fits


def consensus(ensemble, posterior):
    pairs = list(combinations(range(ensemble.n_samples), 2))
    splits = np.array([ensemble.codes[:, i] == ensemble.codes[:, j] for i, j in pairs])
    return splits @ posterior.values


def test_expected_changes_are_those_of_both_answers_weighed():
    rate = 0.2
    _, ensemble = planted(n_samples=20)
    found = answer_posterior(ensemble, None, rate)
    expected, chances = [], []
    for some in suggest_pairs(ensemble, n=6, **EVIDENCE):
        joins = ensemble.codes[:, some.pair[0]] == ensemble.codes[:, some.pair[1]]
        chance = found.values @ np.where(joins, 1 - rate, rate)
        changes, leaves = [], []
        for links in (Constraints([some.pair]), Constraints((), [some.pair])):
            then = answer_posterior(ensemble, links, rate)
            change = consensus(ensemble, then) - consensus(ensemble, found)
            changes.append(np.abs(change).mean())
            leaves.append(then.values.argmax() != found.values.argmax())
        shares = np.array([chance, 1 - chance])
        expected.append(shares @ changes)
        chances.append(shares @ leaves)
    assert max(expected) > expected[0]
    assert found.expected_change == pytest.approx(max(expected))
    assert found.leader_change == pytest.approx(max(chances))


def test_near_copies_of_the_leader_are_no_other_leaders():
    truth, ensemble = planted(n_samples=200)
    twins = np.tile(truth, (6, 1))
    for k in range(6):
        twins[k, 2 * k] = 1 - twins[k, 2 * k]
    every = list(combinations(range(100, 200), 2))[::97]
    known = answers(truth, every)
    found = answer_posterior(Ensemble([*twins, *ensemble.labels]), known)
    assert found.values[:6].min() > 0.1
    assert found.leader_change == 0
    assert found.enough


def test_enough_comes_with_answers_that_agree():
    truth, ensemble = planted()
    ensemble = Ensemble([*ensemble.labels, truth])
    assert not answer_posterior(ensemble, None).enough
    every = list(combinations(range(40), 2))[::7]
    settled = answer_posterior(ensemble, answers(truth, every))
    assert settled.enough
    assert settled.values.argmax() == 9
    assert settled.n_effective == pytest.approx(1, abs=0.01)


def test_a_posterior_reads_as_a_table_and_a_line():
    truth, ensemble = planted()
    found = answer_posterior(ensemble, answers(truth, apart_pairs(8)))
    frame = found.to_frame()
    assert (np.diff(frame["posterior"]) <= 0).all()
    assert_array_equal(frame["posterior"], found.values[frame.index])
    assert repr(found).startswith(f"AnswerPosterior({frame['model'].iloc[0]}: 0.")


def test_previews_and_checks_weigh_links_as_the_ranking_does():
    truth, ensemble = planted()
    known = answers(truth, apart_pairs(8))
    ranking = rank_partitions(ensemble, constraints=known, **EVIDENCE)
    more = Constraints([*known.must_link.tolist(), (20, 21)], known.cannot_link)
    shown = preview_link(ranking, (20, 21), known, "evidence").must_ranks
    after = rank_partitions(ensemble, constraints=more, **EVIDENCE).ranks
    assert_array_equal(shown, after)
    checked = rank_robustness(ensemble, constraints=known, **EVIDENCE)
    assert_array_equal(checked.ranks, ranking.ranks)


def test_growing_samples_end_at_the_ranking_by_evidence():
    truth, ensemble = planted(n_samples=700)
    known = answers(truth, apart_pairs(8))
    *looks, last = rank_progressively(
        ensemble, constraints=known, first_size=500, exact=True, **EVIDENCE
    )
    expected = rank_partitions(ensemble, constraints=known, **EVIDENCE)
    assert_allclose(last.ranking.posterior, expected.posterior)
    assert_allclose(looks[0].ranking.posterior, expected.posterior, atol=0.2)


def test_what_is_no_rate_or_weight_is_refused():
    _, ensemble = planted()
    with pytest.raises(ValueError, match=r"error_rate is 0.9; give a value from 0.02"):
        answer_posterior(ensemble, None, error_rate=0.9)
    with pytest.raises(ValueError, match="constraint_weight is 'much'; give a number"):
        rank_partitions(ensemble, constraint_weight="much")
    with pytest.raises(ValueError, match="names sample 99"):
        answer_posterior(ensemble, Constraints([(0, 99)]))
    with pytest.raises(DataError, match="partial"):
        suggest_pairs(
            Ensemble(ensemble.labels, missing=np.eye(9, 40, dtype=bool)), **EVIDENCE
        )


@settings(max_examples=30)
@given(labels=label_matrices(), seed=st.integers(0, 99))
def test_what_is_broken_is_one_number_in_posterior_table_and_ranking(labels, seed):
    """Noise says nothing certain: as evidence no answer about it is broken."""
    n = labels.shape[1]
    pairs = np.random.default_rng(seed).permutation(n)[: n // 2 * 2].reshape(-1, 2)
    known = answers(labels[0], pairs.tolist())
    ensemble = Ensemble(labels)
    posterior = answer_posterior(ensemble, known)
    first = [(ensemble.codes == row).all(axis=1).argmax() for row in ensemble.codes]
    links = np.vstack([known.must_link, known.cannot_link])
    ends = labels[first][:, links]
    must = np.arange(known.n_pairs) < len(known.must_link)
    certain = (ends >= 0).all(axis=2)
    wrong = certain & ((ends[..., 0] == ends[..., 1]) != must)
    expected = wrong.sum(axis=1) / max(known.n_pairs, 1)
    ranking = rank_partitions(ensemble, constraints=known, **EVIDENCE)
    assert_array_equal(ranking.violated, expected)
    assert_array_equal(posterior.to_frame()["broken"].sort_index(), expected)


def test_models_of_less_than_half_a_vote_have_none_and_stay_candidates():
    truth = np.arange(60) % 3
    rng = np.random.default_rng(0)
    others = [rng.permutation(truth) for _ in range(60)]
    found = answer_posterior(
        Ensemble([truth, *others]), answers(truth, [(k, k + 3) for k in range(40)])
    )
    voting = found.voting
    share = voting.votes[1:].sum() / voting.n_votes
    assert share == pytest.approx(found.values[1:].sum(), abs=0.002)
    assert voting.votes[1:].sum() < 60
    assert voting.candidates.n_partitions == 61
