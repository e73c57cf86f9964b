"""The smallest change of one column after which a row is assigned elsewhere."""

import numpy as np
import pandas as pd
import pytest

import clusterlens as cl

N = 60
KINDS = np.arange(N) % 2


def table(**more):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "x": KINDS * 10 + rng.normal(size=N),
            "n": rng.integers(1, 9, N) + KINDS * 20,
            "noise": rng.normal(size=N),
            **more,
        }
    )


@pytest.fixture(scope="module")
def three():
    columns = {"kind": np.array(["red", "blue"])[KINDS]}
    columns["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(KINDS * 90, unit="D")
    dataset = cl.prepare(table(**columns), {"kind": "categorical", "day": "numeric"})
    return cl.Segmentation(dataset, KINDS, ["low", "high"]), dataset


@pytest.fixture(scope="module")
def near():
    """Two groups, and a row between them that single columns can move."""
    dataset = cl.prepare(table()[["x", "n"]])
    return cl.Segmentation(dataset, KINDS, ["low", "high"]), dataset


def row(x, n):
    return pd.DataFrame({"x": [x], "n": [n]})


def test_the_change_moves_the_row_and_nine_tenths_of_it_do_not(near):
    segmentation, dataset = near
    found = cl.smallest_changes(segmentation, row(4.0, 11), dataset).set_index("column")
    assert segmentation.assign(row(4.0, 11))["name"].tolist() == ["low"]
    for column, now in (("x", 4.0), ("n", 11)):
        there = found.loc[column, "change to"]
        assert found.loc[column, "name"] == "high"
        for share, name in ((1.0, "high"), (0.9, "low")):
            changed = row(4.0, 11).astype(float)
            changed.loc[0, column] = now + share * (there - now)
            assert segmentation.assign(changed)["name"].tolist() == [name]
    assert found.loc["n", "change to"] == int(found.loc["n", "change to"])
    assert found["step"].is_monotonic_increasing


def test_between_centres_the_border_is_that_of_the_formula():
    rng = np.random.default_rng(1)
    X = np.r_[rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + [8, 2]]
    dataset = cl.prepare(pd.DataFrame(X, columns=["a", "b"]))
    labels = np.repeat([0, 1], 200)
    segmentation = cl.Segmentation(dataset, labels, rows=False)
    assigner = segmentation.assigner
    changes = cl.smallest_changes(segmentation, {"a": [1.0], "b": [1.0]}, dataset)
    there = changes.set_index("column").loc["a", "change to"]
    tried = np.linspace(1, there, 20_001)
    rows = dataset.preparation.transform(pd.DataFrame({"a": tried, "b": 1.0}))
    squares = ((rows[:, None] - assigner.centres) ** 2).sum(axis=2)
    costs = squares / assigner.scales**2 / 2 + 2 * np.log(assigner.scales)
    border = tried[(costs[:, 1] < costs[:, 0]).argmax()]
    assert border <= there <= border + 0.1


def test_says_where_no_single_column_does_it(three):
    segmentation, dataset = three
    found = cl.smallest_changes(
        segmentation,
        table().assign(kind="red", day=pd.Timestamp("2024-01-01")).iloc[[0]],
        dataset,
    )
    assert found["column"].tolist() == ["x", "n", "noise", "kind", "day"]
    assert found[["change to", "cluster", "name", "step"]].isna().all(axis=None)
    assert found["value"].tolist()[3:] == ["red", pd.Timestamp("2024-01-01")]


def test_levels_and_dates_are_told_as_the_table_has_them():
    frame = pd.DataFrame({"kind": np.array(["red", "blue"])[KINDS]})
    by_level = cl.Segmentation(cl.prepare(frame), KINDS, ["low", "high"])
    (found,) = cl.smallest_changes(by_level, {"kind": ["red"]}).itertuples()
    assert (found[3], found.name, found.step) == ("blue", "high", 1.0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(
        KINDS * 90 + np.arange(N) % 7, "D"
    )
    z = np.random.default_rng(2).normal(size=N)
    by_day = cl.prepare(pd.DataFrame({"day": days, "z": z}), {"day": "numeric"})
    changes = cl.Segmentation(by_day, KINDS)
    first = pd.DataFrame({"day": [pd.Timestamp("2024-02-10")], "z": [0.1]})
    found = cl.smallest_changes(changes, first, by_day).set_index("column")
    moved = found.loc["day", "change to"]
    assert pd.Timestamp("2024-02-10") < moved < pd.Timestamp("2024-03-31")


def test_a_column_without_a_value_is_left_out_and_a_table_of_two_rows_refused(near):
    segmentation, _ = near
    found = cl.smallest_changes(segmentation, row(np.nan, 11))
    assert found["column"].tolist() == ["n"]
    with pytest.raises(cl.DataError, match="table of one"):
        cl.smallest_changes(segmentation, pd.concat([row(1, 2), row(1, 2)]))
    with pytest.raises(cl.DataError, match="gaps"):
        cl.smallest_changes(segmentation, row(np.nan, np.nan))
