"""Comparison of the selected run with another one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clusterlens.compute.ranking.run_comparison import RunComparison, compare_runs
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.state.analysis import Run

# A sample's neighbours count as changed if its rows of both consensus matrices differ
# by more than this root mean square.
CHANGED = 0.25


@dataclass(frozen=True, eq=False)
class ComparedRun:
    """Another run with its comparison."""

    run: Run
    found: RunComparison

    @property
    def changed(self) -> np.ndarray:
        """Return samples of the selected run with changed neighbours, (n_changed,)."""
        return self.found.rows[0][self.found.changed > CHANGED]


@node("live", "Comparing the runs", keep=8)
def compared_run(
    job: Job, run: Run, runs: tuple[Run, ...], view_beside_run: str, score: str
) -> ComparedRun | None:
    """Compare the run with the chosen one, or the newest other with shared rows."""
    own = np.asarray(run.dataset.row_ids)
    others = [
        one
        for one in reversed(runs)
        if one.id != run.id and np.isin(one.dataset.row_ids, own).sum() > 1
    ]
    chosen = next((one for one in others if one.id == view_beside_run), None)
    if chosen is None and not others:
        return None
    other = chosen or others[0]
    ids = (own, np.asarray(other.dataset.row_ids))
    ensembles = (run.ensemble, other.ensemble)
    return ComparedRun(other, compare_runs(*ensembles, ids, score=score, **job.kernels))
