from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.ensemble.constraints import ConstraintError, Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking import _candidates
from clusterlens.compute.ranking._candidates import (
    Candidates,
    _pairs_inside_clusters,
    candidates,
    consensus_between,
    typicality,
)
from clusterlens.compute.ranking._evidence import likelihoods
from clusterlens.compute.ranking._questions import Asking, skip_unsure
from clusterlens.compute.ranking.answers import answer_posterior
from clusterlens.compute.ranking.ranking import rank_partitions
from clusterlens.compute.ranking.suggestions import ERROR_RATE, suggest_pairs
from tests.definitions import agreement_counts, label_matrices


def planted(n_samples, n_partitions, n_clusters, seed):
    """Truth and partitions that keep more or less of it."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_clusters, n_samples)
    keep = rng.uniform(0.2, 0.9, (n_partitions, 1))
    noise = rng.integers(0, n_clusters, (n_partitions, n_samples))
    follows = rng.random(noise.shape) < keep
    return truth, Ensemble(np.where(follows, truth, noise))


def answer(truth, pairs):
    same = [truth[i] == truth[j] for i, j in pairs]
    must = [pair for pair, s in zip(pairs, same, strict=True) if s]
    cannot = [pair for pair, s in zip(pairs, same, strict=True) if not s]
    return Constraints(must, cannot)


def split(ensemble, pair):
    return ensemble.codes[:, pair[0]] == ensemble.codes[:, pair[1]]


@settings(max_examples=60)
@given(labels=label_matrices(), n=st.integers(1, 12), seed=st.integers(0, 3))
def test_suggestions_are_distinct_pairs_that_count_their_models(labels, n, seed):
    ensemble = Ensemble(labels)
    found = suggest_pairs(ensemble, n=n, random_state=seed)
    assert len({s.pair for s in found}) == len(found) == min(n, ensemble.n_samples - 1)
    for s in found:
        assert 0 <= s.pair[0] < s.pair[1] < ensemble.n_samples
        assert s.joined == split(ensemble, s.pair).sum()
        assert s.joined + s.separated == ensemble.n_partitions
    assert all(s.information >= 0 for s in found)
    assert sum(s.information for s in found) <= 1 + 1e-9


def test_votes_that_join_and_separate_a_suggestion_are_all_votes():
    _, ensemble = planted(30, 4, 3, seed=2)
    ensemble = ensemble.with_weights([3, 1, 1, 2])
    for s in suggest_pairs(ensemble, n=5):
        assert s.joined == split(ensemble, s.pair) @ ensemble.votes
        assert s.joined + s.separated == ensemble.n_votes == 7


@pytest.mark.parametrize(
    ("votes", "words"),
    [
        ((1, 1, 1, 1), " 4 models "),
        ((1, 1, 1, 0), " 3 voting models "),
        ((2, 1, 1, 0), " 4 votes "),
    ],
)
def test_a_reason_names_who_votes(votes, words):
    _, ensemble = planted(30, 4, 3, seed=2)
    for s in suggest_pairs(ensemble.with_weights(votes), n=3):
        assert words in s.reason


def test_candidates_are_of_their_seed_though_another_one_is_drawn_meanwhile():
    class Overtaken(dict):
        def __setitem__(self, key, value):
            super().__setitem__(key, (1, others))

    _, ensemble = planted(120, 9, 4, seed=1)
    expected = candidates(ensemble, 0, by_evidence=True).pairs
    others = candidates(ensemble, 1, by_evidence=True)
    _candidates._KNOWN[ensemble] = Overtaken()
    found = candidates(ensemble, 0, by_evidence=True)
    assert found.pairs.tolist() == expected.tolist() != others.pairs.tolist()


def test_the_first_pair_says_most_about_the_answers_to_all_pairs():
    _, ensemble = planted(40, 9, 4, seed=1)
    best = suggest_pairs(ensemble, n=1)[0]
    pairs = list(combinations(range(40), 2))
    splits = np.array([split(ensemble, pair) for pair in pairs], dtype=float)
    covariance = np.cov(splits, bias=True)
    noise = ERROR_RATE * (1 - ERROR_RATE)
    resolved = (covariance**2).sum(axis=1) / (covariance.diagonal() + noise)
    assert resolved[pairs.index(best.pair)] == pytest.approx(resolved.max())
    assert best.information == pytest.approx(resolved.max() / covariance.trace())


def test_each_pair_resolves_what_the_ones_before_it_left_open():
    _, ensemble = planted(40, 9, 4, seed=2)
    found = suggest_pairs(ensemble, n=6)
    pairs = list(combinations(range(40), 2))
    splits = np.array([split(ensemble, pair) for pair in pairs], dtype=float)
    covariance = np.cov(splits, bias=True)
    total, noise = covariance.trace(), ERROR_RATE * (1 - ERROR_RATE)
    for one in found:
        column = covariance[pairs.index(one.pair)].copy()
        given = column[pairs.index(one.pair)] + noise
        assert one.information == pytest.approx((column**2).sum() / given / total)
        covariance -= np.outer(column, column) / given


@pytest.mark.parametrize("how", [1.0, "evidence"])
@pytest.mark.parametrize("seed", range(4))
def test_questions_after_answers_are_those_of_the_definition(how, seed):
    truth, ensemble = planted(40, 9, 4, seed=seed)
    labels = ensemble.labels.astype(int)
    labels[:2, ::7] = -1
    ensemble = Ensemble(labels)
    asked: list = []
    for _ in range(4):
        known = answer(truth, asked)
        options = {"constraint_weight": how, "random_state": seed}
        found = [s.pair for s in suggest_pairs(ensemble, known, n=3, **options)]
        assert found == defined(ensemble, known, how, seed, n=len(found))
        asked += found[:2]


def defined(ensemble, known, how, seed, n):
    """The first n questions, all of it computed anew as the notes say."""
    drawn = candidates(ensemble, seed, by_evidence=how == "evidence")
    open_ = ~known.settles(drawn.pairs, ensemble.n_samples)
    pairs, expected = drawn.pairs[open_], drawn.expected[open_]
    appeal = np.sqrt(drawn.typical[open_])
    if how == "evidence":
        weights = likelihoods(ensemble, known).weights
    else:
        broken = known.violations(ensemble) * known.n_pairs
        weights = (ERROR_RATE / (1 - ERROR_RATE)) ** broken
        weights /= weights.sum()
    split = expected - expected @ weights[:, None]
    covariance = split * weights @ split.T
    must, chosen = known.must_link.tolist(), []
    for _ in range(n):
        given = covariance.diagonal() + ERROR_RATE * (1 - ERROR_RATE)
        gain = appeal * (covariance**2).sum(axis=1) / given
        links = Constraints(must, known.cannot_link)
        gain[links.settles(pairs, ensemble.n_samples)] = 0
        for k in chosen if how == "evidence" else ():
            gain[(expected == expected[k]).all(axis=1)] = 0
        chosen.append(int((gain >= gain.max() * (1 - 1e-9)).argmax()))
        best = chosen[-1]
        covariance = covariance - np.outer(*[covariance[best]] * 2) / given[best]
        must = [*must, pairs[best].tolist()]
    return [tuple(pair) for pair in pairs[chosen].tolist()]


def test_progress_counts_pairs_and_cancel_stops():
    _, ensemble = planted(40, 9, 4, seed=1)
    seen = []
    suggest_pairs(ensemble, n=3, progress=lambda *step: seen.append(step))
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]
    with pytest.raises(Cancelled):
        suggest_pairs(ensemble, cancel=lambda: True)


def test_pairs_that_split_the_models_alike_are_not_taken_twice():
    # Samples 0 to 3 are copies, as are 4 to 7: only two kinds of split exist.
    one = np.repeat([0, 1, 2], [4, 4, 4])
    two = np.repeat([0, 0, 1], [4, 4, 4])
    three = np.repeat([0, 1, 1], [4, 4, 4])
    ensemble = Ensemble([one, two, three])
    a, b = suggest_pairs(ensemble, n=2)
    assert (split(ensemble, a.pair) != split(ensemble, b.pair)).any()


def test_suggestions_depend_on_the_seed_alone():
    _, ensemble = planted(3_000, 12, 5, seed=2)
    first = suggest_pairs(ensemble, random_state=4)
    assert first == suggest_pairs(ensemble, random_state=4)
    assert first != suggest_pairs(ensemble, random_state=5)


def test_answers_that_follow_from_others_are_not_asked():
    _, ensemble = planted(6, 8, 2, seed=3)
    known = Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(2, 3)])
    implied = {(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)}
    asked = {
        s.pair
        for seed in range(20)
        for s in suggest_pairs(ensemble, known, n=100, random_state=seed)
    }
    assert asked
    assert not asked & implied


@settings(max_examples=40)
@given(labels=label_matrices(max_samples=7), seed=st.integers(0, 99))
def test_no_answers_of_a_batch_settle_another_of_its_pairs(labels, seed):
    ensemble, rng = Ensemble(labels), np.random.default_rng(seed)
    truth = rng.integers(0, 3, ensemble.n_samples)
    pairs = list(combinations(range(ensemble.n_samples), 2))
    some = [pair for pair in pairs if rng.random() < 0.15]
    known = answer(truth, some)
    batch = [s.pair for s in suggest_pairs(ensemble, known, random_state=seed)]
    for last in batch:
        others = [pair for pair in batch if pair != last]
        for joined in product([False, True], repeat=len(others)):
            must = [p for p, j in zip(others, joined, strict=True) if j]
            cannot = [p for p, j in zip(others, joined, strict=True) if not j]
            assert both_answers_are_possible(known, must, cannot, last)


def both_answers_are_possible(known, must, cannot, last):
    must, cannot = [*known.must_link, *must], [*known.cannot_link, *cannot]
    try:
        Constraints(must, cannot)
        Constraints([*must, last], cannot)
        Constraints(must, [*cannot, last])
    except ConstraintError:
        return False
    return True


def test_models_that_break_the_answers_lose_their_say():
    right = [0, 0, 0, 1, 1, 1, 2, 3]
    other = [0, 0, 0, 1, 1, 1, 2, 2]
    wrong = [0, 1, 0, 1, 0, 1, 0, 1]
    worse = [0, 1, 1, 0, 0, 1, 1, 0]
    known = Constraints(
        must_link=[(0, 1), (1, 2), (3, 4), (4, 5)], cannot_link=[(0, 3)]
    )
    asked = suggest_pairs(Ensemble([right, other, wrong, worse]), known, n=1)[0]
    assert asked.pair == (6, 7)
    assert "1 of 4 models" in asked.reason
    assert "fit the answers" in asked.reason


def test_a_split_among_refuted_models_alone_says_nothing():
    refuted = [[*np.arange(20), 0, k] for k in (0, 20)]
    right = np.zeros(22, dtype=int)
    known = Constraints(must_link=[(i, i + 1) for i in range(19)])
    found = suggest_pairs(Ensemble([right, *refuted]), known, n=500)
    reasons = {s.reason for s in found if s.joined not in (0, 3)}
    assert reasons
    assert all("those that fit the answers so far agree" in r for r in reasons)


def test_copies_of_a_model_do_not_move_the_suggestions():
    _, ensemble = planted(100, 7, 3, seed=5)
    copied = Ensemble(ensemble.labels[[0, 0, 0, 0, *range(1, 7)]])
    pairs, more = ([s.pair for s in suggest_pairs(e, n=5)] for e in (ensemble, copied))
    assert pairs == more


def test_models_that_agree_are_checked_on_pairs_of_both_kinds():
    ensemble = Ensemble([[0, 0, 1, 1, 2], [5, 5, 6, 6, 7]])
    found = suggest_pairs(ensemble, n=4)
    assert sorted(s.joined for s in found) == [0, 0, 2, 2]
    assert all(s.information == 0 for s in found)
    assert found[0].reason.startswith("Both models join the pair")


def test_one_sample_leaves_nothing_to_ask():
    assert suggest_pairs(Ensemble([[0], [1]])) == ()


def test_a_settled_set_of_pairs_leaves_nothing_to_ask():
    known = Constraints(must_link=[(0, 1), (1, 2)])
    assert suggest_pairs(Ensemble([[0, 0, 1], [0, 1, 1]]), known) == ()


@pytest.mark.parametrize("n", [0, -1, 2.5])
def test_a_number_of_pairs_that_is_none_is_refused(n):
    with pytest.raises(ValueError, match="n is"):
        suggest_pairs(Ensemble([[0, 1], [0, 0]]), n=n)


@pytest.mark.parametrize("how", [1.0, "evidence"])
def test_what_could_not_be_answered_is_not_asked_again_nor_of_twins(how):
    _, ensemble = planted(15, 9, 3, seed=4)
    twins = Ensemble(np.repeat(ensemble.labels, 2, axis=1))
    options = {"n": 5, "constraint_weight": how}
    asked: list = []
    for _ in range(4):
        found = suggest_pairs(twins, unsure=asked, **options)
        again = {tuple(np.floor_divide(pair, 2)) for pair in asked}
        assert found
        assert not again & {tuple(np.floor_divide(s.pair, 2)) for s in found}
        asked += [found[0].pair]


def test_a_pair_appeals_less_the_more_it_is_like_an_unsure_one():
    _, ensemble = planted(12, 9, 3, seed=2)
    pairs = np.array(list(combinations(range(12), 2)))
    splits, ones = split_of_all(ensemble, pairs), np.ones(len(pairs))
    drawn = Candidates(pairs, splits, splits, splits.T @ splits, ones, ones)
    asking = Asking(drawn, np.full(9, 1 / 9), ones)
    found = skip_unsure(asking, ensemble, np.array([[2, 7]]))
    C = agreement_counts(ensemble.labels) / 9
    a, b = found.pairs.T
    expected = (1 - C[a, 2] * C[b, 7]) * (1 - C[a, 7] * C[b, 2])
    np.testing.assert_allclose(found.appeal, expected)
    assert [2, 7] not in found.pairs.tolist()
    left = split_of_all(ensemble, found.pairs)
    np.testing.assert_array_equal(found.expected, left)
    np.testing.assert_array_equal(found.candidates.products, left.T @ left)


def split_of_all(ensemble, pairs):
    return np.array([split(ensemble, pair) for pair in pairs], dtype=float)


@pytest.mark.parametrize("unsure", [[(0, 50)], [(0, -1)], [(0.5, 1)], [(0, 1, 2)]])
def test_unsure_pairs_of_other_samples_are_refused(unsure):
    _, ensemble = planted(20, 6, 3, seed=0)
    with pytest.raises(ValueError, match="unsure"):
        suggest_pairs(ensemble, unsure=unsure)


def test_constraints_of_other_samples_are_refused():
    with pytest.raises(ValueError, match="names sample 9"):
        suggest_pairs(Ensemble([[0, 1], [0, 0]]), Constraints([(0, 9)]))


def test_ten_answers_to_suggestions_order_models_better_than_to_random_pairs():
    closer = []
    for seed in range(20):
        truth, ensemble = planted(400, 15, 6, seed)
        rng = np.random.default_rng(seed)
        distance = np.array(
            [
                ((row[:, None] == row) != (truth[:, None] == truth)).mean()
                for row in ensemble.codes
            ]
        )
        asked = [s.pair for s in suggest_pairs(ensemble, random_state=seed)]
        random = [tuple(rng.choice(400, 2, replace=False)) for _ in range(10)]
        taus = []
        for pairs in (asked, random):
            violated = answer(truth, pairs).violations(ensemble)
            taus.append(np.corrcoef(violated, distance)[0, 1] if violated.any() else 0)
        closer.append(taus[0] - taus[1])
    assert np.nanmean(closer) > 0.1


def test_suggestions_serve_a_ranking():
    truth, ensemble = planted(200, 10, 4, seed=7)
    pairs = [s.pair for s in suggest_pairs(ensemble)]
    ranking = rank_partitions(ensemble, constraints=answer(truth, pairs))
    assert ranking.violated.max() > ranking.violated.min()


EVIDENCE = {"constraint_weight": "evidence"}


def test_by_evidence_the_first_pair_says_most_where_an_analyst_can_tell():
    truth, ensemble = planted(30, 9, 4, seed=1)
    known = answer(truth, [(0, 1), (2, 3), (4, 5), (6, 7)])
    # The likelihoods of the answers alone: equal scores make a flat prior.
    flat = answer_posterior(ensemble, known, score="discotec-tv")
    prior = answer_posterior(ensemble, None, score="discotec-tv")
    weights = flat.values / prior.values
    weights /= weights.sum()
    best = suggest_pairs(ensemble, known, n=1, **EVIDENCE)[0]
    pairs = list(combinations(range(30), 2))
    splits = np.array([split(ensemble, pair) for pair in pairs], dtype=float)
    covariance = np.cov(splits, bias=True, aweights=weights)
    resolved = (covariance**2).sum(axis=1) / (
        covariance.diagonal() + ERROR_RATE * (1 - ERROR_RATE)
    )
    shares = agreement_counts(ensemble.labels) / 9
    typical = (shares**2).sum(axis=1) / shares.sum(axis=1)
    gain = resolved * [np.sqrt(typical[i] * typical[j]) for i, j in pairs]
    settled = {tuple(pair) for pair in [*known.must_link, *known.cannot_link]}
    gain[[pair in settled for pair in pairs]] = 0
    assert gain[pairs.index(best.pair)] == pytest.approx(gain.max())


def test_by_evidence_nothing_is_asked_that_models_agree_on():
    same = Ensemble([[0, 0, 1, 1, 2, 2]] * 3)
    assert len(suggest_pairs(same)) > 0
    assert suggest_pairs(same, **EVIDENCE) == ()
    truth, ensemble = planted(40, 9, 4, seed=1)
    ensemble = Ensemble([*ensemble.labels, truth])
    every = [pair for pair in combinations(range(40), 2) if sum(pair) % 5]
    assert suggest_pairs(ensemble, answer(truth, every), **EVIDENCE) == ()


def test_by_evidence_no_question_is_asked_twice():
    truth, ensemble = planted(60, 9, 4, seed=3)
    known, asked = Constraints(), []
    for _ in range(4):
        batch = [s.pair for s in suggest_pairs(ensemble, known, n=6, **EVIDENCE)]
        splits = {split(ensemble, pair).tobytes() for pair in batch}
        assert len(splits) == len(batch)
        asked += batch
        known = answer(truth, asked)
    assert len(set(asked)) == len(asked)


def test_by_evidence_noise_tells_nothing_of_a_pair():
    labels = np.tile(np.repeat([0, 1, 2], 4), (4, 1))
    labels[2:, 8:] = 1
    labels[0, :8] = -1
    ensemble = Ensemble(labels)
    (one,) = suggest_pairs(ensemble, n=1, **EVIDENCE)
    assert one.pair[0] >= 4 > one.pair[0] - 4
    assert one.pair[1] >= 8


def with_gaps(seed):
    """Labels (12, 40) of partial partitions, and which are missing."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, (12, 40)), rng.random((12, 40)) < 0.4


