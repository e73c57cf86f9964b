"""External indices that scikit-learn lacks: how well one partition agrees with another.

Each is a function of two code vectors of shape (n_samples,), 1 for equal partitions.
Both start from the contingency table: O(n) time and the K1 K2 cells that are in use.
"""

from __future__ import annotations

from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import pair_confusion_matrix

from clusterlens.compute._validation import IntArray
from clusterlens.compute.ensemble.contingency import dense_table


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
