"""Garbage collection that skips long-lived objects, and return of free memory.

A full collection visits the objects of every session while all sessions wait: 0.1 to
0.2 s for each session that has opened all pages.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys

# Debounce in seconds, because sessions and pages often come or end together.
_DEBOUNCE_SECONDS = 1.0


class Collector:
    """Garbage collector of a process, and the memory that it frees."""

    def __init__(self) -> None:
        self._debounce: asyncio.TimerHandle | None = None
        self._sweeps = False

    def settle(self) -> None:
        """Collect garbage, and let later collections skip all present objects."""
        gc.collect()
        gc.freeze()

    def sweep(self) -> None:
        """Collect garbage among all objects, frozen ones included, while idle."""
        gc.unfreeze()
        self.settle()

    def give_back(self, *, sweep: bool = False) -> None:
        """Return free memory to the system, after a debounce.

        With `sweep` all objects are collected first, because frozen objects in
        reference cycles would never be freed otherwise.

        Python's own allocator keeps most of the memory for the next sessions. The
        allocator of the system (`PYTHONMALLOC=malloc`) returns it if the system
        supports that, as glibc does.
        """
        if self._debounce is not None:
            self._debounce.cancel()
        self._sweeps |= sweep
        loop = asyncio.get_running_loop()
        self._debounce = loop.call_later(_DEBOUNCE_SECONDS, self._give_back)

    def _give_back(self) -> None:
        if self._sweeps:
            self._sweeps = False
            self.sweep()
        _trim()


def _trim() -> None:
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
