"""Closer models: finer settings; the most similar to the safest choice are kept.

A pool tries few settings of each clusterer, and the right one may lie between two of
them. Answers show a promising region, and this module tries more settings there.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress
from clusterlens.compute._validation import RandomState, check_features, check_range
from clusterlens.compute.ensemble.ensemble import Ensemble, distinct_partitions
from clusterlens.compute.formatting import count
from clusterlens.compute.pool.catalogue import neighbour_quantile, sample_share
from clusterlens.compute.pool.clusterer import Spec
from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.pool.preset_versions import sized_grids
from clusterlens.compute.pool.specs import Pool
from clusterlens.compute.ranking.answers import AnswerPosterior
from clusterlens.compute.ranking.likeness import likeness

N_CLOSER = 30  # models to keep
_NUMBERS = [*range(2, 13), 15]

# Settings around and between the settings of the default pool.
FINER: list[Spec] = [
    {"clusterer": "k-means", "n_clusters": _NUMBERS},
    {"clusterer": "bisecting k-means", "n_clusters": _NUMBERS[:9]},
    {
        "clusterer": "agglomerative",
        "linkage": ["ward", "average", "complete", "single"],
        "n_clusters": _NUMBERS,
    },
    {
        "clusterer": "DBSCAN",
        "eps": [
            *map(neighbour_quantile, (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.875)),
            *map(neighbour_quantile, (0.9, 0.925, 0.95, 0.97, 0.98, 0.99, 0.995)),
        ],
    },
    {
        "clusterer": "HDBSCAN",
        "min_cluster_size": [
            *map(
                sample_share, (0.005, 0.01, 0.015, 0.025, 0.035, 0.05, 0.07, 0.1, 0.14)
            ),
        ],
        "min_samples": [2, 5, 10],
        "copy": [True],
    },
    {
        "clusterer": "Genie",
        "gini_threshold": [0.1, 0.3, 0.5],
        "n_clusters": _NUMBERS[:9],
        "min_samples": [5],
    },
    {
        "clusterer": "Gaussian mixture",
        "n_components": _NUMBERS[:11],
        "covariance_type": ["full", "diag", "tied"],
    },
    {
        "clusterer": "spectral",
        "n_clusters": _NUMBERS,
        "affinity": ["nearest_neighbors"],
    },
    {"clusterer": "communities", "resolution": [0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3]},
]


@takes_running
def closer_models(
    posterior: AnswerPosterior,
    X: npt.ArrayLike,
    pool: Pool | None = None,
    n_models: int = N_CLOSER,
    random_state: RandomState = 0,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Ensemble:
    """Fit finer settings, and keep the models most similar to the safest choice.

    Parameters
    ----------
    posterior : AnswerPosterior
        Probabilities of the T partitions of a pool, given answers.
    X : array-like of float, shape (n_samples, n_features)
        Features that the pool was fitted to.
    pool : str or sequence, optional
        The models to fit, as for `run_pool`. Default: some 190 models with settings
        around and between the default pool's, fewer slow ones for many samples.
    n_models : int, default 30
        Largest number of models to keep, at least 1.
    random_state, n_jobs, progress, cancel
        As for `run_pool`.

    Returns
    -------
    closer : Ensemble
        The kept partitions, all outside the pool, in the order of the fit;
        `posterior.ensemble.concat(closer)` adds them as voters and candidates. A note
        gives the number of models fitted and their likeness to the safest choice.

    Raises
    ------
    DataError
        If X is not a finite table.
    ValueError
        If X has other rows, an argument is out of range, or the pool has every
        partition that was found.
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    The safest choice is the partition with the largest expected adjusted Rand index
    with the right one, `posterior.likeness`. The kept models were fitted without the
    answers, so all answers are evidence for them, and more answers can tell them from
    their neighbours. Ten answers, a closer look, ten more and another look work well
    (docs, "Answers: links as evidence"). Time as `run_pool`, and O(n) for each model.

    Examples
    --------
    >>> from clusterlens.compute.ensemble.constraints import Constraints
    >>> from clusterlens.compute.ranking.answers import answer_posterior
    >>> X = [[0.0], [0.1], [5.0], [5.1], [9.0]]
    >>> pool = Ensemble([[0, 0, 1, 1, 1], [0, 0, 0, 0, 1], [0, 1, 2, 3, 4]])
    >>> answers = Constraints(must_link=[(0, 1)], cannot_link=[(2, 4), (0, 2)])
    >>> posterior = answer_posterior(pool, answers)
    >>> finer = [{"clusterer": "agglomerative", "n_clusters": [2, 3, 4]}]
    >>> closer_models(posterior, X, finer, n_models=1).labels.tolist()
    [[0, 0, 1, 1, 2]]
    """
    if not isinstance(posterior, AnswerPosterior):
        raise ValueError(
            f"posterior is a {type(posterior).__name__}; give an AnswerPosterior: "
            "answer_posterior makes one."
        )
    data = check_features(X)
    n_samples = posterior.ensemble.n_samples
    if len(data) != n_samples:
        raise ValueError(
            f"X has {len(data)} rows, but the partitions have {n_samples} samples; "
            "give the features that they were made from."
        )
    n_models = check_range(n_models, 1, np.inf, name="n_models", integer=True)
    found = run_pool(
        data,
        sized_grids(FINER, n_samples) if pool is None else pool,
        random_state,
        n_jobs,
        progress,
        cancel,
    )
    return most_alike(posterior, found, n_models)


def most_alike(
    posterior: AnswerPosterior, found: Ensemble, n_models: int = N_CLOSER
) -> Ensemble:
    """Return the partitions most like the safest choice and not yet in the pool."""
    pool = posterior.ensemble
    both = pool.concat(found.replace(noise=pool.noise))
    first, _ = distinct_partitions(both)
    new = first[first >= pool.n_partitions]
    if not new.size:
        raise ValueError(
            f"the pool has every partition of the {count(len(found), 'model')} that "
            "were fitted; give other settings."
        )
    safest = int(posterior.likeness.argmax())
    alike = likeness(both, safest)[new]
    nearest = np.argsort(-alike, kind="stable")[:n_models]
    note = (
        f"Of {count(len(found), 'model')} with finer settings {len(nearest)} are kept, "
        f"those most like {pool.names[safest]}: adjusted Rand index "
        f"{alike[nearest].min():.2f} and more."
    )
    closer = both.select(np.sort(new[nearest]))
    return closer.replace(notes=[*found.notes, note])
