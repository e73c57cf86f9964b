"""Tests of cached results: the latest used stay, in number and in bytes."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from clusterlens.ui.jobs.result_cache import ResultCache, buffers

KB = np.zeros(1000, np.uint8)


def fresh(kilobytes: int) -> np.ndarray:
    return np.zeros(1000 * kilobytes, np.uint8)


@dataclass
class Thing:
    first: object
    second: object = None

    @cached_property
    def lazy(self) -> np.ndarray:
        return fresh(2)


def n_bytes(thing: object) -> int:
    return sum(dict(buffers(thing)).values())


def test_bytes_are_those_of_all_arrays_each_counted_once():
    array = fresh(3)
    frame = pd.DataFrame({"x": np.zeros(125)})
    assert n_bytes(Thing(array, [array[10:20], {"a": array.reshape(3, -1)}])) == 3000
    assert n_bytes((frame, frame, "text", 3, None, print)) == n_bytes(frame) >= 1000
    thing = Thing(KB)
    assert n_bytes(thing) == 1000
    assert thing.lazy.size
    assert n_bytes(thing) == 3000
    ring: list[object] = [KB]
    ring.append(ring)
    assert n_bytes(ring) == 1000


def test_beyond_the_bytes_what_was_not_used_for_longest_goes():
    kept = ResultCache(10_000)
    for key in range(3):
        kept.put("a", key, fresh(3), most=9)
    assert kept.get("a", 0) is not None
    kept.put("b", 0, fresh(3), most=9)
    assert [kept.get("a", key) is not None for key in range(3)] == [True, False, True]
    assert kept.n_bytes == 9000


def test_the_latest_of_each_node_stays_whatever_it_takes():
    kept = ResultCache(10)
    kept.put("a", 0, fresh(3), most=9)
    kept.put("b", 0, fresh(3), most=9)
    kept.put("b", 1, fresh(3), most=9)
    assert kept.get("a", 0) is not None
    assert kept.get("b", 0) is None
    assert kept.get("b", 1) is not None


def test_an_array_that_several_results_hold_counts_until_the_last_is_gone():
    kept, shared = ResultCache(10_000), fresh(4)
    for key in range(5):
        kept.put("a", key, [shared], most=9)
    assert kept.n_bytes == 4000
    for key in range(4):
        kept.drop("a", key)
    assert kept.n_bytes == 4000
    kept.drop("a", 4)
    assert kept.n_bytes == 0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5)), max_size=40))
def test_numbers_and_bytes_add_up_after_any_use(uses):
    kept: ResultCache[np.ndarray] = ResultCache(5000)
    for name, key in uses:
        if kept.get(name, key) is None:
            kept.put(name, key, fresh(1 + key % 3), most=3)
        assert kept.get(name, key) is not None
    there = [kept.get(name, key) for name in "abc" for key in range(6)]
    assert kept.n_bytes == sum(one.nbytes for one in there if one is not None)
    for name in "abc":
        assert sum(kept.get(name, key) is not None for key in range(6)) <= 3
