"""Turns: of several processes one does what has a name, while the others wait for it.

A turn is a lock on a byte of a file, at a place that follows from the name. The system
frees those of a process that ends, however it does.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: nobody waits, and the same may be done twice
    fcntl = None  # type: ignore[assignment]

# Seconds between two looks at what another process does.
_PAUSE = 0.01


class Turns:
    """The turns of processes that share a file; threads of one process share its turns.

    Parameters
    ----------
    path : Path
        The file, made where it is missing; OSError where it cannot be.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Never closed: that would end all turns of this process.
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)

    def take(self, name: str, seconds: float) -> None:
        """Return when it is the turn of this process, or after so many seconds."""
        end = time.monotonic() + seconds
        while not self._taken(name) and time.monotonic() < end:
            time.sleep(_PAUSE)

    def give(self, name: str) -> None:
        """End the turn of this process, if it is one."""
        if fcntl is not None:
            with suppress(OSError):
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(name))

    def _taken(self, name: str) -> bool:
        if fcntl is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(name))
        except (BlockingIOError, PermissionError):  # what another process has
            return False
        except OSError:  # a file system without locks
            return True
        return True


def _place(name: str) -> int:
    """Place in the file, far beyond its end; the same for all processes."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big")
