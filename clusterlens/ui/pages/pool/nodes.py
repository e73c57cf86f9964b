"""Results of the page Pool: entries, their numbers of models, their cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterlens.compute.ensemble.ensemble import distinct_partitions
from clusterlens.compute.pool.pool import PoolEstimate, estimate_pool
from clusterlens.compute.pool.specs import pool_specs
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.state.analysis import Run
from clusterlens.ui.state.drafts import Entries, PoolDraft, draft_entries


@node()
def pool_entries(dataset: Dataset, view_pool_draft: PoolDraft) -> Entries:
    """Return the entries of the draft for the size of the table."""
    return draft_entries(view_pool_draft, len(dataset.X))


@dataclass(frozen=True)
class Count:
    """Number of models of an entry, or the reason why it has none."""

    models: int
    error: str = ""


@node("live", "Counting models", keep=16)
def pool_counts(job: Job, dataset: Dataset, pool_entries: Entries) -> list[Count]:
    """Count the models of each entry, whether it is switched on or not."""
    return [_count(entry.grid, dataset.X.shape) for entry in pool_entries]


def _count(grid: Mapping[str, Any], shape: tuple[int, int]) -> Count:
    try:
        return Count(len(pool_specs([grid], shape)))
    except ValueError as error:
        return Count(0, str(error))


@dataclass(frozen=True, eq=False)
class Cost:
    """Cost of a run, or the reason why the pool cannot be run.

    Parameters
    ----------
    estimate : PoolEstimate or None
        Models, seconds, bytes, notes.
    error : str
        Reason why the pool cannot be run, else empty.
    """

    estimate: PoolEstimate | None
    error: str = ""


@node("live", "Estimating the cost", keep=16)
def pool_cost(
    job: Job,
    dataset: Dataset,
    pool_entries: Entries,
    pool_counts: list[Count],
    view_pool_draft: PoolDraft,
) -> Cost:
    """Estimate the cost of the models that are switched on."""
    pairs = list(zip(pool_entries, pool_counts, strict=True))
    wrong = [f"{e.clusterer}: {c.error}" for e, c in pairs if e.on and c.error]
    if wrong:
        return Cost(None, " ".join(wrong))
    grids = [entry.grid for entry in pool_entries if entry.on]
    if not grids:
        return Cost(None, "Every clusterer is switched off; switch at least one on.")
    try:
        seed = view_pool_draft.random_state
        X = dataset.X
        return Cost(
            estimate_pool(X, grids, random_state=seed, workers=job.server.workers)
        )
    except ValueError as error:
        return Cost(None, str(error))


@node("live", "Measuring distances")
def pool_values(job: Job, dataset: Dataset, pool_entries: Entries) -> dict[str, float]:
    """Return the numbers that shares and quantiles stand for, by their JSON."""
    wanted = {
        json.dumps(value): {"clusterer": entry.clusterer, setting: value}
        for entry in pool_entries
        for setting, values in entry.settings.items()
        if isinstance(values, list)
        for value in values
        if isinstance(value, Mapping)
    }
    if not wanted:
        return {}
    specs = pool_specs(list(wanted.values()), dataset.X)
    return {
        key: spec[next(name for name in grid if name != "clusterer")]
        for (key, grid), spec in zip(wanted.items(), specs, strict=True)
    }


@dataclass(frozen=True, eq=False)
class Outcome:
    """Outcome of the models of a run.

    Parameters
    ----------
    asked, kept, distinct : int
        Number of models of the pool, of kept models, and of distinct partitions.
    seconds : float
        Sum of the fit times.
    """

    asked: int
    kept: int
    distinct: int
    seconds: float


@node("live", "Counting the models")
def outcome(job: Job, run: Run) -> Outcome:
    """Count the models of a run."""
    ensemble = run.ensemble
    shape = run.dataset.X.shape
    asked = run.stopped_of
    if run.pool and not asked:
        asked = len(pool_specs(list(run.pool), shape, run.random_state))
    return Outcome(
        asked + run.n_added,
        ensemble.n_partitions,
        len(distinct_partitions(ensemble)[0]),
        float(np.nansum(ensemble.seconds)),
    )
