"""One spectral embedding of the neighbour graph, for the largest number of clusters.

If the graph has more connected components than a model has clusters, the eigenvectors
are not unique. The model may then differ from the model fitted alone; these models get
a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import k_means
from sklearn.utils import check_random_state

from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.estimators.graph_embedding import MOST_STEPS, embed_graph
from clusterlens.compute.formatting import whole
from clusterlens.compute.pool._neighbors import neighbors_step
from clusterlens.compute.pool.sharing import Arrays, Step

_SHARED = {"n_clusters", "affinity", "n_neighbors", "n_init", "random_state"}


def spectral_steps(n: int, d: int, parameters: Mapping[str, Any]) -> Sequence[Step]:
    """Return the embedding that a model uses; none if its graph is different."""
    k, n_neighbors = parameters.get("n_clusters", 8), parameters.get("n_neighbors", 10)
    if (
        parameters.keys() - _SHARED
        or parameters.get("affinity") != "nearest_neighbors"
        or not type(k) is type(n_neighbors) is int
        or not (1 <= k < n - 1 and 2 <= n_neighbors <= n)
    ):
        return ()
    step = Step(
        f"embedding-{n_neighbors}",
        f"spectral embedding of {{size}} dimensions, {n_neighbors} neighbours",
        partial(make_embedding, n_neighbors=n_neighbors),
        k,
        needs=(neighbors_step(n_neighbors - 1),),
        seconds=_embedding_seconds,
        n_bytes=lambda n, d, k: 1e7 + 1.5 * n * n + 2000.0 * n,
    )
    return (step,)


def make_embedding(
    X: FloatArray, size: int, neighbors: Arrays, *, n_neighbors: int
) -> Arrays:
    """Eigenvectors (n_samples, size) with the same span as scikit-learn's."""
    n = len(X)
    others = neighbors[0][:, : n_neighbors - 1]
    own = np.arange(n, dtype=np.int32)
    columns = np.column_stack([own, others]).ravel()
    starts = np.arange(0, n_neighbors * n + 1, n_neighbors, dtype=np.int32)
    graph = csr_array((np.ones(len(columns)), columns, starts), shape=(n, n))
    affinity = 0.5 * (graph + graph.T)
    n_parts, part = connected_components(affinity, directed=False)
    if n_parts > 1:
        warnings.warn(
            f"the graph of neighbours falls apart into {whole(n_parts)} components; "
            "with fewer clusters, the partition may differ from that of the model "
            "fitted alone, as the eigenvectors are not unique.",
            stacklevel=2,
        )
    return (embed_graph(affinity, part, size),)


def spectral_labels(
    X: FloatArray, parameters: Mapping[str, Any], embedding: Arrays
) -> IntArray:
    """Labels (n_samples,) by k-means on the first eigenvectors."""
    n_clusters = parameters.get("n_clusters", 8)
    rng = check_random_state(parameters.get("random_state"))
    # The single fit draws the start of its eigenvectors first.
    rng.uniform(-1, 1, len(X))
    maps = embedding[0][:, :n_clusters]
    n_init = parameters.get("n_init", 10)
    return k_means(maps, n_clusters, random_state=rng, n_init=n_init)[1]


def _embedding_seconds(n: int, d: int, size: int) -> float:
    steps = 300 + 10 * n ** (1 / min(d, 10))
    if steps <= MOST_STEPS:
        return 0.01 + 3e-8 * n * steps
    return 0.01 + 4e-8 * n * MOST_STEPS + 4.5e-7 * n**1.5
