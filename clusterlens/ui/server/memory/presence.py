"""Presence: detection of running processes that share a folder.

Each process locks a file of its own, and the system releases the lock whenever the
process ends. Unlike process ids, the names of the files are never reused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from clusterlens.ui.jobs.private_files import make_file, make_folder

# Longest time that a process waits for another one to enter.
_TURN_SECONDS = 20.0


@contextmanager
def one_by_one(file: Path) -> Iterator[None]:
    """Let processes enter one by one; sqlite3.Error if one takes too long."""
    with closing(_connect(file, _TURN_SECONDS)) as lock:
        _hold(lock)
        yield


class Presence:
    """Presence of a process until it is closed, or the process ends.

    A process becomes present within `one_by_one`, because its file is not locked at
    first.

    Parameters
    ----------
    folder : Path
        Folder with a file for each process; created if missing.
    name : str
        Unique name of the file.
    """

    def __init__(self, folder: Path, name: str) -> None:
        make_folder(folder)
        for path in folder.iterdir():
            if not is_there(folder, path.name):
                with suppress(OSError):
                    path.unlink()
        self.name, self._folder = name, folder
        self._lock = _connect(folder / name)
        _hold(self._lock)

    def others(self) -> bool:
        """Return whether another process is present."""
        names = (path.name for path in self._folder.iterdir())
        return any(is_there(self._folder, n) for n in names if n != self.name)

    def close(self) -> None:
        """End the presence."""
        self._lock.close()


def is_there(folder: Path, name: object) -> bool:
    """Return whether the process that made a file of a folder is running.

    A name from a damaged store may be anything, including a path to elsewhere.
    """
    path = next((path for path in folder.glob("*") if path.name == name), None)
    if path is None or not path.is_file():
        return False
    probe = _connect(path)
    try:
        _hold(probe)
    except sqlite3.DatabaseError as error:
        return "locked" in str(error)
    finally:
        probe.close()
    return False


def _connect(path: Path, seconds: float = 0) -> sqlite3.Connection:
    """Open a file as a database, because its locks work the same on all systems."""
    make_file(path)
    return sqlite3.connect(
        path, timeout=seconds, isolation_level=None, check_same_thread=False
    )


def _hold(file: sqlite3.Connection) -> None:
    file.execute("PRAGMA journal_mode = OFF")  # nothing is ever written
    file.execute("BEGIN EXCLUSIVE")
