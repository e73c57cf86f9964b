"""Consensus by partitioning a graph of samples or of clusters into balanced parts.

METIS divides a weighted graph into parts of nearly equal size; it comes with the extra
`metis`. Spectral clustering of the same graph needs no extra but does not balance the
parts, so it has its own name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.cluster import spectral_clustering

from clusterlens.compute._validation import IntArray
from clusterlens.compute.consensus._linkage import as_sparse, column_jaccard
from clusterlens.compute.consensus._one_hot import OneHotRows

_JACCARD_UNITS = 1000  # METIS takes whole weights


def cspa(
    rows: OneHotRows, group: IntArray, n_clusters: int, random_state: int
) -> IntArray:
    """Divide the graph of samples, weighted by agreement counts, by METIS.

    Parts (n_samples,) have nearly equal size (about 3 % slack), whatever the sizes in
    the data. `group` is the row of each sample. O(n² T) time; about 40 n² bytes.

    References
    ----------
    Strehl & Ghosh, "Cluster ensembles: a knowledge reuse framework for combining
    multiple partitions", JMLR 3, 2002.
    """
    return metis_parts(_agreement_graph(rows, group), n_clusters, random_state)


def cspa_spectral(
    rows: OneHotRows, group: IntArray, n_clusters: int, random_state: int
) -> IntArray:
    """Divide the graph of samples, weighted by agreement counts, by its spectrum.

    Normalised cut, k-means on the eigenvectors. Unlike in `cspa`, the sizes of the
    clusters (n_samples,) are not balanced. O(n² T) time; about 40 n² bytes.

    References
    ----------
    Shi & Malik, "Normalized cuts and image segmentation", IEEE TPAMI 22, 2000,
    doi:10.1109/34.868688.
    """
    graph = _agreement_graph(rows, group).astype(float)
    labels = spectral_clustering(
        graph, n_clusters=n_clusters, random_state=random_state
    )
    return np.asarray(labels, dtype=np.int64)


def mcla(
    rows: OneHotRows, group: IntArray, n_clusters: int, random_state: int
) -> IntArray:
    """Divide the clusters of all partitions into meta-clusters that samples join.

    Each sample (n_samples,) joins the meta-cluster with the largest association, the
    share of its clusters that contain the sample; the first one in a tie. Meta-clusters
    that win no sample are missing. Weights are 1000 times the Jaccard coefficient,
    rounded. O(n T²
    + n T n_clusters) time; 48 d² bytes for d clusters in all.

    References
    ----------
    Strehl & Ghosh, JMLR 3, 2002.
    """
    parts: IntArray = np.arange(rows.n_columns)
    if rows.n_columns > n_clusters:
        weights = np.rint(_JACCARD_UNITS * column_jaccard(rows)).astype(np.int64)
        # On these small dense graphs the cut of k-way METIS is often far larger.
        parts = metis_parts(
            csr_array(weights), n_clusters, random_state, recursive=(True, False)
        )
    sizes = np.bincount(parts)
    membership = np.zeros((rows.n_columns, len(sizes)))
    membership[np.arange(rows.n_columns), parts] = 1.0 / np.maximum(sizes, 1)[parts]
    association = as_sparse(rows) @ membership
    return association.argmax(axis=1)[group]


def metis_parts(
    graph: csr_array,
    n_parts: int,
    random_state: int,
    *,
    recursive: Sequence[bool] = (False,),
) -> IntArray:
    """Part of each vertex (v,) of a symmetric graph (v, v) of whole positive weights.

    Runs recursive bisection (True) and the k-way scheme (False), and keeps the smaller
    cut. METIS cannot place vertices without edges; they go to the smallest part.
    """
    import_metis()
    degrees = np.diff(graph.indptr)
    linked = np.flatnonzero(degrees)
    parts = np.full(graph.shape[0], n_parts, np.int64)
    if len(linked) > n_parts:
        inner = graph[linked][:, linked]
        cuts = [_run_metis(inner, n_parts, random_state, way) for way in recursive]
        parts[linked] = min(cuts, key=lambda cut: cut[0])[1]
    else:
        parts[linked] = np.arange(len(linked))
    sizes = np.bincount(parts, minlength=n_parts + 1)[:n_parts]
    for vertex in np.flatnonzero(degrees == 0):
        smallest = int(np.argmin(sizes))
        parts[vertex] = smallest
        sizes[smallest] += 1
    return parts


def import_metis() -> Any:
    """Return pymetis; if it is missing, the error tells how to install it."""
    try:
        import pymetis
    except ImportError:
        raise ImportError(
            "METIS is not installed; install the extra in the folder of ClusterLens: "
            "pip install '.[metis]', or use method='cspa-spectral' or 'kmeans'."
        ) from None
    return pymetis


def _run_metis(
    graph: csr_array, n_parts: int, random_state: int, recursive: bool
) -> tuple[int, IntArray]:
    """Return the cut weight and the part of each vertex; no vertex is isolated."""
    metis = import_metis()
    cut, parts = metis.part_graph(
        n_parts,
        metis.CSRAdjacency(graph.indptr, graph.indices),
        eweights=graph.data,
        recursive=recursive,
        options=metis.Options(seed=random_state),
    )
    return int(cut), np.asarray(parts, dtype=np.int64)


def _agreement_graph(rows: OneHotRows, group: IntArray) -> csr_array:
    """Agreement counts of different samples, zeros left out: (n, n) of int32."""
    one_hot = as_sparse(rows)[group]
    voted = one_hot.copy()
    voted.data = np.tile(rows.votes.astype(np.int32), len(group))
    graph = (voted @ one_hot.T).tocsr()
    graph.setdiag(0)
    graph.eliminate_zeros()
    # METIS and the eigenvectors take 32-bit positions.
    graph.indices = graph.indices.astype(np.int32, copy=False)
    graph.indptr = graph.indptr.astype(np.int32, copy=False)
    return graph