def test_the_consensus_of_pairs_leaves_out_the_votes_that_saw_one_end_or_none():
    labels, missing = with_gaps(0)
    ensemble = Ensemble(labels, missing=missing, weights=np.arange(12) % 3)
    some, others = np.arange(0, 40, 3), np.arange(5)
    votes = ensemble.votes[:, None, None]
    a, b = np.meshgrid(some, others, indexing="ij")
    seen = votes * (~missing[:, a] & ~missing[:, b])
    joined = seen * (labels[:, a] == labels[:, b])
    expected = joined.sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    np.testing.assert_allclose(consensus_between(ensemble, some, others), expected)


def test_samples_that_all_agree_on_are_typical_whatever_was_not_seen():
    blocks, missing = np.arange(40) // 10, with_gaps(1)[1]
    ensemble = Ensemble([blocks] * 12, missing=missing)
    np.testing.assert_allclose(typicality(ensemble, np.arange(40)), 1)


def test_pairs_inside_clusters_are_never_gaps():
    labels, missing = with_gaps(2)
    ensemble = Ensemble(labels, missing=missing)
    rng = np.random.default_rng(0)
    for t in range(12):
        drawn = np.where(np.arange(12) == t, 200, 0)
        a, b = _pairs_inside_clusters(ensemble, np.arange(40), drawn, rng).T
        assert len(a)
        assert (labels[t, a] == labels[t, b]).all()
        assert not missing[t, [a, b]].any()
