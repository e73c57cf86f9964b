"""Distributions of columns inside a group and in the rest."""

import numpy as np
import pandas as pd
import pytest

from clusterlens import column_distributions, prepare


def dataset(**columns):
    return prepare(pd.DataFrame(columns))


def test_shares_of_the_steps_sum_to_one_on_both_sides():
    rng = np.random.default_rng(0)
    ds = dataset(x=rng.normal(size=200), y=rng.normal(size=200))
    found = column_distributions(ds, np.arange(50), ["y", "x"])
    assert [one.column for one in found] == ["y", "x"]
    for one in found:
        assert one.inside.sum() == pytest.approx(1)
        assert one.outside.sum() == pytest.approx(1)
    own = ds.table["x"].to_numpy()
    assert found[1].mean_inside == pytest.approx(own[:50].mean())
    expected = np.histogram(own[:50], found[1].edges)[0] / 50
    assert found[1].inside == pytest.approx(expected)


def test_whole_numbers_have_a_step_each():
    ds = dataset(x=np.tile([1.0, 2.0, 3.0, 5.0], 10), y=np.arange(40.0))
    found = column_distributions(ds, np.arange(8), ["x"])[0]
    assert found.edges.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
    assert found.inside.tolist() == [0.25, 0.25, 0.25, 0.0, 0.25]


def test_a_long_tail_is_cut_and_said_and_its_values_count_in_the_last_step():
    x = np.linspace(0, 1, 1000)
    x[-1] = 1e6
    ds = dataset(x=x, y=np.arange(1000.0) % 7)
    found = column_distributions(ds, np.arange(990, 1000), ["x"])[0]
    assert found.clipped == (False, True)
    assert found.edges[-1] < 2
    assert found.inside.sum() == pytest.approx(1)


def test_levels_come_by_their_share_inside():
    ds = dataset(
        c=np.array(["u", "v", "w"])[np.repeat([0, 1, 2], 10)],
        x=np.random.default_rng(1).normal(size=30),
    )
    ds = prepare(ds, roles={"c": "categorical"})
    found = column_distributions(ds, np.arange(10, 25), ["c"], max_levels=2)[0]
    assert found.levels == ("v", "u")
    assert found.inside == pytest.approx([10 / 15, 0])
    assert found.outside == pytest.approx([0, 10 / 15])
    assert np.isnan(found.mean_inside)


def test_missing_values_are_counted_and_left_out():
    x = np.arange(20.0)
    x[[3, 15]] = np.nan
    full = {name: np.random.default_rng(1).normal(size=20) for name in "ab"}
    ds = dataset(x=x, **full)
    found = column_distributions(ds, np.arange(10), ["x"])[0]
    assert found.n_missing == 2
    assert found.mean_inside == pytest.approx(np.nanmean(x[:10]))


def test_an_unknown_column_is_named():
    ds = dataset(x=np.arange(5.0), y=np.arange(5.0))
    with pytest.raises(ValueError, match="'z'"):
        column_distributions(ds, [0], ["z"])
