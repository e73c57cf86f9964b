"""compare_models: all scores and indices of the partitions of an ensemble."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    RandomState,
    check_features,
    check_random_state,
    check_range,
    plain_repr,
    split_labelled,
)
from clusterlens.compute.ensemble.agreement import Agreement, count_agreements
from clusterlens.compute.ensemble.ensemble import (
    Ensemble,
    check_ensemble,
    distinct_partitions,
)
from clusterlens.compute.indices._clusters import Clusters
from clusterlens.compute.indices._pairs import SmallestDistances
from clusterlens.compute.indices.registry import INDICES
from clusterlens.compute.ranking.ranking import SCORES, rank_partitions

SAMPLE_SIZE = 2_000


@takes_running
def compare_models(
    ensemble: Ensemble | Agreement,
    X: npt.ArrayLike | None = None,
    labels_true: npt.ArrayLike | None = None,
    *,
    sample_size: int = SAMPLE_SIZE,
    random_state: RandomState = 0,
    unlabelled: int | None = -1,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> pd.DataFrame:
    """Put every score and index of the partitions of an ensemble into one table.

    Parameters
    ----------
    ensemble : Ensemble or Agreement
        T >= 2 partitions, or their counted agreements.
    X : array-like of float, shape (n_samples, n_features), optional
        Finite features, for the internal indices.
    labels_true : array-like of int or str, shape (n_samples,), optional
        Class of each sample, for the external indices; samples without one are left
        out.
    sample_size : int, default 2000
        If there are more samples, draw this many (at least 2) for indices that take
        quadratic time: the same ones for all partitions.
    random_state : int, default 0
        Seed of that draw.
    unlabelled : int or None, default -1
        The label in labels_true of samples without a class.
    n_jobs, progress, cancel, executor
        As in `count_agreements`; progress counts distinct partitions.

    Returns
    -------
    table : DataFrame
        One row per partition, in the order of the ensemble; the index is its position.
        Columns model, family, n_clusters, n_noise, votes, seconds, parameters (text),
        one per score in `SCORES`, and one per index in `INDICES` by their keys, in the
        "textbook" definition or the only one. NaN where an index has no value.

    Raises
    ------
    ValueError
        If there are fewer than two partitions, or lengths disagree.
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    A partial partition is evaluated on the samples that it saw; `n_missing` is the
    number of the others.

    Time O(T (n d + sample_size² d)) after the agreements. Identical partitions are
    evaluated once. The noise of a clustering (-1) is a cluster like any other, except
    in DBCV.

    Examples
    --------
    >>> ensemble = Ensemble([[0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 1]])
    >>> table = compare_models(ensemble, [[0.0], [1.0], [8.0], [9.0]], list("aabb"))
    >>> table[["discotec-binary", "CHI", "ari"]].round(2).values.tolist()[0]
    [0.12, 128.0, 1.0]
    """
    run = RunOptions(n_jobs, progress, cancel, executor)
    seed = check_random_state(random_state)
    sample_size = check_range(sample_size, 2, np.inf, name="sample_size", integer=True)
    if isinstance(ensemble, Agreement):
        agreement, ensemble = ensemble, ensemble.ensemble
    else:
        check_ensemble(ensemble, alternatives=" or an Agreement")
        agreement = count_agreements(ensemble, **run.quiet.threads)
    evaluators = _evaluators(
        ensemble, X, labels_true, unlabelled, sample_size, seed, run
    )
    first, group = distinct_partitions(ensemble)
    rows = []
    for done, t in enumerate(first):
        run.report(done, len(first))
        run.raise_if_cancelled()
        values: dict[str, float] = {}
        for evaluate in evaluators:
            values |= evaluate(ensemble.labels[t], ensemble.seen_by(int(t)))
        rows.append(values)
    run.report(len(first), len(first))
    scores = {
        name: rank_partitions(agreement, name, **run.quiet.threads).values
        for name in SCORES
    }
    indices = pd.DataFrame(rows, index=range(len(first))).iloc[group]
    return pd.concat(
        [_facts(ensemble), pd.DataFrame(scores), indices.reset_index(drop=True)], axis=1
    ).rename_axis("position")


def _facts(ensemble: Ensemble) -> pd.DataFrame:
    """Describe the partitions: model, family, sizes, votes, time and parameters."""
    facts = pd.DataFrame(
        {
            "model": ensemble.names,
            "family": ensemble.families,
            "n_clusters": ensemble.n_clusters,
            "n_noise": ensemble.n_noise,
            "votes": ensemble.votes,
            "seconds": ensemble.seconds,
            "parameters": [_parameters(spec) for spec in ensemble.specs],
        }
    )
    return facts.assign(n_missing=ensemble.n_missing) if ensemble.is_partial else facts


def _parameters(spec: Mapping[str, Any]) -> str:
    """Write the parameters of a model, as "n_clusters=3, init='random'"."""
    return ", ".join(
        f"{k}={plain_repr(v)}" for k, v in spec.items() if k != "clusterer"
    )


# Takes the labels of a partition and the mask of the samples that it saw.
Evaluator = Callable[[IntArray, npt.NDArray[np.bool_]], dict[str, float]]


def _evaluators(
    ensemble: Ensemble,
    X: npt.ArrayLike | None,
    labels_true: npt.ArrayLike | None,
    unlabelled: int | None,
    sample_size: int,
    seed: int,
    run: RunOptions,
) -> list[Evaluator]:
    """Return functions that evaluate a partition, one for each kind of index."""
    evaluators: list[Evaluator] = []
    if X is not None:
        features = check_features(X)
        n_samples = len(features)
        if n_samples != ensemble.n_samples:
            raise ValueError(
                f"X has {n_samples} rows for {ensemble.n_samples} samples; give one "
                "per sample."
            )
        some = np.ones(n_samples, bool)
        if n_samples > sample_size:
            rng = np.random.default_rng(seed)
            some[:] = False
            some[rng.choice(n_samples, sample_size, replace=False)] = True

        whole = SmallestDistances(features[some], run.quiet, many=True)

        def evaluate_features(labels: IntArray, seen: Any) -> dict[str, float]:
            drawn = seen & some
            smallest = whole if seen[some].all() else None
            return _internal("linear", features[seen], labels[seen], run) | _internal(
                "quadratic", features[drawn], labels[drawn], run, smallest
            )

        evaluators.append(evaluate_features)
    if labels_true is not None:
        labelled, classes = split_labelled(
            labels_true, unlabelled, n_samples=ensemble.n_samples, name="labels_true"
        )
        reference = pd.factorize(classes)[0]

        def evaluate_classes(labels: IntArray, seen: Any) -> dict[str, float]:
            labelled_seen = seen[labelled]
            return _external(reference[labelled_seen], labels[labelled][labelled_seen])

        evaluators.append(evaluate_classes)
    return evaluators


def _internal(
    cost: str,
    features: FloatArray,
    labels: IntArray,
    run: RunOptions,
    smallest: SmallestDistances | None = None,
) -> dict[str, float]:
    """Compute the internal indices of one cost; NaN for fewer than two samples."""
    indices = {
        name: next(iter(index.definitions.values()))
        for name, index in INDICES.items()
        if index.kind == "internal" and index.cost == cost
    }
    if len(labels) < 2:
        return dict.fromkeys(indices, np.nan)
    clusters = Clusters.sort(features, labels, run.quiet, smallest)
    return {name: formula.measure(clusters)[0] for name, formula in indices.items()}


def _external(reference: IntArray, labels: IntArray) -> dict[str, float]:
    """Compute the external indices; NaN for fewer than two samples."""
    indices = {
        name: next(iter(index.definitions.values())).function
        for name, index in INDICES.items()
        if index.kind == "external"
    }
    if len(labels) < 2:
        return dict.fromkeys(indices, np.nan)
    codes = pd.factorize(labels)[0]
    return {name: float(of(reference, codes)) for name, of in indices.items()}
