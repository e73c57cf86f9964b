import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute._validation import DataError
from clusterlens.compute.ensemble.agreement import count_agreements
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble, distinct_partitions
from clusterlens.compute.pool import answer_models
from clusterlens.compute.pool.answer_models import (
    FAMILY,
    models_for_answers,
    numbers_to_try,
)
from clusterlens.compute.ranking.answers import answer_posterior
from clusterlens.compute.ranking.preview import preview_link
from clusterlens.compute.ranking.ranking import rank_partitions


def halves(seed=0):
    """Classes that no model of a pool finds, as each knows two of the three borders."""
    truth = np.repeat(np.arange(4), 12)
    rng = np.random.default_rng(seed)
    merged = [[0, 0, 1, 2], [0, 1, 1, 2], [0, 1, 2, 2], [0, 1, 0, 2], [0, 1, 2, 0]]
    labels = np.array(merged * 2)[:, truth]
    noise = rng.random(labels.shape) < 0.1
    return truth, Ensemble(np.where(noise, rng.integers(0, 3, labels.shape), labels))


def answers(truth, n, seed=0):
    rng = np.random.default_rng(seed)
    pairs = rng.choice(len(truth), (n, 2), replace=False)
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    return Constraints(pairs[same], pairs[~same])


@pytest.fixture(scope="module")
def made():
    truth, ensemble = halves()
    known = answers(truth, 16)
    X = np.eye(4)[truth] + np.random.default_rng(1).normal(0, 0.2, (48, 4))
    return truth, known, models_for_answers(ensemble, known, X, [4, 3])


def test_what_is_made_obeys_and_says_from_what(made):
    _, known, models = made
    ensemble, n_made = models.ensemble, models.n_made
    assert n_made == 10
    assert set(ensemble.families[-n_made:]) == {FAMILY}
    obey = ("average linkage", "consensus")
    consensus = [t for t in range(10, 20) if any(w in ensemble.names[t] for w in obey)]
    assert len(consensus) == 4
    assert (known.violations(ensemble)[consensus] == 0).all()
    made = ensemble.labels[-n_made:]
    pairs = np.concatenate([known.must_link, known.cannot_link])
    wrong = (made[:, pairs[:, 0]] == made[:, pairs[:, 1]]) != (
        np.arange(len(pairs)) < len(known.must_link)
    )
    assert_allclose(models.broken, wrong.mean(axis=1))
    for spec in ensemble.specs[-n_made:]:
        assert_array_equal(spec["must_link"], known.must_link)
        assert_array_equal(spec["cannot_link"], known.cannot_link)


def test_k_means_is_also_made_in_the_metric_of_the_links():
    truth, ensemble = halves()
    rng = np.random.default_rng(0)
    X = np.column_stack([np.eye(4)[truth], rng.normal(0, 0.8, (48, 4))])
    X += rng.normal(0, 0.15, X.shape)
    models = models_for_answers(ensemble, answers(truth, 24), X, [4])
    found = {
        spec["clusterer"]: adjusted_rand_score(truth, row)
        for spec, row in zip(models.ensemble.specs, models.ensemble.labels, strict=True)
        if spec
    }
    metric = found["metric k-means under links"]
    assert metric > found["k-means under links"] + 0.5


def test_what_is_made_may_be_better_than_all_models(made):
    truth, _, models = made
    values = [adjusted_rand_score(truth, row) for row in models.ensemble.labels]
    assert models.leader >= models.ensemble.n_partitions - models.n_made
    assert values[models.leader] > max(values[:10]) + 0.1


def test_models_of_the_pool_are_judged_by_all_answers(made):
    _, known, models = made
    broken = known.violations(models.ensemble) * known.n_pairs
    assert_array_equal(models.posterior.outcomes[:10, 0], broken[:10])


