"""Fair scheduling of long work on the event loop, in short steps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from time import perf_counter

# Steps are much shorter than this; several are taken before the loop is released.
_STEP_SECONDS = 0.015
# An answer to a browser takes several rounds of the loop.
_PAUSE_ROUNDS = 20


class FairScheduler:
    """Scheduler that alternates the steps of all sessions on an event loop."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def take(self, steps: Iterator[None], wanted: Callable[[], bool]) -> None:
        """Take steps while they are wanted, and release the loop between them.

        Parameters
        ----------
        steps : iterator
            Short steps. Other calls may take the remaining ones. Several very short
            steps are taken together.
        wanted : callable
            Called before each step; returns whether to go on.
        """
        while True:
            async with self._lock:
                begun = perf_counter()
                while True:
                    if not wanted() or next(steps, steps) is steps:
                        return
                    if perf_counter() - begun >= _STEP_SECONDS:
                        break
                for _ in range(_PAUSE_ROUNDS):
                    await asyncio.sleep(0)


def is_serving() -> bool:
    """Return whether an event loop runs, so that a browser may be connected."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
