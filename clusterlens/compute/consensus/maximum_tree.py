"""The maximum spanning tree of the agreement counts, without their matrix.

Without the edges below a count, the tree splits into the connected components of the
pairs with at least that count. So one tree serves every threshold, and it is the
dendrogram of single linkage on the consensus matrix.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import Frozen, IntArray, check_range
from clusterlens.compute.consensus._one_hot import group_samples
from clusterlens.compute.ensemble.connected import components
from clusterlens.compute.ensemble.ensemble import Ensemble, check_ensemble

_BLOCK_COMPARISONS = 1_000_000_000  # about a tenth of a second


@dataclass(frozen=True, eq=False)
class AgreementTree(Frozen):
    """A spanning tree of the samples with the largest possible agreement counts.

    Attributes
    ----------
    edges : array of int64, shape (n_samples - 1, 2)
        Pairs of samples, largest agreement first.
    counts : array of int64, shape (n_samples - 1,)
        Number of votes that join each pair, from 0 to n_partitions.
    n_partitions : int
        Number of votes; the number T of partitions unless the ensemble has weights.
    """

    edges: IntArray
    counts: IntArray
    n_partitions: int

    @property
    def n_samples(self) -> int:
        """Number of samples n."""
        return len(self.edges) + 1

    @property
    def n_components(self) -> IntArray:
        """Number of connected components at thresholds 0 to T + 1, shape (T + 2,)."""
        histogram = np.bincount(self.counts, minlength=self.n_partitions + 2)
        kept = np.cumsum(histogram[::-1])[::-1]
        return self.n_samples - kept

    def components(self, threshold: int) -> IntArray:
        """Find the connected components of the binarised matrix at one threshold.

        Parameters
        ----------
        threshold : int
            From 0 to n_partitions + 1; pairs that at least this many partitions join
            are connected.

        Returns
        -------
        labels : array of int64, shape (n_samples,)
            Component of each sample, numbered in order of first appearance.

        Raises
        ------
        ValueError
            If the threshold is out of its range.
        """
        highest = self.n_partitions + 1
        check_range(threshold, 0, highest, name="threshold", integer=True)
        return components(self.edges[self.counts >= threshold], self.n_samples)

    def cut(self, n_clusters: int) -> IntArray:
        """Cut the tree into clusters by removing the edges of least agreement.

        Parameters
        ----------
        n_clusters : int
            From 1 to n_samples. In a tie the edge found last by Prim's algorithm from
            sample 0 is cut first.

        Returns
        -------
        labels : array of int64, shape (n_samples,)
            Cluster of each sample, numbered in order of first appearance: single
            linkage.

        Raises
        ------
        ValueError
            If n_clusters is out of its range.
        """
        check_range(n_clusters, 1, self.n_samples, name="n_clusters", integer=True)
        return components(self.edges[: self.n_samples - n_clusters], self.n_samples)


@takes_running
def agreement_tree(
    ensemble: Ensemble,
    *,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> AgreementTree:
    """Find a maximum spanning tree of the agreement counts of all pairs of samples.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    progress : callable, optional
        Called as progress(done, total) in samples reached.
    cancel : callable, optional
        Called between blocks of about a tenth of a second; True stops the search.
    executor : concurrent.futures.Executor, optional
        Threads to use instead of a new one.

    Returns
    -------
    tree : AgreementTree
        `tree.components(threshold)`, `tree.n_components` and `tree.cut(k)`.

    Raises
    ------
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    Prim's algorithm on the u distinct samples, counting the agreements of one sample at
    a time: O(u² T) comparisons of bytes on one core (a second for u = 10,000 and
    T = 100), O(n T) memory.

    References
    ----------
    Gower & Ross, "Minimum spanning trees and single linkage cluster analysis", Applied
    Statistics 18, 1969, doi:10.2307/2346439.

    Examples
    --------
    >>> tree = agreement_tree(Ensemble([[0, 0, 1, 1], [0, 0, 0, 1]]))
    >>> tree.n_components.tolist()
    [1, 1, 3, 4]
    >>> tree.components(2).tolist()
    [0, 0, 1, 2]
    """
    # One thread, because each block continues the one before.
    run = RunOptions(1, progress, cancel, executor)
    ensemble = check_ensemble(ensemble).voters
    group = group_samples(ensemble)
    first = np.unique(group, return_index=True)[1]
    copies = np.setdiff1d(np.arange(ensemble.n_samples), first)
    rows, counts = _prim(ensemble.codes[:, first], ensemble.votes, run)
    edges = np.concatenate([np.stack([first[group[copies]], copies], 1), first[rows]])
    counts = np.concatenate([np.full(len(copies), ensemble.n_votes), counts])
    order = np.argsort(-counts, kind="stable")
    return AgreementTree(edges[order], counts[order], ensemble.n_votes)


def _prim(
    codes: npt.NDArray[Any],
    votes: IntArray,
    run: RunOptions,
) -> tuple[IntArray, IntArray]:
    """Edges (u - 1, 2) and counts (u - 1,) of a tree over codes (T, u)."""
    n_rows = codes.shape[1]
    kind = np.min_scalar_type(max(int(votes.sum()), int(codes.max())))
    codes, votes = np.ascontiguousarray(codes, dtype=kind), votes.astype(kind)
    edges = np.zeros((n_rows - 1, 2), np.int64)
    counts = np.zeros(n_rows - 1, np.int64)
    best, link = np.full(n_rows, -1, np.int64), np.zeros(n_rows, np.int64)
    outside = np.arange(1, n_rows)
    length = max(1, _BLOCK_COMPARISONS // codes.size)
    blocks = [
        (start, min(start + length, n_rows - 1))
        for start in range(0, n_rows - 1, length)
    ]
    for _ in run_blocks(
        lambda *block: _grow(codes, votes, best, link, outside, edges, counts, *block),
        blocks,
        [stop - start for start, stop in blocks],
        run,
    ):
        pass
    return edges, counts


@kernel()
def _grow(  # type: ignore[no-untyped-def]
    codes, votes, best, link, outside, edges, counts, start, stop
):
    """Reach rows start + 1 to stop of the tree.

    `outside[start:]` lists the rows not reached; `best` and `link` hold, for each, the
    largest count with a reached row, and that row.
    """
    agreements = np.empty(codes.shape[1], codes.dtype)
    for step in range(start, stop):
        newest = 0 if step == 0 else edges[step - 1, 1]
        agreements[:] = 0
        for t in range(codes.shape[0]):
            row = codes[t]
            code, vote = row[newest], votes[t]
            for j in range(row.size):
                agreements[j] += vote if row[j] == code else 0
        nearest = step
        for place in range(step, outside.size):
            j = outside[place]
            if agreements[j] > best[j]:
                best[j], link[j] = agreements[j], newest
            if best[j] > best[outside[nearest]]:
                nearest = place
        reached = outside[nearest]
        outside[nearest], outside[step] = outside[step], reached
        edges[step, 0], edges[step, 1] = link[reached], reached
        counts[step] = best[reached]