def test_the_posterior_rests_on_answers_held_out(made):
    _, known, models = made
    must = known.must_link.tolist()
    first, _ = distinct_partitions(models.ensemble)
    made_alone = first[first >= models.ensemble.n_partitions - models.n_made]
    assert len(made_alone) > 1
    for t in made_alone.tolist():
        held_out = models.ensemble.specs[t]["held_out"]
        wrong = [pair for pair in held_out["together"] if pair not in must]
        wrong += [pair for pair in held_out["apart"] if pair in must]
        assert sum(map(len, held_out.values())) == known.n_pairs
        counts = [len(wrong), len(held_out["uncertain"])]
        assert models.posterior.outcomes[t].tolist() == counts
    plain = models.ensemble.replace(specs=[{}] * models.ensemble.n_partitions)
    obeyed = answer_posterior(plain, known).values[-models.n_made :].sum()
    assert obeyed > models.posterior.values[-models.n_made :].sum()


def test_answers_without_truth_are_not_won_by_obeying():
    _, ensemble = halves()
    random = answers(np.random.default_rng(3).integers(0, 2, 48), 20)
    models = models_for_answers(ensemble, random, n_clusters=[3])
    broken = models.posterior.outcomes[-models.n_made :, 0]
    assert (random.violations(models.ensemble)[-models.n_made :] == 0).all()
    assert (broken >= 5).all()


@pytest.mark.parametrize("weight", [1.0, "evidence"])
def test_rankings_judge_what_was_made_by_answers_held_out(made, weight):
    truth, known, models = made
    expected = models.posterior.outcomes[-models.n_made :, 0] / known.n_pairs
    ranking = rank_partitions(
        models.ensemble, constraints=known, constraint_weight=weight
    )
    assert expected.any()
    np.testing.assert_allclose(ranking.violated[-models.n_made :], expected)
    pair = next(
        (i, j)
        for i, j in answers(truth, 20, seed=5).must_link.tolist()
        if not known.settles([(i, j)], 48)[0]
    )
    preview = preview_link(ranking, pair, known, weight)
    more = Constraints([*known.must_link, pair], known.cannot_link)
    then = rank_partitions(models.ensemble, constraints=more, constraint_weight=weight)
    assert_array_equal(preview.must_ranks, then.ranks)


def test_later_answers_judge_what_was_made_unless_they_follow():
    _, ensemble = halves()
    known = Constraints([(0, 1), (1, 2), (12, 13)], [(2, 12), (13, 24)])
    models = models_for_answers(ensemble, known, n_clusters=[4])
    last = models.ensemble.labels[-1]
    pairs = [(i, j) for i in range(48) for j in range(i + 1, 48)]
    linked = {
        tuple(p) for p in [*known.must_link.tolist(), *known.cannot_link.tolist()]
    }
    follows = known.settles(pairs, 48)
    for pair, settled in zip(pairs, follows, strict=True):
        if pair in linked or (not settled and sum(pair) % 9):
            continue
        one = Constraints([pair])
        found = answer_posterior(models.ensemble, one).outcomes[-1].tolist()
        apart = int(last[pair[0]] != last[pair[1]])
        assert found == ([0, 1] if settled else [apart, 0])
    assert follows.sum() == 12


def test_an_answer_that_was_turned_round_is_judged_by_what_was_said_without_it(made):
    _, known, models = made
    turned = Constraints(known.cannot_link[:1])
    held_out = models.ensemble.specs[-1]["held_out"]
    pair = known.cannot_link[0].tolist()
    found = answer_posterior(models.ensemble, turned).outcomes[-1].tolist()
    assert found == [int(pair in held_out["apart"]), int(pair in held_out["uncertain"])]


def test_each_answer_is_held_out_once_without_what_implies_it(monkeypatch):
    truth, ensemble = halves()
    known = answers(truth, 12)
    given = []

    def fit_under_links(task, make, k):
        given.append(task.given)
        return np.zeros(48, int)

    monkeypatch.setattr(answer_models._Task, "fit_under_links", fit_under_links)
    models = models_for_answers(ensemble, known, n_clusters=[3], n_folds=4)
    assert [some.n_pairs for some in given[:5]] == [12, 9, 9, 9, 9]
    # One cluster of all breaks every cannot-link, each counted once.
    assert models.posterior.outcomes[-1].tolist() == [len(known.cannot_link), 0]


