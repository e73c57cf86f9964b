"""select_k: test for a number of clusters that exceeds structureless data.

One clusterer runs on many subsamples of the data, for each k, and on as many subsamples
of copies without clusters. A k stands out if valleys of the density separate all of its
clusters, and more clearly than in the copies. Perhaps no k stands out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import binom, skew

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._run.processes import Workers, check_workers
from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    IntArray,
    check_choice,
    check_entries,
    check_features,
    check_random_state,
    check_range,
    plain_repr,
)
from clusterlens.compute.consensus.cohesion import CONSENSUS_GRID
from clusterlens.compute.estimators.units import spread
from clusterlens.compute.formatting import percent, whole
from clusterlens.compute.pool._k_curves import (
    LONGEST_BLOCK,
    REFERENCES,
    TableJob,
    checked_curves,
    fit_seconds,
    measure_tables,
    models_of,
    stack_curves,
)
from clusterlens.compute.pool._k_curves import Curves as Curves
from clusterlens.compute.pool.clusterer import Spec
from clusterlens.compute.pool.nulls import MAX_COMPARED
from clusterlens.compute.pool.pool import estimate_pool
from clusterlens.compute.pool.resampling import (
    area_growth,
    checked_numbers,
    number_parameter,
)

if TYPE_CHECKING:
    from distributed import Client

K_MEANS: Spec = {"clusterer": "k-means", "n_init": 2}
_SKEWED = 1.0
_SECONDS_PER_PAIR = 2e-11  # of samples, for each partition
_SECONDS_PER_CONSENSUS = 5e-4
_SECONDS_TO_START = 3.0  # worker processes
_SECONDS_PER_FIT = 1e-3  # to draw a subsample and to assign the other samples
_FLOOR = 0.002  # smaller shares of pairs do not count
_LEAST_GAIN = np.log10(2.0)  # if PAC decides: half the ambiguous pairs of copies
_LEAST_CHANCE = 0.05  # that more draws would change the result
_UNAMBIGUOUS = 0.01  # the largest number with at most so many ambiguous pairs wins


@dataclass(frozen=True, eq=False, repr=False)
class KSelection(Frozen):
    """Evidence for a number of clusters, compared with structureless copies.

    Attributes
    ----------
    k : int or None
        The number of clusters that stands out; None if none does.
    n_clusters : array of int64, shape (n_k,)
        Compared numbers of clusters, ascending.
    data : Curves
        On the data: cdf (n_k, 101), the share of pairs of samples with a consensus of
        at most 0, 0.01, ..., 1; the area under it; PAC, the share of pairs with a
        consensus above 0.1 and at most 0.9, lower is clearer; stability, the adjusted
        Rand index of two runs; valley, how clearly the two least separated clusters
        are separated (median of the runs): standard errors by which the density midway
        between their centres is below two thirds of that at either. NaN where
        more than a fifth of the samples are nearer to the centre of another cluster.
    references : mapping of str to Curves
        The same on each copy, by kind of copy, with n_draws as first axis.
    p_values : mapping of str to array of float64, shape (n_k,)
        By kind of copy: share of the copies, the data included, that are at some number
        of clusters at least as clear as the data at k. This corrects for trying all k;
        in [1 / (n_draws + 1), 1].
    gain : array of float64, shape (n_k,)
        Reduction of ambiguous pairs relative to the copies: decimal logarithm of the
        ratio of the PAC, for the kind of copy with the smallest one.
    level : float
        Largest p-value at which k stands out.
    clusterer : str
        Name of the clusterer.
    n_resamples, n_samples, n_compared, random_state : int
        Subsamples per table and k, samples, samples with counted pairs, and seed.
    notes : tuple of str
        Estimates that were made, and warnings of the runs.
    """

    k: int | None
    n_clusters: IntArray
    data: Curves = field(repr=False)
    references: Mapping[str, Curves] = field(repr=False)
    p_values: Mapping[str, FloatArray]
    gain: FloatArray
    level: float
    clusterer: str
    n_resamples: int
    n_samples: int
    n_compared: int
    random_state: int
    notes: tuple[str, ...]

    @property
    def p_value(self) -> FloatArray:
        """Largest of the p-values over the kinds of copies, shape (n_k,)."""
        return np.max(list(self.p_values.values()), axis=0)

    @property
    def consensus(self) -> FloatArray:
        """Consensus values of the distributions: 0, 0.01, ..., 1."""
        return CONSENSUS_GRID

    @property
    def sentence(self) -> str:
        """The result in words."""
        draws = " and ".join(
            f"{n} {copy_name(kind)}" for kind, n in self._n_draws.items()
        )
        if self.k is None:
            return (
                f"No k stands out: for none of k = {_listed(self.n_clusters)} do "
                f"valleys of the density separate all clusters of {self.clusterer}, "
                f"and more clearly than in {draws} copies without clusters (p at most "
                f"{self.level:g}).{self._touching}{self._closest}"
            )
        at = int(np.flatnonzero(self.n_clusters == self.k)[0])
        share, p_value = percent(self.data.pac[at]), f"p = {self.p_value[at]:.2g}"
        spans = " and ".join(
            f"{percent(curves.pac[:, at].min())} to "
            f"{percent(curves.pac[:, at].max())} in {copy_name(kind)}"
            for kind, curves in self.references.items()
        )
        others = self.n_clusters[self._stands_out]
        others = others[others != self.k]
        also = f" Also: k = {_listed(others)}." if len(others) else ""
        if not np.isfinite(self.data.valley[at]):
            return (
                f"k = {self.k} stands out: {share} of the pairs are ambiguous, against "
                f"{spans} copies ({p_value}).{also}"
            )
        most = np.ravel([one.valley for one in self.references.values()])
        most = most[np.isfinite(most)]
        against = ""
        if len(most):
            reached = f"at most {most.max():.1f}" if most.max() > 0 else "none"
            against = f", against {reached} at any k in {draws} copies without clusters"
        return (
            f"k = {self.k} stands out: valleys of {self.data.valley[at]:.1f} standard "
            f"errors or more separate its clusters{against} ({p_value}).{also} The "
            f"share of ambiguous pairs does not decide here: {share}, and {spans} "
            "copies."
        )

    @property
    def _n_draws(self) -> dict[str, int]:
        return {kind: len(curves.pac) for kind, curves in self.references.items()}

    @property
    def _stands_out(self) -> npt.NDArray[np.bool_]:
        return (self.p_value <= self.level) & _is_clear(self.data, self.gain)

    @property
    def _touching(self) -> str:
        """The numbers with a small p-value that are not clear themselves, if any."""
        found = (self.p_value <= self.level) & ~_is_clear(self.data, self.gain)
        if not found.any():
            return ""
        return (
            f" At k = {_listed(self.n_clusters[found])} p is small, but some of the "
            "clusters are not separate."
        )

    @property
    def _closest(self) -> str:
        """The number that is clear enough, but that copies reach by chance, if any."""
        clear = _is_clear(self.data, self.gain)
        if not clear.any():
            return ""
        at = int(np.argmin(np.where(clear, self.p_value, np.inf)))
        reached = {
            kind: (round(self.p_values[kind][at] * (n + 1)) - 1, n)
            for kind, n in self._n_draws.items()
        }
        counts = " and ".join(
            f"{some} of {n} {copy_name(kind)}" for kind, (some, n) in reached.items()
        )
        chance = min(binom.sf(some - 1, n, self.level) for some, n in reached.values())
        return (
            f" The closest is k = {self.n_clusters[at]}, which leaves "
            f"{percent(self.data.pac[at])} of the pairs ambiguous, but {counts} copies "
            f"are as clear at some k (p = {self.p_value[at]:.2g})"
            f"{'; more draws may tell' if chance > _LEAST_CHANCE else ''}."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per number of clusters.

        Returns
        -------
        frame : DataFrame
            Columns pac, delta_area, stability, valley of the data; for each kind of
            copy pac_<kind>, delta_area_<kind>, stability_<kind>, valley_<kind> (means),
            pac_low_<kind>, pac_high_<kind> (range) and p_<kind>; gain; and p_value. The
            index is n_clusters.
        """
        columns = {
            "pac": self.data.pac,
            "delta_area": area_growth(self.data.area, self.n_clusters),
            "stability": self.data.stability,
            "valley": self.data.valley,
        }
        for kind, curves in self.references.items():
            columns |= {
                f"pac_{kind}": curves.pac.mean(axis=0),
                f"pac_low_{kind}": curves.pac.min(axis=0),
                f"pac_high_{kind}": curves.pac.max(axis=0),
                f"delta_area_{kind}": area_growth(curves.area, self.n_clusters).mean(
                    axis=0
                ),
                f"stability_{kind}": curves.stability.mean(axis=0),
                f"valley_{kind}": curves.valley.mean(axis=0),
                f"p_{kind}": self.p_values[kind],
            }
        columns |= {"gain": self.gain, "p_value": self.p_value}
        return pd.DataFrame(columns, index=pd.Index(self.n_clusters, name="n_clusters"))

    def __repr__(self) -> str:
        """Return the result, the size, the sample and the seed."""
        compared = (
            ""
            if self.n_compared == self.n_samples
            else (f", pairs of {self.n_compared} of them")
        )
        return (
            f"KSelection(k={self.k} of {self.n_clusters[0]} to {self.n_clusters[-1]}, "
            f"{self.n_samples} samples{compared}, {self.n_resamples} subsamples, seed "
            f"{self.random_state})"
        )


