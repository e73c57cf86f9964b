"""Agreement: how many partitions join each pair of samples, counted once.

One pass over the pairs i < j fills two small tables of integers. Every DISCOTEC score
at every threshold follows from them. O(n² T) time, O(n T + T²) memory.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    IntArray,
    RandomState,
    as_array,
    check_flag,
    check_random_state,
    check_range,
    read_only,
)
from clusterlens.compute.ensemble._distributed import count_columns_on_workers
from clusterlens.compute.ensemble.counting_cost import agreement_cost
from clusterlens.compute.ensemble.ensemble import Ensemble, check_ensemble
from clusterlens.compute.ensemble.pairs import (
    CountArray,
    count_columns,
    count_groups,
    joined_votes,
    pair_layout,
)
from clusterlens.compute.ensemble.partial import (
    Levels,
    check_pairs_seen,
    count_seen_pairs,
    share_levels,
)

if TYPE_CHECKING:
    from distributed import Client

_GROUPS = 24  # of compared samples; their spread gives the errors of an estimate
_SMALLEST_GROUP = 8


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Frozen):
    """Agreement counts of an ensemble: the two tables behind every score.

    Parameters
    ----------
    ensemble : Ensemble
        The T partitions of n samples that were counted.
    pair_counts : array of int64, shape (n_votes + 1,)
        Entry c: ordered pairs of samples, the n pairs (i, i) included, that exactly c
        votes join; partitions have one vote each unless the ensemble has weights.
    joint_counts : array of int64, shape (n_partitions, n_votes + 1)
        Entry (t, c): the number of these pairs that partition t joins.
    exact : bool, default True
        False if only a subset of the samples was compared.
    samples : array of int, shape (n_compared,), optional
        The compared samples, in random order; None if exact.
    group_pairs : array of int64, shape (n_groups, n_votes + 1), optional
        Ordered pairs (i, j), j another sample, by random groups of equal size of the
        first sample: their spread gives the errors of an estimate.
    group_joint : array of int64, shape (n_groups, n_partitions, n_votes + 1)
        Numbers of these pairs that each partition joins.
    seen_counts : array of int64, shape (n_partitions, n_levels), optional
        For partial partitions, entry (t, l): pairs of level l that model t saw.
    levels : Levels, optional
        For partial partitions, the meaning of the columns of the tables: not counts 0
        to n_votes, but shares of joining votes among the votes that saw a pair.

    Raises
    ------
    ValueError
        If the tables do not fit the ensemble.

    Notes
    -----
    `mean` and `threshold` come from cluster sizes and are exact in either case.

    For partial partitions, pairs that no vote saw are left out of all tables, and a
    pair counts for the models that saw it. The row of a model includes the pairs (i, i)
    with the share that they have in a partition of all samples, so that scores of
    partial and full partitions are comparable. The tables hold whole numbers; scores
    add the rounded part of that share, `identical_remainder`.
    """

    ensemble: Ensemble
    pair_counts: CountArray
    joint_counts: CountArray
    exact: bool = True
    samples: IntArray | None = None
    group_pairs: CountArray | None = None
    group_joint: CountArray | None = None
    seen_counts: CountArray | None = None
    levels: Levels | None = None

    def __post_init__(self) -> None:
        """Check the tables and make them read-only."""
        n_partitions = check_ensemble(self.ensemble).n_partitions
        n_votes = self.ensemble.n_votes
        check_flag(self.exact, name="exact")
        if not isinstance(self.levels, Levels | None):
            raise ValueError(
                f"levels is a {type(self.levels).__name__}; give the levels that "
                "count_agreements makes of partial partitions, or None."
            )
        if self.ensemble.is_partial and self.levels is None:
            raise ValueError(
                "levels is None, but partitions of the ensemble are partial; let "
                "count_agreements make the tables."
            )
        n_levels = n_votes + 1 if self.levels is None else len(self.levels.joined)
        shapes: dict[str, tuple[int, ...]] = {
            "pair_counts": (n_levels,),
            "joint_counts": (n_partitions, n_levels),
        }
        if self.levels is not None:
            shapes["seen_counts"] = (n_partitions, n_levels)
        for name, shape in shapes.items():
            table = as_array(getattr(self, name), name, f"whole numbers, shape {shape}")
            if table.shape != shape or table.dtype.kind not in "iu":
                raise ValueError(
                    f"{name} has shape {table.shape} for {n_partitions} partitions "
                    f"with {n_votes} votes and type {table.dtype}; give whole numbers, "
                    f"shape {shape}."
                )
            object.__setattr__(self, name, table.astype(np.int64))
        for name in ("samples", "group_pairs", "group_joint"):
            array = getattr(self, name)
            if not isinstance(array, np.ndarray | None):
                raise ValueError(
                    f"{name} is a {type(array).__name__}; give an array, as "
                    "estimate_agreements does, or None."
                )
        super().__post_init__()

    @property
    def n_compared(self) -> int:
        """Number of samples that were compared with each other, n if exact."""
        return self.ensemble.n_samples if self.samples is None else len(self.samples)

    @property
    def n_identical(self) -> int:
        """Pairs (i, i) in the tables: n if exact, in an estimate their usual share."""
        return round(_identical(self.n_compared, self.ensemble.n_samples))

    @cached_property
    def identical_remainder(self) -> FloatArray:
        """Fractional part of the pairs (i, i) of each row, (n_partitions,).

        In estimates and for partial partitions their usual share is not a whole number.
        """
        n_samples, of = self.ensemble.n_samples, self.n_compared
        n_seen = np.full(self.ensemble.n_partitions, of)
        if (gaps := self.ensemble.gaps) is not None:
            gaps = gaps if self.samples is None else gaps[:, self.samples]
            n_seen = of - np.count_nonzero(gaps, axis=1)
        shares = np.array([_identical(n, n_samples) for n in n_seen.tolist()])
        return read_only(shares - np.round(shares))

    @cached_property
    def total(self) -> int:
        """Sum of the agreement counts of all n² ordered pairs."""
        return joined_votes(self.ensemble)

    @cached_property
    def mean(self) -> float:
        """Mean of the consensus matrix over all n² ordered pairs, in (0, 1].

        For partial partitions, the votes that join pairs over the votes that saw them.
        """
        return self.total / seen_votes(self.ensemble)

    @cached_property
    def threshold(self) -> int:
        """Smallest agreement count that reaches the mean count, in integer arithmetic.

        A pair is joined in the binarised matrix if c n² >= total. For partial
        partitions it is a share of all votes, see `mean_threshold`.
        """
        return mean_threshold(self.ensemble)

    @cached_property
    def shares(self) -> FloatArray:
        """Consensus of the pairs of each column of the tables, from 0 to 1."""
        if self.levels is not None:
            return self.levels.shares
        return np.arange(self.ensemble.n_votes + 1) / self.ensemble.n_votes

    @cached_property
    def apart_counts(self) -> CountArray:
        """Pairs that each partition saw and separates, shape of `joint_counts`."""
        seen = self.pair_counts if self.seen_counts is None else self.seen_counts
        return seen - self.joint_counts

    def by_votes(self, table: CountArray) -> CountArray:
        """Sum the columns of a table by the largest threshold that their pairs reach.

        Parameters
        ----------
        table : array of int64, shape (..., n_levels)
            As `joint_counts` or `apart_counts`.

        Returns
        -------
        summed : array of int64, shape (..., n_votes + 1)
            The table itself unless partitions are partial.
        """
        if self.levels is None:
            return table
        n_votes = self.ensemble.n_votes
        summed = np.zeros((*table.shape[:-1], n_votes + 1), np.int64)
        np.add.at(summed.T, self.levels.needed(n_votes), table.T)
        return summed

    def __repr__(self) -> str:
        """Return the size and whether all pairs were counted."""
        kind = "exact" if self.exact else "estimated"
        some = "" if self.samples is None else f" from {self.n_compared:,} samples"
        return f"Agreement({kind}{some}, {self.ensemble!r})"


@takes_running
def count_agreements(
    ensemble: Ensemble,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
    client: Client | str | None = None,
) -> Agreement:
    """Count the partitions that join each pair of samples, in one pass over the pairs.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    n_jobs : int, optional
        Number of threads; None means all cores. The result does not depend on it.
    progress : callable, optional
        Called as progress(done, total) in pairs of samples.
    cancel : callable, optional
        Called between blocks of about a tenth of a second; True stops the count.
    executor : concurrent.futures.Executor, optional
        Threads to use instead of new ones, for instance those a server shares between
        its sessions; `n_jobs` is then the number of blocks that may wait at a time.
        Call from outside these threads.
    client : dask.distributed.Client or str, optional
        Cluster for the count, or the address of its scheduler; `n_jobs` and `executor`
        then have no effect. The result is the same to the last bit, even if workers
        die meanwhile. Needs the extra "dask".

    Returns
    -------
    agreement : Agreement
        `pair_counts[c]`: ordered pairs (diagonal included) that exactly c partitions
        join (votes, if the ensemble has weights); `joint_counts[t, c]`: the number of
        these that partition t joins. The sums are n² and the sum of squared cluster
        sizes of t.

    Raises
    ------
    MemoryError
        If the tables of so many partitions would be too large.
    DataError
        If a partial partition saw no pair that another model saw.
    Cancelled
        If `cancel` returned true.
    OSError
        If no scheduler answers at the address of `client`, or it has no workers.

    Notes
    -----
    O(n² T) comparisons of bytes, about 2e10 a second and core, and O(n T + T²) memory.
    If partitions have so many clusters that few pairs are joined (below about one in a
    hundred on average), only joined pairs are visited, some 2e8 a second and core.
    Identical partitions are compared once, and identical samples too if at most half of
    the samples are distinct. More than 255 partitions or clusters double the cost.
    Partial partitions cost three to four times as much (pairs are sorted by the share
    of joining votes) and O(n T + T³) memory, because their tables have a row for every
    such share. They are counted on this machine; see the Notes of `Agreement`.

    On a cluster every worker process gets the codes, 2 n T bytes or more, once, and
    compiles the kernels on first use (some seconds). Jobs of about a second are sent a
    few at a time; the jobs of a worker that dies are repeated. A cancel returns within
    a second; jobs already running on a worker finish, and their results are discarded.
    Dask sends data and functions by pickle: connect only to clusters that you trust
    like this process.

    Examples
    --------
    >>> agreement = count_agreements(Ensemble([[0, 0, 1, 1], [0, 0, 0, 1]]))
    >>> agreement.pair_counts.tolist()
    [4, 6, 6]
    >>> agreement.threshold
    2
    """
    run = RunOptions(n_jobs, progress, cancel, executor, client)
    if check_ensemble(ensemble).is_partial:
        return _count_partial(ensemble, None, run)
    layout = pair_layout(ensemble)
    if client is None:
        pairs, joint = count_columns(layout, run=run)
    else:
        pairs, joint = count_columns_on_workers(layout, run)
    # An item of weight w holds w² ordered pairs of identical samples.
    weights = layout.weights
    identical = layout.n_items if weights is None else int(weights @ weights)
    tables = _with_identical(2 * pairs, 2 * joint[layout.group], identical)
    return Agreement(ensemble, *tables)


@takes_running
def estimate_agreements(
    ensemble: Ensemble,
    n_compared: int | None = None,
    random_state: RandomState = 0,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> Agreement:
    """Estimate the agreements from some samples compared with each other.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    n_compared : int, optional
        Number of samples, from 2 to n, drawn without replacement. The default takes
        about two seconds, `agreement_cost(ensemble).n_compared`.
    random_state : int, default 0
        Seed of the draw.
    n_jobs, progress, cancel, executor
        As in `count_agreements`.

    Returns
    -------
    agreement : Agreement
        `exact` is False unless all samples were compared. Its tables count ordered
        pairs of the drawn samples, with the share of pairs (i, i) that n samples have.

    Raises
    ------
    ValueError
        If n_compared is out of range.

    Notes
    -----
    O(n T + n_compared² T). Scores are unbiased; mean and threshold are exact.
    `rank_partitions` of the agreement gives intervals for every score at every
    threshold if 192 or more samples were compared; `rank_progressively` stops as soon
    as the order is settled. Estimates of partial partitions have no intervals.

    Examples
    --------
    >>> ensemble = Ensemble([[0, 0, 1, 1] * 50, [0, 0, 0, 1] * 50])
    >>> estimate_agreements(ensemble, 100)
    Agreement(estimated from 100 samples, Ensemble(2 partitions of 200 samples))
    """
    run = RunOptions(n_jobs, progress, cancel, executor)
    seed = check_random_state(random_state)
    check_ensemble(ensemble)
    if n_compared is None:
        n_compared = agreement_cost(ensemble).n_compared
    n_compared = check_range(
        n_compared, 2, ensemble.n_samples, name="n_compared", integer=True
    )
    rng = np.random.default_rng(seed)
    samples = rng.choice(ensemble.n_samples, n_compared, replace=False)
    return count_samples(ensemble, samples, run)


def count_samples(ensemble: Ensemble, samples: IntArray, run: RunOptions) -> Agreement:
    """Estimate the agreements from given samples, as `estimate_agreements` does.

    Two or more different samples (n_compared,) in random order; exact if all are given.
    """
    n_samples, size = ensemble.n_samples, len(samples)
    if size == n_samples:
        return count_agreements(ensemble, **run.threads)
    if ensemble.is_partial:
        return _count_partial(ensemble, samples, run)
    layout = pair_layout(ensemble, samples)
    n_groups = _GROUPS if size >= _GROUPS * _SMALLEST_GROUP else 1
    bounds = np.linspace(0, size, n_groups + 1).astype(np.int64)
    pairs, by_model = count_groups(layout, bounds, run)
    joint = by_model[:, layout.group]
    identical = round(_identical(size, n_samples))
    tables = _with_identical(pairs.sum(axis=0), joint.sum(axis=0), identical)
    groups = (pairs, joint) if n_groups > 1 else (None, None)
    return Agreement(ensemble, *tables, False, samples, *groups)


def _count_partial(
    ensemble: Ensemble, samples: IntArray | None, run: RunOptions
) -> Agreement:
    """Count pairs by the share of joining votes among the votes that saw them."""
    levels = share_levels(ensemble)
    pairs, joint, seen = count_seen_pairs(ensemble, levels, samples, run)
    check_pairs_seen(ensemble, seen)
    of = np.arange(ensemble.n_samples) if samples is None else samples
    gaps = ensemble.gaps
    assert gaps is not None
    n_seen = np.count_nonzero(~gaps[:, of], axis=1)
    own = [round(_identical(n, ensemble.n_samples)) for n in n_seen.tolist()]
    pairs[-1] += round(_identical(len(of), ensemble.n_samples))
    joint[:, -1] += own
    seen[:, -1] += own
    return Agreement(
        ensemble,
        pairs,
        joint,
        samples is None,
        samples,
        seen_counts=seen,
        levels=levels,
    )


def seen_votes(ensemble: Ensemble) -> int:
    """Sum the votes that saw each ordered pair of samples, pairs (i, i) included."""
    seen = ensemble.n_samples - ensemble.n_gaps
    pairs = zip(ensemble.votes.tolist(), seen.tolist(), strict=True)
    return sum(vote * n**2 for vote, n in pairs)


def mean_threshold(ensemble: Ensemble) -> int:
    """Smallest agreement count h from 0 to V that reaches the mean of all pairs.

    For partial partitions a pair is joined if a of the p votes that saw it do and a / p
    >= h / V. The threshold h / V is the smallest such share that reaches the mean, the
    sum of all a over the sum of all p. Without gaps p is V, so the condition is a >= h.
    """
    votes = joined_votes(ensemble) * ensemble.n_votes
    return -(-votes // seen_votes(ensemble))


def check_agreement(agreement: Any) -> Agreement:
    """Return the agreement if it is one; otherwise name the call that makes one."""
    if not isinstance(agreement, Agreement):
        raise ValueError(
            f"agreement is a {type(agreement).__name__}; give an Agreement: "
            "count_agreements(ensemble) makes one."
        )
    return agreement


def _identical(n_compared: int, n_samples: int) -> float:
    """Scale the number of pairs (i, i) to the other pairs of n_compared samples."""
    if n_compared == n_samples:
        return float(n_samples)
    return n_compared * (n_compared - 1) / (n_samples - 1)


def _with_identical(
    pairs: CountArray, joint: CountArray, identical: int
) -> tuple[CountArray, CountArray]:
    """Add the pairs (i, i) to tables of ordered pairs; all partitions join them."""
    pairs[-1] += identical
    joint[:, -1] += identical
    return pairs, joint
