"""Contributions: share of each item in the scores, the source of their errors.

The mean cost of an item with others, under each model, varies over items as much as a
mean over all pairs of a random set of items. No n x n array is stored.
"""

from __future__ import annotations

import numpy as np

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._run.options import DEFAULT_RUN, RunOptions
from clusterlens.compute._validation import FloatArray
from clusterlens.compute.ensemble.pairs import (
    TILE_COLUMNS,
    PairLayout,
    column_tile,
    count_votes,
)

_BLOCK_ROWS = 64


def mean_costs(
    layout: PairLayout,
    joined: FloatArray,
    apart: FloatArray,
    n_partners: int,
    start: int,
    stop: int,
    run: RunOptions = DEFAULT_RUN,
) -> FloatArray:
    """Mean cost of the pairs of items start to stop with the first `n_partners` items.

    The costs are under each distinct partition, (stop - start, n_models); an item is no
    partner of itself. `joined` and `apart` (n_levels,) are the costs of a pair by the
    number of votes that join it: `joined` for a model that joins the pair, `apart` for
    a model that does not. Items have no weights and at least two partners.
    O((stop - start) n_partners n_models) time; progress counts items.
    """
    codes = (layout.by_model, layout.by_sample, layout.votes)
    blocks = [
        (low, min(low + _BLOCK_ROWS, stop)) for low in range(start, stop, _BLOCK_ROWS)
    ]
    sums = run_blocks(
        lambda *rows: _sum_rows(*codes, joined - apart, apart, n_partners, *rows),
        blocks,
        [high - low for low, high in blocks],
        run,
    )
    partners = n_partners - (np.arange(start, stop) < n_partners)
    return np.concatenate(list(sums))[:, : len(layout.by_model)] / partners[:, None]


@kernel()
def _sum_rows(  # type: ignore[no-untyped-def]
    by_model, by_sample, votes, change, apart, n_partners, start, stop
):
    """Costs of each row with the first items, shape (stop - start, width)."""
    width = by_sample.shape[1]
    count = np.empty(TILE_COLUMNS, by_model.dtype)
    sums = np.zeros((stop - start, width), np.float64)
    for left in range(0, n_partners, TILE_COLUMNS):
        right = min(left + TILE_COLUMNS, n_partners)
        tile = column_tile(by_model, left, right)
        for i in range(start, stop):
            count_votes(by_model, votes, i, tile, count)
            row = sums[i - start]
            base = 0.0
            for j in range(left, right):
                if j == i:
                    continue
                level = np.intp(count[j - left])
                base += apart[level]
                extra = change[level]
                for t in range(width):
                    row[t] += extra if by_sample[i, t] == by_sample[j, t] else 0.0
            for t in range(width):
                row[t] += base
    return sums
