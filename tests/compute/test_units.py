"""Units of X do not matter: X times a power of two gives the same, or a refusal."""

import dataclasses
from collections.abc import Mapping
from functools import cache

import numpy as np
import pandas as pd
import pytest

import clusterlens as cl
from clusterlens.compute._validation import LARGEST, SMALLEST
from clusterlens.compute.estimators.units import spread
from tests.right_calls import call, parameters, public_callables

TAKE_X = [name for name in public_callables() if "X" in parameters(name)]
FACTORS = [2.0**-20, 2.0**20, 2.0**-450, 2.0**480]
# Logarithms of densities and scatters, which other units move by a constant, products
# of variances, and times.
_MOVED = {"scores_", "model_", "BRI", "KDI", "seconds", "n_bytes"}
_WITHOUT_DISTANCES = {"SphericalKMeans"}


def blobs():
    rng = np.random.default_rng(3)
    centres = rng.uniform(-10, 10, (4, 3))
    X = np.repeat(centres, 40, axis=0) + rng.normal(0, 2, (160, 3))
    return X * [1, 1, 5] + 1.3


def leaves(value):
    """Yield the arrays and single values that a result is made of."""
    if isinstance(value, pd.DataFrame | pd.Series):
        value = value.to_dict()
    elif dataclasses.is_dataclass(value) or hasattr(value, "__dict__"):
        value = vars(value)
    if isinstance(value, Mapping):
        for key, one in value.items():
            if key not in _MOVED:
                yield from leaves(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from leaves(one)
    elif isinstance(value, np.ndarray | np.generic | float | int | str):
        yield np.asarray(value)


def is_same(one, other, factor):
    """Whether values are equal, or are so in units of X or their squares."""
    if one.dtype.kind != "f" or one.shape != other.shape:
        return np.array_equal(one, other)
    units = [factor**power for power in (0, 1, 2, -1, -2)]
    with np.errstate(over="ignore"):
        return any(
            np.allclose(one * unit, other, rtol=1e-9, atol=1e-12 * unit, equal_nan=True)
            for unit in units
        )


@cache
def found_in(name, factor):
    """Return the values that a function gives in other units."""
    from tests.right_calls import X

    return list(leaves(call(name, X=X * factor)))


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("name", TAKE_X)
def test_every_function_that_takes_x_gives_the_same_in_other_units(name, factor):
    expected, found = found_in(name, 1.0), found_in(name, factor)
    assert len(found) == len(expected)
    for one, other in zip(expected, found, strict=True):
        assert is_same(one, other, factor), (one, other)


def pool():
    """Every clusterer of the registry with its own grid."""
    return [
        {"clusterer": name, **entry.grid}
        for name, entry in cl.CLUSTERERS.items()
        if entry.least_samples is None
    ]


@pytest.fixture(scope="module")
def usual():
    return cl.run_pool(blobs(), pool(), n_jobs=1)


@pytest.mark.parametrize("factor", FACTORS)
def test_every_clusterer_gives_the_same_labels_in_other_units(usual, factor):
    found = cl.run_pool(blobs() * factor, pool(), n_jobs=1)
    assert found.n_partitions == usual.n_partitions
    for name, one, other in zip(usual.names, usual.labels, found.labels, strict=True):
        assert np.array_equal(one, other), name
    for t, one in usual.memberships.items():
        np.testing.assert_allclose(found.memberships[t], one, rtol=0, atol=1e-9)


def test_no_mixture_is_lost_where_the_unit_is_a_millionth(usual):
    found = cl.run_pool(blobs() * 1e-6, pool(), n_jobs=1)
    assert sorted(found.families) == sorted(usual.families)


@pytest.mark.parametrize("name", TAKE_X)
@pytest.mark.parametrize("factor", [1e-165, 1e-310])
def test_differences_whose_squares_vanish_are_refused(name, factor):
    from tests.right_calls import X

    if name in _WITHOUT_DISTANCES:
        return
    with pytest.raises(cl.DataError, match=r"differ by .* too little"):
        call(name, X=X * factor)


def test_the_spread_is_the_power_of_two_next_to_the_usual_deviation():
    X = np.random.default_rng(0).normal(size=(50, 3))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    assert spread(X) == 1
    assert spread(np.c_[X, np.zeros(50)]) == 1
    assert spread(np.zeros((3, 2))) == 1
    for power in (-480, -7, 1, 480):
        assert spread(X * 2.0**power) == 2.0**power
    assert spread((X * 1.4).tolist()) == 1
    assert spread(X * 1.5) == 2


def test_one_row_and_equal_rows_have_no_differences_to_refuse():
    assert cl.internal_index("WGSS", np.full((3, 1), SMALLEST / 10), [0, 0, 1]) == 0
    model = cl.FuzzyCMeans(2, random_state=0).fit(blobs())
    assert model.predict(np.zeros((2, 3)) + [[0], [SMALLEST / 10]]).shape == (2,)
    assert np.isfinite(cl.project(blobs() * (LARGEST / 1e3)).coordinates).all()


def frame(factor):
    """A table in other units, and the group of each row."""
    group = np.repeat(np.arange(3), 40)
    X = np.random.default_rng(0).normal(size=(120, 2))
    X[:, 0] += 9 * group
    return pd.DataFrame(X * factor, columns=["a", "b"]), group


@pytest.mark.parametrize("factor", [1e-120, 1e-9, 1e9, 1e120])
def test_tables_in_other_units_have_the_same_features_and_rules_as_good(factor):
    usual, group = frame(1.0)
    table, _ = frame(factor)
    ds = cl.prepare(table)
    np.testing.assert_allclose(ds.X, cl.prepare(usual).X, atol=1e-9)
    rules = cl.describe_clusters(ds, group)
    assert (rules.predict(table) == group).mean() > 0.9
    assert rules.right > 0.8


def test_a_column_whose_differences_have_no_squares_is_refused_by_name():
    table, _ = frame(1.0)
    table["b"] *= 1e-160
    with pytest.raises(cl.DataError, match=r"'b' has values that differ by .* ignore"):
        cl.prepare(table)
    assert cl.prepare(table, roles={"b": "ignore"}).X.shape == (120, 1)
