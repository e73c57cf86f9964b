"""Voting: weights that keep many similar models from outvoting the others."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    FloatArray,
    check_choice,
    read_only,
)
from clusterlens.compute.ensemble.ensemble import (
    NO_VOTE,
    Ensemble,
    check_ensemble,
)
from clusterlens.compute.ensemble.overlaps import partition_overlaps
from clusterlens.compute.ranking.hubs import find_hubs
from clusterlens.compute.ranking.ranking import TIE_DECIMALS

VoteBy = Literal["models", "families", "hubs", "typical"]
VOTES = get_args(VoteBy)
# Chosen by a study on research tables, see docs/methods/crowd.md.
CHOSEN_VOTES: VoteBy = "typical"


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
    """Weigh the partitions to give equal votes to groups, or to the typical half only.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions. Those of weight 0 keep it and belong to no family or hub.
    by : {"hubs", "families", "models", "typical"}, default "hubs"
        Units with equal votes: groups of models that share a structure (see
        `find_hubs`; models in none keep weight 1), families of clusterers, models,
        or the half of the models most similar to the others. With "typical" the
        other half has no vote, but stays a candidate for answers
        (`Ensemble.candidates`).
    n_jobs, progress, cancel, executor
        As in `partition_overlaps`, which compares the models for "hubs" and "typical".

    Returns
    -------
    weights : array of float64, shape (n_partitions,)
        Weights for `Ensemble.with_weights`; the mean of voting partitions is 1.

    Raises
    ------
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    O(T), for "hubs" and "typical" O(n T²) time.

    "typical": a model is as typical as the sum of its adjusted Rand indices with the
    others, weighted so that families count equally; models from the median on have a
    vote. A model without a vote has the weight 2**-100. It is ranked, evidence from
    answers can make it probable, and it votes again under another `by`. On research
    tables leaders and consensus partitions are slightly better with it, see
    docs/methods/crowd.md.

    Examples
    --------
    >>> labels = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1]]
    >>> ensemble = Ensemble(labels, families=["a", "a", "b"])
    >>> vote_weights(ensemble, "families").tolist()
    [0.75, 0.75, 1.5]
    >>> ensemble.with_weights(vote_weights(ensemble, "typical")).votes.tolist()
    [1, 1, 0]
    """
    voting = check_ensemble(ensemble).weights > 0
    check_choice(by, VOTES, name="by")
    weights = np.zeros(ensemble.n_partitions)
    weights[voting] = 1.0
    if by == "families":
        families = np.array(ensemble.families)[voting]
        group, sizes = np.unique(families, return_inverse=True, return_counts=True)[1:]
        weights[voting] = len(group) / len(sizes) / sizes[group]
    elif by == "hubs":
        run = RunOptions(n_jobs, progress, cancel, executor)
        weights[voting] = find_hubs(ensemble.select(voting), **run.threads).weights
    elif by == "typical":
        run = RunOptions(n_jobs, progress, cancel, executor)
        typical = _is_typical(ensemble.select(voting), run)
        weights[voting] = np.where(typical, 1.0, NO_VOTE)
    return read_only(weights)


def _is_typical(ensemble: Ensemble, run: RunOptions) -> npt.NDArray[np.bool_]:
    """Tell whether each model (T,) is in the half most similar to the others."""
    alike = partition_overlaps(ensemble, **run.threads).adjusted_rand
    shares = vote_weights(ensemble, "families")
    likenesses = np.round(alike @ shares - shares, TIE_DECIMALS)
    return likenesses >= np.median(likenesses)
