"""null_agreement: compare a pool's agreement on the data and on structureless copies.

Every pool has a winner, even on noise. The same pool runs on copies of the table
without clusters: each column permuted separately, which keeps the marginals and breaks
the dependence; and Gaussian with the same mean and covariance, which keeps the linear
dependence and breaks the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions, report
from clusterlens.compute._run.processes import Workers
from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    IntArray,
    RandomState,
    check_choice,
    check_features,
    check_random_state,
    check_range,
)
from clusterlens.compute.consensus.cohesion import (
    CONSENSUS_GRID,
    consensus_cdf,
    distribution_at,
)
from clusterlens.compute.ensemble.agreement import count_agreements
from clusterlens.compute.ensemble.ensemble import Ensemble, NoiseMeans
from clusterlens.compute.pool.pool import estimate_pool, run_pool
from clusterlens.compute.pool.specs import Pool
from clusterlens.compute.ranking.ranking import SCORES, rank_partitions

if TYPE_CHECKING:
    from distributed import Client

MAX_COMPARED = 2_000  # samples used for the distribution of the consensus
LEVEL = 0.05  # largest p-value at which the sentence reports more agreement

_FEWEST_MODELS = 2
_SECONDS_PER_LOOKUP = 2e-9  # of comparing partitions, one core


@dataclass(frozen=True, eq=False)
class NullAgreement(Frozen):
    """Agreement of a pool on the data and on structureless copies of it.

    Attributes
    ----------
    score : str
        Name in `SCORES`.
    best : float
        Best score of a model on the data.
    null_best : mapping of str to array of float64, shape (n_draws,)
        Best score on each copy, by kind of copy: "permuted", "gaussian". NaN if fewer
        than two models survived, see `n_failed`.
    p_values : mapping of str to float
        By kind: share of the copies, the data included, that do at least as well as the
        data, in [1 / (n_draws + 1), 1]. Failed copies count among these.
    consensus : array of float64, shape (101,)
        Consensus values 0, 0.01, ..., 1.
    cdf : array of float64, shape (101,)
        Share of the pairs of samples with at most that consensus, on the data.
    null_cdf : mapping of str to array of float64, shape (n_draws, 101)
        The same on each copy.
    n_compared : int
        Number of samples with pairs in the distributions; a random sample if there are
        more.
    notes : tuple of str
        Notes of the pool on the data.
    random_state : int
        Seed.
    """

    score: str
    best: float
    null_best: Mapping[str, FloatArray]
    p_values: Mapping[str, float]
    consensus: FloatArray = field(repr=False)
    cdf: FloatArray = field(repr=False)
    null_cdf: Mapping[str, FloatArray] = field(repr=False)
    n_compared: int
    notes: tuple[str, ...]
    random_state: int = 0

    @property
    def n_draws(self) -> int:
        """Number of copies of each kind."""
        return len(next(iter(self.null_best.values())))

    @property
    def n_failed(self) -> dict[str, int]:
        """Number of copies of each kind on which fewer than two models survived."""
        failed = {kind: np.isnan(best) for kind, best in self.null_best.items()}
        return {kind: int(np.count_nonzero(at)) for kind, at in failed.items()}

    @property
    def p_value(self) -> float:
        """Larger p-value of the two kinds: the data must exceed both."""
        return max(self.p_values.values())

    @property
    def overlaps(self) -> bool:
        """Whether a copy of either kind failed or does at least as well as the data."""
        greater = SCORES[self.score].greater_is_better
        return any(
            _as_good(null, self.best, greater).any() for null in self.null_best.values()
        )

    @property
    def sentence(self) -> str:
        """The result in words, with its limits."""
        draws, failed = self.n_draws, sum(self.n_failed.values())
        copies = f"{draws} copies with permuted columns and {draws} Gaussian copies"
        test = f"p = {self.p_value:.2g}, from {copies}"
        if self.p_value <= LEVEL:
            if self.p_value <= 1 / (draws + 1):
                test += ", the smallest p that so many can give"
            text = (
                f"This pool agrees more on the data than on copies without groups "
                f"({test}). That is not proof of clusters: curves and skewed data "
                "agree more too."
            )
        elif not self.overlaps:
            text = (
                f"This pool agrees more on the data than on each of {copies}, but so "
                f"few cannot give a p below {self.p_value:.2g}; draw at least "
                f"{round(1 / LEVEL) - 1} of each."
            )
        else:
            text = (
                f"This pool agrees no more on the data than copies without groups can "
                f"({test}): its agreement is no evidence of structure."
            )
        if failed:
            text += (
                f" On {failed} of {2 * draws} copies fewer than two models survived; "
                "these count against the data."
            )
        return text

    def to_frame(self) -> pd.DataFrame:
        """Return one row per run of the pool.

        Returns
        -------
        frame : DataFrame
            Columns kind ("data", "permuted" or "gaussian") and best.
        """
        kinds = [("data", np.array([self.best])), *self.null_best.items()]
        frames = [pd.DataFrame({"kind": kind, "best": best}) for kind, best in kinds]
        return pd.concat(frames, ignore_index=True)


@takes_running
def null_agreement(
    X: npt.ArrayLike,
    pool: Pool = "quick",
    n_draws: int = 19,
    random_state: RandomState = 0,
    *,
    score: str = "aari",
    noise: NoiseMeans = "cluster",
    max_compared: int = MAX_COMPARED,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    client: Client | str | None = None,
    workers: Workers | None = None,
) -> NullAgreement:
    """Run the same pool on the data and on structureless copies of it.

    Parameters
    ----------
    X : array-like of float, shape (n_samples, n_features)
        Finite features, at least two samples.
    pool : str or sequence, default "quick"
        As for `run_pool`.
    n_draws : int, default 19
        Copies of each kind. Structureless data of either kind overlap with a
        probability of at least n_draws / (n_draws + 1).
    random_state : int, default 0
        Seed.
    score : str, default "aari"
        Score in `SCORES`; the best values are compared. The binary score is 0 on any
        data if one model equals the binarised consensus, so it says little.
    noise : {"cluster", "singletons", "silent"}, default "cluster"
        As for `Ensemble`.
    max_compared : int, default 2000
        Number of samples with pairs in the distributions of the consensus.
    n_jobs : int, optional
        As for `run_pool`.
    progress : callable, optional
        Called as progress(done, total) with numbers of runs of the pool, 1 + 2 n_draws.
    cancel : callable, optional
        Returns True to stop.
    client : dask.distributed.Client or str, optional
        As for `run_pool`.
    workers : Workers, optional
        As for `run_pool`.

    Returns
    -------
    agreement : NullAgreement
        Best score and distribution of the consensus, data against copies.

    Raises
    ------
    DataError
        If X is not a finite table.
    ValueError
        If an argument is out of range, or fewer than two models survive on the data.
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    1 + 2 n_draws runs of the pool. The data must exceed both kinds: uniform data agree
    more than Gaussian copies, correlated Gaussian data more than permuted ones, and
    neither has clusters. Clusters visible in single columns remain in permuted copies
    as a grid, which makes the comparison strict. Each p-value comes from a Monte Carlo
    test for its kind alone; a copy on which fewer than two models survive counts
    against the data. A small p says that the columns depend on each other beyond their
    covariance, not that there are clusters: a curve or skewed columns increase the
    agreement, too. `null_agreement_seconds` estimates the time.

    References
    ----------
    Tibshirani, Walther & Hastie, "Estimating the number of clusters in a data set via
    the gap statistic", JRSS B 63, 2001, doi:10.1111/1467-9868.00293 (reference data).
    Davison & Hinkley, "Bootstrap methods and their application", 1997, section 4.2.

    Examples
    --------
    >>> X = [[0, 0], [0, 1], [1, 0], [9, 9], [9, 8], [8, 9], [0, 9], [1, 9], [0, 8]]
    >>> pool = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]
    >>> null_agreement(X, pool, n_draws=2).to_frame()["kind"].value_counts().to_dict()
    {'permuted': 2, 'gaussian': 2, 'data': 1}
    """
    RunOptions(n_jobs, progress, cancel, client=client)  # validates them
    seed = check_random_state(random_state)
    features = check_features(X)
    check_range(len(features), 2, np.inf, name="the number of samples of X")
    check_range(n_draws, 1, 10_000, name="n_draws", integer=True)
    check_range(max_compared, 2, 100_000, name="max_compared", integer=True)
    check_choice(score, SCORES, name="score")
    check_choice(noise, get_args(NoiseMeans), name="noise")
    rng = np.random.default_rng(seed)
    size = min(max_compared, len(features))
    compared = np.sort(rng.choice(len(features), size, replace=False))
    kinds = ["data", *(kind for kind in COPIES for _ in range(n_draws))]
    runs: dict[str, list[_Run]] = {kind: [] for kind in kinds}
    for done, kind in enumerate(kinds, 1):
        table = features if kind == "data" else COPIES[kind](features, rng)
        own = seed if kind == "data" else int(rng.integers(2**32))
        try:
            ensemble = run_pool(
                table,
                pool,
                own,
                n_jobs,
                cancel=cancel,
                client=client,
                workers=workers,
            ).replace(noise=noise)
        except ValueError:
            if kind == "data":
                raise
            ensemble = None  # no model is left: the same pool ran on the data
        if kind == "data":
            _refuse_too_few(ensemble)
        runs[kind].append(_read(ensemble, score, compared, cancel))
        report(progress, done, len(kinds))
    (real,) = runs.pop("data")
    greater = SCORES[score].greater_is_better
    null_best = {kind: np.array([run.best for run in runs[kind]]) for kind in runs}
    return NullAgreement(
        score,
        real.best,
        null_best,
        {k: null_p_value(best, real.best, greater) for k, best in null_best.items()},
        CONSENSUS_GRID,
        real.cdf,
        {k: np.array([run.cdf for run in runs[k]]) for k in runs},
        size,
        real.notes,
        seed,
    )


@takes_running
def null_agreement_seconds(
    X: npt.ArrayLike | tuple[int, int],
    pool: Pool = "quick",
    n_draws: int = 19,
    *,
    n_jobs: int | None = None,
) -> float:
    """Estimate how long `null_agreement` will take.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or tuple of int
        Table, or its shape.
    pool : str or sequence, default "quick"
        As for `run_pool`.
    n_draws : int, default 19
        Copies of each kind.
    n_jobs : int, optional
        As for `run_pool`.

    Returns
    -------
    seconds : float
        1 + 2 n_draws times the pool, from the cost laws of its clusterers, and the
        comparison of its partitions.

    Examples
    --------
    >>> few, many = (null_agreement_seconds((500, 4), n_draws=n) for n in (1, 19))
    >>> round(many / few)
    13
    """
    n_draws = check_range(n_draws, 1, 10_000, name="n_draws", integer=True)
    cost = estimate_pool(X, pool, n_jobs)
    n_samples = X[0] if isinstance(X, tuple) else len(check_features(X))
    lookups = n_samples * len(cost.names) ** 2 / 2
    comparing = _SECONDS_PER_LOOKUP * lookups / RunOptions(n_jobs).n_workers
    return (1 + 2 * n_draws) * (cost.seconds + comparing)


def permute_columns(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Permute each column of X (n_samples, n_features) separately."""
    return rng.permuted(X, axis=0)


