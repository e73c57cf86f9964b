"""Voting: weights that keep many models of one kind from outvoting the others."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Literal, get_args

import numpy as np
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    check_choice,
    check_range,
    read_only,
)
from clusterlens.compute.ensemble.ensemble import (
    Ensemble,
    check_ensemble,
    distinct_partitions,
)
from clusterlens.compute.ranking.hubs import find_hubs

NEAR_COPY = 0.95  # adjusted Rand index from which partitions are near-copies
VoteBy = Literal["models", "families", "hubs"]


@takes_running
def vote_weights(
    ensemble: Ensemble,
    by: VoteBy = "hubs",
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> FloatArray:
    """Weigh the partitions so that models, families or hubs have equal votes.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions. Those of weight 0 keep it and are in no family or hub.
    by : {"hubs", "families", "models"}, default "hubs"
        What shall have equal votes: groups of models that share a structure (see
        `find_hubs`; models in none keep weight 1), families of clusterers, or models.
    n_jobs, progress, cancel, executor
        As in `partition_overlaps`, which compares the models for "hubs".

    Returns
    -------
    weights : array of float64, shape (n_partitions,)
        For `Ensemble.with_weights`; the mean of those above 0 is 1.

    Raises
    ------
    Cancelled
        If `cancel` said so.

    Notes
    -----
    O(T), for "hubs" O(n T²) time.

    Examples
    --------
    >>> labels = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1]]
    >>> ensemble = Ensemble(labels, families=["a", "a", "b"])
    >>> vote_weights(ensemble, "families").tolist()
    [0.75, 0.75, 1.5]
    """
    voting = check_ensemble(ensemble).weights > 0
    check_choice(by, get_args(VoteBy), name="by")
    weights = np.zeros(ensemble.n_partitions)
    weights[voting] = 1.0
    if by == "families":
        families = np.array(ensemble.families)[voting]
        group, sizes = np.unique(families, return_inverse=True, return_counts=True)[1:]
        weights[voting] = len(group) / len(sizes) / sizes[group]
    elif by == "hubs":
        run = RunOptions(n_jobs, progress, cancel, executor)
        weights[voting] = find_hubs(ensemble.select(voting), **run.threads).weights
    return read_only(weights)


def near_copies(
    ensemble: Ensemble, model: int, *, min_similarity: float = NEAR_COPY
) -> IntArray:
    """Find the partitions that are nearly the same as one of them.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    model : int
        Position of the one, from 0 to T - 1.
    min_similarity : float, default 0.95
        Adjusted Rand index from which a partition is a near-copy, at most 1.

    Returns
    -------
    positions : array of int64, shape (n_copies,)
        Ascending, `model` among them. `ensemble.votes[positions].sum()` over
        `ensemble.n_votes` is their share of the votes.

    Notes
    -----
    O(n T) time. Partial partitions are compared on the samples that both models saw.

    Examples
    --------
    >>> ensemble = Ensemble([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]])
    >>> near_copies(ensemble, 0).tolist()
    [0, 1]
    """
    check_ensemble(ensemble)
    last = ensemble.n_partitions - 1
    model = check_range(model, 0, last, name="model", integer=True)
    least = check_range(min_similarity, -1.0, 1.0, name="min_similarity")
    return np.flatnonzero(likeness(ensemble, model) >= least)


def likeness(ensemble: Ensemble, model: int) -> FloatArray:
    """Adjusted Rand index of each model with one of them, shape (n_partitions,).

    Partial partitions are compared on the samples that both models saw. O(n T) time.
    """
    first, group = distinct_partitions(ensemble)
    codes, seen = ensemble.codes_and_gaps, ensemble.seen_by(model)
    both = [seen & ensemble.seen_by(int(t)) for t in first]
    values = [
        adjusted_rand_score(codes[model][some], codes[t][some])
        for t, some in zip(first, both, strict=True)
    ]
    return read_only(np.array(values)[group])
