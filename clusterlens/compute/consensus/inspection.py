"""Inspection: the votes of an ensemble about one sample, in linear time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    IntArray,
    as_array,
    check_labels,
    check_range,
)
from clusterlens.compute.ensemble.ensemble import Ensemble, check_ensemble
from clusterlens.compute.ensemble.votes import seen_together, votes_together


@dataclass(frozen=True, eq=False, repr=False)
class SampleReport(Frozen):
    """Votes of the ensemble about one sample.

    Parameters
    ----------
    sample : int
        Position of the sample.
    disagreement : float
        Disagreement of the partitions about it, see `sample_disagreement`, in [0, 1].
    percentile : float
        Share of the samples with less disagreement, in [0, 1); NaN if not requested.
    votes : array of int32, shape (n_samples,)
        Number of partitions that join it with each sample, see `votes_together`.
    nearest : array of int64, shape (n_nearest,)
        The samples that most partitions join it with, in descending order; ties by
        position.
    clusters : array of int64, shape (n_clusters,)
        Labels of the clusters of the compared partition, ascending.
    consensus : array of float64, shape (n_clusters,)
        Item consensus: mean consensus with the other members of each cluster, in [0,
        1]; 0 where there are none.
    n_partitions : int
        Number of votes; the number T of partitions unless the ensemble has weights.
    seen : array of int32, shape (n_samples,)
        Votes that saw it together with each sample, all unless partitions are partial.
    """

    sample: int
    disagreement: float
    percentile: float
    votes: npt.NDArray[np.int32]
    nearest: IntArray
    clusters: IntArray
    consensus: FloatArray
    n_partitions: int
    seen: npt.NDArray[np.int32]

    def n_together(self, threshold: int) -> int:
        """Count the other samples that enough partitions join it with.

        Parameters
        ----------
        threshold : int
            Least number of partitions, 0 to T + 1; for partial partitions the same
            share of the votes that saw both.

        Returns
        -------
        n_together : int
            0 to n_samples - 1.
        """
        needed = np.int64(threshold) * self.seen
        enough = (self.votes * np.int64(self.n_partitions) >= needed) & (self.seen > 0)
        return int(np.count_nonzero(enough)) - int(enough[self.sample])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per cluster, highest consensus first.

        Returns
        -------
        frame : DataFrame
            Column consensus; the index holds the labels.
        """
        index = pd.Index(self.clusters, name="cluster")
        frame = pd.DataFrame({"consensus": self.consensus}, index=index)
        return frame.sort_values("consensus", ascending=False, kind="stable")

    def __repr__(self) -> str:
        """Return the sample and the disagreement about it."""
        return (
            f"SampleReport(sample {self.sample}, disagreement {self.disagreement:.2f})"
        )


def inspect_sample(
    ensemble: Ensemble,
    sample: int,
    labels: npt.ArrayLike | None = None,
    *,
    disagreement: npt.ArrayLike | None = None,
    n_nearest: int = 10,
) -> SampleReport:
    """Summarise the votes of an ensemble about one sample.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    sample : int
        Position of the sample, from 0 to n - 1.
    labels : array-like of int, shape (n_samples,), optional
        Partition with the clusters to compare; -1 is a cluster like others.
    disagreement : array-like of float, shape (n_samples,), optional
        `sample_disagreement` of all samples, for the percentile.
    n_nearest : int, default 10
        Number of nearest samples to return.

    Returns
    -------
    report : SampleReport
        Disagreement, nearest samples, and mean consensus with each cluster.

    Raises
    ------
    ValueError
        If there is no such sample, or lengths disagree.

    Notes
    -----
    O(n T) time and O(n) memory. The nearest samples have the most joint votes, not the
    most similar values. For partial partitions shares are of the votes that saw both
    samples.

    Examples
    --------
    >>> ensemble = Ensemble([[0, 0, 1, 1], [0, 0, 0, 1]])
    >>> report = inspect_sample(ensemble, 2, [0, 0, 1, 1])
    >>> report.consensus.tolist(), report.nearest.tolist()
    ([0.5, 0.5], [0, 1, 3])
    """
    check_ensemble(ensemble)
    n_nearest = check_range(n_nearest, 0, np.inf, name="n_nearest", integer=True)
    votes = votes_together(ensemble, sample)
    seen = seen_together(ensemble, sample)
    share = np.divide(votes, seen, out=np.zeros(len(votes)), where=seen > 0)
    others = np.delete(np.arange(ensemble.n_samples), sample)
    by_votes = np.argsort(-share[others], kind="stable")[:n_nearest]
    clusters, consensus = _with_clusters(ensemble, sample, (votes, seen), labels)
    return SampleReport(
        sample=int(sample),
        disagreement=float(4 * (share @ (1 - share)) / max((seen > 0).sum(), 1)),
        percentile=_share_below(ensemble, sample, disagreement),
        votes=votes,
        nearest=others[by_votes],
        clusters=clusters,
        consensus=consensus,
        n_partitions=ensemble.n_votes,
        seen=seen,
    )


def _with_clusters(
    ensemble: Ensemble,
    sample: int,
    votes: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]],
    labels: npt.ArrayLike | None,
) -> tuple[IntArray, FloatArray]:
    """Return cluster labels and the mean consensus with their other members."""
    if labels is None:
        return np.empty(0, np.int64), np.empty(0)
    array = check_labels(labels, n_samples=ensemble.n_samples)
    clusters, codes = np.unique(array, return_inverse=True)
    joined, seen = (np.bincount(codes, weights=count) for count in votes)
    for sums, count in zip((joined, seen), votes, strict=True):
        sums[codes[sample]] -= count[sample]
    return clusters, joined / np.maximum(seen, 1)


def _share_below(
    ensemble: Ensemble, sample: int, disagreement: npt.ArrayLike | None
) -> float:
    """Share of the samples with less disagreement, NaN if it is not given."""
    if disagreement is None:
        return float("nan")
    values = as_array(disagreement, "disagreement", "one number per sample")
    if values.shape != (ensemble.n_samples,) or values.dtype.kind not in "iuf":
        raise ValueError(
            f"disagreement has shape {values.shape} and type {values.dtype} for "
            f"{ensemble.n_samples} samples; give what sample_disagreement returns."
        )
    return float(np.mean(values < values[sample]))