def match_covariance(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw Gaussian rows with the mean and covariance of X (n_samples, n_features)."""
    mean = X.mean(axis=0)
    # The singular values also serve covariances without full rank.
    _, singular, axes = np.linalg.svd(X - mean, full_matrices=False)
    scales = singular / np.sqrt(len(X) - 1)
    return mean + (rng.standard_normal((len(X), len(scales))) * scales) @ axes


COPIES: dict[str, Callable[[FloatArray, np.random.Generator], FloatArray]] = {
    "permuted": permute_columns,
    "gaussian": match_covariance,
}


class _Run(NamedTuple):
    """Best score and distribution of the consensus (101,) of one run of the pool."""

    best: float
    cdf: FloatArray
    notes: tuple[str, ...]


def _refuse_too_few(ensemble: Ensemble | None) -> None:
    """Raise if there are too few models on the data for any agreement."""
    if ensemble is None or ensemble.n_partitions < _FEWEST_MODELS:
        notes = "" if ensemble is None else " " + " ".join(ensemble.notes)
        raise ValueError(
            f"pool leaves fewer than {_FEWEST_MODELS} models on the data, which cannot "
            f"agree; give a pool of more models.{notes}"
        )


def _read(
    ensemble: Ensemble | None, score: str, compared: IntArray, cancel: Cancel | None
) -> _Run:
    """Return the best score, and the consensus of the compared samples."""
    if ensemble is None or ensemble.n_partitions < _FEWEST_MODELS:
        return _Run(np.nan, np.full(len(CONSENSUS_GRID), np.nan), ())
    values = rank_partitions(ensemble, score, cancel=cancel).values
    best = values.max() if SCORES[score].greater_is_better else values.min()
    n_seen = [ensemble.seen_by(t)[compared].sum() for t in range(len(ensemble))]
    some = ensemble.select(np.array(n_seen) > 1).take_samples(compared)
    shares = consensus_cdf(count_agreements(some, cancel=cancel))
    return _Run(float(best), distribution_at(shares, CONSENSUS_GRID), ensemble.notes)


def null_p_value(null: FloatArray, best: float, greater: bool) -> float:
    """Share of best scores (n_draws,) and the data's that are as good as the data's."""
    return (1 + int(_as_good(null, best, greater).sum())) / (1 + len(null))


def _as_good(null: FloatArray, best: float, greater: bool) -> npt.NDArray[np.bool_]:
    """Tell which copies (n_draws,) do at least as well as the data, or failed (NaN)."""
    return ~(null < best if greater else null > best)
