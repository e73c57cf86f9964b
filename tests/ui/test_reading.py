"""Tests of uploads read in separate processes: a crash costs one reading."""

import ast
import math
import os
import sys
import time
from pathlib import Path

import pytest

import clusterlens.ui
from clusterlens import DataError
from clusterlens.compute._run.options import Cancelled
from clusterlens.ui.jobs import reading
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.reading import read_in_process
from clusterlens.ui.server.server import Server

# Functions that serving code may not call, only pass to `read_in_process`.
READ = {
    "load_table",
    "load_part",
    "table_parts",
    "load_partitions",
    "load_memberships",
    "load_segmentation",
    "load_ensemble",
    "links_from_file",
    "check_analysis",
}
# Modules that read the owner's file before serving.
BEFORE = {"cli.py"}


@pytest.fixture
def job():
    server = Server()
    yield Job("read", server)
    server.actions.shutdown()


def end(file):
    os.abort()


def take(file, n_bytes):
    return len(bytearray(n_bytes))


def wait(file, seconds):
    while True:
        time.sleep(seconds)


def rest(file, seconds):
    time.sleep(seconds)


def compute(file):
    while True:
        pass


def which(file):
    return os.getpid(), file.name, file.read()


def refuse(file):
    raise DataError("no table")


def test_a_file_is_read_in_another_process_which_reads_the_next_one(job):
    one, two = (read_in_process(job, "a.csv", b"a,b\n", which) for _ in range(2))
    assert one == two
    assert one[0] != os.getpid()
    assert one[1:] == ("a.csv", b"a,b\n")


def test_an_error_of_reading_is_raised_here(job):
    with pytest.raises(DataError, match="no table"):
        read_in_process(job, "a.csv", b"", refuse)


def test_a_process_that_dies_is_an_error_with_words_and_the_next_file_is_read(job):
    with pytest.raises(DataError, match=r"'a.csv' cannot be read .*signal 6"):
        read_in_process(job, "a.csv", b"", end)
    assert read_in_process(job, "b.csv", b"", which)[1] == "b.csv"


@pytest.mark.skipif(sys.platform != "linux", reason="no such limit on this system")
def test_a_small_file_may_take_so_much_memory(job):
    assert read_in_process(job, "a.csv", b"", take, 200_000_000) == 200_000_000
    with pytest.raises(DataError, match=r"not enough memory.*more than the 500 MB"):
        read_in_process(job, "a.csv", b"", take, 1_000_000_000)
    # The limit of a small file does not apply to the next one.
    large = bytes(40_000_000)
    with pytest.raises(DataError, match="not enough memory"):
        read_in_process(job, "a.csv", b"", take, 1_000_000_000)
    assert (
        len(read_in_process(job, "a.csv", bytes(600_000_000), which)[2]) == 600_000_000
    )
    assert read_in_process(job, "a.csv", large, take, 1_000_000_000) == 1_000_000_000


def test_a_file_may_take_so_much_time(job, monkeypatch):
    monkeypatch.setattr(reading, "_SECONDS", 0.001)
    with pytest.raises(DataError, match=r"limit of 0.01 seconds"):
        read_in_process(job, "a.csv", b"", wait, 0.01)


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit on this system")
def test_a_file_may_take_so_much_of_a_processor_but_wait_longer(job, monkeypatch):
    monkeypatch.setattr(reading, "_SECONDS", 0.2)
    read_in_process(job, "a.csv", b"", rest, 0.3)
    monkeypatch.setattr(reading, "_WAITING", math.inf)
    with pytest.raises(DataError, match=r"signal 24 .* or 0 seconds of processor"):
        read_in_process(job, "a.csv", b"", compute)


def test_reading_ends_when_it_is_cancelled(job):
    job.stop.set()
    with pytest.raises(Cancelled):
        read_in_process(job, "a.csv", b"", wait, 0.01)


def calls(path):
    """Yield functions that a module calls, and those passed to `read_in_process`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            called = node.func
            yield (
                called.attr
                if isinstance(called, ast.Attribute)
                else getattr(called, "id", "")
            )
            if getattr(called, "id", "") == "to_thread" or (
                isinstance(called, ast.Attribute) and called.attr == "to_thread"
            ):
                yield from (getattr(given, "id", "") for given in node.args)


def test_pages_call_no_reader_of_files():
    folder = Path(clusterlens.ui.__file__).parent
    called = {
        (path.name, name)
        for path in folder.rglob("*.py")
        if path.name not in BEFORE
        for name in calls(path)
        if name in READ
    }
    # In a library script, without a separate process, an analysis is imported.
    assert called == {("archive.py", "check_analysis")}
