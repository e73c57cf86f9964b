"""Facts about the scheduling of jobs on worker processes."""

import os
import threading
import time
from contextlib import contextmanager
from multiprocessing import Pipe

import pytest

from clusterlens.compute._run import processes as _workers
from clusterlens.compute._run.options import Cancelled
from clusterlens.compute._run.processes import (
    WorkerDied,
    WorkerJob,
    Workers,
    run_jobs,
)


@pytest.fixture
def running(monkeypatch):
    """Replace processes by workers that answer at once; list simultaneous jobs."""
    running, together, started, stopped = [], [], [], []

    class Worker:
        def __init__(self, function):
            self.connection, self.far_end = Pipe()
            self.is_ready = self.is_alive = True
            started.append(self)

        def send(self, function, payload):
            self.function, self.payload = function, payload
            running.append(payload)
            together.append(tuple(running))
            self.far_end.send_bytes(payload)

        def receive(self):
            running.remove(self.payload)
            return self.function(self.connection.recv_bytes())

        def stop(self):
            self.connection.close()
            self.far_end.close()
            stopped.append(self)

    monkeypatch.setattr(_workers, "_Worker", Worker)
    yield together
    assert sorted(map(id, started)) == sorted(map(id, stopped))


def jobs(*needs):
    return [WorkerJob(bytes([need]), float(need)) for need in needs]


def test_every_job_is_answered_once(running):
    answers = run_jobs(
        lambda payload: payload[0], jobs(5, 1, 4, 2), n_workers=3, memory_limit=99
    )
    assert sorted(answers) == [(0, 5), (1, 1), (2, 4), (3, 2)]


def test_at_most_n_workers_run_and_jobs_start_in_order(running):
    list(run_jobs(len, jobs(5, 1, 4, 2), n_workers=2, memory_limit=99))
    assert max(map(len, running)) == 2
    assert [now[-1][0] for now in running] == [5, 1, 4, 2]


def test_jobs_that_need_too_much_together_wait_for_each_other(running):
    list(run_jobs(len, jobs(6, 6, 3, 9, 1), n_workers=4, memory_limit=10))
    assert max(sum(payload[0] for payload in now) for now in running) == 10
    assert len(running) == 5


def test_a_job_too_large_for_the_limit_runs_alone(running):
    list(run_jobs(len, jobs(12, 1, 1), n_workers=2, memory_limit=10))
    assert (b"\x0c",) in running
    assert not any(b"\x0c" in now and len(now) > 1 for now in running)


def test_cancel_stops_workers_before_more_jobs_start(running):
    looks = []

    def cancel():
        looks.append(1)
        return len(looks) > 2

    with pytest.raises(Cancelled):
        list(
            run_jobs(
                len, jobs(1, 1, 1, 1, 1), n_workers=5, memory_limit=9, cancel=cancel
            )
        )
    assert len(running) == 2


def test_an_abandoned_iterator_stops_its_workers(running):
    answers = run_jobs(len, jobs(1, 2, 3), n_workers=2, memory_limit=9)
    next(answers)
    answers.close()
    assert len(running) == 2


def test_a_job_waits_for_those_it_needs(running):
    given = [
        WorkerJob(b"a", 1.0, needs=(1,)),
        WorkerJob(b"b", 1.0, needs=(2,)),
        WorkerJob(b"c", 1.0),
        WorkerJob(b"d", 1.0),
    ]
    order = [at for at, _ in run_jobs(len, given, n_workers=4, memory_limit=9)]
    assert order.index(2) < order.index(1) < order.index(0)
    assert not any({b"a", b"b"} <= set(now) for now in running)
    assert {b"c", b"d"} <= set(running[1])


def test_starts_are_told(running):
    reported = []
    list(
        run_jobs(len, jobs(5, 1), n_workers=1, memory_limit=9, on_start=reported.append)
    )
    assert reported == [0, 1]


def test_a_job_over_its_time_is_stopped_and_the_others_go_on():
    given = [
        WorkerJob(b"import time; time.sleep(60)", 1.0, seconds_limit=0.5),
        WorkerJob(b"pass", 1.0),
    ]
    answers = dict(run_jobs(exec, given, n_workers=1, memory_limit=9))
    assert isinstance(answers[0], WorkerDied)
    assert "limit of 0.5 seconds" in str(answers[0])
    assert answers[1] is None


def test_workers_wait_for_the_next_run(running):
    workers = Workers(2)
    for _ in range(3):
        list(run_jobs(len, jobs(1, 1), n_workers=2, memory_limit=9, workers=workers))
    kept = workers._spare[-1]
    kept.is_alive = False
    list(run_jobs(len, jobs(1), n_workers=1, memory_limit=9, workers=workers))
    assert kept not in workers._spare
    workers.close()


def test_all_runs_together_have_no_more_workers_than_may_be(running):
    workers = Workers(2)
    first, second, third = (
        run_jobs(len, jobs(1, 1, 1), n_workers=2, memory_limit=9, workers=workers)
        for _ in range(3)
    )
    next(first)  # one more of it is at work
    next(second)
    answers = [*first, *second, *third]
    assert len(answers) == 3 + 3 + 3 - 2
    assert max(map(len, running)) == 2
    assert workers.n_waiting <= 2
    workers.close()


