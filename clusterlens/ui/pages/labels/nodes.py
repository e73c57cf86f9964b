"""Results of the page Given labels: evidence on given classes or on clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import gaussian_kde

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.indices import evidence
from clusterlens.compute.indices.agreement_reached import pool_agreement
from clusterlens.compute.indices.borders import border_ratios
from clusterlens.compute.indices.class_match import (
    LabelCheck,
    label_match,
    rename_check,
)
from clusterlens.compute.indices.evidence import (
    LabelEvidence,
    merge_gains,
    rename_evidence,
)
from clusterlens.compute.indices.pair_view import PairView, class_pair_view
from clusterlens.compute.pool.separation import ClusterSeparation
from clusterlens.compute.pool.stability import ClusterStability
from clusterlens.compute.ranking.ranking import Ranking
from clusterlens.compute.table.profiles import cluster_profiles
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import Later, node
from clusterlens.ui.plots.samples import Picture, draw_map
from clusterlens.ui.results.evaluated_labels import EvaluatedLabels
from clusterlens.ui.results.lab import Grounds, Reached
from clusterlens.ui.results.label_verdict import (
    CONCLUSIONS,
    LabelVerdict,
    verdict_grounds,
    weigh,
)
from clusterlens.ui.results.partition_verdict import (
    PARTITION_CONCLUSIONS,
    PartitionVerdict,
    partition_grounds,
    weigh_partition,
)
from clusterlens.ui.state.checks import DENSITY, check_key, numbered_by_rows
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.widgets.palette import PAIR_OF_CLASSES, cluster_colour, rgb

# With more samples DBCV, which takes quadratic time, uses a sample of this size.
DBCV_SAMPLE = 3_000
_GAINS = 5
_DENSITY_STEPS = 60
_DENSITY_SAMPLES = 2_000


def _measured(labels: EvaluatedLabels) -> np.ndarray:
    """Return the codes that are measured: random draws depend on them.

    Clusters are numbered by their first rows, so that a measurement does not depend on
    the numbers that they have on screen; given classes and groups keep their codes.
    """
    return numbered_by_rows(labels.codes) if labels.is_numbered else labels.codes


def _shown(labels: EvaluatedLabels) -> dict[int, int]:
    """Return the code on screen of each code that is measured."""
    codes = dict(zip(_measured(labels).tolist(), labels.codes.tolist(), strict=True))
    return {code: shown for code, shown in codes.items() if shown >= 0}


@node("live", "Comparing pair by pair", keep=8)
def label_check(job: Job, evaluated_labels: EvaluatedLabels) -> LabelCheck:
    """Compute CH_btwn of every pair of classes."""
    found = label_match(
        evaluated_labels.dataset.X,
        _measured(evaluated_labels),
        n_permutations="adaptive",
        **job.kernels,
    )
    return rename_check(found, _shown(evaluated_labels))


def dbcv_sample(labels: EvaluatedLabels) -> int | None:
    """Return the number of samples for DBCV and borders, None for all."""
    return DBCV_SAMPLE if len(labels.codes) > DBCV_SAMPLE else None


@node("live", "Looking for earlier checks", keep=8)
def label_evidence_key(
    job: Job, evaluated_labels: EvaluatedLabels, labels_digest: str
) -> str:
    """Return the key of the density of the classes."""
    return check_key(
        DENSITY,
        labels_digest,
        _measured(evaluated_labels),
        dbcv_sample(evaluated_labels),
    )


def _of_these_classes(
    found: LabelEvidence, key: str, labels: EvaluatedLabels
) -> LabelEvidence:
    """Return evidence with the codes on screen; ValueError if of other classes."""
    ends = (("class_a", "n_a"), ("class_b", "n_b"))
    pairs = [found.pairs[list(one)].itertuples(index=False) for one in ends]
    names, sizes = _shown(labels), labels.sizes
    own = {(code, sizes[shown]) for code, shown in names.items()}
    if {tuple(one) for side in pairs for one in side} != own:
        raise ValueError("the stored check is of other classes; measure it again.")
    return rename_evidence(found, names)


@node("idle", "Measuring density", keep=8, check=DENSITY, fitted=_of_these_classes)
def label_evidence(
    job: Job, label_evidence_key: str, evaluated_labels: EvaluatedLabels
) -> LabelEvidence:
    """Compute both scores, for the classes and for the same labels shuffled."""
    return evidence.label_evidence(
        evaluated_labels.dataset.X,
        _measured(evaluated_labels),
        n_permutations="adaptive",
        sample_size=dbcv_sample(evaluated_labels),
        **job.kernels,
    )


@node("live", "Measuring gaps", keep=8)
def label_borders(job: Job, evaluated_labels: EvaluatedLabels) -> pd.DataFrame:
    """Compare the gap of every pair of classes with the distances beside it."""
    return border_ratios(
        evaluated_labels.dataset.X,
        _measured(evaluated_labels),
        sample_size=dbcv_sample(evaluated_labels),
        cancel=job.cancelled,
    )


@node("idle", "Merging two of them", keep=8)
def label_gains(job: Job, evaluated_labels: EvaluatedLabels) -> pd.DataFrame | None:
    """Compute the scores after merging two of the least separated classes."""
    if len(evaluated_labels.sizes) < 3:
        return None
    found = merge_gains(
        evaluated_labels.dataset.X,
        _measured(evaluated_labels),
        n_pairs=_GAINS,
        n_permutations="adaptive",
        **job.kernels,
    )
    ends = ["class_a", "class_b"]
    return found.assign(
        **{end: found[end].map(_shown(evaluated_labels)) for end in ends}
    )


@node("live", "Comparing the models with the labels")
def label_agreement(
    job: Job, evaluated_labels: EvaluatedLabels, ensemble: Ensemble, ranking: Ranking
) -> Reached | None:
    """Return the adjusted Rand index of every model with given classes.

    None for clusters, because the models agree with their own clusters by construction.
    """
    if evaluated_labels.noun == "cluster":
        return None
    given = pool_agreement(ensemble, evaluated_labels.given, ranking)
    if not evaluated_labels.merged:
        return Reached(given, None)
    return Reached(given, pool_agreement(ensemble, evaluated_labels.codes, ranking))


@dataclass(frozen=True, eq=False)
class PairOfClasses:
    """Two classes, a plane through both means, and their differences.

    Parameters
    ----------
    a, b : int
        The classes.
    colours : (str, str)
        Colours of the clusters on every page; classes have two contrasting colours.
    score, error : float
        CH_btwn of the pair with its Monte-Carlo error.
    view : PairView
        Samples of the pair.
    densities : array of float, shape (2, n_steps), and heights (n_steps,)
        Density of each class along the line through the means.
    columns : DataFrame
        column, difference (of b from a, in standard deviations of all samples), text_a,
        text_b; largest difference first.
    """

    a: int
    b: int
    colours: tuple[str, str]
    score: float
    error: float
    view: PairView
    heights: np.ndarray
    densities: np.ndarray
    columns: pd.DataFrame


@node("live", "Looking at two of them", keep=16)
def label_pair(
    job: Job,
    evaluated_labels: EvaluatedLabels,
    label_check: LabelCheck,
    view_label_pair: tuple[int, ...],
) -> PairOfClasses:
    """Describe the chosen pair, by default the least separated one."""
    table = label_check.pairs
    mask = (table["class_a"].isin(view_label_pair)) & (
        table["class_b"].isin(view_label_pair)
    )
    row = table[mask].iloc[0] if mask.any() else table.loc[_lowest(table)]
    a, b = int(row["class_a"]), int(row["class_b"])
    view = class_pair_view(evaluated_labels.dataset.X, evaluated_labels.codes, a, b)
    heights, densities = _densities(view)
    columns = _differences(evaluated_labels, a, b)
    score, error = float(row["score"]), float(row["standard_error"])
    colours = PAIR_OF_CLASSES
    if evaluated_labels.noun == "cluster":
        colours = cluster_colour(a), cluster_colour(b)
    return PairOfClasses(a, b, colours, score, error, view, heights, densities, columns)


def _lowest(table: pd.DataFrame) -> Any:
    """Return the row of the lowest score, or the first one if there is no score."""
    scores = table["score"].dropna()
    return scores.idxmin() if len(scores) else table.index[0]


def _densities(view: PairView) -> tuple[np.ndarray, np.ndarray]:
    """Estimate the density of both classes along y, scaled to at most 1."""
    y = view.coordinates[:, 1]
    margin = 0.05 * max(float(np.ptp(y)), 1e-12)
    heights = np.linspace(y.min() - margin, y.max() + margin, _DENSITY_STEPS)
    found = np.zeros((2, _DENSITY_STEPS))
    for at, members in enumerate((y[~view.is_b], y[view.is_b])):
        step = -(-len(members) // _DENSITY_SAMPLES)
        some = members[::step]
        if len(some) > 1 and np.ptp(some) > 0:
            found[at] = gaussian_kde(some)(heights)
    return heights, found / max(found.max(), 1e-12)


def _differences(labels: EvaluatedLabels, a: int, b: int) -> pd.DataFrame:
    """Return the differences of the numeric columns between two classes."""
    profile = cluster_profiles(labels.dataset, labels.codes).table
    numeric = profile[profile["level"].isna()]
    of_a, of_b = (numeric[numeric["cluster"] == k].set_index("column") for k in (a, b))
    both = pd.DataFrame(
        {
            "difference": of_b["effect"] - of_a["effect"],
            "text_a": of_a["text"],
            "text_b": of_b["text"],
        }
    ).dropna()
    order = both["difference"].abs().sort_values(ascending=False, kind="stable").index
    return both.loc[order].rename_axis("column").reset_index()


@node("live", "Drawing two of them")
def label_picture(
    job: Job, label_pair: PairOfClasses, view_label_view: Viewport
) -> Picture | None:
    """Draw the samples of both classes, class b as triangles.

    The space at the right is for the densities.
    """
    if not view_label_view.drawn:
        return None
    xy = label_pair.view.coordinates
    is_b = label_pair.view.is_b
    colours = rgb(label_pair.colours)[is_b.astype(int)]
    return draw_map(xy, colours, view_label_view, around=pair_frame(xy), triangles=is_b)


def pair_frame(xy: np.ndarray) -> np.ndarray:
    """Return the corners of the map of a pair, shape (2, 2)."""
    low, high = xy.min(axis=0), xy.max(axis=0)
    return np.array([low, [high[0] + 0.25 * max(high - low), high[1]]])


@node()
def label_verdict(
    evaluated_labels: EvaluatedLabels,
    label_check: LabelCheck,
    label_borders: pd.DataFrame,
    label_evidence: Later[LabelEvidence],
    label_agreement: Later[Reached],
    labels_stability: Later[ClusterStability],
    labels_separation: Later[ClusterSeparation],
) -> LabelVerdict | PartitionVerdict:
    """Derive the verdict on given classes, or on clusters."""
    if evaluated_labels.noun == "cluster":
        return weigh_partition(labels_stability, labels_separation)
    now = label_agreement.now if label_agreement else None
    return weigh(label_check, label_borders, label_evidence, now)


@node()
def label_grounds(
    label_verdict: LabelVerdict | PartitionVerdict,
    label_check: LabelCheck,
    label_borders: pd.DataFrame,
    label_evidence: Later[LabelEvidence],
    label_agreement: Later[Reached],
    labels_stability: Later[ClusterStability],
    labels_separation: Later[ClusterSeparation],
) -> Grounds:
    """Return the grounds of the verdict."""
    if isinstance(label_verdict, PartitionVerdict):
        lines = partition_grounds(label_verdict, labels_stability, labels_separation)
        return Grounds(lines, PARTITION_CONCLUSIONS[label_verdict.answer])
    now = label_agreement.now if label_agreement else None
    lines = verdict_grounds(
        label_verdict, label_check, label_borders, label_evidence, now
    )
    return Grounds(lines, CONCLUSIONS[label_verdict.answer])
