"""compare_partitions: agreement of two partitions, and samples that differ."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    normalized_mutual_info_score,
)

from clusterlens.compute._validation import FloatArray, Frozen, IntArray, check_classes
from clusterlens.compute.ensemble.contingency import cross_tab, match_labels
from clusterlens.compute.formatting import decimals_below, whole


@dataclass(frozen=True, eq=False, repr=False)
class PartitionComparison(Frozen):
    """Two partitions of the same samples side by side.

    Attributes
    ----------
    table : DataFrame of int64, shape (n_clusters of a, n_clusters of b)
        Samples in each pair of clusters, as from `cross_tab`: matched clusters face
        each other on the diagonal.
    changed : array of bool, shape (n_samples,)
        Whether the clusters of each sample are not matched with each other.
    disagreement : array of float64, shape (n_samples,)
        Share of the other samples that one partition puts with the sample and the other
        does not, in [0, 1]; it does not depend on the matching.
    ari, nmi, ami : float
        Adjusted Rand index, normalised (arithmetic mean) and adjusted mutual
        information; 1 for equal partitions.
    """

    table: pd.DataFrame = field(repr=False)
    changed: npt.NDArray[np.bool_]
    disagreement: FloatArray
    ari: float
    nmi: float
    ami: float

    @property
    def n_same(self) -> int:
        """Samples in matched clusters."""
        return int(np.count_nonzero(~self.changed))

    @property
    def sentence(self) -> str:
        """The comparison in words."""
        return (
            f"Same cluster for {whole(self.n_same)} of {whole(len(self.changed))} "
            f"samples; adjusted Rand index {_below_one(self.ari)}, NMI "
            f"{_below_one(self.nmi)}, AMI {_below_one(self.ami)}."
        )

    def __repr__(self) -> str:
        """Return the size and the agreement."""
        a, b = self.table.shape
        return (
            f"PartitionComparison({a} and {b} clusters of {len(self.changed)} samples, "
            f"ARI {self.ari:z.2f})"
        )


def compare_partitions(a: npt.ArrayLike, b: npt.ArrayLike) -> PartitionComparison:
    """Compare two partitions of the same samples.

    Parameters
    ----------
    a, b : array-like of int or str, shape (n_samples,)
        Labels of two partitions, or of a partition and given classes.

    Returns
    -------
    comparison : PartitionComparison
        Cross-tab with matched clusters, indices, and the samples that differ.

    Raises
    ------
    ValueError
        If lengths disagree or labels are missing.
    MemoryError
        If the table would have more than 10^8 cells.

    Notes
    -----
    A sample in clusters of sizes s and t that share c samples disagrees on s + t - 2 c
    of the n - 1 others; the mean over the samples is one minus the Rand index. Time
    O(n_samples + K^3) for K clusters, memory O(n_samples + K^2).

    Examples
    --------
    >>> found = compare_partitions([0, 0, 1, 1, 1], ["u", "u", "t", "t", "u"])
    >>> found.changed.tolist(), found.disagreement.tolist()
    ([False, False, False, False, True], [0.25, 0.25, 0.25, 0.25, 1.0])
    """
    rows, _ = check_classes(a, name="a")
    columns, _ = check_classes(b, n_samples=len(rows), name="b")
    return PartitionComparison(
        cross_tab(a, b),
        match_labels(rows, columns) != rows,
        _disagreement(rows, columns),
        float(adjusted_rand_score(rows, columns)),
        float(normalized_mutual_info_score(rows, columns)),
        float(adjusted_mutual_info_score(rows, columns)),
    )


def adjusted_rand_or_nan(a: IntArray, b: IntArray) -> float:
    """Adjusted Rand index; NaN for fewer than two samples, which have no pair."""
    return float(adjusted_rand_score(a, b)) if len(a) > 1 else np.nan


def _below_one(value: float) -> str:
    """Format an index; with more decimals if it is below 1 but would round to 1."""
    return f"{value:z.{decimals_below(value, 1)}f}"


def _disagreement(a: IntArray, b: IntArray) -> FloatArray:
    """Share of the other samples on which two vectors of codes disagree (n,)."""
    both = np.unique(a.astype(np.int64) * (int(b.max()) + 1) + b, return_inverse=True)[
        1
    ]
    sizes, others, common = (np.bincount(codes)[codes] for codes in (a, b, both))
    return (sizes + others - 2 * common) / max(len(a) - 1, 1)
