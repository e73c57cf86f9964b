"""Agreement of two fuzzy partitions on pairs of samples: NDC and Brouwer's index.

The normalised degree of concordance (NDC) is computed exactly: from the contingency
table if both partitions are hard; by sorting, O(n log n), if one is hard or both have
two clusters; otherwise over all pairs, O(n²) time and O(n) memory. Only the last case
is estimated from random pairs, beyond a stated number of samples. Norms other than L1
go over the pairs if one side is hard, too.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    IntArray,
    RandomState,
    check_random_state,
    check_range,
)
from clusterlens.compute.ensemble.contingency import contingency_table
from clusterlens.compute.fuzzy._pair_distances import (
    Estimate,
    PairWalk,
    count_pairs,
    mean_discordance,
    pairs_together,
    sum_of_differences,
    summed_distance,
)
from clusterlens.compute.fuzzy.partition import (
    FuzzyPartition,
    Partition,
    check_partitions,
)


@dataclass(frozen=True)
class NDC:
    """Degree of concordance of two fuzzy partitions.

    Attributes
    ----------
    value : float
        Mean concordance of the pairs of samples, in [0, 1]; 1 is best.
    standard_error : float
        Monte-Carlo standard error of `value`; 0 if it is exact.
    n_drawn : int
        Number of pairs drawn at random; 0 if all pairs were used.
    """

    value: float
    standard_error: float
    n_drawn: int

    def __float__(self) -> float:
        """Return the value."""
        return self.value


@dataclass(frozen=True)
class BrouwerIndex:
    """Brouwer's Rand index of two fuzzy partitions, with its values at equality.

    Attributes
    ----------
    value : float
        Mean concordance of the pairs of samples, in [0, 1].
    self_u, self_v : float
        The index of each partition with itself: less than 1 unless it is hard, so
        compare `value` with it.
    """

    value: float
    self_u: float
    self_v: float

    def __float__(self) -> float:
        """Return the value."""
        return self.value


@takes_running
def ndc(
    U: Partition,
    V: Partition,
    *,
    norm: float = 1.0,
    exact_limit: int = 20_000,
    n_pairs: int = 1_000_000,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> NDC:
    """Compute the normalised degree of concordance of two fuzzy partitions.

    Parameters
    ----------
    U, V : FuzzyPartition or array-like, shape (n_samples, n_clusters) or (n_samples,)
        Memberships, or hard labels, of the same samples (at least two).
    norm : float of at least 1, or infinite, default 1.0
        Order p of the norm that compares two membership rows.
    exact_limit : int, default 20_000
        With more samples, two soft partitions are compared on random pairs, unless
        both have two clusters; a soft partition is compared with a hard one in the same
        way if `norm` is not 1. All other cases are always exact.
    n_pairs : int, default 1_000_000
        Number of pairs to draw in that case.
    random_state : int, Generator or None, default 0
        Seed of the drawn pairs.
    n_jobs : int, optional
        Number of threads; all cores by default. Does not change the result.
    progress : callable, optional
        Called as progress(done, total), in pairs, after each block.
    cancel : callable, optional
        Called between blocks; true stops with Cancelled.
    executor : Executor, optional
        Runs the blocks in place of a new pool of threads.

    Returns
    -------
    concordance : NDC
        `value` in [0, 1], 1 for partitions that separate every pair equally; its
        `standard_error`, 0 if exact. For hard partitions it is the Rand index.

    Raises
    ------
    DataError
        If the memberships are not valid, see FuzzyPartition.
    ValueError
        If the numbers of samples differ or are below two.

    Notes
    -----
    With the agreement `a(i, j) = 1 - sum_k |u_ik - u_jk| / 2` of a pair in each
    partition, NDC is the mean over pairs i < j of `1 - |a_U(i, j) - a_V(i, j)|`. For
    another norm, `a(i, j) = 1 - ||u_i - u_j||_p / 2^(1/p)`; for two hard partitions,
    and for two partitions with two clusters each, the norm has no effect. Time
    O(n_samples) for two hard partitions, O(n K log n) if one is hard or both have two
    clusters, else O(n² K) for K clusters in both together; memory O(n K).

    References
    ----------
    E. Hüllermeier, M. Rifqi, S. Henzgen, R. Senge, "Comparing fuzzy partitions: a
    generalization of the Rand index and related measures", IEEE Trans. Fuzzy Systems
    20 (2012), doi 10.1109/TFUZZ.2011.2179303.
    R. DeWolfe, J. L. Andrews, "Random models for fuzzy clustering similarity measures",
    Adv. Data Anal. Classif. (2025), doi 10.1007/s11634-025-00625-w.

    Examples
    --------
    >>> U = [[0.9, 0.1], [0.2, 0.8]]
    >>> round(float(ndc(U, [[0.5, 0.5], [0.4, 0.6]])), 12)
    0.4
    >>> ndc([0, 0, 1, 1], [0, 0, 1, 2]).value  # the Rand index
    0.8333333333333334
    """
    u, v = check_partitions(U, V)
    norm = check_norm(norm)
    run = RunOptions(n_jobs, progress, cancel, executor)
    walk = PairWalk(exact_limit, n_pairs, run)
    rng = np.random.default_rng(check_random_state(random_state))
    mean = discordance(u, v, rng, walk, norm)
    return NDC(1 - mean.value, mean.standard_error, mean.n_drawn)


def brouwer_index(U: Partition, V: Partition) -> BrouwerIndex:
    """Compute Brouwer's fuzzy Rand index, exactly and without a pass over pairs.

    Parameters
    ----------
    U, V : FuzzyPartition or array-like, shape (n_samples, n_clusters) or (n_samples,)
        Memberships, or hard labels, of the same samples (at least two).

    Returns
    -------
    index : BrouwerIndex
        `value` in [0, 1] and the values of U and of V with themselves, which are below
        1 for soft partitions: this index is not reflexive.

    Raises
    ------
    DataError
        If the memberships are not valid, see FuzzyPartition.
    ValueError
        If the numbers of samples differ or are below two.

    Notes
    -----
    The agreement a of a pair is the cosine of its membership rows, its concordance
    a_U a_V + (1 - a_U)(1 - a_V). Sums of cosines over all pairs are squared norms of
    sums of unit rows, so that time is O(n K_U K_V).

    References
    ----------
    R. K. Brouwer, "Extending the Rand, adjusted Rand and Jaccard indices to fuzzy
    partitions", J. Intell. Inf. Syst. 32 (2009), doi 10.1007/s10844-008-0054-7.

    Examples
    --------
    >>> index = brouwer_index([[0.9, 0.1], [0.2, 0.8]], [[0.9, 0.1], [0.2, 0.8]])
    >>> round(index.value, 3), index.value == index.self_u
    (0.546, True)
    """
    u, v = check_partitions(U, V)
    return BrouwerIndex(
        _cosine_concordance(u, v), _cosine_concordance(u, u), _cosine_concordance(v, v)
    )


def check_norm(norm: float) -> float:
    """Return the order of a norm, at least 1 and maybe infinite."""
    is_infinite = isinstance(norm, float) and norm == np.inf
    return norm if is_infinite else float(check_range(norm, 1, np.inf, name="norm"))


def discordance(
    u: FuzzyPartition,
    v: FuzzyPartition,
    rng: np.random.Generator,
    walk: PairWalk,
    norm: float = 1.0,
) -> Estimate:
    """Return 1 - NDC by the cheapest exact method."""
    if u.codes is not None and v.codes is not None:
        return hard_discordance(u.codes, v.codes)
    if u.n_occupied == v.n_occupied == 2:
        return Estimate(_discordance_two_clusters(u, v))
    if norm == 1 and u.codes is not None:
        return Estimate(_discordance_mixed(v, u.codes))
    if norm == 1 and v.codes is not None:
        return Estimate(_discordance_mixed(u, v.codes))
    return mean_discordance(u.occupied, v.occupied, rng, walk, norm)


def hard_discordance(u: IntArray, v: IntArray) -> Estimate:
    """Share of pairs that one hard partition (n,) joins and the other separates."""
    both = pairs_together(contingency_table(u, v).data)
    one = pairs_together(np.bincount(u)) + pairs_together(np.bincount(v))
    return Estimate((one - 2 * both) / count_pairs(len(u)))


def _discordance_mixed(soft: FuzzyPartition, codes: IntArray) -> float:
    """Average the distances of joined pairs, and one minus the distance of the others.

    The pair is discordant by d if the hard partition joins it, otherwise by 1 - d.
    """
    total = count_pairs(soft.n_samples)
    joined = pairs_together(np.bincount(codes))
    inside = summed_distance(soft.occupied, codes)
    across = soft.mean_distance * total - inside
    return max(0.0, (inside + (total - joined) - across) / total)


def _discordance_two_clusters(u: FuzzyPartition, v: FuzzyPartition) -> float:
    """Average ||x_i - x_j| - |y_i - y_j|| by sorting, x and y the first memberships.

    Sums of differences in the four directions suffice, because
    ||a| - |b|| = |a + b| + |a - b| - |a| - |b|.
    """
    x, y = u.occupied[:, 0], v.occupied[:, 0]
    crossed = sum_of_differences(x + y) + sum_of_differences(x - y)
    alone = sum_of_differences(x) + sum_of_differences(y)
    return max(0.0, (crossed - alone) / count_pairs(u.n_samples))


def _cosine_concordance(u: FuzzyPartition, v: FuzzyPartition) -> float:
    """Mean over pairs of 1 - a_u - a_v + 2 a_u a_v, a the cosine of the pair's rows."""
    rows_u, rows_v = _unit_rows(u), _unit_rows(v)
    # Each full double sum counts every pair twice, and the diagonal as n ones.
    sum_both = float(((rows_u.T @ rows_v).data ** 2).sum())
    excess = 2 * sum_both - _summed_cosines(rows_u) - _summed_cosines(rows_v)
    return 1 + excess / 2 / count_pairs(u.n_samples)


def mean_cosine(partition: FuzzyPartition) -> float:
    """Mean over pairs of the cosine of their rows."""
    n_samples = partition.n_samples
    twice = _summed_cosines(_unit_rows(partition)) - n_samples
    return twice / 2 / count_pairs(n_samples)


def _summed_cosines(rows: csr_array) -> float:
    """Sum the inner products of all n² ordered pairs of unit rows (n, K)."""
    return float((rows.sum(axis=0) ** 2).sum())


def _unit_rows(partition: FuzzyPartition) -> csr_array:
    """Return the rows at unit Euclidean length, sparse, shape (n, K)."""
    if partition.codes is not None:
        n_samples = partition.n_samples
        parts = (np.ones(n_samples), partition.codes, np.arange(n_samples + 1))
        return csr_array(parts, shape=(n_samples, partition.n_clusters))
    rows = partition.memberships
    return csr_array(rows / np.linalg.norm(rows, axis=1, keepdims=True))
