"""Comparison of the pool's agreement with structureless copies of the data."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.ensemble.ensemble import NoiseMeans
from clusterlens.compute.pool.nulls import (
    NullAgreement,
    null_agreement,
    null_agreement_seconds,
)
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.state.checks import COPIES, check_key, features_digest

DRAWS = 19


@node("live", "Looking for earlier checks")
def samples_digest(job: Job, samples: Dataset) -> str:
    """Return the digest of the features of the run, for the keys of checks."""
    return features_digest(samples.X)


@node()
def null_seconds(samples: Dataset, pool: tuple[Any, ...]) -> float | None:
    """Estimate the time of the check; None if no pool was run."""
    if not pool:
        return None
    return null_agreement_seconds(samples.X.shape, list(pool), DRAWS)


@node()
def null_key(
    samples_digest: str, pool: tuple[Any, ...], random_state: int, noise: NoiseMeans
) -> str:
    """Return the key of the comparison with structureless copies."""
    return check_key(COPIES, samples_digest, pool, random_state, noise, DRAWS)


@node(
    "live",
    "Comparing with copies without groups",
    keep=8,
    asked_for=True,
    check=COPIES,
    cost="null_seconds",
)
def null_check(
    job: Job,
    null_key: str,
    samples: Dataset,
    pool: tuple[Any, ...],
    random_state: int,
    noise: NoiseMeans,
) -> NullAgreement:
    """Fit the pool of a run to structureless copies of its data."""
    return null_agreement(
        samples.X,
        list(pool),
        n_draws=DRAWS,
        random_state=random_state,
        noise=noise,
        progress=job.report,
        cancel=job.cancelled,
        workers=job.workers,
    )
