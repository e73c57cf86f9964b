"""Whether the pool agrees more on the data than on structureless copies of them."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.ensemble.ensemble import NoiseMeans
from clusterlens.compute.pool.nulls import (
    NullAgreement,
    null_agreement,
    null_agreement_seconds,
)
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.work.derived import node
from clusterlens.ui.work.jobs import Job
from clusterlens.ui.work.results import content_key

DRAWS = 19


@node()
def null_seconds(samples: Dataset, pool: tuple[Any, ...]) -> float | None:
    """Estimate how long the check takes; None where no pool was run."""
    if not pool:
        return None
    return null_agreement_seconds(samples.X.shape, list(pool), DRAWS)


@node("live", "Comparing with copies without groups", keep=8, asked_for=True)
def null_check(
    job: Job,
    samples: Dataset,
    pool: tuple[Any, ...],
    random_state: int,
    noise: NoiseMeans,
) -> NullAgreement:
    """Fit the pool of a run to structureless copies of its data, once for all."""

    def compare() -> tuple[NullAgreement, bool]:
        found = null_agreement(
            samples.X,
            list(pool),
            n_draws=DRAWS,
            random_state=random_state,
            noise=noise,
            progress=job.report,
            cancel=job.cancelled,
            workers=job.workers,
        )
        return found, True

    key = content_key(samples.X, pool, random_state, f"null check {DRAWS} {noise}")
    return job.server.results.get(key, compare, job.cancelled)
