"""Memory: the collector passes over what has come to stay; what is free is given back.

A full collection goes through the objects of every session while all of them wait:
0.1 to 0.2 s for each session that has seen all pages.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys

# After the last of many sessions or pages that come or end together.
_REST_SECONDS = 1.0


class Collector:
    """The garbage collector of a process, and the memory that it frees."""

    def __init__(self) -> None:
        self._rest: asyncio.TimerHandle | None = None
        self._sweeps = False

    def settle(self) -> None:
        """Let later collections pass over all that is there now."""
        gc.collect()
        gc.freeze()

    def sweep(self) -> None:
        """Go through everything once; for times at which nobody waits."""
        gc.unfreeze()
        self.settle()

    def give_back(self, *, sweep: bool = False) -> None:
        """Give free memory back to the system when this was not asked for a moment.

        With `sweep` everything is gone through once before, as what has come to stay
        and ends in circles is never found otherwise.

        Python's own allocator keeps most of it for the next sessions; that of the
        system (`PYTHONMALLOC=malloc`) gives it back, where it can be asked to: with
        glibc.
        """
        if self._rest is not None:
            self._rest.cancel()
        self._sweeps |= sweep
        loop = asyncio.get_running_loop()
        self._rest = loop.call_later(_REST_SECONDS, self._give_back)

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
