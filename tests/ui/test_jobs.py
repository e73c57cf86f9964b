"""Tests of work in three lanes: progress, cancel, displacement, notices."""

import asyncio
import errno
import gc
import threading
import weakref

import pytest

from clusterlens.compute._run.options import Cancelled
from clusterlens.ui.jobs.lanes import Job, Jobs, Notice
from clusterlens.ui.server.server import Server
from tests.ui.loop import run


def until_stopped(job: Job) -> None:
    while not job.stop.wait(0.01):
        job.report(1, 2)
    raise Cancelled


async def until(condition) -> None:
    while not condition():
        await asyncio.sleep(0.01)


def test_an_action_returns_its_result_and_shows_its_progress():
    jobs, shown = Jobs(Server()), threading.Event()

    def work(job):
        job.begin_stage("second stage")
        job.report(3, 4)
        shown.wait(20)
        job.notify("info", "all well")
        return "result"

    async def main():
        running = asyncio.create_task(jobs.act("title", lambda: work))
        await until(lambda: jobs.shown and jobs.shown.done == 3)
        assert (jobs.shown.title, jobs.shown.total) == ("second stage", 4)
        assert jobs.busy
        shown.set()
        return await running

    assert run(main()) == "result"
    assert not jobs.busy
    assert jobs.shown is None
    assert jobs.notices == (Notice("info", "all well"),)


def test_what_was_said_before_goes_with_the_next_action_that_is_done():
    jobs = Jobs(Server())

    def fail(job):
        raise ValueError("no such table")

    def succeed(job):
        job.notify("info", "read")
        return "result"

    async def main():
        jobs.notify("warning", "older")
        await jobs.act("Reading", lambda: fail)
        assert [notice.text for notice in jobs.notices] == [
            "older",
            "Reading: no such table",
        ]
        await jobs.act("Reading", lambda: succeed)

    run(main())
    assert jobs.notices == (Notice("info", "read"),)


def test_cancel_ends_an_action_with_a_notice_and_no_result():
    jobs = Jobs(Server())

    async def main():
        running = asyncio.create_task(jobs.act("Fitting", lambda: until_stopped))
        await until(lambda: jobs.shown and jobs.shown.done)
        jobs.cancel()
        assert jobs.shown.title == "Cancelling: Fitting"
        return await running

    assert run(main()) is None
    assert jobs.notices == (Notice("info", "Cancelled: Fitting. Nothing was changed."),)


def test_actions_wait_for_their_turn_and_keep_their_order():
    jobs, first = Jobs(Server()), threading.Event()
    done = []

    async def main():
        one = asyncio.create_task(jobs.act("one", lambda: lambda job: first.wait(20)))
        await until(lambda: jobs.shown)
        two = asyncio.create_task(
            jobs.act("two", lambda: lambda job: done.append("two"))
        )
        three = asyncio.create_task(
            jobs.act("three", lambda: lambda job: done.append("three"))
        )
        await until(lambda: jobs.shown.waiting == 2)
        assert done == []
        first.set()
        await asyncio.gather(one, two, three)

    run(main())
    assert done == ["two", "three"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("k is 0; give at least 1."), "Fitting: k is 0; give at least 1."),
        (
            OSError(errno.ENOSPC, "No space left on device", "/home/a"),
            "Fitting: No space left on device (/home/a). Nothing was changed; see that "
            "there is room",
        ),
        (KeyError("x"), "failed unexpectedly (KeyError: 'x')"),
    ],
)
def test_an_error_becomes_a_notice(error, words, caplog):
    jobs = Jobs(Server())

    def work(job):
        raise error

    assert run(jobs.act("Fitting", lambda: work)) is None
    assert words in jobs.notices[0].text
    assert bool(caplog.records) == (not isinstance(error, ValueError))


def test_in_a_live_slot_the_newest_wish_is_done_and_those_between_are_dropped():
    jobs, begun, go_on = Jobs(Server()), threading.Event(), threading.Event()
    worked, outcomes = [], []

    def request(number):
        def work(job):
            worked.append(number)
            begun.set()
            go_on.wait(20)
            return number

        jobs.live(
            "slider", "Drawing", work, lambda value, error: outcomes.append(value)
        )

    async def main():
        request(1)
        await until(begun.is_set)
        for number in (2, 3, 4):
            request(number)
        go_on.set()
        await until(lambda: jobs.at_rest)

    run(main())
    assert worked == [1, 4]
    assert outcomes == [1, 4]


def test_what_waits_for_rest_is_done_once_no_newer_wish_comes():
    jobs, done = Jobs(Server()), []

    async def main():
        for k in range(4):
            jobs.live(
                "slot",
                "title",
                lambda job, k=k: k,
                lambda value, error: done.append(value),
                debounce=0.05,
            )
            await asyncio.sleep(0)
            assert not jobs.at_rest
        await until(lambda: jobs.at_rest)

    run(main())
    assert done == [3]


