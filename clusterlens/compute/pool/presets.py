"""Presets: pools with a name, as lists of specs (`specs.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clusterlens.compute._validation import check_range, plain_repr
from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.compute.pool.clusterer import Spec


def default_grids(*clusterers: str) -> list[Spec]:
    """Return the default grid of each clusterer."""
    return [{"clusterer": name, **CLUSTERERS[name].grid} for name in clusterers]


def _paper_fixed_k(n_clusters: int) -> list[Spec]:
    """Ohl & Lindsten, section 4.3.1: all models have the given number of clusters."""
    return [
        {"clusterer": "k-means", "n_clusters": n_clusters, "copies": 50},
        {
            "clusterer": "agglomerative",
            "linkage": ["single", "complete", "average"],
            "metric": ["euclidean", "manhattan"],
            "n_clusters": n_clusters,
        },
        {"clusterer": "agglomerative", "linkage": "ward", "n_clusters": n_clusters},
    ]


QUICK: Sequence[Spec] = [
    {"clusterer": "k-means", "n_clusters": [2, 3, 4, 6, 8]},
    {
        "clusterer": "agglomerative",
        "linkage": ["ward", "average"],
        "n_clusters": [3, 6],
    },
    {
        "clusterer": "HDBSCAN",
        "min_cluster_size": [
            {"share": share, "of": "samples"} for share in (0.01, 0.05)
        ],
        "min_samples": 5,
        "copy": True,
    },
    {"clusterer": "Gaussian mixture", "n_components": [2, 4, 8]},
]
# Name -> list of specs, or a function of the number of clusters that returns them. Mean
# shift is not in the default pool: it is either slow or, with binned seeds, finds
# nothing in more than a few dimensions.
POOLS: dict[str, Sequence[Spec] | Callable[[int], Sequence[Spec]]] = {
    "default": default_grids(
        "k-means",
        "mini-batch k-means",
        "bisecting k-means",
        "agglomerative",
        "Birch",
        "DBSCAN",
        "DBSCAN on a sample",
        "HDBSCAN",
        "Genie",
        "Gaussian mixture",
        "spectral",
        "communities",
    ),
    "quick": QUICK,
    "paper": [
        {"clusterer": "k-means", "n_clusters": range(2, 21), "copies": 5},
        {
            "clusterer": "agglomerative",
            "linkage": ["single", "complete", "ward", "average"],
            "n_clusters": range(2, 21),
        },
        {
            "clusterer": "DBSCAN",
            "eps": [
                {"quantile": [0.01, 0.25], "at": at, "of": "pair distances"}
                for at in np.linspace(0, 1, 20).tolist()
            ],
            "copies": 5,
        },
    ],
    "paper-fixed-k": _paper_fixed_k,
}


def find_preset(name: str, n_clusters: Any = None) -> Sequence[Spec]:
    """Look a preset up, with the number of clusters if it needs one."""
    if name not in POOLS:
        known = ", ".join(map(repr, POOLS))
        raise ValueError(
            f"pool is {plain_repr(name)}; give one of {known}, or a list of specs."
        )
    preset = POOLS[name]
    if not callable(preset):
        if n_clusters is not None:
            raise ValueError(
                f"pool {name!r} has its own numbers of clusters; give the name alone."
            )
        return preset
    if n_clusters is None:
        raise ValueError(
            f"pool {name!r} needs a number of clusters; give ({name!r}, n_clusters), "
            f"e.g. ({name!r}, 3)."
        )
    check_range(n_clusters, 2, np.inf, name="n_clusters", integer=True)
    return preset(int(n_clusters))
