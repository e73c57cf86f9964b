"""Arrays of result objects refuse writes: fresh, copied and unpickled."""

import copy
import pickle
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

import clusterlens as cl
from tests.right_calls import call, is_estimator, public_callables

OF_RECORDS = [name for name in public_callables() if not is_estimator(name)]
# Records that no right call returns, or only as part of an attribute.
ALSO = {
    "LiveSolution": lambda: call("CNSGraph").solve(6, 0.5),
    "SmoothingStep": lambda: call("CNSGraph").smoothing_steps(6, 0.5),
    "CriterionGrid": lambda: call("CNSGraph").criterion_grid(),
}


def records(value):
    """Yield the records of this package in a result, those in others included."""
    if is_dataclass(value) and type(value).__module__.startswith("clusterlens"):
        yield value
        for field in fields(value):
            yield from records(getattr(value, field.name))
    elif isinstance(value, dict):
        for one in value.values():
            yield from records(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from records(one)


def writable(record):
    """Names of the fields of a record that hold an array that takes writes."""
    return {
        f"{type(record).__name__}.{field.name}"
        for field in fields(record)
        if not field.name.startswith("_")
        for array in arrays(getattr(record, field.name))
        if array.flags.writeable
    }


def arrays(value):
    """Yield the arrays in a field."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict | list | tuple):
        for one in value.values() if isinstance(value, dict) else value:
            yield from arrays(one)


@pytest.mark.parametrize("name", [*OF_RECORDS, *ALSO])
def test_arrays_of_records_refuse_writes(name):
    result = ALSO[name]() if name in ALSO else call(name)
    for record in records(result):
        if getattr(cl, type(record).__name__, None) is not type(record):
            continue
        assert writable(record) == set()
        assert writable(copy.copy(record)) == set()
        assert writable(copy.deepcopy(record)) == set()
        assert writable(pickle.loads(pickle.dumps(record))) == set()
