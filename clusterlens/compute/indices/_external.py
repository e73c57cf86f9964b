"""External indices: how well one partition agrees with another, mostly scikit-learn's.

Each is a function of two code vectors of shape (n_samples,), 1 for equal partitions.
All start from the contingency table: O(n) time and the K1 K2 cells that are in use.
"""

from __future__ import annotations

from scipy.optimize import linear_sum_assignment
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    normalized_mutual_info_score,
    v_measure_score,
)
from sklearn.metrics.cluster import pair_confusion_matrix

from clusterlens.compute._validation import IntArray
from clusterlens.compute.ensemble.contingency import dense_table


def adjusted_rand(labels_true: IntArray, labels: IntArray) -> float:
    """Adjusted Rand index of Hubert & Arabie."""
    return float(adjusted_rand_score(labels_true, labels))


def adjusted_mutual_info(
    labels_true: IntArray, labels: IntArray, normalisation: str = "arithmetic"
) -> float:
    """Mutual information beyond chance, over a mean of the entropies beyond chance."""
    return float(
        adjusted_mutual_info_score(labels_true, labels, average_method=normalisation)
    )


def normalised_mutual_info(
    labels_true: IntArray, labels: IntArray, normalisation: str = "arithmetic"
) -> float:
    """Mutual information over a mean of the entropies."""
    return float(
        normalized_mutual_info_score(labels_true, labels, average_method=normalisation)
    )


def v_measure(labels_true: IntArray, labels: IntArray) -> float:
    """Harmonic mean of homogeneity and completeness."""
    return float(v_measure_score(labels_true, labels))


def matched_accuracy(labels_true: IntArray, labels: IntArray) -> float:
    """Share of samples in clusters that the Hungarian method matches one to one."""
    overlap = dense_table(labels_true, labels)
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    return float(overlap[rows, columns].sum() / len(labels))


def pairwise_f(labels_true: IntArray, labels: IntArray) -> float:
    """F1 of the pairs that the partition joins, against the pairs to join."""
    (_, only_labels), (only_true, both) = pair_confusion_matrix(labels_true, labels)
    joined = 2 * both + only_labels + only_true
    # No partition joins any pair: both are all singletons, hence equal.
    return float(2 * both / joined) if joined else 1.0
