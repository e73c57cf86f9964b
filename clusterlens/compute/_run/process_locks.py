"""Locks between processes: one does the named work while the others wait.

A lock is on a byte of a file, at a position that follows from the name. The system
releases the locks of a process that ends, however it ends.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: no process waits, and work may be done twice
    fcntl = None  # type: ignore[assignment]

# Seconds between two checks of the lock of another process.
_PAUSE = 0.01


class ProcessLocks:
    """Locks of processes that share a file; threads of one process share its locks.

    Parameters
    ----------
    path : Path
        The file, created if it is missing; OSError if it cannot be.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Never closed: that would release all locks of this process.
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)

    def acquire(self, name: str, seconds: float) -> None:
        """Return when this process has the lock, or after so many seconds."""
        end = time.monotonic() + seconds
        while not self._taken(name) and time.monotonic() < end:
            time.sleep(_PAUSE)

    def release(self, name: str) -> None:
        """Release the lock of this process, if it has it."""
        if fcntl is not None:
            with suppress(OSError):
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(name))

    def _taken(self, name: str) -> bool:
        if fcntl is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(name))
        except (BlockingIOError, PermissionError):  # another process has the lock
            return False
        except OSError:  # a file system without locks
            return True
        return True


def _place(name: str) -> int:
    """Position in the file, far beyond its end; the same for all processes."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big")
