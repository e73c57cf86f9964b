"""Whether the pool agrees more on the data than on structureless copies of them."""

from __future__ import annotations

from clusterlens.compute.pool.nulls import (
    NullAgreement,
    null_agreement,
    null_agreement_seconds,
)
from clusterlens.ui.analysis import Run
from clusterlens.ui.derived import Node
from clusterlens.ui.jobs import Job

DRAWS = 19


def null_seconds(run: Run) -> float:
    """Estimate how long the check takes."""
    return null_agreement_seconds(run.dataset.X.shape, list(run.pool), DRAWS)


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
    "null_seconds": Node(("run",), null_seconds),
    "null_check": Node(
        ("run",),
        null_check,
        "live",
        "Comparing with structureless data",
        asked_for=True,
        keep=8,
    ),
}
