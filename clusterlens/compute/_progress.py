"""Progress and cancelling of long computations, by plain callbacks."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], object]
Cancel = Callable[[], bool]


class Cancelled(RuntimeError):
    """The caller's cancel callback asked to stop; nothing was returned."""


def report(progress: Progress | None, done: int, total: int) -> None:
    """Tell the caller, if it wants to know, that done of total steps are finished."""
    if progress is not None:
        progress(done, total)


def raise_if_cancelled(cancel: Cancel | None) -> None:
    """Raise Cancelled if the caller has asked to stop."""
    if cancel is not None and cancel():
        raise Cancelled("The computation was cancelled.")
