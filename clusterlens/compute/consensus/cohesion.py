"""Cohesion of samples and clusters of a partition in the consensus.

The consensus of a sample with a cluster is the mean of the consensus matrix over the
members; it follows from counts of members by look-ups, without that matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.kernels import kernel
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    IntArray,
    check_labels,
    check_memory,
    check_range,
    read_only,
)
from clusterlens.compute.ensemble.agreement import Agreement, check_agreement
from clusterlens.compute.ensemble.contingency import contingency_table
from clusterlens.compute.ensemble.ensemble import (
    NOISE,
    Ensemble,
    check_ensemble,
    distinct_votes,
)

MAX_BYTES = 4 << 30
CONSENSUS_GRID = read_only(np.linspace(0.0, 1.0, 101))

_TABLE_CELLS = 1 << 22  # of the contingency tables in memory at a time
_BLOCK_ADDITIONS = 200_000_000  # about a tenth of a second
_SPARSE_ROWS = 1 << 13


@dataclass(frozen=True, eq=False)
class ClusterConsensus(Frozen):
    """Consensus inside and between the clusters of a partition.

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
        without the sample itself; 0 if there is no other member.
    codes : array of int64, shape (n_samples,)
        Position of the cluster of each sample in `clusters`; -1 for noise counted as
        singletons.
        singletons.
    """

    clusters: npt.NDArray[Any]
    sizes: IntArray
    within: FloatArray
    between: FloatArray
    items: FloatArray
    codes: IntArray

    @cached_property
    def own(self) -> FloatArray:
        """Item consensus of each sample with its cluster, (n_samples,), 0 for noise."""
        own = np.take_along_axis(self.items, self.codes[:, None], axis=1)[:, 0]
        return read_only(np.where(self.codes < 0, 0.0, own))

    @cached_property
    def nearest(self) -> IntArray:
        """Position of the other cluster with the highest item consensus, (n_samples,).

        -1 if there is no other.
        """
        if len(self.clusters) == 1:
            return read_only(np.where(self.codes < 0, 0, -1))
        others = self.items.copy()
        rows = np.flatnonzero(self.codes >= 0)
        others[rows, self.codes[rows]] = -1.0
        return read_only(others.argmax(axis=1))

    @cached_property
    def doubtful(self) -> npt.NDArray[np.bool_]:
        """Whether each sample has a higher item consensus with another cluster.

        Shape (n_samples,). A sample alone in its cluster has 0 with it. Noise counted
        as singletons has no cluster and is not doubtful.
        """
        theirs = np.take_along_axis(self.items, self.nearest[:, None], axis=1)[:, 0]
        clustered = (self.codes >= 0) & (self.nearest >= 0)
        return read_only(clustered & (theirs > self.own))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per cluster: size, consensus within, nearest other cluster.

        Returns
        -------
        frame : DataFrame
            Columns size, consensus, nearest (label, missing if there is one cluster),
            consensus_with_nearest and doubtful (number of samples closer to another
            cluster); the index holds the labels.
        """
        others = self.between.copy()
        np.fill_diagonal(others, -1.0)
        nearest = others.argmax(axis=1)
        alone = len(self.clusters) == 1
        doubtful = np.bincount(self.codes[self.doubtful], minlength=len(self.clusters))
        frame = pd.DataFrame(
            {
                "size": self.sizes,
                "consensus": self.within,
                "nearest": pd.Series(self.clusters[nearest], dtype="Int64"),
                "consensus_with_nearest": others.max(axis=1),
                "doubtful": doubtful,
            }
        )
        if alone:
            frame["nearest"] = pd.NA
            frame["consensus_with_nearest"] = np.nan
        return frame.set_index(pd.Index(self.clusters, name="cluster"))