def test_jobs_of_all_runs_together_need_no_more_memory_than_there_is(running):
    workers = Workers(9, memory_limit=10)
    first = run_jobs(len, jobs(6, 3), n_workers=2, memory_limit=99, workers=workers)
    second = run_jobs(len, jobs(6, 2), n_workers=2, memory_limit=99, workers=workers)
    next(first)
    together = [*first, *second]
    assert len(together) == 3
    assert max(sum(payload[0] for payload in now) for now in running) <= 10
    workers.close()


@contextmanager
def many_runs(workers, made):
    """Start runs on separate threads; each lists its results."""
    answers = [[] for _ in made]

    def work(given, found, more):
        try:
            for answer in run_jobs(
                exec, given, n_workers=4, memory_limit=99, workers=workers, **more
            ):
                found.append(answer)
        except Cancelled:
            found.append("cancelled")

    threads = [
        threading.Thread(target=work, args=(given, found, more), daemon=True)
        for (given, more), found in zip(made, answers, strict=True)
    ]
    try:
        yield threads, answers
    finally:
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        workers.close()


def until(true):
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


LONG = WorkerJob(b"import time; time.sleep(600)", 1.0)
SHORT = WorkerJob(b"pass", 1.0)


def test_runs_take_turns_so_that_a_short_one_ends_before_a_long_one():
    workers, ended = Workers(1), []
    nap = WorkerJob(b"import time; time.sleep(0.1)", 1.0)
    made = [([nap] * 20, {}), ([SHORT] * 3, {})]
    with many_runs(workers, made) as (threads, answers):
        threads[0].start()
        until(lambda: answers[0])
        threads[1].start()
        threads[1].join(60)
        ended += answers[0]
    assert len(answers[1]) == 3
    assert len(ended) < 20
    assert len(answers[0]) == 20


def test_a_run_hears_that_it_waits_and_goes_on_when_the_other_is_cancelled():
    workers, reported, cancelled = Workers(1), [], threading.Event()
    made = [([LONG], {"cancel": cancelled.is_set}), ([SHORT], {})]
    with many_runs(workers.with_on_wait(reported.append), made) as (threads, answers):
        threads[0].start()
        until(lambda: workers._at_work)
        threads[1].start()
        until(lambda: reported == [True])
        assert not answers[1]
        cancelled.set()
    assert reported == [True, False]
    assert answers == [["cancelled"], [(0, None)]]


def test_a_run_that_is_cancelled_while_it_waits_lets_the_next_one_pass():
    workers, cancelled, go = Workers(1), threading.Event(), threading.Event()
    made = [
        ([LONG], {"cancel": go.is_set}),
        ([SHORT], {"cancel": cancelled.is_set}),
        ([SHORT], {}),
    ]
    with many_runs(workers, made) as (threads, answers):
        for n_waiting, thread in enumerate(threads):
            thread.start()
            until(lambda n=n_waiting: workers._at_work and len(workers._queue) == n)
        cancelled.set()
        until(lambda: answers[1])
        go.set()
    assert answers == [["cancelled"], ["cancelled"], [(0, None)]]


def test_a_worker_that_dies_leaves_its_place_to_the_next_run():
    workers = Workers(1)
    dying = WorkerJob(b"import os; os._exit(3)", 1.0)
    late = WorkerJob(b"import time; time.sleep(600)", 1.0, seconds_limit=0.2)
    made = [([dying, late, SHORT], {}), ([SHORT, dying, SHORT], {})]
    with many_runs(workers, made) as (threads, answers):
        for thread in threads:
            thread.start()
    assert [isinstance(one, WorkerDied) for _, one in answers[0]] == [True, True, False]
    assert [isinstance(one, WorkerDied) for _, one in answers[1]] == [
        False,
        True,
        False,
    ]
    assert not workers._at_work
    assert not workers._queue


def test_sixteen_runs_end_with_two_workers_and_never_more():
    workers, seen = Workers(2, memory_limit=3), []
    given = [WorkerJob(b"pass", need) for need in (1.0, 5.0, 2.0, 1.0)]
    with many_runs(workers, [(given, {})] * 16) as (threads, answers):
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            with workers._lock:
                seen.append(len(workers._at_work) + len(workers._spare))
            time.sleep(0.002)
    assert [sorted(at for at, _ in found) for found in answers] == [[0, 1, 2, 3]] * 16
    assert max(seen) <= 2
    assert not workers._at_work
    assert not workers._queue


def test_a_worker_that_cannot_be_started_keeps_no_place(monkeypatch):
    def fail(function):
        raise OSError("no more processes")

    workers = Workers(1)
    monkeypatch.setattr(_workers, "_Worker", fail)
    with pytest.raises(OSError, match="no more"):
        list(run_jobs(len, jobs(1), n_workers=1, memory_limit=9, workers=workers))
    assert not workers._at_work
    assert not workers._queue


def test_a_worker_that_was_ended_is_not_kept():
    workers = Workers(1)
    died = list(run_jobs(_die, jobs(1), n_workers=1, memory_limit=9, workers=workers))
    assert isinstance(died[0][1], WorkerDied)
    assert not workers._spare
    answers = [
        list(run_jobs(_pid, jobs(1), n_workers=1, memory_limit=9, workers=workers))
        for _ in range(2)
    ]
    assert answers[0] == answers[1]
    workers.close()


def _die(payload):
    os._exit(3)


def _pid(payload):
    return os.getpid()
