"""Results of the inspector: a model, a sample, a selection."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute._validation import read_only
from clusterlens.compute.consensus.cohesion import ClusterConsensus, cluster_consensus
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.votes import mean_consensus, votes_together
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.profiles import ClusterProfiles, cluster_profiles
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.state.view_parameters import Brush
from clusterlens.ui.widgets.palette import noise_last

COMPANY = 5


@node("live", "Describing the clusters", keep=8)
def profiles(job: Job, samples: Dataset, clusters: np.ndarray) -> ClusterProfiles:
    """Return the distinguishing features of each cluster, in original units."""
    return cluster_profiles(samples, clusters)


@node("live", "Counting the samples", keep=8)
def cluster_sizes(job: Job, clusters: np.ndarray) -> dict[int, int]:
    """Return the size of each cluster of the displayed partition; -1 is noise."""
    names, counts = np.unique(clusters, return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


def held_groups(
    ensemble: Ensemble, clusters: np.ndarray, **kernels: Any
) -> ClusterConsensus:
    """Measure the consensus of groups; noise (-1) is always a group."""
    noise = int(clusters.max()) + 1
    found = cluster_consensus(ensemble, noise_last(clusters), **kernels)
    names = np.where(found.clusters == noise, -1, found.clusters)
    return replace(found, clusters=read_only(names))


@node("live", "Measuring what the pool keeps together", keep=8)
def held_together(
    job: Job, ensemble: Ensemble, clusters: np.ndarray
) -> ClusterConsensus:
    """Measure the consensus of the pool within the clusters of the partition."""
    return held_groups(ensemble, clusters, **job.kernels)


@node("live", "Measuring what the answers keep together", keep=8)
def held_by_answers(
    job: Job, ensemble: Ensemble, weighted_ensemble: Ensemble, clusters: np.ndarray
) -> ClusterConsensus | None:
    """Measure the same with the votes weighted by answers; None without answers."""
    return (
        None
        if weighted_ensemble is ensemble
        else held_groups(weighted_ensemble, clusters, **job.kernels)
    )


@dataclass(frozen=True, eq=False)
class Place:
    """Value of a sample relative to its column.

    Parameters
    ----------
    column : str
        Name of the column.
    value : object
        The value.
    spread : float
        Standard deviation of the column, 0 for text.
    at, low, high : float or None
        The value and the middle 80 % of its cluster as shares of the column's range;
        None for text and missing values.
    surprise : float
        Distance from the middle 80 % of its cluster, in standard deviations.
    """

    column: str
    value: object
    spread: float = 0.0
    at: float | None = None
    low: float | None = None
    high: float | None = None
    surprise: float = 0.0


@dataclass(frozen=True, eq=False)
class SampleReading:
    """Facts about one sample.

    Parameters
    ----------
    position : int
        Position of the sample.
    row_id : object
        Its row id.
    cluster : int
        Its cluster in the selected model.
    disagreement, percentile : float
        Disagreement of the pool about it, and the share of samples with less.
    goes_with : list of (int, float)
        Mean consensus with the members of each cluster, the largest first.
    values : list of Place
        Values, the most surprising first.
    company : list of (int, object, int)
        Position, row id and votes of the samples most often joined with it.
    """

    position: int
    row_id: object
    cluster: int
    disagreement: float
    percentile: float
    goes_with: list[tuple[int, float]]
    values: list[Place]
    company: list[tuple[int, object, int]]


@node("live", "Reading the sample")
def sample_reading(
    job: Job,
    view_inspected: int,
    samples: Dataset,
    ensemble: Ensemble,
    clusters: np.ndarray,
    held_together: ClusterConsensus,
    disagreement: np.ndarray,
) -> SampleReading:
    """Gather the facts about one sample from the models and the table."""
    items = held_together.items[view_inspected]
    order = np.argsort(-items, kind="stable")
    votes = votes_together(ensemble, view_inspected).copy()
    votes[view_inspected] = -1
    nearest = np.argsort(-votes, kind="stable")[:COMPANY]
    return SampleReading(
        view_inspected,
        samples.row_ids[view_inspected],
        int(clusters[view_inspected]),
        float(disagreement[view_inspected]),
        float((disagreement < disagreement[view_inspected]).mean()),
        [(int(held_together.clusters[k]), float(items[k])) for k in order],
        _places(samples, view_inspected, clusters == clusters[view_inspected]),
        [(int(i), samples.row_ids[i], int(votes[i])) for i in nearest if votes[i] >= 0],
    )


def _places(samples: Dataset, position: int, own: np.ndarray) -> list[Place]:
    """Compare each value of a sample with the values of its cluster."""
    table = samples.table.loc[samples.row_ids]
    places = [_place(table[column], position, own) for column in table.columns]
    return sorted(places, key=lambda place: -place.surprise)


def _place(column: pd.Series, position: int, own: np.ndarray) -> Place:
    value = column.iloc[position]
    name = str(column.name)
    if not pd.api.types.is_numeric_dtype(column) or pd.isna(value):
        return Place(name, None if pd.isna(value) else value)
    numbers = column.to_numpy(float, na_value=np.nan)
    low, high, spread = np.nanmin(numbers), np.nanmax(numbers), np.nanstd(numbers)
    middle = np.nanquantile(numbers[own], [0.1, 0.9])
    if not high > low:
        return Place(name, value)
    at = float(value)
    beyond = max(middle[0] - at, at - middle[1], 0.0)
    share, first, last = ((np.array([at, *middle]) - low) / (high - low)).tolist()
    surprise = float(beyond / spread)
    return Place(name, value, float(spread), share, first, last, surprise)


@dataclass(frozen=True, eq=False)
class SelectionReading:
    """Facts about the brushed samples.

    Parameters
    ----------
    brush : Brush
        The samples.
    within, rest : float
        Mean consensus of the pool over pairs of them, and over pairs of the others.
    answered : float or None
        Mean consensus over pairs of them with the votes weighted by answers; None
        without answers.
    sizes : list of (int, int)
        Number of them in each cluster of the displayed partition, the largest first.
    profiles : ClusterProfiles
        Label 1 for them, 0 for the others.
    """

    brush: Brush
    within: float
    others: float
    answered: float | None
    sizes: list[tuple[int, int]]
    profiles: ClusterProfiles


@node("live", "Reading the selection")
def selection_reading(
    job: Job,
    view_brush: Brush,
    samples: Dataset,
    ensemble: Ensemble,
    weighted_ensemble: Ensemble,
    clusters: np.ndarray,
) -> SelectionReading | None:
    """Gather the facts about the brushed samples from the models and the table."""
    if not len(view_brush):
        return None
    inside = np.zeros(ensemble.n_samples, np.int64)
    inside[view_brush.positions] = 1
    held = cluster_consensus(ensemble, inside, **job.kernels)
    by_answers = weighted_ensemble is not ensemble
    found, counts = np.unique(clusters[view_brush.positions], return_counts=True)
    order = np.argsort(-counts, kind="stable")
    within = dict(zip(held.clusters.tolist(), held.within.tolist(), strict=True))
    return SelectionReading(
        view_brush,
        within[1],
        within.get(0, float("nan")),
        mean_consensus(weighted_ensemble, view_brush.positions) if by_answers else None,
        [(int(found[k]), int(counts[k])) for k in order],
        cluster_profiles(samples, inside),
    )
