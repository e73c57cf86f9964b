"""Two runs side by side: leaders, consensus, and the samples that changed."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions, stretches
from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    IntArray,
    as_array,
    check_choice,
)
from clusterlens.compute.ensemble.comparison import adjusted_rand_or_nan
from clusterlens.compute.ensemble.ensemble import Ensemble, check_ensemble
from clusterlens.compute.ensemble.overlaps import (
    consensus_differences,
    partition_overlaps,
)
from clusterlens.compute.ensemble.partial import (
    SeenDifferences,
    partial_differences,
    seen_codes,
)
from clusterlens.compute.ranking.ranking import SCORES, rank_partitions

_ROUNDING = 1e-12  # relative to a product of variances


@dataclass(frozen=True, eq=False, repr=False)
class RunComparison(Frozen):
    """Differences between two runs that share all or some of their rows.

    Parameters
    ----------
    rows : tuple of array of int, shapes (n_shared,)
        Positions of the shared samples in the first and in the second ensemble.
    leaders : tuple of int
        Position of the leader of each run among its own partitions.
    names : tuple of str
        Names of the leaders.
    leader_ari : float
        Adjusted Rand index of the two leaders on the shared samples.
    correlation : float
        Correlation of the two consensus matrices over the pairs of different shared
        samples, from -1 to 1; NaN if either matrix is constant.
    changed : array of float, shape (n_shared,)
        Change of the companions of each sample: root mean square difference of its
        rows of the two consensus matrices, in [0, 1]. Partial partitions use only
        pairs that votes of both runs saw; NaN if there are none.
    n_pairs : int
        Number of compared pairs of different shared samples: all of them or, for
        partial
        partitions, the pairs that votes of both runs saw.
    """

    rows: tuple[IntArray, IntArray]
    leaders: tuple[int, int]
    names: tuple[str, str]
    leader_ari: float
    correlation: float
    changed: FloatArray
    n_pairs: int

    @property
    def n_shared(self) -> int:
        """Number of samples in both runs."""
        return len(self.changed)

    @property
    def difference(self) -> float:
        """Root mean square of the changes, in [0, 1]."""
        return float(np.sqrt(np.nanmean(self.changed**2)))

    def to_frame(self) -> pd.DataFrame:
        """Return the shared samples, the most changed ones first.

        Returns
        -------
        frame : DataFrame
            Columns first and second, the positions in the two ensembles, and changed.
        """
        columns = {"first": self.rows[0], "second": self.rows[1]}
        frame = pd.DataFrame({**columns, "changed": self.changed})
        frame = frame.sort_values("changed", ascending=False, kind="stable")
        return frame.reset_index(drop=True)

    def __repr__(self) -> str:
        """Return the number of shared samples and two measures of agreement."""
        return (
            f"RunComparison({self.n_shared} shared samples, leaders' ARI "
            f"{self.leader_ari:z.2f}, consensus correlation {self.correlation:z.2f})"
        )


@takes_running
def compare_runs(
    first: Ensemble,
    second: Ensemble,
    row_ids: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    *,
    score: str = "discotec-binary",
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> RunComparison:
    """Compare two runs with other preparations, other pools, or a subset of the rows.

    Parameters
    ----------
    first, second : Ensemble
        The partitions of each run, at least two.
    row_ids : tuple of two array-likes, optional
        Row ids of the samples of each run, without repetition; rows in both runs are
        compared. Default: the same samples in the same order.
    score : str, default "discotec-binary"
        Score that names the leader of each run, among all of its samples.
    n_jobs, progress, cancel, executor
        As in `count_agreements`; progress in hundredths of the whole.

    Returns
    -------
    comparison : RunComparison
        Leaders, agreement of the consensus matrices, and each sample's change.

    Raises
    ------
    ValueError
        If the runs share fewer than two samples, or an id is repeated.
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    All results but the leaders follow from contingency tables on the shared samples:
    O(n T²) time for the partitions of both, no matrix of pairs. Partial partitions are
    compared pair by pair in O(n² T) time, on the pairs that votes of both runs saw, and
    their leaders on the samples that both saw (NaN if these are fewer than two).

    Examples
    --------
    >>> whole = Ensemble([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]])
    >>> part = Ensemble([[0, 0, 1], [0, 0, 1], [0, 0, 1]])
    >>> compare_runs(whole, part, (list("abcd"), list("abc"))).changed.round(2).tolist()
    [0.19, 0.19, 0.27]
    """
    run = RunOptions(n_jobs, progress, cancel, executor)
    check_choice(score, SCORES, name="score")
    ensembles = _several(first, "first"), _several(second, "second")
    rows = _shared_rows(ensembles, row_ids)
    *leading, differing = stretches(run, 100, (0.25, 0.5))
    leaders = [
        int(rank_partitions(one, score, **its.threads).order[0])
        for one, its in zip(ensembles, leading, strict=True)
    ]
    found = _differences(ensembles, rows, differing)
    return RunComparison(
        rows,
        (leaders[0], leaders[1]),
        (first.names[leaders[0]], second.names[leaders[1]]),
        _leader_ari(ensembles, rows, leaders),
        found.correlation,
        found.changed,
        found.n_pairs,
    )


def _differences(
    ensembles: tuple[Ensemble, Ensemble],
    rows: tuple[IntArray, IntArray],
    run: RunOptions,
) -> SeenDifferences:
    """Compare the consensus matrices of the shared samples."""
    both = list(zip(ensembles, rows, strict=True))
    if any(one.is_partial for one in ensembles):
        seen = [seen_codes(one, at) for one, at in both]
        return partial_differences(seen[0], seen[1], run)
    first, second = (one.take_samples(at) for one, at in both)
    changing, relating = stretches(run, 100, (0.5,))
    changed = consensus_differences(first, second, changing)
    correlation = _correlation(first, second, relating)
    n = len(changed)
    return SeenDifferences(changed, correlation, n * (n - 1) // 2)


def _leader_ari(
    ensembles: tuple[Ensemble, Ensemble],
    rows: tuple[IntArray, IntArray],
    leaders: list[int],
) -> float:
    """Adjusted Rand index of both leaders on the shared samples that both saw."""
    three = list(zip(ensembles, leaders, rows, strict=True))
    first, second = (one.codes_and_gaps[t][at] for one, t, at in three)
    seen = np.logical_and(*(one.seen_by(t)[at] for one, t, at in three))
    return adjusted_rand_or_nan(first[seen], second[seen])


def _several(ensemble: Any, name: str) -> Ensemble:
    """Return an ensemble of two partitions or more."""
    if np.count_nonzero(check_ensemble(ensemble, name=name).votes) < 2:
        raise ValueError(
            f"{name} has 1 partition with a vote; give at least two, better three, so "
            "that one of them can lead."
        )
    return ensemble


def _shared_rows(
    ensembles: tuple[Ensemble, Ensemble], row_ids: Any
) -> tuple[IntArray, IntArray]:
    """Return positions of the rows in both runs, in the order of the first."""
    sizes = [one.n_samples for one in ensembles]
    if row_ids is None:
        if sizes[0] != sizes[1]:
            raise ValueError(
                f"row_ids is None, but the runs have {sizes[0]} and {sizes[1]} "
                "samples; give the row ids of both."
            )
        row_ids = (np.arange(sizes[0]), np.arange(sizes[0]))
    if not isinstance(row_ids, tuple | list) or len(row_ids) != 2:
        raise ValueError("row_ids is no pair; give the row ids of each run.")
    indices = []
    for ids, size in zip(row_ids, sizes, strict=True):
        index = pd.Index(as_array(ids, "row_ids", "one id per sample"))
        if len(index) != size or not index.is_unique:
            raise ValueError(
                f"row_ids holds {len(index)} ids, {index.nunique()} of them different, "
                f"for {size} samples; give each sample an id of its own."
            )
        indices.append(index)
    at = indices[1].get_indexer(indices[0])
    here = np.flatnonzero(at >= 0)
    if len(here) < 2:
        raise ValueError(
            f"row_ids of the two runs share {len(here)} rows; give runs that share two "
            "or more."
        )
    return here, at[here]


def _correlation(first: Ensemble, second: Ensemble, run: RunOptions) -> float:
    """Correlation of two consensus matrices over the pairs of different samples."""
    both = Ensemble([*first.codes, *second.codes], names=[*first.names, *second.names])
    votes = np.zeros((2, both.n_partitions))
    votes[0, : first.n_partitions] = first.votes / first.n_votes
    votes[1, first.n_partitions :] = second.votes / second.n_votes
    n = both.n_samples
    squares = partition_overlaps(both, **run.threads).squares - float(n)
    products = votes @ squares @ votes.T
    means = votes @ squares.diagonal()
    centred = products - np.outer(means, means) / (n * (n - 1))
    spread = centred[0, 0] * centred[1, 1]
    return float(centred[0, 1] / np.sqrt(spread)) if spread > _ROUNDING else np.nan
