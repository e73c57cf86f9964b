"""Comparisons of many fuzzy partitions, in pairs and by sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    IntArray,
    check_choice,
    check_entries,
    check_random_state,
    check_range,
)
from clusterlens.compute.fuzzy.adjusted import adjusted_ndc
from clusterlens.compute.fuzzy.partition import (
    FuzzyPartition,
    Partition,
    as_partition,
    check_partitions,
)

_BLOCK_PAIRS = 1 << 22


@dataclass(frozen=True, eq=False)
class SampleDiscordance(Frozen):
    """Disagreement of two fuzzy partitions about each sample.

    Attributes
    ----------
    values : array of float64, shape (n_samples,)
        Mean discordance of the pairs of each sample, in [0, 1]; 0 is best. Their mean
        is 1 - NDC.
    n_others : int
        Number of other samples that each was paired with.
    exact : bool
        Whether these were all others; otherwise they were drawn, the same for all
        samples.
    """

    values: FloatArray
    n_others: int
    exact: bool


@takes_running
def sample_discordance(
    U: Partition,
    V: Partition,
    *,
    exact_limit: int = 20_000,
    n_others: int = 4_000,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> SampleDiscordance:
    """Measure for each sample the disagreement of two fuzzy partitions about it.

    Parameters
    ----------
    U, V : FuzzyPartition or array-like, shape (n_samples, n_clusters) or (n_samples,)
        Memberships, or hard labels, of the same samples (at least two).
    exact_limit : int, default 20_000
        With more samples each is paired with drawn others only, unless both partitions
        are hard, which is always exact.
    n_others : int, default 4_000
        Number of others to draw in that case.
    random_state : int, Generator or None, default 0
        Seed of the draw.
    n_jobs, progress, cancel, executor : optional
        As in `ndc`; progress counts samples.

    Returns
    -------
    discordance : SampleDiscordance
        `values` in [0, 1], shape (n_samples,); their mean is 1 - NDC.

    Raises
    ------
    DataError
        If the memberships are not valid, see FuzzyPartition.
    ValueError
        If the numbers of samples differ or are below two.

    Notes
    -----
    The mean over j of `|a_U(i, j) - a_V(i, j)|`, a the agreement of a pair as in
    `ndc`.
    Time O(n² K), or O(n) for two hard partitions; memory O(n K) and blocks of 64 MB.

    Examples
    --------
    >>> sample_discordance([0, 0, 1, 1], [0, 0, 1, 2]).values.round(3).tolist()
    [0.0, 0.0, 0.333, 0.333]
    """
    run = RunOptions(n_jobs, progress, cancel, executor)
    check_range(exact_limit, 0, np.inf, name="exact_limit", integer=True)
    check_range(n_others, 1, np.inf, name="n_others", integer=True)
    u, v = check_partitions(U, V)
    n_samples = u.n_samples
    if u.codes is not None and v.codes is not None:
        values = _hard_discordance(u.codes, v.codes)
        return SampleDiscordance(values, n_samples - 1, True)
    others = np.arange(n_samples)
    exact = n_samples <= max(exact_limit, n_others)
    if not exact:
        rng = np.random.default_rng(check_random_state(random_state))
        others = np.sort(rng.choice(n_samples, n_others, replace=False))

    def block(start: int, stop: int) -> FloatArray:
        gaps = _distances(u, start, stop, others) - _distances(v, start, stop, others)
        total: FloatArray = np.abs(gaps, out=gaps).sum(axis=1)
        return total

    step = max(1, _BLOCK_PAIRS // len(others))
    bounds = [(s, min(s + step, n_samples)) for s in range(0, n_samples, step)]
    work = [stop - start for start, stop in bounds]
    totals = np.concatenate(list(run_blocks(block, bounds, work, run)))
    # A sample does not differ from itself, but it does not count as another one.
    values = totals / (len(others) - np.isin(np.arange(n_samples), others))
    return SampleDiscordance(values, len(others) - exact, exact)


@takes_running
def compare_fuzzy(
    partitions: Mapping[str, Partition] | Sequence[Partition],
    model: str = "permutation",
    fixed: Literal["u", "v"] | None = None,
    random_state: int | np.random.Generator | None = 0,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Compare all pairs of some fuzzy partitions, adjusted for chance.

    Parameters
    ----------
    partitions : mapping of str to partition, or sequence of partitions
        Two or more FuzzyPartition, memberships or hard labels of the same samples, by
        name; partitions of a sequence are called "1", "2", ...
    model : {"permutation", "fit", "sym", "flat"}, default "permutation"
        The random element, as in `adjusted_ndc`.
    fixed : {"u", "v"} or None, default None
        The side that stays as it is. Because the choice matters, every pair is then
        compared both ways round.
    random_state : int, Generator or None, default 0
        Seed, the same for every pair, so that the value of a pair does not depend on
        the other partitions.
    n_jobs, cancel, executor : optional
        As in `adjusted_ndc`.
    progress : callable, optional
        Called as progress(pairs done, pairs in all).
    **options
        Further options of `adjusted_ndc`: precision, floor, keep_empty, exact_limit,
        n_pairs.

    Returns
    -------
    table : DataFrame
        One row per pair: u, v (names), value, standard_error, observed, expected,
        error_bound, degenerate, n_floored, n_drawn, notes. A square table of the values
        is `table.pivot(index="u", columns="v", values="value")`.

    Raises
    ------
    ValueError
        If there are fewer than two partitions, their numbers of samples differ, or an
        option is unknown.

    Notes
    -----
    The time of `adjusted_ndc` for each pair: O(T²) of them for T partitions.

    Examples
    --------
    >>> table = compare_fuzzy({"a": [0, 0, 1, 1], "b": [0, 0, 1, 2], "c": [0, 1, 0, 1]})
    >>> table[["u", "v", "value"]].round(3).to_numpy().tolist()
    [['a', 'b', 0.571], ['a', 'c', -0.5], ['b', 'c', -0.286]]
    """
    run = RunOptions(n_jobs, progress, cancel, executor)
    if fixed is not None:
        check_choice(fixed, ("u", "v"), name="fixed")
    seed = check_random_state(random_state)
    by_name = _by_name(partitions)
    pairs = list((combinations if fixed is None else permutations)(by_name, 2))
    rows = []
    for done, (u, v) in enumerate(pairs, 1):
        found = adjusted_ndc(
            by_name[u],
            by_name[v],
            model,
            fixed,
            seed,
            **run.quiet.threads,
            **options,
        )
        rows.append(
            {
                "u": u,
                "v": v,
                "value": found.value,
                "standard_error": found.standard_error,
                "observed": found.observed,
                "expected": found.expected,
                "error_bound": found.error_bound,
                "degenerate": found.degenerate,
                "n_floored": found.n_floored,
                "n_drawn": found.n_drawn,
                "notes": found.notes,
            }
        )
        run.report(done, len(pairs))
    return pd.DataFrame(rows)


