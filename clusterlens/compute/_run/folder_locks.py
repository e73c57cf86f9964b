"""Locks on folders, and working folders that outlive no process for long.

The system releases the locks of a process when it ends for any reason. So a folder with
a free lock belongs to no living process.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: folders are not locked, and stay after a kill
    fcntl = None  # type: ignore[assignment]

PREFIX = "clusterlens-work-"
# A folder that is younger may wait for the lock of its maker.
YOUNG_SECONDS = 60.0


def lock_folder(path: Path) -> int | None:
    """Lock a folder that exists.

    Parameters
    ----------
    path : Path
        The folder.

    Returns
    -------
    lock : int or None
        File descriptor, which unlocks the folder when it is closed; None if the system
        has no locks on folders.

    Raises
    ------
    BlockingIOError
        If it is locked already.
    """
    if fcntl is None:
        return None
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise
    except OSError:  # a file system without locks
        os.close(lock)
        return None
    return lock


@contextmanager
def working_folder() -> Iterator[Path]:
    """Yield an empty folder for temporary files, removed afterwards.

    The first call of a process removes folders that killed processes have left, or
    into which a worker that is being ended still wrote.
    """
    remove_left()
    lock = None
    try:
        with tempfile.TemporaryDirectory(
            prefix=PREFIX, ignore_cleanup_errors=True
        ) as name:
            lock = lock_folder(Path(name))
            yield Path(name)
    finally:
        if lock is not None:
            os.close(lock)


@cache
def remove_left() -> None:
    """Remove working folders of this user that no living process has locked."""
    if fcntl is None:
        return
    for entry in os.scandir(tempfile.gettempdir()):
        if not entry.name.startswith(PREFIX):
            continue
        with suppress(OSError):  # it has gone, is locked, or is no folder of this user
            about = entry.stat(follow_symlinks=False)
            is_young = time.time() - about.st_mtime < YOUNG_SECONDS
            if about.st_uid != os.getuid() or is_young:
                continue
            lock = lock_folder(Path(entry.path))
            if lock is not None:
                shutil.rmtree(entry.path, ignore_errors=True)
                os.close(lock)
