"""Why a row belongs where it does: against the assigner's own answers, and formulas."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import clusterlens as cl
from clusterlens.compute.assigning.explained import company, pulls


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    kind = np.arange(120) % 3
    values = rng.normal(size=(120, 3)) + 3 * np.eye(3)[kind]
    return pd.DataFrame(values, columns=list("abc")), kind


@pytest.mark.parametrize("rows", [True, False])
def test_beyond_the_bound_is_where_the_assigner_says_nowhere(table, rows):
    dataset = cl.prepare(table[0], scale="none")
    seg = cl.Segmentation(dataset, table[1], rows=rows)
    x = np.random.default_rng(1).normal(size=(300, 3)) * 2.5
    assigned = seg.assign(pd.DataFrame(x, columns=list("abc")), alpha=0.1)
    far = []
    for row, label in zip(x, assigned["cluster"], strict=True):
        near = company(seg.assigner, row, label, 0.1)
        far.append(near.oddness > near.bound)
        assert (np.diff(near.distances) >= 0).all()
        assert len(near.rows) == (5 if rows else 0)
    assert far == assigned["nowhere"].tolist()
    assert 0 < sum(far) < 300


def test_a_cluster_of_few_rows_has_no_bound(table):
    dataset = cl.prepare(table[0].iloc[:12], scale="none")
    seg = cl.Segmentation(dataset, table[1][:12])
    near = company(seg.assigner, dataset.X[0], table[1][0], 0.05)
    assert np.isnan(near.bound)
    assert near.distances[0] == 0
    assert near.rows[0] == 0


def test_pulls_are_log_ratios_of_what_is_likely_in_both_clusters():
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta([0, 2, 4, 10, 12, 14], "D")
    frame = pd.DataFrame(
        {
            "x": [1.0, 2.0, 3.0, 7.0, 8.0, 9.0],
            "word": ["u", "u", "v", "v", "v", "v"],
            "day": days,
            "flat": 1.0,
            "gap": [np.nan] * 6,
        }
    )
    own = np.arange(6) < 3
    row = frame.iloc[2]
    found = pulls(frame, own, ~own, row).set_index("column")
    assert found.index.tolist() == ["x", "day", "flat", "word"]
    sd = np.sqrt(2 / 3)
    expected = norm.logpdf(3, 2, sd) - norm.logpdf(3, 8, sd)
    assert found.loc["x", "pull"] == pytest.approx(expected)
    assert found.loc["day", "own"] == pd.Timestamp("2024-01-03")
    day = norm.logpdf(4, 2, 2 * sd) - norm.logpdf(4, 12, 2 * sd)
    assert found.loc["day", "pull"] == pytest.approx(day)
    assert found.loc["word", "pull"] == pytest.approx(np.log(1.5 / 3.5))
    assert found.loc["word", ["own", "other"]].tolist() == [1 / 3, 1.0]
    assert found.loc["flat", "pull"] == 0
    assert found["level"].tolist() == [False, False, False, True]


def test_dates_with_a_time_zone_pull_as_those_without():
    days = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta([0, 2, 12, 14], "D"))
    frame = pd.DataFrame({"plain": days, "zone": days.dt.tz_localize("Europe/Paris")})
    own = np.arange(4) < 2
    plain, zone = pulls(frame, own, ~own, frame.iloc[1])["pull"]
    assert zone == pytest.approx(plain)
