"""A table of features is an array, a DataFrame or a prepared Dataset: all are one."""

import inspect
from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import clusterlens as cl
from tests.right_calls import X, call, is_estimator, public_callables

DATASET = cl.prepare(pd.DataFrame(X, columns=["a", "b"]), scale="none")
FRAME = pd.DataFrame(X, columns=["a", "b"])
OF_A_TABLE = [
    name
    for name in public_callables()
    if is_estimator(name) or "X" in inspect.signature(getattr(cl, name)).parameters
]


def assert_same(found, expected):
    """Compare results field by field, without the time taken."""
    if is_dataclass(expected):
        found, expected = (
            {f.name: getattr(one, f.name) for f in fields(one)}
            for one in (found, expected)
        )
    elif isinstance(expected, cl.CNSGraph) or hasattr(expected, "fit"):
        found, expected = vars(found), vars(expected)
    if isinstance(expected, dict):
        assert found.keys() - {"feature_names_in_"} == expected.keys()
        for key in expected:
            if "seconds" not in str(key):
                assert_same(found[key], expected[key])
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, np.ndarray | float | int | str | None):
        assert_equal_but_for_rounding(found, expected)
    else:
        assert type(found) is type(expected)


def assert_equal_but_for_rounding(found, expected):
    """Compare values; sums over a table depend on its order in memory."""
    if np.asarray(expected).dtype.kind == "f":
        assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    else:
        assert_array_equal(found, expected)


@pytest.mark.parametrize("name", OF_A_TABLE)
def test_array_frame_and_dataset_give_the_same(name):
    expected = call(name, X=X)
    assert_same(call(name, X=FRAME), expected)
    assert_same(call(name, X=DATASET), expected)


def test_dataset_is_the_array_it_was_prepared_to():
    assert np.asarray(DATASET) is not DATASET.table
    assert_array_equal(np.asarray(DATASET), DATASET.X)
    assert np.asarray(DATASET, dtype=np.float32).dtype == np.float32
    assert np.array(DATASET).flags.writeable
    assert cl.project(DATASET).coordinates.shape == (len(X), 2)


@pytest.mark.parametrize("name", OF_A_TABLE)
def test_dataset_that_is_not_prepared_is_refused(name):
    with pytest.raises(cl.DataError, match="not prepared; prepare it first"):
        call(name, X=cl.make_dataset(FRAME))