def _by_name(
    partitions: Mapping[str, Partition] | Sequence[Partition],
) -> dict[str, FuzzyPartition]:
    """Return two or more checked partitions by name."""
    if not isinstance(partitions, Mapping):
        given = check_entries(partitions, "partitions")
        partitions = {str(at): each for at, each in enumerate(given, 1)}
    if len(partitions) < 2:
        raise ValueError(
            f"partitions has {len(partitions)} entries; give at least two to compare."
        )
    checked = {
        name: as_partition(given, name=f"partitions[{name!r}]")
        for name, given in partitions.items()
    }
    sizes = {name: one.n_samples for name, one in checked.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(
            f"partitions have different numbers of samples, {sizes}; give partitions "
            "of the same samples."
        )
    return checked


def _hard_discordance(u: IntArray, v: IntArray) -> FloatArray:
    """Share of others that exactly one of two hard partitions (n,) joins."""
    joint = np.unique(np.stack([u, v]), axis=1, return_inverse=True)[1].ravel()
    one = np.bincount(u)[u] + np.bincount(v)[v]
    return (one - 2 * np.bincount(joint)[joint]) / (len(u) - 1)


def _distances(
    partition: FuzzyPartition, start: int, stop: int, others: IntArray
) -> FloatArray:
    """Distances of samples start to stop to others, shape (stop - start, n_others)."""
    codes = partition.codes
    if codes is not None:
        return (codes[start:stop, None] != codes[others]).astype(np.float64)
    rows = partition.occupied
    return 0.5 * cdist(rows[start:stop], rows[others], "cityblock")
