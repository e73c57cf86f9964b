"""One spectral embedding of the neighbour graph, for the most clusters asked for.

The eigenvectors are those of the smoothed walk on the graph with the largest values.
scikit-learn solves for them through a factorisation, which fills up where the graph
mixes well: noise of 10,000 samples in 50 columns takes it minutes. There plain steps of
Lanczos converge at once, so they are tried first, for a bounded number of steps; graphs
like chains, where they do not converge, are those that factorise cheaply.

Where the graph falls apart into more components than a model has clusters, the
eigenvectors are not unique: the model may then differ from the one fitted alone, which
is a warning of these models.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.cluster import k_means
from sklearn.manifold import spectral_embedding
from sklearn.utils import check_random_state

from clusterlens.compute._numbers import whole
from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.pool._neighbors import neighbors_step
from clusterlens.compute.pool.sharing import Arrays, Step

_BASIS = 40
_RESTARTS = 60
_MOST_STEPS = 25 * _RESTARTS
_SHARED = {"n_clusters", "affinity", "n_neighbors", "n_init", "random_state"}


def spectral_steps(n: int, d: int, parameters: Mapping[str, Any]) -> Sequence[Step]:
    """Return the embedding that a model reads; none if the graph is another one."""
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
    """Eigenvectors (n_samples, size) that span what scikit-learn's would."""
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
    if n_parts <= size:
        with suppress(ArpackNoConvergence):
            return (_lanczos_embedding(affinity, part, size),)
    return (
        spectral_embedding(
            affinity, n_components=size, random_state=0, drop_first=False
        ),
    )


def _lanczos_embedding(affinity: csr_array, part: IntArray, size: int) -> FloatArray:
    """Embedding (n_samples, size) by a bounded number of Lanczos steps.

    The first eigenvectors are known: constant, up to the roots of the degrees, on each
    component of the graph. Taken out, they neither slow the others down nor get lost.
    """
    n = len(part)
    links = affinity.copy()
    links.setdiag(0)
    roots = np.sqrt(links.sum(axis=1))
    walk = csr_array(diags_array(1 / roots) @ links @ diags_array(1 / roots))
    known = np.zeros((n, int(part.max()) + 1))
    known[np.arange(n), part] = roots
    known /= np.linalg.norm(known, axis=0)
    others = size - known.shape[1]
    found = known
    if others:
        start = np.random.default_rng(0).uniform(-1, 1, n)
        rest = LinearOperator(
            (n, n), matvec=lambda v: walk @ v - known @ (known.T @ v), dtype=float
        )
        values, vectors = eigsh(
            rest,
            others,
            which="LA",
            v0=start,
            ncv=min(n, max(_BASIS, 2 * others + 1)),
            maxiter=_RESTARTS,
        )
        found = np.column_stack([known, vectors[:, np.argsort(-values)]])
    return found / roots[:, None]


def spectral_labels(
    X: FloatArray, parameters: Mapping[str, Any], embedding: Arrays
) -> IntArray:
    """Labels (n_samples,) by k-means on the first eigenvectors."""
    n_clusters = parameters.get("n_clusters", 8)
    rng = check_random_state(parameters.get("random_state"))
    # The fit alone draws the start of its eigenvectors first.
    rng.uniform(-1, 1, len(X))
    maps = embedding[0][:, :n_clusters]
    n_init = parameters.get("n_init", 10)
    return k_means(maps, n_clusters, random_state=rng, n_init=n_init)[1]


def _embedding_seconds(n: int, d: int, size: int) -> float:
    steps = 300 + 10 * n ** (1 / min(d, 10))
    if steps <= _MOST_STEPS:
        return 0.01 + 3e-8 * n * steps
    return 0.01 + 4e-8 * n * _MOST_STEPS + 4.5e-7 * n**1.5
