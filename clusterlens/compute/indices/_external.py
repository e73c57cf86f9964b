"""External indices that scikit-learn lacks or rounds: agreement of two partitions.

Each is a function of two code vectors of shape (n_samples,), 1 for equal partitions.
All start from the contingency table: O(n) time and K1 K2 cells.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.metrics.cluster import pair_confusion_matrix

from clusterlens.compute._validation import IntArray
from clusterlens.compute.ensemble.contingency import dense_table


def matched_accuracy(labels_true: IntArray, labels: IntArray) -> float:
    """Share of samples in clusters that the Hungarian method matches one to one."""
    overlap = dense_table(labels_true, labels)
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    return float(overlap[rows, columns].sum() / len(labels))


def pairwise_f(labels_true: IntArray, labels: IntArray) -> float:
    """F1 of the pairs that the partition joins against the pairs of the reference."""
    (_, only_labels), (only_true, both) = pair_confusion_matrix(labels_true, labels)
    joined = 2 * both + only_labels + only_true
    # Neither partition joins a pair: both consist of singletons, hence are equal.
    return float(2 * both / joined) if joined else 1.0


def adjusted_information(
    labels_true: IntArray, labels: IntArray, *, average_method: str
) -> float:
    """Adjusted mutual information, 0 if exactly one partition is all singletons.

    A partition of singletons contains all information about any other partition, so it
    agrees no better than chance. scikit-learn would then divide differences of rounded
    numbers.
    """
    given = (labels_true, labels)
    single = [len(np.unique(codes)) == len(codes) for codes in given]
    if any(single) and not all(single):
        return 0.0
    return float(adjusted_mutual_info_score(*given, average_method=average_method))
