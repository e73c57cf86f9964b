"""Whether the pool agrees more on the data than on structureless copies of them."""

from __future__ import annotations

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.pool.nulls import NullAgreement, null_agreement
from clusterlens.ui.analysis import Run
from clusterlens.ui.derived import Node
from clusterlens.ui.jobs import Job

DRAWS = 20
CORES = 2


def null_seconds(ensemble: Ensemble) -> float:
    """Estimate how long the check takes: the pool once per copy."""
    return float(sum(ensemble.seconds)) * DRAWS / CORES


def null_check(job: Job, run: Run) -> NullAgreement:
    """Fit the pool of a run to structureless copies of its data."""
    return null_agreement(
        run.dataset.X,
        list(run.pool),
        n_draws=DRAWS,
        random_state=run.random_state,
        progress=job.report,
        cancel=job.cancelled,
    )


NODES = {
    "null_check": Node(
        ("run",),
        null_check,
        "live",
        "Comparing with structureless data",
        asked_for=True,
        keep=8,
    )
}
