"""Models made for answers: partitions guided by links, evaluated on held-out links.

A model that was made to obey answers agrees with them, which is no evidence. So each
model is also made with some answers held out; its predictions for the held-out answers
are the evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._run.process_settings import one_thread
from clusterlens.compute._validation import (
    DataError,
    FloatArray,
    Frozen,
    IntArray,
    RandomState,
    check_entries,
    check_features,
    check_random_state,
    check_range,
)
from clusterlens.compute.consensus.partition import consensus_partition
from clusterlens.compute.ensemble.agreement import Agreement, count_agreements
from clusterlens.compute.ensemble.constraints import (
    ConstraintError,
    Constraints,
    check_constraints,
)
from clusterlens.compute.ensemble.ensemble import Ensemble, check_ensemble
from clusterlens.compute.estimators.constrained_k_means import ConstrainedKMeans
from clusterlens.compute.estimators.constrained_spectral import ConstrainedSpectral
from clusterlens.compute.estimators.link_metric import LinkMetric
from clusterlens.compute.estimators.neighbors import known_neighbors, neighbor_table
from clusterlens.compute.formatting import count
from clusterlens.compute.ranking.answers import AnswerPosterior, answer_posterior
from clusterlens.compute.ranking.held_out import ANSWERS, HELD_OUT
from clusterlens.compute.ranking.scores import partitions_of

FAMILY = "made for answers"
_MOST_NUMBERS = 3  # numbers of clusters to try by default
N_MAKERS = 5  # models for each number of clusters, with features
_N_INIT = 3
# Takes partitions with votes, links, number of clusters; returns labels (n_samples,).
Maker = Callable[[Ensemble, Constraints, int], IntArray]


@dataclass(frozen=True, eq=False, repr=False)
class AnswerModels(Frozen):
    """A pool and the models made for the answers of an analyst.

    Attributes
    ----------
    ensemble : Ensemble
        The partitions of the pool, then those made. The `specs` of the latter hold
        their links, by positions of samples, and their prediction for each held-out
        link, so that every ranking and posterior evaluates them by the predictions.
    n_made : int
        Number of models made.
    posterior : AnswerPosterior
        Probabilities of all partitions. For models that were made, `posterior.outcomes`
        counts their predictions for held-out answers.
    """

    ensemble: Ensemble
    n_made: int
    posterior: AnswerPosterior

    @property
    def broken(self) -> FloatArray:
        """Share of the answers that each partition made for them breaks, (n_made,)."""
        links = self.posterior.constraints
        return links.violations(self.ensemble)[-self.n_made :]

    @cached_property
    def leader(self) -> int:
        """Position of the partition with the largest expected likeness to the truth.

        The models made are similar and share their probability, so the most probable
        partition alone says less, see `AnswerPosterior.likeness`.
        """
        return int(self.posterior.likeness.argmax())

    def to_frame(self) -> pd.DataFrame:
        """Return one row per partition, by decreasing expected likeness to the truth.

        Returns
        -------
        frame : DataFrame
            Columns model, family, n_clusters, likeness, posterior, broken and uncertain
            (counts of answers, held-out ones for models that were made); the index is
            the position.
        """
        frame = pd.DataFrame(
            {
                "model": self.ensemble.names,
                "family": self.ensemble.families,
                "n_clusters": self.ensemble.n_clusters,
                "likeness": self.posterior.likeness,
                "posterior": self.posterior.values,
                "broken": self.posterior.outcomes[:, 0],
                "uncertain": self.posterior.outcomes[:, 1],
            }
        )
        order = np.argsort(-self.posterior.likeness, kind="stable")
        return frame.rename_axis("position").iloc[order]

    def __repr__(self) -> str:
        """Return the leader, its likeness, and the number of models made."""
        share = self.posterior.likeness[self.leader]
        return (
            f"AnswerModels({self.ensemble.names[self.leader]}: {share:.2f}, "
            f"{self.n_made} made for {self.posterior.constraints.n_pairs} answers)"
        )


@takes_running
def models_for_answers(
    ensemble: Ensemble | Agreement,
    constraints: Constraints,
    X: npt.ArrayLike | None = None,
    n_clusters: Sequence[int] | None = None,
    n_folds: int = 5,
    random_state: RandomState = 0,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> AnswerModels:
    """Make partitions that keep all or most answers, and weigh them against a pool.

    Parameters
    ----------
    ensemble : Ensemble or Agreement
        T >= 2 partitions, all with a vote and none partial.
    constraints : Constraints
        The answers, at least one.
    X : array-like of float, shape (n_samples, n_features), optional
        Features, for constrained k-means and spectral clustering of the rows.
    n_clusters : sequence of int, optional
        Numbers of clusters to try. Default: the numbers of the most probable
        partitions, at most three.
    n_folds : int, default 5
        Number of parts for holding out the answers, at least 2.
    random_state : int, Generator or None, default 0
        Seed.
    n_jobs, cancel
        As in `count_agreements`.
    progress : callable, optional
        Called as progress(done, total) in partitions made, including those for folds.

    Returns
    -------
    models : AnswerModels
        The pool and the new partitions, with their probabilities.

    Raises
    ------
    ValueError
        If an argument is out of range, there is no answer, or partitions are partial.
    MemoryError
        If the linkage needs more than 4 GiB, above 23,000 samples.
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    For each number of clusters: average linkage of the consensus, with models weighted
    by the posterior of the answers, and k-means of its one-hot rows. Both obey all
    links; if so few clusters cannot, more are used. With X also `ConstrainedKMeans`, on
    the features and in the `LinkMetric` of the must-links, and `ConstrainedSpectral`:
    these may break links that the features contradict, see `AnswerModels.broken`.

    Each is made once with all answers, and once for each fold without the answers of
    the fold, in the votes as well. A held-out answer that follows from the others
    (must-links lead from one end to the other, with at most one cannot-link) counts as
    left open, because obeying the others implies it. The posterior has the prior of
    `answer_posterior` over all partitions and these outcomes.

    Per number of clusters n_folds + 1 linkages of O(n² T) time and 8 n² bytes.

    References
    ----------
    Davidson & Ravi (2005), PKDD; Wagstaff et al. (2001), ICML; Basu et al. (2004), SDM:
    see `consensus_partition` and `ConstrainedKMeans`. Bar-Hillel et al. (2003), ICML:
    see `LinkMetric`. Lu & Peng (2013), IJCV: see `ConstrainedSpectral`.

    Examples
    --------
    >>> rows, columns = [0, 0, 0, 1, 1, 1], [0, 1, 1, 0, 0, 1]
    >>> ensemble = Ensemble([rows, columns, [0, 0, 1, 1, 2, 2]])
    >>> answers = Constraints(must_link=[(0, 1)], cannot_link=[(2, 3), (1, 5)])
    >>> made = models_for_answers(ensemble, answers, n_clusters=[2])
    >>> made.ensemble.labels[-1].tolist()
    [0, 0, 0, 1, 1, 1]
    """
    run = RunOptions(n_jobs, progress, cancel)
    pool = ensemble if isinstance(ensemble, Ensemble) else partitions_of(ensemble)
    known = _check_answers(constraints, check_ensemble(pool))
    n_folds = check_range(n_folds, 2, np.inf, name="n_folds", integer=True)
    seed = check_random_state(random_state)
    makers = _makers(X, pool.n_samples, seed, run.quiet)
    if isinstance(ensemble, Ensemble):
        ensemble = count_agreements(ensemble, n_jobs=n_jobs, cancel=cancel)
    tasks = [_Task(ensemble, known, known)]
    tasks += [_Task(ensemble, given, known) for given in _folds(known, n_folds, seed)]
    numbers = _numbers_of_clusters(n_clusters, tasks[0])
    labels: list[IntArray] = []
    held_out: list[dict[str, list[list[int]]]] = []
    plans = [(name, k) for k in numbers for name in makers]
    total = len(plans) * len(tasks)
    for n_made, (name, k) in enumerate(plans):
        found = []
        for n_parts, task in enumerate(tasks):
            run.report(n_made * len(tasks) + n_parts, total)
            run.raise_if_cancelled()
            with one_thread():  # several would wait for each other on a busy machine
                found.append(task.fit_under_links(makers[name], k))
        labels.append(found[0])
        pairs = zip(tasks[1:], found[1:], strict=True)
        predictions = [task.predictions(part) for task, part in pairs]
        held_out.append(
            {
                name: [pair for one in predictions for pair in one[name]]
                for name in ANSWERS
            }
        )
    joined = _join(pool, labels, plans, known, held_out)
    posterior = answer_posterior(joined, known, n_jobs=n_jobs, cancel=cancel)
    run.report(total, total)
    return AnswerModels(joined, len(plans), posterior)


def models_for_answers_seconds(
    n_samples: int, n_partitions: int, n_clusters: Sequence[int], n_folds: int = 5
) -> float:
    """Estimate how long `models_for_answers` takes, with features.

    Parameters
    ----------
    n_samples, n_partitions : int
        Size of the pool.
    n_clusters : sequence of int
        Numbers of clusters to try, at least one.
    n_folds : int, default 5
        As for `models_for_answers`.

    Returns
    -------
    seconds : float
        Processor time, from a law fitted to pools of 300 to 4,000 samples, 50 to 100
        partitions and 3 to 600 clusters.

    Examples
    --------
    >>> round(models_for_answers_seconds(1000, 50, n_clusters=[3, 8]), 1)
    8.9
    >>> round(models_for_answers_seconds(1000, 50, n_clusters=[300]))
    36
    """
    thousands = check_range(n_samples, 1, np.inf, name="n_samples", integer=True) / 1e3
    fifties = check_range(n_partitions, 1, np.inf, name="n_partitions") / 50
    numbers = np.array(_check_numbers(n_clusters))
    folds = check_range(n_folds, 2, np.inf, name="n_folds", integer=True)
    whole = 0.36 + 0.29 * thousands + 0.026 * thousands**2 * fifties
    each = 0.0035 + thousands * (0.008 + 2.1e-5 * numbers)
    return float((folds + 1) * (whole + numbers * each).sum())


class _Task:
    """The given answers, the votes by them, and the held-out answers as a test."""

    def __init__(
        self, agreement: Agreement, given: Constraints, known: Constraints
    ) -> None:
        self.given = given
        posterior = answer_posterior(agreement, given)
        self.posterior, self.voting = posterior.values, posterior.voting
        must, cannot = (
            [pair for pair in every if pair not in some]
            for every, some in zip(_pairs(known), _pairs(given), strict=True)
        )
        self.others = np.array([*must, *cannot], np.int64).reshape(-1, 2)

    def fit_under_links(self, make: Maker, k: int) -> IntArray:
        """Return labels (n_samples,) of k clusters, or of as few more as possible."""
        while True:
            try:
                return make(self.voting, self.given, k)
            except ConstraintError:
                k += 1

    def predictions(self, labels: IntArray) -> dict[str, list[list[int]]]:
        """Return predictions of labels for held-out answers; implied ones stay open."""
        implied = self.given.settles(self.others, len(labels))
        joined = labels[self.others[:, 0]] == labels[self.others[:, 1]]
        parts = joined & ~implied, ~joined & ~implied, implied
        found = (self.others[part].tolist() for part in parts)
        return dict(zip(ANSWERS, found, strict=True))


def _pairs(known: Constraints) -> list[list[list[int]]]:
    """Must-links and cannot-links as lists."""
    return [known.must_link.tolist(), known.cannot_link.tolist()]


def _check_answers(constraints: Constraints, pool: Ensemble) -> Constraints:
    """Return the answers if there are any and the pool has no gaps."""
    known = check_constraints(constraints, pool.n_samples)
    if not known.n_pairs:
        raise ValueError("constraints has no pair; give at least one answer.")
    if pool.is_partial:
        raise DataError(
            "partitions of the ensemble are partial, and no partition of them obeys "
            "links; keep the samples that all models saw, with "
            "ensemble.take_samples(ensemble.seen_by_all)."
        )
    return known


def made_for(ensemble: Ensemble, constraints: Constraints) -> bool:
    """Whether models of an ensemble were made for just these answers."""
    pairs = _pairs(constraints)
    return any(
        [spec["must_link"], spec["cannot_link"]] == pairs
        for spec in ensemble.specs
        if HELD_OUT in spec
    )


def _makers(
    X: npt.ArrayLike | None, n_samples: int, seed: int, run: RunOptions
) -> dict[str, Maker]:
    """Return functions that make partitions, by name."""

    def consensus(method: str) -> Maker:
        return lambda voting, given, k: consensus_partition(
            voting, k, method, seed, constraints=given, n_init=_N_INIT, **run.threads
        )

    makers = {"average linkage": consensus("average"), "consensus": consensus("kmeans")}
    return makers if X is None else makers | _of_features(X, n_samples, seed)


def _of_features(X: npt.ArrayLike, n_samples: int, seed: int) -> dict[str, Maker]:
    """Return functions that cluster the rows, with one table of neighbours."""
    data = check_features(X)
    if len(data) != n_samples:
        raise ValueError(
            f"X has {len(data)} rows, but the partitions have {n_samples} samples; "
            "give the features that they were made from."
        )
    n_neighbors = min(ConstrainedSpectral().n_neighbors, n_samples - 1)
    table, distances = neighbor_table(data, n_neighbors)

    def k_means(rows: FloatArray, given: Constraints, k: int) -> IntArray:
        links = given.must_link, given.cannot_link
        return ConstrainedKMeans(k, *links, random_state=seed).fit(rows).labels_

    def plain(voting: Ensemble, given: Constraints, k: int) -> IntArray:
        return k_means(data, given, k)

    def in_metric(voting: Ensemble, given: Constraints, k: int) -> IntArray:
        return k_means(LinkMetric(given.must_link).fit_transform(data), given, k)

    def spectral(voting: Ensemble, given: Constraints, k: int) -> IntArray:
        links = given.must_link, given.cannot_link
        with known_neighbors(data, table, distances):
            return ConstrainedSpectral(k, *links, random_state=seed).fit(data).labels_

    return {"k-means": plain, "metric k-means": in_metric, "spectral": spectral}


def _folds(known: Constraints, n_folds: int, seed: int) -> list[Constraints]:
    """Answers without those of each fold."""
    must = np.arange(known.n_pairs) < len(known.must_link)
    links = np.concatenate([known.must_link, known.cannot_link])
    order = np.random.default_rng(seed).permutation(known.n_pairs)
    kept = np.ones((min(n_folds, known.n_pairs), known.n_pairs), bool)
    kept[np.arange(known.n_pairs) % len(kept), order] = False
    return [Constraints(links[some & must], links[some & ~must]) for some in kept]


def _numbers_of_clusters(given: Sequence[int] | None, task: _Task) -> list[int]:
    """Return numbers of clusters to try, by the most probable partitions first."""
    pool = task.voting
    if given is not None:
        return _check_numbers(given, pool.n_samples)
    return numbers_to_try(pool, np.argsort(-task.posterior, kind="stable"))


def numbers_to_try(pool: Ensemble, order: IntArray) -> list[int]:
    """Different numbers of clusters of the first partitions, 2 and more, at most 3."""
    numbers = np.maximum(pool.n_clusters[order], 2).tolist()
    return list(dict.fromkeys(numbers))[:_MOST_NUMBERS]


def _check_numbers(n_clusters: Sequence[int], most: float = np.inf) -> list[int]:
    """Return numbers of clusters if they are in range and there are some."""
    entries = check_entries(n_clusters, "n_clusters")
    if not entries:
        raise ValueError("n_clusters is empty; give at least one number of clusters.")
    return [check_range(k, 1, most, name="n_clusters", integer=True) for k in entries]


def _join(
    pool: Ensemble,
    labels: Sequence[IntArray],
    plans: Sequence[tuple[str, int]],
    known: Constraints,
    held_out: Sequence[dict[str, list[list[int]]]],
) -> Ensemble:
    """Append the new partitions to the pool."""
    names = [f"{count(known.n_pairs, 'link')}: {name} k={k}" for name, k in plans]
    must, cannot = _pairs(known)
    links = {"must_link": must, "cannot_link": cannot}
    specs = [
        {
            **{"clusterer": f"{name} under links", "n_clusters": k, **links},
            HELD_OUT: predictions,
        }
        for (name, k), predictions in zip(plans, held_out, strict=True)
    ]
    return Ensemble(
        np.concatenate([pool.labels.astype(np.int64), labels]),
        [*pool.names, *names],
        [*pool.families, *[FAMILY] * len(plans)],
        pool.noise,
        specs=[*pool.specs, *specs],
        seconds=[*pool.seconds, *[np.nan] * len(plans)],
        weights=[*pool.weights, *[1.0] * len(plans)],
    )
