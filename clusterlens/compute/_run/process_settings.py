"""Settings of the whole process, changed for a while: warning filters, BLAS threads.

Two threads that save, change and restore such a setting on their own may overlap, and
the second then restores what the first had changed, for good. So nothing else in the
package changes one.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

_FILTERS = threading.RLock()


@contextmanager
def record_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Collect every warning of the work inside; others who want that take turns."""
    with _FILTERS, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


@contextmanager
def one_thread() -> Iterator[None]:
    """Let matrix products and OpenMP loops inside use one thread; uses may overlap."""
    # OpenMP keeps the number for each calling thread, so that overlaps do no harm.
    with _BLAS.limited(), threadpool_limits(1, user_api="openmp"):
        yield


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
                self._limits = threadpool_limits(1, user_api="blas")
            self._n_users += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_users -= 1
                if self._n_users == 0:
                    self._limits.restore_original_limits()


_BLAS = _BlasLimit()