def copy_name(kind: str) -> str:
    """Return the name of a kind of copy in a sentence."""
    return "Gaussian" if kind == "gaussian" else kind


def _listed(numbers: IntArray) -> str:
    """List ascending numbers, three or more in a row as a range."""
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers))


@takes_running
def select_k(
    X: npt.ArrayLike,
    ks: Iterable[int] = range(2, 11),
    random_state: int | np.random.Generator | None = 0,
    *,
    clusterer: str | Spec = K_MEANS,
    references: Sequence[str] = ("gaussian", "uniform"),
    n_resamples: int = 30,
    n_draws: int = 39,
    level: float = 0.05,
    share: float = 0.8,
    max_compared: int = MAX_COMPARED,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    client: Client | str | None = None,
    memory_limit: float | None = None,
    executor: Executor | None = None,
    workers: Workers | None = None,
) -> KSelection:
    """Compare the clearness of k clusters with that in structureless data.

    Parameters
    ----------
    X : array-like of float, shape (n_samples, n_features)
        Finite features, prepared for the clusterer.
    ks : iterable of int, default 2 to 10
        Numbers of clusters, each from 2 to the size of a subsample.
    random_state : int, Generator or None, default 0
        Seed.
    clusterer : str or mapping, default k-means with two seedings
        A name in `CLUSTERERS` that takes a number of clusters, or a mapping with that
        name as "clusterer" and further parameters.
    references : sequence of str, default ("gaussian", "uniform")
        Kinds of copies that the data must all exceed: "gaussian" with the covariance of
        the data, "uniform" in the box along the main axes, "permuted" column by column.
    n_resamples : int, default 30
        Subsamples for each table and number of clusters, from 2.
    n_draws : int, default 39
        Copies of each kind; at least 1 / level - 1. With the least number, a single
        copy that is as clear by chance hides every k; with twice as many it does not.
    level : float, default 0.05
        Largest p-value at which a k stands out.
    share : float, default 0.8
        Share of the samples in a subsample.
    max_compared : int, default 2000
        Samples with counted pairs; a random sample if there are more.
    n_jobs : int, optional
        Number of worker processes; -1 or None for one per core, 1 for this process.
    progress : callable, optional
        Called as progress(done, total) with numbers of tables: the data and all copies.
    cancel : callable, optional
        Returns True to stop; workers are stopped in the middle of a fit.
    client : dask.distributed.Client or str, optional
        As for `run_pool`.
    memory_limit : float, optional
        Limit of the bytes of tables processed at the same time. Default 4e9.
    executor : concurrent.futures.Executor, optional
        Threads to use instead of new ones, see the Notes.
    workers : Workers, optional
        Worker processes to use instead of new ones, as for `run_pool`.

    Returns
    -------
    selection : KSelection
        `.k`, or None if no k stands out; `.sentence`; `.to_frame()`.

    Raises
    ------
    DataError
        If X is not a finite table.
    ValueError
        If an argument is out of range, the clusterer has no number of clusters, or one
        of its fits fails.
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    (1 + 2 n_draws) n_resamples fits per k, on share n samples each. The pairs of at
    most max_compared samples are counted, so the time is linear in n if the fits are.
    k-means with default parameters (except `n_init`) has an implementation for many
    small fits that shares subsamples and seeds among all k. If a table takes less than
    half a second, it runs on threads instead of worker processes.

    Two clusters are separated by a valley if few samples lie midway between their
    centres. On the line through both centres, f is the smaller number of samples in the
    two windows around the centres, m the number in the window of the same width around
    the midpoint; the valley is 2 sqrt(2f/3 + 3/8) - 2 sqrt(m + 3/8), in standard errors
    of the counts (Anscombe), with 0 for an f below 4. The valley of k is that of its
    least separated pair, in the median run. A density with one mode has no valleys,
    regardless of its tails and edges. The share of ambiguous pairs misses this case: a
    long box without clusters is cut in half at the same place every time.

    The p-value of a k is the rank of its valley among the largest valley over all k of
    every copy (single-step maxT). This bounds the probability that any k of
    structureless data stands out by the level. With two kinds of copies the larger
    p-value counts. A k stands out if its p-value is at most the level and its valley
    above 0. The largest such k is chosen, because a division into clear clusters that
    are divided again leaves both numbers clear.

    Clusters that do not lie around their centres, such as rings, get a note. For them
    the PAC replaces the valley: the rank uses its logarithm (plus 0.002), negative and
    standardised over the data and its copies, and the PAC must be at most half of the
    PAC of the copies (a gain of 0.3). The largest k that leaves at most one pair in a
    hundred ambiguous is chosen, else the k with the largest gain. Tails then count as
    structure if the copies lack them: a note names columns with a skewness beyond 1;
    transform them, or add "permuted", which keeps the values of every column. Permuted
    copies also keep clusters visible in single columns, as a grid, and may then hide
    real clusters.

    The test cannot find clusters that the clusterer cannot find. For example, k-means
    does not find flat clusters, which standardisation makes of groups that differ in
    only one column.

    References
    ----------
    Monti, Tamayo, Mesirov & Golub, Machine Learning 52, 2003,
    doi:10.1023/A:1023949509487 (resampled consensus, delta area).
    Senbabaoglu, Michailidis & Li, Scientific Reports 4, 2014, doi:10.1038/srep06207
    (PAC).
    Tibshirani, Walther & Hastie, JRSS B 63, 2001, doi:10.1111/1467-9868.00293 (uniform
    copies along the main axes).
    John, Watson, Barnes, Pitzalis & Lewis, "Spectrum of reference data in M3C: Monte
    Carlo reference-based consensus clustering", Scientific Reports 10, 2020,
    doi:10.1038/s41598-020-58766-1 (Gaussian copies; relative clearness at the same k).
    Westfall & Young, "Resampling-based multiple testing", 1993 (maxT).
    Halkidi & Vazirgiannis, ICDM 2001, doi:10.1109/ICDM.2001.989517 (density midway).
    Anscombe, Biometrika 35, 1948, doi:10.1093/biomet/35.3-4.246 (roots of counts).

    Examples
    --------
    >>> X = np.repeat([[0.0, 0.0], [9.0, 3.0], [3.0, 9.0]], 20, axis=0)
    >>> X += np.random.default_rng(0).normal(size=X.shape)
    >>> select_k(X, [2, 3], n_resamples=5, n_draws=4, level=0.2, n_jobs=1).k
    3
    """
    run = RunOptions(n_jobs, progress, cancel, executor, client, memory_limit)
    features = check_features(X)
    _check_subsamples(n_resamples, share, max_compared)
    check_range(level, 1e-4, 0.5, name="level")
    check_range(
        n_draws,
        int(np.ceil(1 / level - 1e-9)) - 1,
        10_000,
        name="n_draws",
        integer=True,
    )
    kinds = _checked_references(references, features.shape[1])
    numbers = checked_numbers(ks, round(share * len(features)), name="ks")
    seed = check_random_state(random_state)
    models, title = models_of(clusterer, numbers)
    rng = np.random.default_rng(seed)
    size = min(max_compared, len(features))
    compared = np.sort(rng.choice(len(features), size, replace=False))
    tables = ["data", *(kind for kind in kinds for _ in range(n_draws))]
    jobs = [
        TableJob(kind, int(one), numbers, models, n_resamples, share, compared)
        for kind, one in zip(tables, rng.integers(2**63, size=len(tables)), strict=True)
    ]
    found: dict[int, Curves] = {}
    warned: Counter[str] = Counter()
    for at, result in measure_tables(features, jobs, run, check_workers(workers)):
        found[at] = checked_curves(result, tables[at])
        warned.update(result.warnings)
        run.report(len(found), len(jobs))
    curves = {
        kind: stack_curves([found[at] for at, one in enumerate(tables) if one == kind])
        for kind in ["data", *kinds]
    }
    data = Curves(*(column[0] for column in curves.pop("data")))
    p_values = {kind: _p_values(data, one) for kind, one in curves.items()}
    gain = np.min([_gain(data.pac, one.pac) for one in curves.values()], axis=0)
    notes = _without_valleys(numbers, data)
    if np.isnan(data.valley).any() and "permuted" not in kinds:
        notes += _skewed(features)
    if size < len(features):
        notes.append(
            f"Pairs counted of {whole(size)} of {whole(len(features))} samples."
        )
    notes += [f"{text} ({count} runs)" for text, count in warned.items()]
    p_value = np.max(list(p_values.values()), axis=0)
    return KSelection(
        _choose(numbers, data, gain, (p_value <= level) & _is_clear(data, gain)),
        numbers,
        data,
        curves,
        p_values,
        gain,
        level,
        title,
        n_resamples,
        len(features),
        size,
        seed,
        tuple(notes),
    )


