"""The contract of all public callables: wrong input of any kind gets a clear sentence.

Parameters come from the signatures, so that what becomes public is covered; a name
without a right call to start from fails.
"""

import re
import traceback
import warnings

import numpy as np
import pandas as pd
import pytest

import clusterlens as cl
from tests.right_calls import (
    LABELS,
    N,
    call,
    is_estimator,
    parameters,
    public_callables,
)

WRONG = {
    "None": None,
    "a text": "nowhere",
    "bytes": b"\x00\xff",
    "an object": object(),
    "NaN": np.nan,
    "infinity": np.inf,
    "minus infinity": -np.inf,
    "a negative number": -1,
    "zero": 0,
    "one": 1,
    "a fraction": 0.5,
    "a whole float": 2.0,
    "a complex number": 1j,
    "truth": True,
    "an empty list": [],
    "an empty dict": {},
    "a dict of texts": {"share": "a"},
    "a list of one text": ["aari"],
    "a mixed list": [1, "a", None],
    "a ragged list": [[1], [1, 2]],
    "a short vector": [0, 1, 1],
    "a vector of NaN": [np.nan] * N,
    "a table of one row": np.ones((1, 2)),
    "a table of no rows": np.empty((0, 2)),
    "a table of no columns": np.empty((N, 0)),
    "a table of texts": np.full((N, 2), "a"),
    "three dimensions": np.zeros((2, 3, 4)),
    "a short table": np.ones((5, 2)),
    "an empty DataFrame": pd.DataFrame(),
    "other partitions": cl.Ensemble([[0, 1, 1], [0, 0, 1]]),
    "one partition": cl.Ensemble([LABELS]),
    "one sample": cl.Ensemble([[0], [0], [0]]),
    "links of other samples": cl.Constraints(must_link=[(50, 51)]),
    "a date": pd.Timestamp("2020-01-01"),
}
# Their size does not fit the other arguments, of which either may be named.
OF_OTHER_SIZE = {
    *("other partitions", "one partition", "one sample", "a short vector"),
    *("a short table", "a table of one row", "a vector of NaN", "a list of one text"),
}
# What a table or a file holds is said of it, and names of columns are columns.
SAID_AS = {
    "pool": "pool|clusterer",
    "spec": "spec|clusterer",
    "source": r"source|[Tt]able|cannot be opened",
    "row_id": "row_id|column",
    "label": "label|[Cc]olumn",
    "roles": "roles|column",
    "X": r"\bX\b|all samples are in one cluster",
    "columns": "column",
    "row_ids": "row_ids|without ids",
    "ds": "ds|[Tt]able|column",
    "table": "[Tt]able",
}
# Any text is an address of a scheduler, which would be looked for; a class may well be
# declared to be none, and -1 is a number of jobs (worker
# processes, which end what exceeds its time too, take long to start).
NOT_WRONG = {
    ("client", "a text"),
    ("out", "a text"),
    *(("unlabelled", kind) for kind in ("zero", "one")),
    *(("n_jobs", kind) for kind in ("None", "a negative number")),
    *(("time_limit", kind) for kind in ("zero", "one", "a fraction", "a whole float")),
}


def complaint(name, parameter, kind):
    """Say what is wrong with the answer to a value, None if nothing is."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            call(name, **{parameter: WRONG[kind]})
    except (ValueError, TypeError, MemoryError) as error:
        raised_in = traceback.extract_tb(error.__traceback__)[-1].filename
        ours = "clusterlens" in raised_in and "site-packages" not in raised_in
        if is_estimator(name) and parameter == "X" and "sklearn" in raised_in:
            return None  # estimators refuse tables as scikit-learn does
        if not ours:
            return f"raw {error!r}"
        nameable = parameters(name) if kind in OF_OTHER_SIZE else [parameter]
        patterns = [SAID_AS.get(known, rf"\b{known}\b") for known in nameable]
        if not any(re.search(pattern, str(error)) for pattern in patterns):
            return f"unnamed {error!r}"
    except Exception as error:
        return f"raw {error!r}"
    return None


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        (name, parameter)
        for name in public_callables()
        for parameter in parameters(name)
    ],
)
def test_wrong_input_gets_a_sentence_that_names_the_parameter(name, parameter):
    complaints = {
        kind: message
        for kind in WRONG
        if (parameter, kind) not in NOT_WRONG
        and (message := complaint(name, parameter, kind))
    }
    assert complaints == {}


@pytest.mark.parametrize("name", public_callables())
def test_every_public_callable_has_a_right_call(name):
    call(name)


@pytest.mark.parametrize(
    "name", [name for name in public_callables() if "random_state" in parameters(name)]
)
def test_a_seed_is_the_same_seed_whatever_kind_of_whole_number_it_is(name):
    first, again = (facts(call(name, random_state=seed)) for seed in (3, np.int64(3)))
    assert len(first) > 0
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)


def facts(result):
    """The numbers and texts of a result of any kind, but for the time it took."""
    if isinstance(result, pd.DataFrame):
        return facts(result.to_dict("list"))
    if isinstance(result, (list, tuple)):
        return [fact for entry in result for fact in facts(entry)]
    if isinstance(result, dict):
        named = [value for key, value in result.items() if "seconds" not in str(key)]
        return facts(named)
    if isinstance(result, (np.ndarray, np.generic, int, float, str)):
        return [result]
    is_fitted = hasattr(result, "fit")
    return facts(
        {
            key: value
            for key, value in getattr(result, "__dict__", {}).items()
            if not is_fitted or key.endswith("_")
        }
    )


# Numbers as computations give them, each wrong for most arguments.
NUMPY = {
    "a negative float": np.float64(-1.5),
    "a negative number": np.int64(-7),
    "a list": [np.float64(-1.5), np.int64(-7)],
    "a pair": (np.int64(-7), np.float32(0.5)),
    "a dict": {"share": np.float64(-1.5)},
    "a dict of numbers": {np.int64(7): np.float64(-1.5)},
}
# Functions, handles, paths and names are no numbers, and are shown as they came.
NO_NUMBERS = {
    *("progress", "cancel", "stop", "on_model", "on_plan", "on_start"),
    *("executor", "client", "workers", "n_jobs", "path", "tree"),
    *("name", "definition", "encoding"),
}


@pytest.mark.parametrize("name", public_callables())
def test_numpy_numbers_are_plain_numbers_in_messages(name):
    for parameter in set(parameters(name)) - NO_NUMBERS:
        for value in NUMPY.values():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                messages = [refusal(name, {parameter: value})]
            messages += [str(one.message) for one in caught]
            assert "np." not in " ".join(messages), parameter


def refusal(name, changed):
    """Return what a call is refused with, nothing if it is not."""
    try:
        call(name, **changed)
    except (ValueError, TypeError, MemoryError) as error:
        return str(error)
    return ""
