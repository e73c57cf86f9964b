"""Comparison of numbers of clusters with structureless data."""

from __future__ import annotations

from clusterlens.compute.pool.k_selection import KSelection, select_k, select_k_seconds
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.state.checks import NUMBERS, check_key

LARGEST = 10


def _numbers(samples: Dataset) -> range:
    """Return the compared numbers; a subsample holds at least twice as many samples."""
    return range(2, min(LARGEST, int(0.4 * len(samples.X))) + 1)


@node()
def k_seconds(samples: Dataset) -> float | None:
    """Estimate the time of the comparison; None if there are too few samples."""
    numbers = _numbers(samples)
    return select_k_seconds(samples.X.shape, numbers) if len(numbers) else None


@node()
def k_key(samples_digest: str, samples: Dataset, random_state: int) -> str:
    """Return the key of the comparison of numbers of clusters."""
    return check_key(NUMBERS, samples_digest, [*_numbers(samples)], random_state)


@node(
    "live",
    "Comparing numbers of clusters with copies without groups",
    keep=8,
    asked_for=True,
    check=NUMBERS,
    cost="k_seconds",
)
def k_selection(
    job: Job, k_key: str, samples: Dataset, random_state: int
) -> KSelection:
    """Compare the clarity of k clusters with copies without groups."""
    return select_k(
        samples.X,
        _numbers(samples),
        random_state,
        **job.kernels,
        workers=job.workers,
    )
