"""Reading a consensus: how well samples and clusters of one partition hang together.

The consensus of a sample with a cluster is the mean of the consensus matrix over the
members; it follows from counts of members by look-ups, without that matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    check_labels,
    check_memory,
    check_range,
    read_only,
)
from clusterlens.compute.consensus.density import cluster_densities, weight_between
from clusterlens.compute.ensemble.agreement import Agreement, check_agreement
from clusterlens.compute.ensemble.contingency import contingency_table
from clusterlens.compute.ensemble.ensemble import Ensemble, check_ensemble

MAX_BYTES = 4 << 30
CONSENSUS_GRID = read_only(np.linspace(0.0, 1.0, 101))


@dataclass(frozen=True, eq=False)
class ClusterConsensus:
    """What the ensemble says about the clusters of one partition.

    Attributes
    ----------
    clusters : array of int, shape (n_clusters,)
        Label of each cluster, ascending.
    sizes : array of int64, shape (n_clusters,)
        Number of samples.
    within : array of float64, shape (n_clusters,)
        Cluster consensus: mean consensus of the pairs of different samples inside, in
        [0, 1]; 0 for a cluster of one sample.
    between : array of float64, shape (n_clusters, n_clusters)
        Mean consensus of the pairs across two clusters; `within` on the diagonal.
    items : array of float64, shape (n_samples, n_clusters)
        Item consensus: mean consensus of each sample with the members of each cluster,
        itself left out; 0 where no other member is left.
    """

    clusters: npt.NDArray[Any]
    sizes: IntArray
    within: FloatArray
    between: FloatArray
    items: FloatArray

    def to_frame(self) -> pd.DataFrame:
        """Return one row per cluster: size, consensus within, nearest other cluster.

        Returns
        -------
        frame : DataFrame
            Columns size, consensus, nearest (label, missing if there is one cluster)
            and consensus_with_nearest; the index holds the labels.
        """
        others = self.between.copy()
        np.fill_diagonal(others, -1.0)
        nearest = others.argmax(axis=1)
        alone = len(self.clusters) == 1
        frame = pd.DataFrame(
            {
                "size": self.sizes,
                "consensus": self.within,
                "nearest": pd.Series(self.clusters[nearest], dtype="Int64"),
                "consensus_with_nearest": others.max(axis=1),
            }
        )
        if alone:
            frame["nearest"] = pd.NA
            frame["consensus_with_nearest"] = np.nan
        return frame.set_index(pd.Index(self.clusters, name="cluster"))


def cluster_consensus(
    ensemble: Ensemble, labels: npt.ArrayLike, *, max_bytes: int = MAX_BYTES
) -> ClusterConsensus:
    """Measure how well the ensemble keeps the clusters of a partition together.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    labels : array-like of int, shape (n_samples,)
        A partition into k clusters, of the ensemble or not; values are names only.
    max_bytes : int, default 4 GiB
        Limit for the table of n samples and k clusters.

    Returns
    -------
    consensus : ClusterConsensus
        Of clusters, of pairs of clusters and of samples.

    Raises
    ------
    ValueError
        If labels are not one integer per sample.
    MemoryError
        If the table would need more than max_bytes.

    Notes
    -----
    O(n T k) time, O(n k) memory.

    References
    ----------
    Monti, Tamayo, Mesirov & Golub, "Consensus clustering: a resampling-based method
    for class discovery", Machine Learning 52, 2003, doi:10.1023/A:1023949509487,
    equations 3 and 4.

    Examples
    --------
    >>> ensemble = Ensemble([[0, 0, 1, 1], [0, 0, 0, 1]])
    >>> cluster_consensus(ensemble, [0, 0, 1, 1]).within.tolist()
    [1.0, 0.5]
    """
    check_ensemble(ensemble)
    max_bytes = check_range(max_bytes, 0, np.inf, name="max_bytes", integer=True)
    array = check_labels(labels, n_samples=ensemble.n_samples)
    clusters, codes = np.unique(array, return_inverse=True)
    check_memory(
        32 * ensemble.n_samples * len(clusters),
        max_bytes,
        what=f"The consensus of {ensemble.n_samples} samples with {len(clusters)} "
        "clusters",
        remedy="give a partition with fewer clusters, or raise max_bytes.",
    )
    sizes = np.bincount(codes)
    within = cluster_densities(ensemble, codes)
    scale = ensemble.n_partitions * np.outer(sizes, sizes)
    between = weight_between(ensemble, codes) / scale
    np.fill_diagonal(between, within)
    return ClusterConsensus(
        read_only(clusters),
        read_only(sizes),
        read_only(within),
        read_only(between),
        read_only(_item_consensus(ensemble, codes, sizes)),
    )


def _item_consensus(ensemble: Ensemble, codes: IntArray, sizes: IntArray) -> FloatArray:
    """Mean consensus with the other members of each cluster, (n_samples, k)."""
    samples = np.arange(ensemble.n_samples)
    sums = np.zeros((ensemble.n_samples, len(sizes)))
    for own in ensemble.codes:
        sums += contingency_table(own, codes).toarray()[own]
    sums[samples, codes] -= ensemble.n_partitions
    others = np.broadcast_to(sizes, sums.shape).copy()
    others[samples, codes] -= 1
    pairs = ensemble.n_partitions * others
    return np.divide(sums, pairs, out=np.zeros_like(sums), where=pairs > 0)


def consensus_cdf(agreement: Agreement) -> FloatArray:
    """Cumulative distribution of the consensus over pairs of different samples.

    Parameters
    ----------
    agreement : Agreement
        Counted agreements of T partitions.

    Returns
    -------
    shares : array of float64, shape (n_partitions + 1,)
        Entry c: share of the pairs that at most c partitions join, in [0, 1],
        ascending; the last is 1. A flat middle means that the partitions agree.

    Notes
    -----
    O(T). With fewer than two samples there are no pairs and all entries are 1.

    References
    ----------
    Monti et al., Machine Learning 52, 2003, equation 5.

    Examples
    --------
    >>> from clusterlens.compute.ensemble.agreement import count_agreements
    >>> ensemble = Ensemble([[0, 0, 1, 1], [0, 0, 1, 2]])
    >>> consensus_cdf(count_agreements(ensemble)).round(3).tolist()
    [0.667, 0.833, 1.0]
    """
    check_agreement(agreement)
    pairs = agreement.pair_counts.copy()
    pairs[-1] -= agreement.ensemble.n_samples
    total = pairs.sum()
    return np.cumsum(pairs) / total if total else np.ones(len(pairs))


def distribution_at(shares: FloatArray, values: FloatArray) -> FloatArray:
    """Evaluate a distribution over counts 0 to T at consensus values (m,)."""
    # Rounding must not put c / T below itself times T.
    counts = np.floor(values * (len(shares) - 1) + 1e-9).astype(np.int64)
    return shares[counts]
