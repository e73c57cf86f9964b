"""Turns: long work on the event loop in short steps, those of all sessions in turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from time import perf_counter

# Steps are shorter than others may wait; some are taken at once for so long.
_TURN_SECONDS = 0.015
# An answer to a browser takes several rounds of the loop; they fit in here.
_PAUSE_SECONDS = 0.01


class Turns:
    """The turns of all sessions of an event loop."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def take(self, steps: Iterator[None], wanted: Callable[[], bool]) -> None:
        """Take steps while they are wanted; the loop is free after each of anybody.

        Parameters
        ----------
        steps : iterator
            Each step is short; the rest may be taken later, or by another call
            meanwhile. The shortest are taken some at once.
        wanted : callable
            Asked before each step whether to go on.
        """
        while True:
            async with self._turn:
                begun = perf_counter()
                while True:
                    if not wanted() or next(steps, steps) is steps:
                        return
                    if perf_counter() - begun >= _TURN_SECONDS:
                        break
                await asyncio.sleep(_PAUSE_SECONDS)


def is_serving() -> bool:
    """Whether a browser may be there: the event loop runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
