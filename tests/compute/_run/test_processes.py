"""Facts about the scheduling of jobs on worker processes."""

import os
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
    """Replace processes by workers that answer at once; list what runs together."""
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
    told = []
    list(run_jobs(len, jobs(5, 1), n_workers=1, memory_limit=9, on_start=told.append))
    assert told == [0, 1]


def test_a_job_over_its_time_is_stopped_and_the_others_go_on():
    given = [
        WorkerJob(b"import time; time.sleep(60)", 1.0, seconds_limit=0.5),
        WorkerJob(b"pass", 1.0),
    ]
    answers = dict(run_jobs(exec, given, n_workers=1, memory_limit=9))
    assert isinstance(answers[0], WorkerDied)
    assert "limit of 0.5 seconds" in str(answers[0])
    assert answers[1] is None


def test_workers_wait_for_the_next_run_up_to_a_number(running):
    workers = Workers(1)
    for _ in range(3):
        assert len(list(run_jobs(len, jobs(1, 1), n_workers=2, memory_limit=9))) == 2
        list(run_jobs(len, jobs(1), n_workers=1, memory_limit=9, workers=workers))
    (kept,) = workers._spare
    assert kept is workers.take(len)
    kept.is_alive = False
    workers.keep(kept)
    other = workers.take(len)
    assert other is not kept
    other.stop()
    workers.close()


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
