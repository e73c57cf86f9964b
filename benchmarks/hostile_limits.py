"""Limits on the processor time and memory that a changed file or request may use."""

from __future__ import annotations

import resource
import time

SECONDS, MEGABYTES = 10, 500
# Kind of change, outcome, and its reason.
Outcome = tuple[str, str, str]


class Cost:
    """Processor time and memory that this process has taken since now."""

    def __init__(self) -> None:
        self._before, self._began = _highest_mark(), time.process_time()

    def judge(self, kind: str, outcome: str, why: str) -> Outcome:
        """Return the outcome, or "changed" if the work took too much."""
        seconds = time.process_time() - self._began
        taken = _highest_mark() - self._before
        if seconds > SECONDS or taken > MEGABYTES:
            return kind, "changed", f"{seconds:.1f} s, {taken:.0f} MB: {why:.100}"
        return kind, outcome, why


def _highest_mark() -> float:
    """Return the most memory that this process has taken so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
