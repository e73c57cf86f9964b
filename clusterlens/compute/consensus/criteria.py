"""Density of the consensus inside and between the clusters of one partition.

Everything follows from alpha_f, the number of samples that a cluster C shares with
column f of the one-hot matrix (a cluster of one of the T partitions): the consensus
inside C sums to sum_f alpha_f² / T. If partitions have several votes, each counts that
many times and T is the number of votes. No matrix of pairs is built; O(n T) time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import coo_array
from scipy.stats import entropy

from clusterlens.compute._validation import FloatArray, IntArray, check_labels
from clusterlens.compute.ensemble.contingency import contingency_table
from clusterlens.compute.ensemble.ensemble import Ensemble, check_ensemble, split_noise


def density(ensemble: Ensemble, labels: npt.ArrayLike) -> float:
    """Mean consensus inside the clusters of a partition, weighted by their sizes.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    labels : array-like of int, shape (n_samples,)
        The partition to evaluate, of the ensemble or not; values are names only. Noise
        (-1) is one cluster or singletons, as in the ensemble.

    Returns
    -------
    density : float
        `S = (1 / n) sum_C |C| D(C)`, in [0, 1]; higher is denser. D(C) is the mean
        of the consensus matrix over the pairs of different samples in C; a cluster of
        one sample has D = 0.

    Raises
    ------
    ValueError
        If labels are not one integer per sample.

    Notes
    -----
    Splitting a cluster tends to raise the density: compare partitions with equally many
    clusters only. A partition of the ensemble is evaluated with its own vote.
    O(n T) time and O(n) memory.

    References
    ----------
    Candel, "Linear time evidence accumulation clustering with KMeans" (S).

    Examples
    --------
    >>> density(Ensemble([[0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 1]]), [0, 0, 1, 1])
    0.6666666666666666
    """
    codes = compact_codes(ensemble, labels)
    sizes = np.bincount(codes)
    return float(sizes @ cluster_densities(ensemble, codes) / sizes.sum())


def cluster_densities(ensemble: Ensemble, codes: IntArray) -> FloatArray:
    """D of each cluster, shape (n_clusters,), for compact codes of shape (n_samples,).

    `D(C) = (sum_f alpha_f² - T |C|) / (T |C| (|C| - 1))`, alpha_f the samples of C in
    cluster f of the ensemble: in [0, 1], 0 for a cluster of one sample.
    """
    sizes = np.bincount(codes)
    pairs = ensemble.n_votes * sizes * (sizes - 1)
    agreeing = _square_sums(ensemble, codes) - ensemble.n_votes * sizes
    return np.divide(agreeing, pairs, out=np.zeros(len(sizes)), where=pairs > 0)


def one_hot_loss(ensemble: Ensemble, labels: npt.ArrayLike) -> float:
    """Sum of squared distances of the one-hot rows to the means of their clusters.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    labels : array-like of int, shape (n_samples,)
        The partition to evaluate; noise (-1) as in the ensemble.

    Returns
    -------
    loss : float
        `T n - sum_C sum_f alpha_f² / |C|`, in [0, T (n - k)] for k clusters; lower
        is tighter. Unlike the density it is exactly the objective of k-means.

    Notes
    -----
    O(n T) time and O(n) memory.

    Examples
    --------
    >>> one_hot_loss(Ensemble([[0, 0, 1, 1], [0, 0, 0, 1]]), [0, 0, 1, 1])
    1.0
    """
    codes = compact_codes(ensemble, labels)
    total = ensemble.n_votes * ensemble.n_samples
    return float(total - (_square_sums(ensemble, codes) / np.bincount(codes)).sum())


def ensemble_nmi(ensemble: Ensemble, labels: npt.ArrayLike) -> float:
    """Mean normalised mutual information of a partition with those of an ensemble.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    labels : array-like of int, shape (n_samples,)
        The partition to evaluate; values are names only. Noise (-1) is one cluster or
        singletons, as in the ensemble.

    Returns
    -------
    nmi : float
        In [0, 1]; 1 if all partitions are equal to `labels`.

    Raises
    ------
    ValueError
        If labels are not one integer per sample.

    Notes
    -----
    NMI = 2 I / (H1 + H2), the arithmetic mean of the entropies; two one-cluster
    partitions have NMI 1. All T partitions count, including `labels` if it is one.
    O(n T) time.

    References
    ----------
    Strehl & Ghosh, "Cluster ensembles: a knowledge reuse framework for combining
    multiple partitions", JMLR 3, 2002.

    Examples
    --------
    >>> ensemble_nmi(Ensemble([[0, 0, 1, 1], [5, 5, 9, 9]]), [1, 1, 0, 0])
    1.0
    """
    own = compact_codes(ensemble, labels)
    tables = (contingency_table(codes, own) for codes in ensemble.codes)
    return float(np.average([_nmi(table) for table in tables], weights=ensemble.votes))


def _nmi(table: coo_array) -> float:
    """Normalised mutual information from a contingency table."""
    counts = table.data
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    entropies = [_entropy(rows), _entropy(columns)]
    if not any(entropies):
        return 1.0
    mutual = max(sum(entropies) - _entropy(counts), 0.0)
    return min(2.0 * mutual / sum(entropies), 1.0)


def _entropy(counts: IntArray) -> float:
    """Entropy in nats of positive counts."""
    return float(entropy(counts))


def compact_codes(ensemble: Ensemble, labels: npt.ArrayLike) -> IntArray:
    """Compact codes of a partition, with the ensemble's meaning of noise."""
    check_ensemble(ensemble)
    array = check_labels(labels, n_samples=ensemble.n_samples)
    return pd.factorize(split_noise(array, ensemble.noise))[0].astype(np.int64)


def _square_sums(ensemble: Ensemble, codes: IntArray) -> IntArray:
    """Sum of alpha_f² over the columns f, for each cluster: shape (n_clusters,)."""
    sums = np.zeros(int(codes.max()) + 1, np.int64)
    for own, votes in zip(ensemble.codes, ensemble.votes, strict=True):
        table = contingency_table(own, codes)
        np.add.at(sums, table.col, votes * table.data**2)
    return sums


def weight_between(ensemble: Ensemble, codes: IntArray) -> IntArray:
    """Sum of alpha_f alpha'_f over the columns, for each pair of clusters: (k, k)."""
    k = int(codes.max()) + 1
    sums = np.zeros((k, k), np.int64)
    own = zip(ensemble.codes_and_gaps, ensemble.n_codes, ensemble.votes, strict=True)
    for row, gap, votes in own:
        table = contingency_table(row, codes).tocsr()[:gap]
        sums += votes * (table.T @ table).toarray()
    return sums