def test_a_displaced_live_job_that_stops_tells_nothing():
    jobs, outcomes = Jobs(Server()), []

    async def main():
        jobs.live("a", "Counting", until_stopped, lambda *_: outcomes.append("first"))
        await until(lambda: jobs._live["a"].done)
        jobs.live(
            "a", "Counting", lambda job: 7, lambda value, _: outcomes.append(value)
        )
        await until(lambda: jobs.at_rest)

    run(main())
    assert outcomes == [7]


def test_idle_work_gives_way_to_an_action_and_begins_again_once_it_is_over():
    jobs, again = Jobs(Server()), threading.Event()
    starts, outcomes = [], []

    def check(job):
        starts.append(jobs.busy)
        if not again.is_set():
            until_stopped(job)
        return "checked"

    async def main():
        jobs.idle("check", "Checking", check, lambda value, _: outcomes.append(value))
        await until(lambda: starts)

        def action(job):
            again.set()
            return "done"

        assert await jobs.act("Fitting", lambda: action) == "done"
        await until(lambda: jobs.at_rest)

    run(main())
    assert starts == [False, False]
    assert outcomes == ["checked"]


def test_idle_work_never_starts_while_actions_wait():
    jobs, gate = Jobs(Server()), threading.Event()
    order = []

    async def main():
        one = asyncio.create_task(jobs.act("one", lambda: lambda job: gate.wait(20)))
        await until(lambda: jobs.shown)
        jobs.idle(
            "check", "Checking", lambda job: order.append("check"), lambda *_: None
        )
        two = asyncio.create_task(
            jobs.act("two", lambda: lambda job: order.append("two"))
        )
        gate.set()
        await asyncio.gather(one, two)
        await until(lambda: jobs.at_rest)

    run(main())
    assert order == ["two", "check"]


def test_cancelled_idle_work_is_told_as_cancelled_and_stays_so():
    jobs, outcomes = Jobs(Server()), []

    async def main():
        jobs.idle("check", "Checking", until_stopped, lambda _, e: outcomes.append(e))
        await until(lambda: jobs.shown)
        assert jobs.shown.in_background
        jobs.cancel()
        await until(lambda: jobs.at_rest)

    run(main())
    assert isinstance(outcomes[0], Cancelled)
    assert len(outcomes) == 1


def test_a_newer_idle_wish_takes_the_place_of_the_older_one():
    jobs, outcomes = Jobs(Server()), []

    async def main():
        jobs.idle("check", "Checking", until_stopped, lambda *_: outcomes.append("old"))
        await until(lambda: jobs._idle_job[1].done)
        jobs.idle(
            "check", "Checking", lambda job: "new", lambda v, _: outcomes.append(v)
        )
        await until(lambda: jobs.at_rest)

    run(main())
    assert outcomes == ["new"]


@pytest.mark.parametrize("long", [False, True])
def test_idle_work_waits_for_what_the_screen_waits_for_not_for_long_work(long):
    jobs, order, go_on = Jobs(Server()), [], threading.Event()

    def draw(job):
        go_on.wait()
        order.append("live")

    def check(job):
        order.append("idle")
        go_on.set()

    async def main():
        jobs.live("map", "Drawing", draw, lambda *_: None, long=long)
        jobs.idle("check", "Checking", check, lambda *_: None)
        if not long:
            for _ in range(20):
                await asyncio.sleep(0)
            go_on.set()
        await until(lambda: jobs.at_rest)

    run(main())
    assert order == (["idle", "live"] if long else ["live", "idle"])


def test_idle_work_that_rests_begins_once_no_newer_wish_comes():
    jobs, begun, outcomes = Jobs(Server()), [], []

    def check(job, k):
        begun.append(k)
        return k

    async def main():
        for k in range(4):
            jobs.idle(
                "check",
                "Checking",
                lambda job, k=k: check(job, k),
                lambda value, _: outcomes.append(value),
                debounce=0.05,
            )
            await asyncio.sleep(0)
            assert jobs.shown is None
        await until(lambda: jobs.at_rest)

    run(main())
    assert begun == outcomes == [3]


def test_the_same_notice_is_shown_once_until_it_is_dismissed():
    jobs = Jobs(Server())
    jobs.notify("info", "a")
    jobs.notify("info", "a")
    assert len(jobs.notices) == 1
    jobs.dismiss(jobs.notices[0])
    assert jobs.notices == ()


def test_a_closed_session_stops_its_work_and_shows_nothing():
    jobs = Jobs(Server())

    async def main():
        running = asyncio.create_task(jobs.act("Fitting", lambda: until_stopped))
        await until(lambda: jobs.shown and jobs.shown.done)
        jobs.close()
        return await running

    assert run(main()) is None
    assert jobs.notices == ()


