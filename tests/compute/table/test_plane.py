"""The plane of the map: columns as they are, or principal components."""

import numpy as np
import pandas as pd
import pytest

import clusterlens as cl
from clusterlens.compute.table.dataset import make_dataset
from clusterlens.compute.table.plane import map_samples

RNG = np.random.default_rng(0)
TWO = pd.DataFrame(
    {"height": RNG.normal(170, 9, 80), "income": RNG.lognormal(10, 1, 80)}
)


def plane(table, **rules):
    return map_samples(cl.prepare(make_dataset(table), **rules))


@pytest.mark.parametrize("scale", ["standard", "robust", "minmax", "none"])
@pytest.mark.parametrize("weights", [None, {"income": 3.0}])
def test_two_numeric_columns_are_the_axes_in_their_own_units(scale, weights):
    ds = cl.prepare(make_dataset(TWO), scale=scale, weights=weights)
    found = map_samples(ds)
    np.testing.assert_array_equal(found.coordinates, ds.X)
    assert [axis.name for axis in found.columns] == ["height", "income"]
    for axis, x in zip(found.columns, found.coordinates.T, strict=True):
        values = TWO[axis.name].to_numpy()
        np.testing.assert_allclose(axis.to_values(x), values)
        np.testing.assert_allclose(axis.to_places(values), x, atol=1e-9)
    low = TWO["height"].min() - 100  # a line has no end
    assert found.columns[0].to_values(found.columns[0].to_places([low])) == low


@pytest.mark.parametrize("transform", ["log", "log1p", "rank"])
def test_places_of_a_transformed_column_follow_its_transform(transform):
    found = plane(TWO, transforms={"income": transform})
    height, income = found.columns
    assert len(height.values) == 2
    at = income.to_places(TWO["income"])
    np.testing.assert_allclose(at, found.coordinates[:, 1], atol=0.05)


def test_other_rows_are_placed_on_the_same_columns():
    ds = cl.prepare(make_dataset(TWO))
    X = ds.preparation.transform(pd.DataFrame({"height": [180.0], "income": [5e4]}))
    np.testing.assert_array_equal(map_samples(ds).transform(X), X)


def test_one_numeric_column_is_drawn_along_a_line():
    found = plane(TWO[["income"]])
    assert [axis.name for axis in found.columns] == ["income"]
    assert found.coordinates.shape == (80, 2)
    assert not found.coordinates[:, 1].any()
    assert found.transform([[2.5]]).tolist() == [[2.5, 0.0]]


def test_filled_gaps_lie_at_the_values_that_fill_them():
    gaps = TWO.copy()
    gaps.loc[3, "income"] = np.nan
    found = plane(gaps)
    filled = found.columns[1].to_values(found.coordinates[3:4, 1])
    np.testing.assert_allclose(filled, gaps["income"].median())
    assert len(plane(gaps, missing="drop rows").coordinates) == 79


def test_a_constant_column_is_no_axis_and_dates_are_days():
    days = pd.Timestamp("2026-01-05") + pd.to_timedelta(RNG.integers(0, 90, 80), "D")
    table = TWO[["height"]].assign(same=1, day=days)
    ds = cl.prepare(make_dataset(table), roles={"same": "numeric", "day": "numeric"})
    first = days.min().date()
    names = [axis.name for axis in map_samples(ds).columns]
    assert names == ["height", f"day, days since {first}"]


@pytest.mark.parametrize(
    ("table", "rules"),
    [
        (TWO.assign(third=RNG.normal(size=80)), {}),
        (TWO[["height"]].assign(kind=["a", "b"] * 40), {}),
        (TWO[["height"]].assign(kind=["a", "b"] * 40), {"categorical": "ordinal"}),
        (TWO, {"pca": 2}),
    ],
)
def test_other_features_are_drawn_on_principal_components(table, rules):
    ds = cl.prepare(make_dataset(table), **rules)
    found = map_samples(ds)
    assert found.columns == ()
    np.testing.assert_array_equal(found.coordinates, cl.project(ds).coordinates)