@takes_running
def select_k_seconds(
    X: npt.ArrayLike | tuple[int, int],
    ks: Iterable[int] = range(2, 11),
    *,
    clusterer: str | Spec = K_MEANS,
    references: Sequence[str] = ("gaussian", "uniform"),
    n_resamples: int = 30,
    n_draws: int = 39,
    share: float = 0.8,
    max_compared: int = MAX_COMPARED,
    n_jobs: int | None = None,
) -> float:
    """Estimate how long `select_k` takes.

    Parameters
    ----------
    X : array-like, shape (n_samples, n_features), or pair of int
        The table, or its shape.
    ks, clusterer, references, n_resamples, n_draws, share, max_compared, n_jobs
        As for `select_k`.

    Returns
    -------
    seconds : float
        From the cost law of the clusterer and the number of pairs to count.

    Examples
    --------
    >>> few, many = (select_k_seconds((500, 4), n_draws=n) for n in (19, 190))
    >>> round(many / few)
    10
    """
    n_samples, n_features = X if isinstance(X, tuple) else check_features(X).shape
    _check_subsamples(n_resamples, share, max_compared)
    check_range(n_draws, 1, 10_000, name="n_draws", integer=True)
    n_tables = 1 + len(_checked_references(references, n_features)) * n_draws
    numbers = checked_numbers(ks, round(share * n_samples), name="ks")
    models, _ = models_of(clusterer, numbers)
    job = TableJob("data", 0, numbers, models, n_resamples, share, np.arange(0))
    fits = fit_seconds((n_samples, n_features), job)
    workers = min(RunOptions(n_jobs).n_workers, n_tables)
    start = _SECONDS_TO_START if workers > 1 and fits >= LONGEST_BLOCK else 0.0
    if np.isinf(fits):
        spec = {"clusterer": clusterer} if isinstance(clusterer, str) else clusterer
        grid = {**spec, number_parameter(str(spec["clusterer"])): numbers.tolist()}
        shape = round(share * n_samples), n_features
        each = np.nansum(estimate_pool(shape, [grid], 1).model_seconds)
        fits = n_resamples * (float(each) + _SECONDS_PER_FIT * len(numbers))
    pairs = min(max_compared, n_samples) ** 2 * n_resamples
    counts = len(numbers) * (_SECONDS_PER_CONSENSUS + pairs * _SECONDS_PER_PAIR)
    return start + n_tables * (fits + counts) / workers


