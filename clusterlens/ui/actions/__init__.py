"""Actions: all ways to change an analysis, one file per subject.

An action is a function `(analysis, values, job) -> analysis` with plain values, and an
entry in `ACTIONS` of its file. Slow actions run on a thread and report to the job. They
start from the analysis at their beginning, and `merge` applies their changes to the
present analysis. An action that makes something also writes its Python (`lines`).
"""

from clusterlens.ui.actions import (
    lab,
    large_tables,
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
ACTIONS |= refits.ACTIONS | large_tables.ACTIONS

__all__ = ["ACTIONS", "Action", "merge"]