@takes_running
def cluster_consensus(
    ensemble: Ensemble,
    labels: npt.ArrayLike,
    *,
    max_bytes: int = MAX_BYTES,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> ClusterConsensus:
    """Measure how strongly the ensemble keeps the clusters of a partition together.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    labels : array-like of int, shape (n_samples,)
        A partition into k clusters, of the ensemble or not; values are names only.
        If noise (-1) is not a cluster in the ensemble, it is not a cluster here.
    max_bytes : int, default 4 GiB
        Limit for the table of n samples and k clusters.
    n_jobs, progress, cancel, executor
        As in `count_agreements`; progress counts additions.

    Returns
    -------
    consensus : ClusterConsensus
        Consensus of clusters, of pairs of clusters and of samples.

    Raises
    ------
    ValueError
        If labels are not one integer per sample, or all of them noise.
    MemoryError
        If the table would need more than max_bytes.
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    O(n T k) time, some 1e9 additions a second and core, and O(n k) memory. For partial
    partitions every mean is the number of votes that join pairs over the number that
    saw them, 0 if none did.

    References
    ----------
    Monti, Tamayo, Mesirov & Golub, "Consensus clustering: a resampling-based method
    for class discovery", Machine Learning 52, 2003, doi:10.1023/A:1023949509487,
    equations 3 and 4.

    Examples
    --------
    >>> ensemble = Ensemble([[0, 0, 1, 1], [0, 0, 0, 1]])
    >>> consensus = cluster_consensus(ensemble, [0, 0, 1, 1])
    >>> consensus.within.tolist()
    [1.0, 0.5]
    >>> consensus.doubtful.tolist()
    [False, False, False, False]
    """
    run = RunOptions(n_jobs, progress, cancel, executor)
    check_ensemble(ensemble)
    max_bytes = check_range(max_bytes, 0, np.inf, name="max_bytes", integer=True)
    array = check_labels(labels, n_samples=ensemble.n_samples)
    clusters, codes = _clusters_of(ensemble, array)
    check_memory(
        16 * ensemble.n_samples * len(clusters),
        max_bytes,
        what=f"The consensus of {ensemble.n_samples} samples with {len(clusters)} "
        "clusters",
        remedy="give a partition with fewer clusters, or raise max_bytes.",
    )
    sizes = np.bincount(codes[codes >= 0], minlength=len(clusters))
    sums, joined = _vote_sums(ensemble, codes, sizes, run)
    seen_sums, seen, own = _seen_sums(ensemble, codes, sizes, run)
    identical = np.bincount(codes[codes >= 0], own[codes >= 0], minlength=len(sizes))
    within = _share(joined.diagonal() - identical, seen.diagonal() - identical)
    between = _share(joined, seen)
    np.fill_diagonal(between, within)
    return ClusterConsensus(
        clusters,
        sizes,
        within,
        between,
        _item_consensus(sums, seen_sums, codes, own),
        codes,
    )


def _clusters_of(
    ensemble: Ensemble, labels: IntArray
) -> tuple[npt.NDArray[Any], IntArray]:
    """Labels of the clusters, and the position of each sample's cluster or -1."""
    clusters, codes = np.unique(labels, return_inverse=True)
    if ensemble.noise == "cluster" or not (clusters == NOISE).any():
        return clusters, codes
    kept = clusters != NOISE
    if not kept.any():
        raise ValueError(
            "labels is noise (-1) only, which is no cluster in this ensemble; give a "
            "partition with a cluster."
        )
    return clusters[kept], np.where(kept, np.cumsum(kept) - 1, -1)[codes]


def _vote_sums(
    ensemble: Ensemble, codes: IntArray, sizes: IntArray, run: RunOptions
) -> tuple[IntArray, FloatArray]:
    """Sum the votes that join each sample, and each cluster, with the members of each.

    Shapes (n_samples, k) and (k, k); a sample and its own copy count.
    """
    n_samples, k = len(codes), len(sizes)
    most = ensemble.n_votes * int(sizes.max())
    kind = np.int32 if most <= np.iinfo(np.int32).max else np.int64
    sums = np.zeros((n_samples, k), kind)
    joined = np.zeros((k, k))
    first, votes = distinct_votes(ensemble)
    first, votes = first[votes > 0], votes[votes > 0]
    own, n_own = ensemble.codes_and_gaps, ensemble.n_codes
    narrow = n_own[first] * k <= _TABLE_CELLS
    for models in _chunks(n_own[first] * k, np.flatnonzero(narrow)):
        tables = [_table(own[first[m]], int(n_own[first[m]]), codes, k) for m in models]
        for m, table in zip(models, tables, strict=True):
            joined += votes[m] * (table.T @ table)
        starts = np.cumsum([0, *map(len, tables[:-1])])
        rows = np.concatenate(
            [votes[m] * table for m, table in zip(models, tables, strict=True)]
        ).astype(kind)
        step = max(1, _BLOCK_ADDITIONS // (len(models) * k))
        blocks = [(i, min(i + step, n_samples)) for i in range(0, n_samples, step)]
        work = [(stop - start) * len(models) * k for start, stop in blocks]
        added = (sums, own, first[models], rows, starts)
        for _ in run_blocks(lambda *b, a=added: _add_rows(*a, *b), blocks, work, run):
            pass
    for m in np.flatnonzero(~narrow):
        gap, vote = int(n_own[first[m]]), int(votes[m])
        _add_sparse(sums, joined, own[first[m]], gap, codes, vote)
    return sums, joined


def _seen_sums(
    ensemble: Ensemble, codes: IntArray, sizes: IntArray, run: RunOptions
) -> tuple[IntArray, FloatArray, IntArray]:
    """Sum the votes that saw each sample and cluster with the members of each cluster.

    Shapes (n_samples, k), (k, k) and (n_samples,), the last for the sample itself.
    Equal to `_vote_sums` if every model puts all samples that it saw into one cluster.
    """
    if ensemble.gaps is not None:
        own = ensemble.votes @ ~ensemble.gaps
        return *_vote_sums(ensemble.presence, codes, sizes, run), own
    votes, shape = ensemble.n_votes, (len(codes), len(sizes))
    every = np.broadcast_to(votes * sizes, shape)
    seen = votes * np.outer(sizes, sizes).astype(float)
    return every, seen, np.full(len(codes), votes)


def _share(part: Any, whole: Any) -> FloatArray:
    """Divide votes; 0 if there are none."""
    return np.divide(part, whole, out=np.zeros(np.shape(part)), where=whole > 0)


def _chunks(cells: IntArray, models: IntArray) -> Iterator[IntArray]:
    """Part models so that the tables of each part have about _TABLE_CELLS cells."""
    part = np.cumsum(cells[models]) // _TABLE_CELLS
    for number in np.unique(part):
        yield models[part == number]


def _table(own: IntArray, gap: int, codes: IntArray, k: int) -> FloatArray:
    """Contingency table of a partition (rows) and the given one, over its samples only.

    One row per code; the last row, for gaps, stays empty. Floats make products of
    tables fast; whole numbers are exact in them.
    """
    counted = (codes >= 0) & (own < gap)
    flat = own[counted].astype(np.int64) * k + codes[counted]
    return np.bincount(flat, minlength=(gap + 1) * k).reshape(-1, k).astype(float)


def _add_sparse(
    sums: IntArray,
    joined: FloatArray,
    own: IntArray,
    gap: int,
    codes: IntArray,
    votes: int,
) -> None:
    """Add the votes of a partition with very many clusters through a sparse table."""
    clustered = np.flatnonzero((codes >= 0) & (own < gap))
    used, rows = np.unique(own[clustered], return_inverse=True)
    table = contingency_table(rows, codes[clustered]).tocsr() * votes
    joined += (table.T @ table).toarray() / votes
    at = np.searchsorted(used, own)
    at[at == len(used)] = 0
    known = used[at] == own
    for start in range(0, len(own), _SPARSE_ROWS):
        some = start + np.flatnonzero(known[start : start + _SPARSE_ROWS])
        sums[some] += table[at[some]].toarray()


@kernel()
def _add_rows(  # type: ignore[no-untyped-def]
    sums, codes, models, rows, starts, first, last
):
    """Add to samples first to last the rows of their clusters in each model."""
    for i in range(first, last):
        for m in range(models.size):
            row = starts[m] + np.intp(codes[models[m], i])
            for c in range(sums.shape[1]):
                sums[i, c] += rows[row, c]


def _item_consensus(
    sums: IntArray, seen: IntArray, codes: IntArray, own: IntArray
) -> FloatArray:
    """Mean consensus with the other members of each cluster, (n_samples, k)."""
    items = _share(sums, seen)
    inside = np.flatnonzero(codes >= 0)
    at = inside, codes[inside]
    items[at] = _share(sums[at] - own[inside], seen[at] - own[inside])
    return items


def consensus_cdf(agreement: Agreement) -> FloatArray:
    """Cumulative distribution of the consensus over pairs of different samples.

    Parameters
    ----------
    agreement : Agreement
        Counted or estimated agreements of T partitions.

    Returns
    -------
    shares : array of float64, shape (n_votes + 1,)
        Entry c: share of the pairs that at most c votes join, in [0, 1], ascending; the
        last is 1. A flat middle means that the partitions agree.

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
    pairs[-1] -= agreement.n_identical
    n_votes, total = agreement.ensemble.n_votes, pairs.sum()
    if not total:
        return np.ones(n_votes + 1)
    if agreement.levels is not None:
        least = -(-agreement.levels.joined * n_votes // agreement.levels.seen)
        pairs = np.bincount(least, pairs, minlength=n_votes + 1)
    return np.cumsum(pairs) / total


def distribution_at(shares: FloatArray, values: FloatArray) -> FloatArray:
    """Evaluate a distribution over counts 0 to T at consensus values (m,)."""
    # Rounding must not put c / T below c after multiplication by T.
    counts = np.floor(values * (len(shares) - 1) + 1e-9).astype(np.int64)
    return shares[counts]
