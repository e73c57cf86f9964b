"""Presence: which of the processes that share a folder are still there.

Each holds a lock on a file of its own, which the system lets go of however the process
ends. Unlike the number of a process, the name of the file is never given again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from clusterlens.ui.work.private_files import make_file, make_folder

# So long a process waits for another that is coming in.
_TURN_SECONDS = 20.0


@contextmanager
def one_by_one(file: Path) -> Iterator[None]:
    """Let in one process after the other; sqlite3.Error if one does not come out."""
    with closing(_connect(file, _TURN_SECONDS)) as lock:
        _hold(lock)
        yield


class Presence:
    """Is there until it is closed, or its process ends.

    A process becomes present `one_by_one`, as its file is not held at first.

    Parameters
    ----------
    folder : Path
        Holds a file for each process; made if it is not there.
    name : str
        Of the file, like no other.
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
        """Whether another process is there, too."""
        names = (path.name for path in self._folder.iterdir())
        return any(is_there(self._folder, n) for n in names if n != self.name)

    def close(self) -> None:
        """Be there no more."""
        self._lock.close()


def is_there(folder: Path, name: object) -> bool:
    """Whether the process that made a file of a folder holds it.

    A name from a damaged store may be anything, and lead anywhere.
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
    """Open a file as a database, as the locks of one are the same everywhere."""
    make_file(path)
    return sqlite3.connect(
        path, timeout=seconds, isolation_level=None, check_same_thread=False
    )


def _hold(file: sqlite3.Connection) -> None:
    file.execute("PRAGMA journal_mode = OFF")  # nothing is ever written
    file.execute("BEGIN EXCLUSIVE")
