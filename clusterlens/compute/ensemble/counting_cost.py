"""Cost of an exact count of the agreements, and the sample that a budget allows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._run.registers import REGISTER_BYTES
from clusterlens.compute._validation import check_range
from clusterlens.compute.ensemble._co_members import walk_bytes
from clusterlens.compute.ensemble.ensemble import (
    Ensemble,
    check_ensemble,
    distinct_partitions,
)
from clusterlens.compute.ensemble.pairs import count_items

# Largest number of comparisons of two labels that takes only seconds, and the number
# for an estimate, about two seconds on two cores.
EXACT_COMPARISONS = 300_000_000_000
SAMPLED_COMPARISONS = 30_000_000_000

# Measured on one core of a 2024 server processor, per pair and per compared byte.
_SECONDS_PER_PAIR = 2e-9
_SECONDS_PER_BYTE = 2e-11
_WEIGHTED_COST = 4  # weighted pairs are added to 64-bit counters
# A pair of partial partitions needs two sums, and pairs are sorted before they are
# counted.
_PARTIAL_COST = 4


@dataclass(frozen=True)
class AgreementCost:
    """Cost of counting the agreements of an ensemble.

    Parameters
    ----------
    n_items : int
        Samples to compare with each other; identical ones are merged if that is faster.
    n_models : int
        Distinct partitions.
    comparisons : int
        Comparisons of two labels in an exact count: pairs of items times models.
    seconds : float
        Time of an exact count, within a factor of about two on recent processors.
    affordable : bool
        Whether an exact count takes only seconds, so that an estimate is not needed:
        few comparisons, or few pairs that a partition joins.
    n_compared : int
        Number of samples for an estimate of some two seconds; n if affordable.
    """

    n_items: int
    n_models: int
    comparisons: int
    seconds: float
    affordable: bool
    n_compared: int


@takes_running
def agreement_cost(
    ensemble: Ensemble,
    *,
    n_jobs: int | None = None,
    max_comparisons: int = EXACT_COMPARISONS,
) -> AgreementCost:
    """Predict the cost of `count_agreements`, and whether to estimate instead.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    n_jobs : int, optional
        Number of threads; None means all cores.
    max_comparisons : int, default 3e11
        Largest number of label comparisons for which an exact count is affordable.

    Returns
    -------
    cost : AgreementCost
        Based on the actual comparisons: identical partitions count once, and identical
        samples once if they are merged. Compilation on first use (some seconds) is not
        included.

    Notes
    -----
    O(n T) time, without visiting any pair.

    Examples
    --------
    >>> agreement_cost(Ensemble([[0, 0, 1], [1, 1, 0], [0, 1, 1]])).comparisons
    6
    """
    run = RunOptions(n_jobs)
    check_ensemble(ensemble)
    budget = int(check_range(max_comparisons, 0, np.inf, name="max_comparisons"))
    n_models = len(distinct_partitions(ensemble)[0])
    partial = ensemble.is_partial
    n_items = ensemble.n_samples if partial else count_items(ensemble)
    pairs = n_items * (n_items - 1) // 2
    most = max(int(ensemble.codes_and_gaps.max()), ensemble.n_votes)
    row_bytes = (n_models + 1) * np.min_scalar_type(most).itemsize
    row_bytes = -(-row_bytes // REGISTER_BYTES) * REGISTER_BYTES
    each = _SECONDS_PER_PAIR + _SECONDS_PER_BYTE * row_bytes
    cost = 1 if n_items == ensemble.n_samples else _WEIGHTED_COST
    if partial:
        cost, budget = _PARTIAL_COST, budget // _PARTIAL_COST
    seconds = cost * pairs * each
    walked = walk_bytes(ensemble.codes) if cost == 1 else math.inf
    affordable = min(pairs * n_models, walked) <= budget
    some = affordable_samples(n_models, min(SAMPLED_COMPARISONS, budget))
    return AgreementCost(
        n_items,
        n_models,
        comparisons=pairs * n_models,
        seconds=min(seconds, _SECONDS_PER_BYTE * walked) / run.n_workers,
        affordable=affordable,
        n_compared=ensemble.n_samples if affordable else max(some, 2),
    )


def affordable_samples(n_models: int, max_comparisons: int) -> int:
    """Largest number of samples with pairs that take at most so many comparisons."""
    return (1 + math.isqrt(1 + 8 * (max_comparisons // n_models))) // 2


@takes_running
def agreement_seconds(ensemble: Ensemble, *, n_jobs: int | None = None) -> float:
    """Estimate the time of `count_agreements`, see `agreement_cost`.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    n_jobs : int, optional
        Number of threads; None means all cores.

    Returns
    -------
    seconds : float
        Within a factor of about two on recent processors.
    """
    return agreement_cost(ensemble, n_jobs=n_jobs).seconds
