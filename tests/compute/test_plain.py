"""JSON of any origin: counted before values are made of it, and its numbers."""

import json
import math
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterlens.compute import _plain
from clusterlens.compute._plain import MOST_NESTED, Record, read_plain
from clusterlens.compute._validation import DataError
from tests.processor_time import at_most

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def n_values(value):
    """Count a value and all that it holds, names included."""
    if isinstance(value, dict):
        return 1 + sum(1 + n_values(one) for one in value.values())
    return 1 + sum(map(n_values, value)) if isinstance(value, list) else 1


@given(VALUES, st.booleans())
def test_what_is_small_enough_is_read_as_it_is(value, is_ascii):
    text = json.dumps(value, ensure_ascii=is_ascii)
    assert read_plain(text, len(text), 2 * n_values(value)) == value


def n_empty(value):
    """Count the lists and mappings that hold nothing, each of which counts twice."""
    held = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(held, list):
        return 0
    return sum(map(n_empty, held)) if held else 1


def depth(value):
    """Return how deeply lists and mappings are nested."""
    held = list(value.values()) if isinstance(value, dict) else value
    return 1 + max(map(depth, held), default=0) if isinstance(held, list) else 0


@given(
    st.recursive(
        st.text('\\"[]{},:a\nä😀'),
        lambda inner: st.lists(inner) | st.dictionaries(st.text('\\"[:'), inner),
    ),
    st.booleans(),
    st.integers(1, 9),
)
def test_values_are_counted_exactly_wherever_a_chunk_ends(value, is_ascii, chunk):
    text = json.dumps(value, ensure_ascii=is_ascii)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_plain, "_CHUNK", chunk)
        counted = list(_plain._counts(text))
    assert counted[-1][0] == n_values(value) + n_empty(value)
    assert max(level for _, level in counted) == depth(value)


@given(VALUES, st.integers(1, 30))
def test_what_is_read_has_no_more_values_than_may_be(value, most):
    text = json.dumps(value)
    if n_values(value) > most + 1:  # the comma of an empty list is not there
        with pytest.raises(ValueError, match="values"):
            read_plain(text, len(text), most)


@pytest.mark.parametrize(("start", "end"), [("[", "]"), ('{"a":', "}")])
def test_brackets_may_be_nested_so_deeply(start, end):
    for n, fits in ((MOST_NESTED, True), (MOST_NESTED + 1, False), (10**6, False)):
        text = start * n + "1" + end * n
        if fits:
            assert read_plain(text, len(text)) is not None
        else:
            with pytest.raises(ValueError, match="nested more than"):
                read_plain(text, len(text))


# A list of as many values takes more memory than is allowed.
MANY = 300_000


@pytest.mark.parametrize(
    "text", ["[" + "[]," * MANY, "[" + "1," * MANY, '{"":{},' * MANY]
)
def test_many_values_take_no_memory(text):
    tracemalloc.start()
    with at_most(30), pytest.raises(ValueError, match=r"values|nested"):
        read_plain(text, len(text), MANY - 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize(
    "text", ['"', '"' + '\\"' * 10**6, '"a"' * 10**6, "\\" * 10**6]
)
def test_texts_without_an_end_take_time_in_proportion(text):
    with at_most(30), pytest.raises(ValueError, match=r"\w"):
        read_plain(text, len(text))


def test_what_stands_in_a_text_counts_for_nothing():
    text = json.dumps('[{,:"\\' * 1000)
    assert read_plain(text, len(text), 1) == '[{,:"\\' * 1000


def test_bytes_are_utf_8_alone():
    assert read_plain('"ä"'.encode(), 9) == "ä"
    with pytest.raises(ValueError, match="decode"):
        read_plain('["a"]'.encode("utf-16"), 99)
    with pytest.raises(ValueError, match="limit is 3"):
        read_plain(b"[1,2]", 3)


@pytest.mark.parametrize("value", [10**400, -(10**400), math.inf, math.nan])
def test_a_number_beyond_double_precision_is_refused(value):
    with pytest.raises(DataError, match="width"):
        Record({"width": value}, "the model").number("width")
