"""Background work: progress, cancel, notices."""

import asyncio
import threading

from clusterlens.compute._run.options import raise_if_cancelled
from clusterlens.ui.jobs import Job, Jobs


def run(coroutine):
    return asyncio.run(coroutine)


def until_stopped(job: Job) -> None:
    while not job.stop.wait(0.01):
        job.report(1, 2)
    raise_if_cancelled(job.cancelled)


def test_a_job_returns_its_result_and_reports_progress():
    jobs = Jobs()
    seen = []
    jobs.param.watch(lambda event: seen.append(event.new), "done")
    reached = threading.Event()
    shown = threading.Event()

    def work(job):
        job.enter("second stage")
        job.report(3, 4)
        reached.set()
        shown.wait(5)
        return "result"

    async def main():
        running = asyncio.create_task(jobs.run("title", work))
        while jobs.done != 3:
            await asyncio.sleep(0)
        assert jobs.title == "second stage"
        assert jobs.busy
        shown.set()
        return await running

    assert run(main()) == "result"
    assert 3 in seen
    assert not jobs.busy
    assert jobs.notices == ()


def test_cancel_gives_a_notice_and_no_result():
    jobs = Jobs()

    async def main():
        running = asyncio.create_task(jobs.run("Fitting", until_stopped))
        while not jobs.done:
            await asyncio.sleep(0)
        jobs.cancel()
        assert jobs.title == "Cancelling: Fitting"
        return await running

    assert run(main()) is None
    (notice,) = jobs.notices
    assert notice.severity == "info"
    assert notice.text == "Cancelled: Fitting. Nothing was changed."


def test_bad_input_becomes_its_own_message():
    jobs = Jobs()

    def work(job):
        raise ValueError("column 'a' is empty; fill it in.")

    run(jobs.run("Reading", work))
    (notice,) = jobs.notices
    assert notice.severity == "error"
    assert notice.text == "Reading: column 'a' is empty; fill it in."


def test_an_unexpected_error_is_shown_without_a_stack_trace_and_logged(caplog):
    jobs = Jobs()

    def work(job):
        raise KeyError("lost")

    run(jobs.run("Reading", work))
    (notice,) = jobs.notices
    assert "unexpectedly (KeyError" in notice.text
    assert "Traceback" not in notice.text
    assert "Traceback" in caplog.text


def test_a_second_job_is_refused_with_a_notice():
    jobs = Jobs()

    async def main():
        running = asyncio.create_task(jobs.run("Fitting", until_stopped))
        while not jobs.done:
            await asyncio.sleep(0)
        assert await jobs.run("Other", lambda job: 1) is None
        assert "Still busy: Fitting" in jobs.notices[-1].text
        jobs.cancel()
        await running

    run(main())


def test_a_job_that_gives_way_is_ended_by_the_next_without_a_notice():
    jobs = Jobs()

    async def main():
        running = asyncio.create_task(
            jobs.run("Checking", until_stopped, gives_way=True)
        )
        while not jobs.done:
            await asyncio.sleep(0)
        result = await jobs.run("Fitting", lambda job: 7)
        await running
        return result

    assert run(main()) == 7
    assert jobs.notices == ()


def test_the_same_notice_is_shown_once():
    jobs = Jobs()
    jobs.notify("info", "a")
    jobs.notify("info", "a")
    assert len(jobs.notices) == 1
    jobs.dismiss(jobs.notices[0])
    assert jobs.notices == ()


def test_a_closed_session_stops_its_job_and_shows_nothing():
    jobs = Jobs()

    async def main():
        running = asyncio.create_task(jobs.run("Fitting", until_stopped))
        while not jobs.done:
            await asyncio.sleep(0)
        jobs.close()
        return await running

    assert run(main()) is None
    assert jobs.notices == ()
