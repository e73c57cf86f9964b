"""Actions: every way in which an analysis changes, one file per subject.

An action is a function `(analysis, values, job) -> analysis` with plain values, and one
entry in `ACTIONS` of the file it belongs to. Slow ones run on a thread and report to
the job; they take in the analysis as it was when they began, and `merge` puts what they
changed on top of what was done meanwhile. One that makes something also says its
Python (`lines`).
"""

from clusterlens.ui.actions import (
    lab,
    links,
    new_rows,
    partitions,
    pools,
    refits,
    runs,
    tables,
)
from clusterlens.ui.actions.action import Action
from clusterlens.ui.actions.merging import merge

ACTIONS: dict[str, Action] = tables.ACTIONS | pools.ACTIONS | partitions.ACTIONS
ACTIONS |= runs.ACTIONS | links.ACTIONS | lab.ACTIONS | new_rows.ACTIONS
ACTIONS |= refits.ACTIONS

__all__ = ["ACTIONS", "Action", "merge"]