@pytest.mark.parametrize("lane", ["live", "idle"])
@pytest.mark.parametrize("error", [Cancelled, ValueError])
def test_an_error_holds_nothing_of_what_it_was_told_to(lane, error):
    ended = []

    class Recorder:
        def __call__(self, *outcome):
            ended.append(None)

    def fail(job):
        raise error

    async def main():
        jobs, recorder = Jobs(Server()), Recorder()
        gone = weakref.ref(recorder)
        getattr(jobs, lane)("slot", "Computing", fail, recorder)
        del recorder
        await until(lambda: ended and jobs.at_rest)
        await until(lambda: gone() is None)

    gc.disable()
    try:
        run(main(), 5)
    finally:
        gc.enable()


def test_idle_work_does_not_begin_between_two_actions_in_a_row():
    jobs, order = Jobs(Server()), []

    async def main():
        jobs.idle("check", "Checking", until_stopped, lambda *_: None)
        await until(lambda: jobs._idle_job[1].done)

        def check(job):
            order.append("check")

        for name in ("one", "two"):
            await jobs.act(name, lambda name=name: lambda job: order.append(name))
            jobs.idle("check", "Checking", check, lambda *_: None)
        await until(lambda: jobs.at_rest)

    run(main())
    assert order[:2] == ["one", "two"]
    assert "check" in order


def test_idle_work_that_waits_never_begins_after_the_session_has_closed():
    jobs, gate, begun = Jobs(Server()), threading.Event(), []

    async def main():
        running = asyncio.create_task(jobs.act("one", lambda: lambda _: gate.wait(20)))
        await until(lambda: jobs.shown)
        jobs.idle("check", "Checking", begun.append, lambda *_: None)
        jobs.close()
        gate.set()
        assert await running is None, "nothing is handed to a closed session"
        await until(lambda: jobs.at_rest)

    run(main())
    assert begun == []


def test_an_outcome_that_cannot_be_drawn_does_not_stop_the_next(caplog):
    jobs, drawn = Jobs(Server()), []

    def draw(value, error):
        if value == 1:
            raise KeyError("no such column")
        drawn.append(value)

    async def main():
        jobs.live("a", "Drawing", lambda job: 1, draw)
        await until(lambda: jobs.at_rest)
        jobs.live("a", "Drawing", lambda job: 2, draw)
        await until(lambda: jobs.at_rest)

    run(main())
    assert drawn == [2]
    assert "no such column" in jobs.notices[0].text


def test_work_stops_when_its_server_ends():
    jobs, begun, ended = Jobs(Server()), threading.Event(), threading.Event()

    def work(job):
        begun.set()
        while not job.cancelled():
            ended.wait(0.01)
        ended.set()

    async def main():
        action = asyncio.create_task(jobs.act("endless", lambda: work))
        await until(begun.is_set)
        assert not action.done()

    run(main())
    assert ended.wait(20)


@pytest.mark.parametrize("lane", ["idle", "live"])
def test_what_is_in_sight_does_not_wait_behind_idle_work_of_another_page(lane):
    jobs, seen = Jobs(Server()), threading.Event()
    order = []

    def check(job):
        if not seen.is_set():
            until_stopped(job)
        order.append("other")

    def draw(job):
        seen.set()
        order.append("in sight")

    async def main():
        jobs.attend_to(["other"])
        jobs.idle("other", "Checking", check, lambda *_: None)
        await until(lambda: jobs.shown)
        jobs.idle("left", "Checking", lambda job: order.append("left"), lambda *_: None)
        submit = jobs.idle if lane == "idle" else jobs.live
        submit("card", "Drawing", draw, lambda *_: None)
        jobs.attend_to(["card"])
        await until(lambda: jobs.at_rest)

    run(main())
    assert order == ["in sight", "other", "left"]


def test_idle_work_that_has_ended_is_not_done_again_for_what_its_outcome_brings():
    jobs, order = Jobs(Server()), []

    def ended(value, error):
        jobs.idle("next", "Next", lambda job: order.append("next"), lambda *_: None)
        jobs.attend_to(["next"])

    async def main():
        jobs.idle("left", "Left", lambda job: order.append("left"), ended)
        await until(lambda: jobs.at_rest)

    run(main())
    assert order == ["left", "next"]


def test_idle_work_of_another_page_goes_on_while_nothing_in_sight_waits():
    jobs, go_on, outcomes = Jobs(Server()), threading.Event(), []

    async def main():
        jobs.idle(
            "other",
            "Checking",
            lambda job: (go_on.wait(20), job.stop.is_set()),
            lambda value, _: outcomes.append(value),
        )
        await until(lambda: jobs.shown)
        jobs.attend_to(["card"])
        go_on.set()
        await until(lambda: jobs.at_rest)

    run(main())
    assert outcomes == [(True, False)]
