"""Compile everything once, at the start of the server, so that no visitor waits."""

from __future__ import annotations

from functools import cache

import numpy as np

from clusterlens.compute.consensus.tiles import consensus_tile
from clusterlens.compute.consensus.tree import consensus_tree
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.warm import compile_kernels
from clusterlens.ui import figures


@cache
def compile_all() -> None:
    """Compile the kernels, and the aggregations that draw matrices and maps."""
    compile_kernels()
    rng = np.random.default_rng(0)
    for n_clusters in (3, 300):
        ensemble = Ensemble(rng.integers(0, n_clusters, (4, 600)))
        consensus_tree(ensemble, 4)
    figures.matrix_image(consensus_tile(ensemble, shape=(20, 20)), pixels=30)
    xy = rng.normal(size=(64, 2))
    colours = np.zeros((64, 3), np.uint8)
    figures.sample_map(xy, colours, figures.map_view(xy), pixels=30)