def _check_subsamples(n_resamples: int, share: float, max_compared: int) -> None:
    check_range(n_resamples, 2, 10_000, name="n_resamples", integer=True)
    check_range(share, np.finfo(float).tiny, 1.0, name="share")
    check_range(max_compared, 2, 100_000, name="max_compared", integer=True)


def _checked_references(references: Sequence[str], n_features: int) -> tuple[str, ...]:
    """Return distinct kinds of copies; refuse permuting a single column."""
    if not isinstance(references, str):
        references = check_entries(references, "references")
    if isinstance(references, str) or not references:
        raise ValueError(
            f"references is {plain_repr(references)}; give a list with some of "
            f"{', '.join(map(repr, REFERENCES))}."
        )
    for kind in references:
        check_choice(kind, REFERENCES, name="references")
    if n_features == 1 and "permuted" in references:
        raise ValueError(
            "references has 'permuted', but X has one column, which permuting does not "
            "change; give 'gaussian' and 'uniform'."
        )
    return tuple(dict.fromkeys(references))


def _skewed(X: FloatArray) -> list[str]:
    """Name columns with tails that Gaussian and uniform copies lack."""
    with np.errstate(invalid="ignore", divide="ignore"):
        varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
        rows = X[:, varying] / spread(X)  # third powers must not overflow
        at = varying[np.abs(skew(rows, axis=0)) > _SKEWED]
    if not len(at):
        return []
    return [
        f"{len(at)} of {X.shape[1]} columns are skewed beyond {_SKEWED:g}; their tails "
        "may count as clusters: transform them, or add 'permuted' to references."
    ]