def test_an_answer_that_follows_from_the_others_says_nothing():
    _, ensemble = halves()
    circle = Constraints(must_link=[(0, 1), (1, 2), (0, 2)])
    models = models_for_answers(ensemble, circle, n_clusters=[3])
    for spec in models.ensemble.specs[-models.n_made :]:
        assert sorted(spec["held_out"]["uncertain"]) == [[0, 1], [0, 2], [1, 2]]
        assert not spec["held_out"]["together"] + spec["held_out"]["apart"]


def test_more_clusters_are_taken_where_fewer_cannot_obey():
    _, ensemble = halves()
    apart = Constraints(cannot_link=[(0, 12), (12, 24), (0, 24)])
    models = models_for_answers(count_agreements(ensemble), apart, n_clusters=[2])
    assert (models.ensemble.n_clusters[-2:] == 3).all()


def test_numbers_of_clusters_are_those_of_probable_models():
    truth, ensemble = halves()
    known = answers(truth, 10)
    numbers = [
        s["n_clusters"] for s in models_for_answers(ensemble, known).ensemble.specs[10:]
    ]
    assert set(numbers) <= set(ensemble.n_clusters.tolist())


def test_three_different_numbers_of_clusters_are_tried_and_none_below_two():
    pool = Ensemble([[0, 0, 1, 1, 2, 2], range(6), [0, 0, 1, 1, 1, 1], [0] * 6])
    assert numbers_to_try(pool, np.array([0, 3, 2, 1])) == [3, 2, 6]
    pool = Ensemble([np.arange(8) % k for k in (5, 4, 3, 2)])
    assert numbers_to_try(pool, np.array([1, 0, 3, 2])) == [4, 5, 2]


def test_the_table_lists_those_first_that_are_expected_to_be_like_the_right_one(made):
    _, _, models = made
    frame, labels = models.to_frame(), models.ensemble.labels
    alike = [[adjusted_rand_score(s, t) for t in labels] for s in labels]
    expected = np.array(alike) @ models.posterior.values
    assert_allclose(models.posterior.likeness, expected)
    assert frame.index[0] == models.leader == expected.argmax()
    assert frame["likeness"].is_monotonic_decreasing
    assert frame["posterior"].sum() == pytest.approx(1)
    assert len(frame) == models.ensemble.n_partitions


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"constraints": Constraints()}, "constraints"),
        ({"X": np.zeros((3, 2))}, "X has 3 rows"),
        ({"n_clusters": [0]}, "n_clusters"),
        ({"n_clusters": []}, "n_clusters is empty"),
        ({"n_folds": 1}, "n_folds"),
    ],
)
def test_what_makes_no_sense_is_refused(given, message):
    truth, ensemble = halves()
    call = {"ensemble": ensemble, "constraints": answers(truth, 4)} | given
    with pytest.raises(ValueError, match=message):
        models_for_answers(**call)


def test_progress_and_cancelling_go_by_all_partitions_that_are_made():
    truth, ensemble = halves()
    steps = []

    def make(cancel=None):
        models_for_answers(
            ensemble,
            answers(truth, 16),
            np.eye(4)[truth],
            [4],
            n_folds=3,
            progress=lambda *step: steps.append(step),
            cancel=cancel,
        )

    make()
    assert steps == [(done, 20) for done in range(21)]
    steps.clear()
    with pytest.raises(Cancelled):
        make(lambda: len(steps) == 6)
    assert len(steps) == 6


def test_partial_partitions_are_refused():
    truth, ensemble = halves()
    missing = np.zeros(ensemble.labels.shape, bool)
    missing[0, 0] = True
    partial = Ensemble(ensemble.labels, missing=missing)
    with pytest.raises(DataError, match="take_samples"):
        models_for_answers(partial, answers(truth, 4))
