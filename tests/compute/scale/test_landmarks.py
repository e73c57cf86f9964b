"""Landmarks stand for all rows, and state their limits."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import hypergeom
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute._run.options import RunOptions
from clusterlens.compute.assigning.fitting import fit_assigner
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.estimators.neighbors import NeighborSearch
from clusterlens.compute.scale import source as source_module
from clusterlens.compute.scale.errors import (
    adjusted_rand,
    compare_with_refits,
    held_back_samples,
)
from clusterlens.compute.scale.first_pass import (
    draw_rows,
    first_pass,
    sample_features,
)
from clusterlens.compute.scale.labels import SharedSearch
from clusterlens.compute.scale.landmarks import (
    add_rare_landmarks,
    smallest_group_seen,
    uniform_landmarks,
)
from clusterlens.compute.scale.source import open_source
from clusterlens.compute.table.streamed_preparation import StreamedPreparation

RUN = RunOptions(n_jobs=1)


@pytest.mark.parametrize(
    ("n", "drawn", "at_least"),
    [(500, 40, 1), (500, 40, 5), (90, 90, 3), (1000, 999, 1)],
)
def test_the_smallest_group_seen_is_exact(n, drawn, at_least):
    size = smallest_group_seen(n, drawn, at_least)
    chances = hypergeom.sf(at_least - 1, n, [size - 1, size], drawn)
    assert chances[0] < 0.95 <= chances[1]


def test_weighted_sums_over_landmarks_are_unbiased(tmp_path, monkeypatch):
    """A group of 20 among 3,000 rows: its size and the sum of x, over 40 draws."""
    monkeypatch.setattr(source_module, "PIECE_ROWS", 800)
    rng = np.random.default_rng(0)
    x = np.append(rng.normal(size=2_980), rng.normal(30, 1, size=20))
    pd.DataFrame({"x": x, "y": rng.normal(size=3_000)}).to_parquet(
        tmp_path / "t.parquet"
    )
    source = open_source(tmp_path)
    sums, shares = [], []
    for seed in range(40):
        found = first_pass(source, draw_rows(3_000, 200, seed), "stop", RUN)
        encoder = StreamedPreparation(found.stream).fit()
        uniform = uniform_landmarks(*sample_features(encoder, found), 3_000)
        both = add_rare_landmarks(uniform, 200, source, encoder, seed, RUN)
        rare = both.rows >= 2_980
        sums.append(
            [both.weights.sum(), both.weights[rare].sum(), both.weights @ x[both.rows]]
        )
        shares.append([rare.sum(), (uniform.rows >= 2_980).sum(), len(both.rows)])
        assert len(set(both.rows)) == len(both.rows)
    error = np.std(sums, axis=0, ddof=1) / np.sqrt(40)
    assert (np.abs(np.mean(sums, axis=0) - [3_000, 20, x.sum()]) < 4 * error).all()
    of_both, of_uniform, size = np.mean(shares, axis=0)
    assert of_both > 3 * of_uniform  # rare rows are favoured
    assert 350 < size < 430


@pytest.mark.parametrize("noise", [False, True])
def test_assigners_that_share_a_search_give_the_same_labels(noise):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(5_100, 2))
    angle = np.floor(4 * (np.arctan2(*X.T) / np.pi + 1)).astype(np.int64)
    if noise:
        angle[np.linalg.norm(X, axis=1) > 1.8] = -1
    asked = rng.normal(size=(300, 2))
    own = fit_assigner(X, angle)
    expected = own.assign(asked)
    np.testing.assert_array_equal(own.label(asked), expected.cluster)
    search = SharedSearch(own.rows, 62)
    own.share_search(search)
    shared = own.assign(asked)
    for one, other in zip(shared, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(own.label(asked), expected.cluster)


def test_a_shared_search_answers_for_the_rows_that_it_is_asked_for():
    rng = np.random.default_rng(2)
    X, asked = rng.normal(size=(80, 3)), rng.normal(size=(20, 3))
    shared, plain = SharedSearch(X, 10), NeighborSearch(X)
    for rows, width, own in (
        (asked, 4, None),
        (asked, 10, None),
        (asked[5:], 3, None),
        (asked, 30, None),
        (X[:20], 4, np.arange(20)),
    ):
        for one, other in zip(
            shared.nearest(rows, width, own),
            plain.nearest(rows, width, own),
            strict=True,
        ):
            np.testing.assert_array_equal(one, other)


def test_adjusted_rand_of_tables_is_that_of_labels():
    rng = np.random.default_rng(3)
    pairs = [(rng.integers(0, 4, 50), rng.integers(0, 3, 50)) for _ in range(5)]
    tables = np.array([pd.crosstab(*pair).to_numpy() for pair in pairs])
    expected = [adjusted_rand_score(*pair) for pair in pairs]
    np.testing.assert_allclose(adjusted_rand(tables), expected)


def test_the_smallest_index_is_a_bound_for_one_fit_more():
    """Of 200 times about 190 hold; fewer than 176 has a chance of .0003."""
    rng = np.random.default_rng(4)
    landmarks, holds = rng.integers(0, 3, 1_900), 0

    def fit(at):
        """A clustering with a share of wrong labels that is its own."""
        wrong = rng.random(len(at)) < rng.choice([0.05, 0.5]) * rng.random()
        return np.where(wrong, rng.integers(0, 3, len(at)), landmarks[at])

    for seed in range(200):
        samples = held_back_samples(1_900, seed)
        fits = [fit(at) for at in samples]
        found = compare_with_refits(
            ["m", "gone"],
            [landmarks] * 3,
            samples,
            [Ensemble([one] * 2, names=["m", "other"]) for one in fits],
            fits,
        )
        assert found.loc["gone"].isna().all()
        assert found.loc["consensus"].equals(found.loc["m"])
        every = np.arange(100)
        truth = adjusted_rand_score(landmarks[every], fit(every))
        holds += found.loc["m", "ari_least"] <= truth
    assert holds >= 176


def test_held_back_rows_are_divided_into_nineteen_samples():
    samples = held_back_samples(2_000, 0)
    assert len(samples) == 19
    assert sorted(np.concatenate(samples)) == list(range(2_000))
    assert held_back_samples(1_899, 0) == []


def test_a_model_may_be_named_like_the_consensus():
    samples = held_back_samples(1_900, 0)
    whole = np.arange(1_900) % 3
    model, consensus = whole, np.minimum(whole, 1)
    refits = [Ensemble([whole[at]] * 2, names=["consensus", "b"]) for at in samples]
    own = [whole[at] for at in samples]
    found = compare_with_refits(["consensus"], [model, consensus], samples, refits, own)
    assert found["ari"].iloc[0] == 1
    assert found["ari"].iloc[1] < 1
