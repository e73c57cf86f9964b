"""ProcessLocks: held by one process at a time, and free again when it ends."""

import subprocess
import sys

import pytest

from clusterlens.compute._run.process_locks import ProcessLocks

pytest.importorskip("fcntl")
# Acquires the free locks, prints them, and holds them until its input ends.
TAKE = """
import sys
from pathlib import Path
from clusterlens.compute._run.process_locks import ProcessLocks
locks = ProcessLocks(Path(sys.argv[1]))
print(*[name for name in sys.argv[2:] if locks._taken(name)], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def file(tmp_path):
    return tmp_path / "folder" / "locks"


@pytest.fixture
def other(file):
    """Return a function that starts a process; it returns the process and its locks."""
    started = []

    def start(*names):
        process = subprocess.Popen(
            [sys.executable, "-c", TAKE, str(file), *names],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process, process.stdout.readline().split()

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_turn_is_that_of_one_process(file, other):
    locks = ProcessLocks(file)
    locks.acquire("a", 0)
    assert other("a", "b")[1] == ["b"]


def test_a_turn_that_was_given_back_is_free(file, other):
    locks = ProcessLocks(file)
    for name in "ab":
        locks.acquire(name, 0)
    locks.release("a")
    assert other("a", "b")[1] == ["a"]


def test_turns_of_a_killed_process_are_free(file, other):
    process, got = other("a")
    assert got == ["a"]
    assert other("a")[1] == []
    process.kill()
    process.wait()
    assert other("a")[1] == ["a"]


def test_a_wait_for_a_turn_ends(file, other):
    other("a")
    locks = ProcessLocks(file)
    locks.acquire("a", 0.05)
    assert not locks._taken("a")
