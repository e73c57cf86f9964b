"""Settings of the whole process: warning filters, BLAS threads, memory of a worker.

Two threads that save, change and restore such a setting on their own may overlap, and
the second then restores what the first had changed, for good. So nothing else in the
package changes one.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np
from threadpoolctl import ThreadpoolController

_FILTERS = threading.RLock()


@contextmanager
def record_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Collect every warning of the work inside; others who want that take turns."""
    with _FILTERS, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def ignore_warnings(message: str, category: type[Warning]) -> None:
    """Keep warnings of a library that begin with a message off the log, for good."""
    with _FILTERS:
        warnings.filterwarnings("ignore", message, category)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let matrix products and OpenMP loops inside use one thread; uses may overlap."""
    # OpenMP keeps the number for each calling thread, so that overlaps do no harm.
    with (
        _BLAS.limited(),
        _libraries(len(sys.modules)).limit(limits=1, user_api="openmp"),
    ):
        yield


@lru_cache(1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """Find the libraries with threads: some milliseconds, anew after each import."""
    return ThreadpoolController()


class _BlasLimit:
    """One BLAS thread for the whole process as long as anyone wants it so."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_users = 0

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Set the limit if it is not set; the last to leave takes it back."""
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
    """Let this process take so many bytes more than now; else MemoryError (on Linux).

    For worker processes: the limit holds until the next one.
    """
    if sys.platform != "linux":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = hard
    if np.isfinite(n_bytes):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        soft = pages * resource.getpagesize() + int(n_bytes)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
