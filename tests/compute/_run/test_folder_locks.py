"""Tests of locks on folders, and of working folders that killed processes leave."""

import os
import subprocess
import sys
import tempfile
import time

import pytest

from clusterlens.compute._run import folder_locks
from clusterlens.compute._run.folder_locks import (
    PREFIX,
    YOUNG_SECONDS,
    lock_folder,
    remove_left,
    working_folder,
)

pytest.importorskip("fcntl")

HOLD = """
import sys
from clusterlens.compute._run.folder_locks import working_folder
with working_folder() as folder:
    (folder / "X.npy").write_bytes(bytes(9))
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    """Temporary files in a folder of the test; nothing removed so far."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    remove_left.cache_clear()
    yield tmp_path
    remove_left.cache_clear()


def make_old(folder):
    then = time.time() - 2 * YOUNG_SECONDS
    os.utime(folder, (then, then))


def test_a_folder_is_locked_once_until_it_is_unlocked(tmp_path):
    lock = lock_folder(tmp_path)
    with pytest.raises(BlockingIOError):
        lock_folder(tmp_path)
    os.close(lock)
    os.close(lock_folder(tmp_path))


def test_a_folder_that_cannot_be_removed_now_ends_no_work(places, monkeypatch):
    def refuse(path):
        raise OSError("Directory not empty")

    with monkeypatch.context() as patch, working_folder() as folder:
        patch.setattr(os, "rmdir", lambda *path, **where: refuse(path))
    assert folder.exists()
    make_old(folder)
    remove_left.cache_clear()
    remove_left()
    assert not folder.exists()


def test_a_working_folder_is_empty_and_goes():
    with working_folder() as folder:
        assert list(folder.iterdir()) == []
        (folder / "file").write_text("x")
    assert not folder.exists()


def test_the_folder_of_a_living_process_stays_and_of_a_killed_one_goes(places):
    command = [sys.executable, "-c", HOLD]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        folder = places / process.stdout.readline().strip()
        make_old(folder)
        remove_left()
        assert (folder / "X.npy").exists()
        process.kill()
    assert folder.exists()
    remove_left.cache_clear()
    with working_folder():
        assert not folder.exists()


@pytest.mark.parametrize("name", [f"{PREFIX}young", "clusterlens-other", "other"])
def test_young_and_other_folders_stay(places, name):
    folder = places / name
    folder.mkdir()
    if not name.endswith("young"):
        make_old(folder)
    remove_left()
    assert folder.exists()


def test_links_and_folders_of_other_users_stay(places, monkeypatch):
    target, link = places / "target", places / f"{PREFIX}link"
    target.mkdir()
    (target / "file").write_text("x")
    link.symlink_to(target)
    make_old(target)
    then = time.time() - 2 * YOUNG_SECONDS
    os.utime(link, (then, then), follow_symlinks=False)
    foreign = places / f"{PREFIX}foreign"
    foreign.mkdir()
    make_old(foreign)
    own = os.getuid()
    monkeypatch.setattr(folder_locks.os, "getuid", lambda: own + 1)
    remove_left()
    assert foreign.exists()
    monkeypatch.undo()
    assert (target / "file").exists()
    assert link.is_symlink()
