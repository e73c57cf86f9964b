"""Compile every kernel once, at the start of the server, so that no visitor waits."""

from __future__ import annotations

from functools import cache

import numpy as np

from clusterlens.compute.agreement import count_agreements
from clusterlens.compute.ensemble import Ensemble
from clusterlens.compute.evidence import consensus_tree
from clusterlens.compute.overlaps import sample_disagreement
from clusterlens.compute.robustness import rank_robustness
from clusterlens.compute.tile_source import TileSource
from clusterlens.compute.tiles import consensus_tile
from clusterlens.ui import figures


@cache
def compile_all() -> None:
    """Take a small ensemble through everything that the pages compute.

    Codes of one and of two bytes are compiled apart.
    """
    rng = np.random.default_rng(0)
    for n_samples, n_clusters in ((64, 3), (600, 300)):
        labels = rng.integers(0, n_clusters, (6, n_samples))
        ensemble = Ensemble(labels, families=["a", "a", "b", "b", "c", "c"])
        agreement = count_agreements(ensemble)
        sample_disagreement(ensemble)
        tree = consensus_tree(ensemble, 4)
        rank_robustness(agreement)
        source = TileSource(ensemble, tree.order)
        for kind in ("consensus", "binarised"):
            for shape in ((20, 20), (64, 64)):
                tile = consensus_tile(source, shape=shape, kind=kind)
        figures.matrix_image(tile, pixels=30)
    xy = rng.normal(size=(64, 2))
    colours = np.zeros((64, 3), np.uint8)
    figures.sample_map(xy, colours, figures.map_view(xy), pixels=30)
