"""Settings of the whole process: warning filters, BLAS threads, limits of a worker.

If two threads save, change and restore such a setting independently, they may overlap,
and the second may restore the change of the first for good. So only this module changes
them.
"""

from __future__ import annotations

import math
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TextIO

import numpy as np
from threadpoolctl import ThreadpoolController


class _Recordings(threading.local):
    """Lists for the warnings of a thread; the last one receives them, if any."""

    def __init__(self) -> None:
        self.lists: list[list[warnings.WarningMessage]] = []


class _OfRecordingThread(type):
    """Category that matches every warning, in threads that record warnings."""

    def __subclasscheck__(cls, category: type) -> bool:
        return bool(_RECORDINGS.lists)


class _Recorded(Warning, metaclass=_OfRecordingThread):
    """Every warning of a thread that records its own, and no other."""


_RECORDINGS = _Recordings()
_INSTALLING = threading.Lock()
_show_others = warnings.showwarning


@contextmanager
def record_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Collect every warning of the work inside, on this thread; uses may overlap.

    `warnings.catch_warnings` changes the filters of all threads, so its users would
    have to take turns. Here one permanent filter in front shows every warning of a
    thread that records and ignores other threads.
    """
    _install()
    caught: list[warnings.WarningMessage] = []
    _RECORDINGS.lists.append(caught)
    try:
        yield caught
    finally:
        _RECORDINGS.lists.pop()


def _install() -> None:
    """Install the filter in front; others may have removed it or the function."""
    global _show_others
    with _INSTALLING:
        # If it is in front already, this only lets modules repeat their warnings.
        in_front = any(entry[2] is _Recorded for entry in warnings.filters[:1])
        warnings.simplefilter("always", _Recorded, append=in_front)
        if warnings.showwarning is not _show:
            _show_others, warnings.showwarning = warnings.showwarning, _show


def _show(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Record a warning, or show it as before on a thread that does not record."""
    if _RECORDINGS.lists:
        taken = warnings.WarningMessage(message, category, filename, lineno, file, line)
        _RECORDINGS.lists[-1].append(taken)
    else:
        _show_others(message, category, filename, lineno, file, line)


def ignore_warnings(message: str, category: type[Warning]) -> None:
    """Permanently hide warnings of a library that begin with a message."""
    warnings.filterwarnings("ignore", message, category)


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit matrix products and OpenMP loops inside to one thread; uses may overlap."""
    # OpenMP keeps the number for each calling thread, so overlaps do no harm.
    with (
        _BLAS.limited(),
        _libraries(len(sys.modules)).limit(limits=1, user_api="openmp"),
    ):
        yield


@lru_cache(1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """Find the libraries with threads: some milliseconds, again after each import."""
    return ThreadpoolController()


class _BlasLimit:
    """One BLAS thread for the whole process while any user needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_users = 0

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Set the limit if it is not set; the last user restores it."""
        with self._lock:
            if self._n_users == 0:
                libraries = _libraries(len(sys.modules))
                self._limits = libraries.limit(limits=1, user_api="blas")
            self._n_users += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_users -= 1
                if self._n_users == 0:
                    self._limits.restore_original_limits()


_BLAS = _BlasLimit()


def limit_memory(n_bytes: float) -> None:
    """Limit the memory of this process to so many bytes more than now (on Linux).

    Beyond it, MemoryError is raised. For worker processes: the limit holds until the
    next.
    """
    if sys.platform != "linux":
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    _limit(resource.RLIMIT_AS, pages * resource.getpagesize() + n_bytes)


def limit_processor(seconds: float) -> None:
    """Limit the processor time of this process to so much more than now (on Unix).

    Beyond it, the system ends the process. For worker processes: the limit holds until
    the next.
    """
    if sys.platform == "win32":
        return
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    _limit(resource.RLIMIT_CPU, used.ru_utime + used.ru_stime + seconds)


def _limit(what: int, most: float) -> None:
    """Set a soft limit of this process, or none above the hard one."""
    import resource

    _, hard = resource.getrlimit(what)
    soft = hard
    if np.isfinite(most):
        soft = math.ceil(most)
        if hard != resource.RLIM_INFINITY:
            soft = min(soft, hard)
    resource.setrlimit(what, (soft, hard))
