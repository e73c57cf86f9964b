"""Tests of undo and redo: they move a cursor over frozen analyses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterlens.ui.state.analysis import Analysis
from clusterlens.ui.state.history import History, Step


def step(score: str) -> Step:
    return Step("set score", "Set the score", Analysis(score=score), {"score": score})


def test_undo_and_redo_return_the_very_same_analyses():
    history = History()
    first, second = step("a"), step("b")
    history.do(first)
    history.do(second)
    history.go(history.cursor - 1)
    assert history.analysis is first.analysis
    assert history.redo_step is second
    history.go(history.cursor + 1)
    assert history.analysis is second.analysis
    assert history.redo_step is None


def test_doing_something_new_forgets_what_was_undone():
    history = History()
    for name in "abc":
        history.do(step(name))
    history.go(history.cursor - 1)
    history.go(history.cursor - 1)
    history.do(step("d"))
    assert [s.values["score"] for s in history.done] == ["a", "d"]
    assert history.redo_step is None


def test_nothing_happens_beyond_the_ends():
    history = History()
    history.go(history.cursor - 1)
    history.go(history.cursor + 1)
    history.go(7)
    assert (history.cursor, history.undo_step) == (0, None)


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}])
def test_values_of_a_step_are_plain(value):
    with pytest.raises((TypeError, ValueError)):
        Step("x", "X", Analysis(), {"value": value})


@given(st.lists(st.sampled_from(["do", "undo", "redo"]), max_size=30))
def test_the_history_is_that_of_two_stacks(moves):
    history, done, undone = History(), [], []
    for number, move in enumerate(moves):
        if move == "do":
            history.do(step(str(number)))
            done.append(str(number))
            undone.clear()
        elif move == "undo":
            history.go(history.cursor - 1)
            if done:
                undone.append(done.pop())
        else:
            history.go(history.cursor + 1)
            if undone:
                done.append(undone.pop())
        assert [s.values["score"] for s in history.done] == done
