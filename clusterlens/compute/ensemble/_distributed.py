"""Distributed: the agreement pass on the workers of a Dask cluster."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise

import numpy as np

from clusterlens.compute._run.cluster import run_on_workers
from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._run.processes import WorkerDied
from clusterlens.compute.ensemble.pairs import (
    TILE_COLUMNS,
    CountArray,
    PairLayout,
    count_columns,
)

# Comparisons of one job: a quarter of a second of one core, which is lost if a worker
# dies. Jobs are larger if larger tables have to be sent.
_JOB_COMPARISONS = 5_000_000_000
_COMPARISONS_PER_CELL = 20_000


def count_columns_on_workers(
    layout: PairLayout, run: RunOptions
) -> tuple[CountArray, CountArray]:
    """Count the agreements of all pairs of items on the workers of a Dask cluster.

    The tables equal those of `count_columns`, to the last bit.
    """
    pairs, joint = count_columns(layout, 0, 0)  # empty; checks the size of tables
    ranges = _column_ranges(layout)
    work = [(stop * (stop - 1) - start * (start - 1)) // 2 for start, stop in ranges]
    done = 0
    results = run_on_workers(_count_range, layout, ranges, run)
    with closing(results):
        for at, tables in results:
            if isinstance(tables, WorkerDied):
                raise tables
            pairs += tables[0]
            joint += tables[1]
            done += work[at]
            run.report(done, sum(work))
    return pairs, joint


def _column_ranges(layout: PairLayout) -> list[tuple[int, int]]:
    """Cut the columns into ranges of whole tiles and about equal numbers of pairs."""
    n_items, n_models = layout.n_items, len(layout.by_model)
    comparisons = n_items * (n_items - 1) // 2 * n_models
    cells = n_models * layout.n_levels
    n_ranges = -(-comparisons // max(_JOB_COMPARISONS, _COMPARISONS_PER_CELL * cells))
    # The columns before c have about c² / 2 pairs.
    edges = n_items * np.sqrt(np.linspace(0, 1, n_ranges + 1))
    tiles = np.ceil(edges / TILE_COLUMNS).astype(int) * TILE_COLUMNS
    stops = np.unique(np.minimum(tiles, n_items)).tolist()
    return list(pairwise(stops))


def _count_range(
    layout: PairLayout, columns: tuple[int, int]
) -> tuple[CountArray, CountArray]:
    """Count the pairs of a range of columns with one thread, on a worker."""
    return count_columns(layout, *columns, RunOptions(n_jobs=1))
