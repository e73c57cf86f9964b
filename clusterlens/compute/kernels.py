"""Kernels: compile them before the first user has to wait for them."""

from __future__ import annotations

import numpy as np

from clusterlens.compute.ensemble import Ensemble
from clusterlens.compute.overlaps import sample_disagreement
from clusterlens.compute.robustness import rank_robustness
from clusterlens.compute.tiles import consensus_tile


def compile_kernels() -> None:
    """Compile the kernels of agreements, overlaps and tiles for the usual sizes.

    Notes
    -----
    Some ten seconds on one core, kept for the life of the process. Compiles for codes
    of one and two bytes, by running small ensembles; more than 65,535 clusters in one
    partition, or as many partitions, compile when they first occur.

    Examples
    --------
    >>> compile_kernels()
    """
    for n_clusters in (100, 300):
        distinct = np.tile(np.arange(n_clusters), (4, 1))
        repeated = np.repeat(distinct, 2, axis=1)
        for labels in (distinct, repeated):
            labels[0] = 0
            ensemble = Ensemble(labels, families=["a", "b", "b", "b"])
            rank_robustness(ensemble, "discotec-kl")
            sample_disagreement(ensemble)
            consensus_tile(ensemble, kind="consensus")
            consensus_tile(ensemble, kind="binarised")
