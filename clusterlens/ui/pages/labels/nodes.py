"""What the Class labels page shows: whether given classes, or any clusters, hold up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import gaussian_kde

from clusterlens.compute._numbers import whole
from clusterlens.compute._run.options import raise_if_cancelled
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.indices import evidence
from clusterlens.compute.indices.agreement_reached import PoolAgreement, pool_agreement
from clusterlens.compute.indices.class_match import LabelCheck, label_match
from clusterlens.compute.indices.evidence import (
    LabelEvidence,
    merge_classes,
    merge_gains,
)
from clusterlens.compute.indices.pair_view import PairView, class_pair_view
from clusterlens.compute.pool.separation import ClusterSeparation
from clusterlens.compute.pool.stability import ClusterStability
from clusterlens.compute.ranking.ranking import Ranking
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.profiles import cluster_profiles
from clusterlens.ui.figures.frame import Picture
from clusterlens.ui.figures.raster import draw_map
from clusterlens.ui.kit.palette import PAIR_OF_CLASSES, cluster_name, rgb
from clusterlens.ui.nodes.partition_verdict import (
    PARTITION_CONCLUSIONS,
    PartitionVerdict,
    partition_grounds,
    weigh_partition,
)
from clusterlens.ui.nodes.verdict import (
    CONCLUSIONS,
    Light,
    Verdict,
    verdict_grounds,
    weigh,
)
from clusterlens.ui.state.analysis import AnalysisResult
from clusterlens.ui.state.links import plain_ids
from clusterlens.ui.state.literals import literal
from clusterlens.ui.state.looking import Brush, Viewport
from clusterlens.ui.state.partitions import (
    Choice,
    group_in_python,
    make_tree,
    most_clusters,
    position_in_python,
)
from clusterlens.ui.work.derived import Later, node
from clusterlens.ui.work.jobs import Job

MOST_CLASSES = 40
# Above so many samples DBCV, quadratic in time, is that of a sample of this size.
DBCV_SAMPLE = 3_000
# Rows that tell that a column has too many values.
_LOOKED_AT = 1_000
_FEATURES = ("numeric", "categorical", "ordinal")
_GAINS = 5
_DENSITY_STEPS = 60
_DENSITY_SAMPLES = 2_000


@dataclass(frozen=True, eq=False)
class Judged:
    """Classes of the samples of a prepared table.

    Parameters
    ----------
    dataset : Dataset
        The table.
    title : str
        Whose classes these are.
    noun : {"class", "cluster"}
        What one of them is called.
    given, codes : array of int, shape (n_samples,)
        Class of each sample, -1 for none, before and after merging.
    names : tuple of str
        What the codes stand for.
    code : str
        The codes in Python, before merging; empty for those of the result, which the
        log says.
    note : str
        What to know of them, plain text.
    merged : tuple of (int, int)
        Pairs of classes that were made one, in this order.
    model : int or None
        Which model of the run these are the clusters of.
    of_run : bool
        Whether the code is about the models of the run.
    """

    dataset: Dataset
    title: str
    noun: Literal["class", "cluster"]
    given: np.ndarray
    codes: np.ndarray
    names: tuple[str, ...]
    code: str
    note: str = ""
    merged: tuple[tuple[int, int], ...] = ()
    model: int | None = None
    of_run: bool = False

    def name(self, code: int) -> str:
        """Name of a class, with those merged into it."""
        parts = [self.name(b) for a, b in self.merged if a == code]
        return " + ".join([self.names[code], *parts])

    @property
    def is_label_column(self) -> bool:
        """Whether these are the given labels of the table, none merged."""
        return self.code == "dataset.labels_true" and not self.merged

    @property
    def sizes(self) -> dict[int, int]:
        """Samples of each class that there is."""
        found, counts = np.unique(self.codes[self.codes >= 0], return_counts=True)
        return dict(zip(found.tolist(), counts.tolist(), strict=True))

    @property
    def n_left_out(self) -> int:
        """Samples without a class."""
        return int((self.codes < 0).sum())


@node("live", "Looking at what is judged")
def judged(
    job: Job,
    dataset: Dataset | None,
    samples: Dataset | None,
    ensemble: Ensemble | None,
    look_judged: str,
    look_merged: tuple[tuple[int, int], ...],
    look_group: Brush,
    result: AnalysisResult | None,
    result_here: np.ndarray | None,
    run_id: str | None,
) -> Judged | None:
    """The classes of a column, the clusters of a model or consensus, or a group."""
    table = samples if samples is not None else dataset
    if table is None:
        return None
    kind, _, at = look_judged.partition(":")
    counted = ensemble is not None and at.isdigit()
    if kind == "model" and counted and int(at) < ensemble.n_partitions:
        found = _of_model(table, ensemble, int(at))
    elif kind == "consensus" and counted:
        found = _of_consensus(job, table, ensemble, int(at))
    elif kind == "column" and at in table.table.columns:
        found = _of_column(table, at)
    elif kind == "result" and result is not None and result_here is not None:
        found = _of_result(table, result, result_here, run_id)
    elif kind == "group" and 0 < len(look_group) < len(table.row_ids):
        found = _of_group(table, look_group)
    elif table.labels_true is not None:
        found = Judged(
            table,
            label_column(table),
            "class",
            table.labels_true,
            table.labels_true,
            table.label_names,
            "dataset.labels_true",
        )
    else:
        return None
    codes = found.codes
    for a, b in look_merged:
        codes = merge_classes(codes, [a, b]).astype(np.int64)
    found = replace(found, codes=codes, merged=look_merged)
    _refuse(found)
    return found


def label_column(table: Dataset) -> str:
    """Name of the column that holds the labels."""
    return next(name for name, role in table.roles.items() if role == "label")


def _of_model(table: Dataset, ensemble: Ensemble, at: int) -> Judged:
    codes = ensemble.labels[at].astype(np.int64)
    names = tuple(cluster_name(k) for k in range(int(codes.max()) + 1))
    code = f"ensemble.labels[{position_in_python(ensemble, at)}]"
    return Judged(
        table,
        ensemble.names[at],
        "cluster",
        codes,
        codes,
        names,
        code,
        model=at,
        of_run=True,
    )


def _of_result(
    table: Dataset, result: AnalysisResult, here: np.ndarray, run_id: str | None
) -> Judged:
    """The clusters of the result."""
    names = tuple(cluster_name(k) for k in range(int(here.max()) + 1))
    # Given labels stay labels, also where they were chosen as the result.
    noun: Literal["class", "cluster"] = "cluster"
    if result.made["kind"] == "labels":
        noun = "class"
    model = result.model_of(run_id)
    return Judged(table, result.title, noun, here, here, names, "", model=model)


def _of_consensus(
    job: Job, table: Dataset, ensemble: Ensemble, n_clusters: int
) -> Judged:
    """The clusters of a cut of the consensus tree."""
    count = min(max(n_clusters, 1), most_clusters(ensemble))
    tree = make_tree(ensemble, **job.kernels)
    codes = tree.cut(min(count, tree.n_leaves)).astype(np.int64)
    names = tuple(cluster_name(k) for k in range(int(codes.max()) + 1))
    code = Choice("consensus", count).python(ensemble, tree.n_leaves, ())
    title = consensus_title(count)
    return Judged(table, title, "cluster", codes, codes, names, code, of_run=True)


def consensus_title(n_clusters: int) -> str:
    """Name of a cut of the consensus tree."""
    return f"consensus tree k={n_clusters}"


def _of_column(table: Dataset, name: str) -> Judged:
    """The values of any column as classes."""
    values = table.table.loc[table.row_ids, name]
    codes, names = pd.factorize(values, sort=True)
    codes = codes.astype(np.int64)
    code = (
        f"dataset.table.loc[dataset.row_ids, {literal(name)}].factorize(sort=True)[0]"
    )
    is_feature = table.roles[name] in _FEATURES
    note = (
        "It is a feature itself: what it tells apart lies apart by construction. "
        "Ignore it on Data for a fair answer."
    )
    return Judged(
        table,
        name,
        "class",
        codes,
        codes,
        tuple(map(str, names)),
        code,
        note if is_feature else "",
    )


def _of_group(table: Dataset, group: Brush) -> Judged:
    """A brushed group against the rest."""
    codes = np.ones(len(table.row_ids), np.int64)
    codes[group.positions] = 0
    rows = plain_ids(np.asarray(table.row_ids)[group.positions])
    return Judged(
        table,
        "brushed group",
        "cluster",
        codes,
        codes,
        ("the group", "the rest"),
        group_in_python(rows),
        "Brushed on a map of these columns, a group may lie apart by construction.",
    )


@node("live", "Looking for other labels")
def label_columns(
    job: Job, dataset: Dataset | None, samples: Dataset | None
) -> tuple[str, ...]:
    """Columns that could be classes, too: few values, two rows of each on average."""
    table = samples if samples is not None else dataset
    if table is None:
        return ()
    found = []
    for done, (name, role) in enumerate(table.roles.items()):
        job.report(done, len(table.roles))
        raise_if_cancelled(job.cancelled)
        if role in ("label", "row id"):
            continue
        column = table.table[name]
        # Most columns are numbers of their own; the first rows tell.
        few = column.head(_LOOKED_AT).nunique() <= MOST_CLASSES
        if few and 2 <= column.nunique() <= min(MOST_CLASSES, len(column) // 2):
            found.append(name)
    return tuple(found)


def _refuse(found: Judged) -> None:
    """Raise ValueError where there is nothing to compare pair by pair."""
    sizes = found.sizes
    if len(sizes) < 2:
        raise ValueError(
            f"“{found.title}” has one {found.noun} only; two or more can be compared. "
            "Choose another partition above."
        )
    if len(sizes) > MOST_CLASSES:
        given = found.noun == "class"
        what, more = ("values", "classes") if given else ("clusters", "of them")
        raise ValueError(
            f"“{found.title}” has {whole(len(sizes))} {what}; up to {MOST_CLASSES} "
            f"{more} are compared pair by pair. Choose another partition above"
            f"{', or another label column on Data' if given else ''}."
        )


@node("live", "Comparing pair by pair", keep=8)
def label_check(job: Job, judged: Judged) -> LabelCheck:
    """CH_btwn of every pair of classes."""
    return label_match(
        judged.dataset.X, judged.codes, n_permutations="adaptive", **job.kernels
    )


def dbcv_sample(judged: Judged) -> int | None:
    """How many samples DBCV is computed on, None for all."""
    return DBCV_SAMPLE if len(judged.codes) > DBCV_SAMPLE else None


@node("idle", "Measuring density", keep=8)
def label_evidence(job: Job, judged: Judged) -> LabelEvidence:
    """Both scores, of the classes and of the same labels shuffled."""
    return evidence.label_evidence(
        judged.dataset.X,
        judged.codes,
        n_permutations="adaptive",
        sample_size=dbcv_sample(judged),
        **job.kernels,
    )


@node("idle", "Merging two of them", keep=8)
def label_gains(job: Job, judged: Judged) -> pd.DataFrame | None:
    """What the score becomes if two of the classes that mix most were one."""
    if len(judged.sizes) < 3:
        return None
    return merge_gains(
        judged.dataset.X,
        judged.codes,
        n_pairs=_GAINS,
        n_permutations="adaptive",
        **job.kernels,
    )


@dataclass(frozen=True, eq=False)
class Reached:
    """What the pool agrees on with the classes, and with them once merged."""

    given: PoolAgreement
    merged: PoolAgreement | None

    @property
    def now(self) -> PoolAgreement:
        """With the classes as they are judged."""
        return self.merged or self.given


@node("live", "Comparing the models with the labels")
def label_agreement(
    job: Job, judged: Judged, ensemble: Ensemble, ranking: Ranking
) -> Reached | None:
    """Adjusted Rand index of every model with given classes.

    None for clusters: that the models agree with what was made of them says nothing.
    """
    if judged.noun == "cluster":
        return None
    given = pool_agreement(ensemble, judged.given, ranking)
    if not judged.merged:
        return Reached(given, None)
    return Reached(given, pool_agreement(ensemble, judged.codes, ranking))


@dataclass(frozen=True, eq=False)
class PairOfClasses:
    """Two classes, the plane through their means, and what sets them apart.

    Parameters
    ----------
    a, b : int
        The classes.
    score, error : float
        Their CH_btwn with its Monte-Carlo error.
    view : PairView
        Their samples.
    densities : array of float, shape (2, n_steps), and heights (n_steps,)
        How dense each class is along the line through the means.
    columns : DataFrame
        column, difference (of b from a, in standard deviations of all samples), text_a,
        text_b; largest difference first.
    """

    a: int
    b: int
    score: float
    error: float
    view: PairView
    heights: np.ndarray
    densities: np.ndarray
    columns: pd.DataFrame


@node("live", "Looking at two of them", keep=16)
def label_pair(
    job: Job, judged: Judged, label_check: LabelCheck, look_label_pair: tuple[int, ...]
) -> PairOfClasses:
    """Look at the chosen pair, or at the one that mixes most."""
    table = label_check.pairs
    mask = (table["class_a"].isin(look_label_pair)) & (
        table["class_b"].isin(look_label_pair)
    )
    row = table[mask].iloc[0] if mask.any() else table.loc[_lowest(table)]
    a, b = int(row["class_a"]), int(row["class_b"])
    view = class_pair_view(judged.dataset.X, judged.codes, a, b)
    heights, densities = _densities(view)
    columns = _differences(judged, a, b)
    score, error = float(row["score"]), float(row["standard_error"])
    return PairOfClasses(a, b, score, error, view, heights, densities, columns)


def _lowest(table: pd.DataFrame) -> Any:
    """Row of the lowest score, the first one where there is none."""
    scores = table["score"].dropna()
    return scores.idxmin() if len(scores) else table.index[0]


def _densities(view: PairView) -> tuple[np.ndarray, np.ndarray]:
    """Estimate the density of both classes along y, the widest at 1."""
    y = view.coordinates[:, 1]
    room = 0.05 * max(float(np.ptp(y)), 1e-12)
    heights = np.linspace(y.min() - room, y.max() + room, _DENSITY_STEPS)
    found = np.zeros((2, _DENSITY_STEPS))
    for at, members in enumerate((y[~view.is_b], y[view.is_b])):
        step = -(-len(members) // _DENSITY_SAMPLES)
        some = members[::step]
        if len(some) > 1 and np.ptp(some) > 0:
            found[at] = gaussian_kde(some)(heights)
    return heights, found / max(found.max(), 1e-12)


def _differences(judged: Judged, a: int, b: int) -> pd.DataFrame:
    """Differences of the numeric columns between two classes."""
    profile = cluster_profiles(judged.dataset, judged.codes).table
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
    job: Job, label_pair: PairOfClasses, look_label_view: Viewport
) -> Picture | None:
    """Draw the samples of both classes, those of b as triangles.

    Room at the right is for the densities.
    """
    if not look_label_view.drawn:
        return None
    xy = label_pair.view.coordinates
    is_b = label_pair.view.is_b
    colours = rgb(PAIR_OF_CLASSES)[is_b.astype(int)]
    return draw_map(xy, colours, look_label_view, around=pair_frame(xy), triangles=is_b)


def pair_frame(xy: np.ndarray) -> np.ndarray:
    """Corners of what the map of a pair holds, shape (2, 2)."""
    low, high = xy.min(axis=0), xy.max(axis=0)
    return np.array([low, [high[0] + 0.25 * max(high - low), high[1]]])


def question(judged: Judged) -> str:
    """What the page answers, plain text."""
    if judged.noun == "class":
        return f"Are the labels of “{judged.title}” clusters?"
    return f"Are the clusters of “{judged.title}” groups of their own?"


@node()
def label_verdict(
    judged: Judged,
    label_check: LabelCheck,
    label_evidence: Later[LabelEvidence],
    label_agreement: Later[Reached],
    judged_again: Later[ClusterStability],
    judged_apart: Later[ClusterSeparation],
) -> Verdict | PartitionVerdict:
    """Weigh what is known of given classes, or of clusters."""
    if judged.noun == "cluster":
        return weigh_partition(judged_again, judged_apart)
    now = label_agreement.now if label_agreement else None
    return weigh(label_check, label_evidence, now)


@dataclass(frozen=True, eq=False)
class Grounds:
    """What a verdict rests on, and what follows.

    Parameters
    ----------
    lines : sequence of (str, Light, str)
        Each kind of evidence: title, what it says, and why, as markup.
    conclusion : str
        What to do.
    """

    lines: Sequence[tuple[str, Light, str]]
    conclusion: str


@node()
def label_grounds(
    label_verdict: Verdict | PartitionVerdict,
    label_check: LabelCheck,
    label_evidence: Later[LabelEvidence],
    label_agreement: Later[Reached],
    judged_again: Later[ClusterStability],
    judged_apart: Later[ClusterSeparation],
) -> Grounds:
    """Say what the verdict rests on."""
    if isinstance(label_verdict, PartitionVerdict):
        lines = partition_grounds(label_verdict, judged_again, judged_apart)
        return Grounds(lines, PARTITION_CONCLUSIONS[label_verdict.answer])
    now = label_agreement.now if label_agreement else None
    lines = verdict_grounds(label_verdict, label_check, label_evidence, now)
    return Grounds(lines, CONCLUSIONS[label_verdict.answer])