def _p_values(data: Curves, copies: Curves) -> FloatArray:
    """p-values (n_k,) of the data among the clearest k of each copy (maxT)."""
    few = -np.log(np.vstack([data.pac, copies.pac]) + _FLOOR)
    spread = few.std(axis=0)
    few = (few - few.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    valleys = np.vstack([data.valley, copies.valley])
    clear = np.where(np.isnan(valleys), few, valleys)
    # Rounding must not put the data below themselves.
    return (clear.max(axis=1)[:, None] >= clear[0] - 1e-9).mean(axis=0)


def _gain(pac: FloatArray, reference: FloatArray) -> FloatArray:
    """Mean log10 PAC of copies (n_draws, n_k) minus log10 PAC of the data (n_k,)."""
    return np.log10(reference + _FLOOR).mean(axis=0) - np.log10(pac + _FLOOR)


def _is_clear(data: Curves, gain: FloatArray) -> npt.NDArray[np.bool_]:
    """Tell which numbers (n_k,) are clear enough to stand out, if not by chance."""
    return np.where(np.isnan(data.valley), gain >= _LEAST_GAIN, data.valley > 0)


def _choose(
    numbers: IntArray,
    data: Curves,
    gain: FloatArray,
    stands_out: npt.NDArray[np.bool_],
) -> int | None:
    """Choose the largest number with valleys, else unambiguous, else clearest."""
    if not stands_out.any():
        return None
    for largest in (~np.isnan(data.valley), data.pac <= _UNAMBIGUOUS):
        if (stands_out & largest).any():
            return int(numbers[stands_out & largest].max())
    return int(numbers[np.argmax(np.where(stands_out, gain, -np.inf))])


def _without_valleys(numbers: IntArray, data: Curves) -> list[str]:
    """List the numbers for which PAC decides."""
    some = numbers[np.isnan(data.valley)]
    if not len(some):
        return []
    return [
        f"k = {_listed(some)}: clusters do not lie around their centres, "
        "so that ambiguous pairs are compared instead of valleys."
    ]
