"""Endings that the console commands share."""

from __future__ import annotations

import sys

from clusterlens.compute._run.options import Progress

INTERRUPTED = 130


def end_progress(progress: Progress | None) -> None:
    """End the line of the progress, if one is shown."""
    if progress is not None:
        print(file=sys.stderr)


def refuse(command: str, sentence: str, status: int, progress: Progress | None) -> int:
    """Print why a command ends without a result; return its exit status."""
    end_progress(progress)
    print(f"clusterlens {command}: {sentence}", file=sys.stderr)
    return status
