"""Drift: figures against their definitions, and verdicts on tables of known change."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import clusterlens as cl


def rows(n, seed, shares=(0.5, 0.5), shift=0.0, new=0.0):
    """Return rows of two groups, with a word and gaps, changed as requested."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(2, size=n, p=shares)
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    table["a"] += 6 * kind
    table["b"] += shift
    table.loc[rng.random(n) < new, "c"] += 12
    table["word"] = rng.choice(["x", "y", "z"], size=n)
    table.loc[rng.random(n) < 0.05, "word"] = None
    return table, kind


@pytest.fixture(scope="module")
def seg():
    table, kind = rows(1000, 0)
    dataset = cl.prepare(table, {"word": "categorical"})
    return cl.Segmentation(dataset, kind, ["left", "right"])


def test_an_unchanged_table_is_rarely_an_alarm(seg):
    found = [seg.drift(rows(600, seed)[0]).verdict for seed in range(1, 41)]
    assert found.count("refit") <= 4


@pytest.mark.parametrize(
    ("change", "reason"),
    [({"shift": 0.5}, "moved: 'b'"), ({"new": 0.1}, "of the rows belong nowhere")],
    ids=["a column", "a new group"],
)
def test_what_has_changed_is_the_reason_to_refit(seg, change, reason):
    drift = seg.drift(rows(1000, 99, **change)[0])
    assert drift.verdict == "refit"
    assert reason in drift.reason
    assert repr(drift) == f"Drift(refit: {drift.reason})"


def test_shares_have_newcombes_interval(seg):
    table, _ = rows(800, 5, shares=(0.3, 0.7))
    drift = seg.drift(table)
    k, n = (seg.assign(table)["cluster"] == 0).sum(), 800
    old, m = seg.to_frame()["rows"][0], 1000
    z = norm.ppf(0.975)

    def wilson(x, size):
        a, b = 2 * x + z * z, z * np.sqrt(z * z + 4 * x * (1 - x / size))
        return (a - b) / (2 * (size + z * z)), (a + b) / (2 * (size + z * z))

    (l1, u1), (l2, u2) = wilson(k, n), wilson(old, m)
    p, q = k / n, old / m
    first = drift.shares.iloc[0]
    assert first["low"] == pytest.approx(p - q - np.hypot(p - l1, u2 - q))
    assert first["high"] == pytest.approx(p - q + np.hypot(u1 - p, q - l2))
    assert first["high"] < 0
    assert drift.shares_p < 1e-6


def test_psi_is_that_of_its_definition(seg):
    table, _ = rows(700, 3, shift=0.3)
    then = rows(1000, 0)[0]["b"].to_numpy()
    edges = np.quantile(then, np.arange(1, 10) / 10, method="inverted_cdf")
    p, q = (
        np.bincount(np.searchsorted(edges, x), minlength=10) + 0.5
        for x in (table["b"], then)
    )
    p, q = p / p.sum(), q / q.sum()
    frame = seg.drift(table).to_frame().set_index("column")
    assert frame.loc["b", "psi"] == pytest.approx(((p - q) * np.log(p / q)).sum())
    assert frame.loc["b", "expected"] == pytest.approx(9 * (1 / 1000 + 1 / 700))


def test_words_that_were_not_there_move_their_column(seg):
    table = rows(500, 3)[0]
    table.loc[:200, "word"] = "new"
    drift = seg.drift(table)
    assert drift.to_frame().loc[0, ["column", "moved"]].tolist() == ["word", True]


def test_the_rate_of_nowhere_is_that_of_the_answers(seg):
    table = rows(500, 3, new=0.2)[0]
    drift = seg.drift(table)
    assert drift.nowhere == seg.assign(table)["nowhere"].mean()
    assert drift.nowhere_expected == pytest.approx(0.05, abs=0.005)
    assert drift.nowhere_p < 1e-6


def test_without_a_cluster_that_can_be_judged_nowhere_is_not_counted():
    table, _ = rows(24, 0)
    kind = np.arange(24) % 2
    drift = cl.Segmentation(cl.prepare(table), kind).drift(table)
    assert np.isnan(drift.nowhere)
    assert drift.verdict == "keep"


def test_a_file_knows_the_same_drift(seg, tmp_path):
    seg.save(tmp_path / "a.lens")
    table = rows(300, 8)[0]
    again = cl.load_segmentation(tmp_path / "a.lens").drift(table)
    pd.testing.assert_frame_equal(again.columns, seg.drift(table).columns)
    assert again.nowhere_p == seg.drift(table).nowhere_p


def test_answers_that_are_known_are_not_asked_for_again(seg):
    table, _ = rows(300, 7, new=0.1)
    known = seg.assign(table, details=True)
    computed, again = seg.drift(table), seg.drift(table, assigned=known)
    pd.testing.assert_frame_equal(again.columns, computed.columns)
    assert repr(again) == repr(computed)
    with pytest.raises(ValueError, match="assigned has 299 rows for 300 rows"):
        seg.drift(table, assigned=known[1:])
