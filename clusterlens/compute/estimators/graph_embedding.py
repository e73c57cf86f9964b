"""The eigenvectors of a graph with the largest values, by the cheaper of two methods.

They are eigenvectors of the smoothed walk on the graph. scikit-learn computes them
through a factorisation, which becomes dense if the graph mixes well: noise of 10,000
samples in 50 columns takes minutes. There plain Lanczos steps converge at once, so they
are tried first, for a bounded number of steps. Graphs for which they do not converge,
such as chains, have cheap factorisations.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.manifold import spectral_embedding

from clusterlens.compute._validation import FloatArray, IntArray

_BASIS = 40
_RESTARTS = 60
MOST_STEPS = 25 * _RESTARTS


def embed_graph(affinity: csr_array, part: IntArray, size: int) -> FloatArray:
    """Embed the nodes of a graph by its first eigenvectors, (n, size).

    `affinity` (n, n) holds symmetric weights of the edges, no node without one; `part`
    (n,) is the component of each node. The vectors span the same space as those of
    `sklearn.manifold.spectral_embedding`, unless there are more components than
    vectors: then no choice of them is unique.
    """
    if part.max() < size:
        with suppress(ArpackNoConvergence):
            return _by_lanczos(affinity, part, size)
    return spectral_embedding(
        affinity, n_components=size, random_state=0, drop_first=False
    )


def smoothed_walk(graph: csr_array) -> tuple[csr_array, FloatArray]:
    """Return D^-1/2 W D^-1/2 (n, n) of weights W, and the roots (n,) of degrees D."""
    roots = np.sqrt(graph.sum(axis=1))
    return csr_array(diags_array(1 / roots) @ graph @ diags_array(1 / roots)), roots


def _by_lanczos(affinity: csr_array, part: IntArray, size: int) -> FloatArray:
    """Embedding (n, size) by a bounded number of Lanczos steps.

    The first eigenvectors are known: constant, up to the roots of the degrees, on each
    component of the graph. They are projected out, so they neither slow the others down
    nor get lost.
    """
    n = len(part)
    links = affinity.copy()
    links.setdiag(0)
    walk, roots = smoothed_walk(links)
    known = np.zeros((n, int(part.max()) + 1))
    known[np.arange(n), part] = roots
    known /= np.linalg.norm(known, axis=0)
    others = size - known.shape[1]
    found = known
    if others:
        start = np.random.default_rng(0).uniform(-1, 1, n)
        deflated = LinearOperator(
            (n, n), matvec=lambda v: walk @ v - known @ (known.T @ v), dtype=float
        )
        values, vectors = eigsh(
            deflated,
            others,
            which="LA",
            v0=start,
            ncv=min(n, max(_BASIS, 2 * others + 1)),
            maxiter=_RESTARTS,
        )
        found = np.column_stack([known, vectors[:, np.argsort(-values)]])
    return found / roots[:, None]
