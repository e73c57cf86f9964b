import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.options import Cancelled, RunOptions

BLOCKS = [(k,) for k in range(20)]
WORK = [k + 1 for k in range(20)]


def test_results_come_in_the_order_of_the_blocks():
    results = run_blocks(lambda k: k * k, BLOCKS, WORK, RunOptions(n_jobs=3))
    assert list(results) == [k * k for k in range(20)]
    assert list(run_blocks(lambda: 0, [], [], RunOptions())) == []


def test_progress_counts_work():
    seen = []
    report = lambda done, total: seen.append((done, total))  # noqa: E731
    list(run_blocks(lambda k: k, BLOCKS, WORK, RunOptions(progress=report)))
    assert seen[0] == (1, 210)
    assert seen[-1] == (210, 210)


def test_cancel_stops_before_the_remaining_blocks():
    started = []
    run = RunOptions(n_jobs=2, cancel=lambda: len(started) > 4)
    with pytest.raises(Cancelled):
        list(run_blocks(started.append, BLOCKS, WORK, run))
    assert len(started) < 10


def test_an_error_in_a_block_reaches_the_caller_and_drops_the_rest():
    started = []

    def fail(k):
        started.append(k)
        raise ValueError("block failed")

    with pytest.raises(ValueError, match="block failed"):
        list(run_blocks(fail, BLOCKS, WORK, RunOptions(n_jobs=2)))
    assert len(started) < 6


def test_a_shared_executor_stays_open_and_gives_others_their_turn():
    order = []
    gate = threading.Event()
    both_wait = threading.Barrier(2, action=gate.set)
    with ThreadPoolExecutor(1) as executor:

        def block(name):
            gate.wait(timeout=60)
            order.append(name)

        def consume(name):
            asked = []

            def cancel():  # asked again when the first block has been handed in
                asked.append(name)
                if len(asked) == 2:
                    both_wait.wait(timeout=60)
                return False

            blocks = [(name,)] * 8
            run = RunOptions(n_jobs=1, executor=executor, cancel=cancel)
            list(run_blocks(block, blocks, [1] * 8, run))

        sessions = [threading.Thread(target=consume, args=(name,)) for name in "ab"]
        for session in sessions:
            session.start()
        for session in sessions:
            session.join()
        assert executor.submit(int).result() == 0
    assert sorted(order[:2]) == ["a", "b"]
    assert len(order) == 16
