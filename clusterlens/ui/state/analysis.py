"""Analysis: what has been decided, as one frozen value.

An action makes another one (`clusterlens.ui.actions`); nothing else does. What follows
from it is computed by the nodes of `clusterlens.ui.work.derived`.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from clusterlens.compute.ensemble.ensemble import Ensemble, NoiseMeans
from clusterlens.compute.fuzzy.partition import FuzzyPartition
from clusterlens.compute.pool.preset_versions import PresetUsed
from clusterlens.compute.ranking.ranking import Weight
from clusterlens.compute.ranking.voting import VoteBy
from clusterlens.compute.table.dataset import Dataset

EVIDENCE = "evidence"
# What all broken links add to a score, as the paper has it.
PAPER_WEIGHT = 1.0


def new_run_id() -> str:
    """Make an id of a run that no other page gives to another one meanwhile."""
    return f"r{secrets.token_hex(4)}"


@dataclass(frozen=True, eq=False)
class Run:
    """One immutable run: a prepared table, a pool with its seed, and what it found.

    Parameters
    ----------
    id : str
        Unique in an analysis, never used again.
    name : str
        Name on screen.
    dataset : Dataset
        The prepared table.
    pool : tuple of dict
        Entries of the pool, as `run_pool` takes them.
    random_state : int
        Seed of the pool.
    ensemble : Ensemble
        What the pool found, and after it the partitions that were kept.
    kept : tuple of dict
        How each kept partition was made, and the links it obeys, plain values.
    n_asked : int, default 0
        Number of models asked for, of a run that is not finished; else 0.
    votes : {"models", "families", "hubs", "typical"}, default "models"
        What has equal votes, or that the typical half has one. Kept partitions have
        none.
    stopped_of : int, default 0
        Number of models asked for, of a run that was stopped and kept; else 0.
    preset : PresetUsed or None, default None
        The preset that its pool is or was begun with, and the version that it had.
    """

    id: str
    name: str
    dataset: Dataset
    pool: tuple[Mapping[str, Any], ...]
    random_state: int
    ensemble: Ensemble
    kept: tuple[Mapping[str, Any], ...] = ()
    n_asked: int = 0
    votes: VoteBy = "models"
    stopped_of: int = 0
    preset: PresetUsed | None = None

    @property
    def n_added(self) -> int:
        """Number of partitions that were kept after the pool."""
        return sum(entry.get("models", 1) for entry in self.kept)

    @property
    def preset_words(self) -> str:
        """The preset of its pool and its version, empty for a pool of one's own."""
        return self.preset.words(len(self.pool)) if self.preset else ""


@dataclass(frozen=True)
class ClusterName:
    """A name and the rows it was given to, by plain row id."""

    text: str
    rows: tuple[int | str, ...]


@dataclass(frozen=True)
class Link:
    """What the analyst knows of two rows: together (must) or apart (cannot).

    `by` says who answered, where a file said so.
    """

    kind: Literal["must", "cannot"]
    a: Any
    b: Any
    by: str = ""


@dataclass(frozen=True, eq=False)
class AnalysisResult:
    """The partition that the analyst works with: chosen once, the same on every page.

    Its labels stay what they were, whatever becomes of the run and the links.

    Parameters
    ----------
    run_id : str
        The run it was chosen in.
    dataset : Dataset
        The prepared table of that run.
    made : dict
        How it was made, the plain values of a `Choice`.
    title : str
        Its name on screen.
    clusters : array of int, shape (n_samples,)
        Cluster of each sample by its number on screen; noise is -1.
    numbers : tuple of (int, int)
        Each label as it is made, and its number on screen.
    links : tuple of Link
        The links that were in force.
    chosen_on : str
        Title of the page it was chosen on.
    """

    run_id: str
    dataset: Dataset
    made: Mapping[str, Any]
    title: str
    clusters: np.ndarray
    numbers: tuple[tuple[int, int], ...]
    links: tuple[Link, ...] = ()
    chosen_on: str = ""

    def model_of(self, run_id: str | None) -> int | None:
        """Which model of a run it is, None where it is none of them."""
        is_model = self.run_id == run_id and self.made["kind"] == "model"
        return int(self.made.get("model", 0)) if is_model else None


@dataclass(frozen=True)
class Succession:
    """What became of the clusters of a segmentation when it was refitted.

    Parameters
    ----------
    of : str
        Name of the older segmentation.
    rows : {"new", "both"}
        Whether the new table was clustered, or both tables.
    stays, gone, new : tuple of str
        Names of the clusters that are still there, are not, and were not before.
    """

    of: str
    rows: Literal["new", "both"]
    stays: tuple[str, ...]
    gone: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class KeptPartition:
    """A partition that is kept for other tables, with the names of its clusters.

    Parameters
    ----------
    name : str
        What it is called.
    result : AnalysisResult
        The result when it was kept; it stays what it was.
    names : tuple of (int, str)
        Names that were given to clusters, by their number on screen.
    follows : Succession or None
        The segmentation that it is a refit of.
    """

    name: str
    result: AnalysisResult
    names: tuple[tuple[int, str], ...] = ()
    follows: Succession | None = None

    @property
    def labels(self) -> np.ndarray:
        """Number of the cluster of each sample as people read it, -1 for noise."""
        clusters = self.result.clusters
        return np.where(clusters < 0, -1, clusters + 1)

    def holds(self, result: AnalysisResult) -> bool:
        """Whether it is this result that is kept, also where it was read again."""
        kept = self.result
        same = (kept.run_id, kept.title, kept.made) == (
            result.run_id,
            result.title,
            result.made,
        )
        return same and np.array_equal(kept.clusters, result.clusters)


@dataclass(frozen=True, eq=False)
class SoftTable:
    """Memberships that were uploaded, and the rows they belong to."""

    name: str
    row_ids: np.ndarray
    rows: FuzzyPartition


@dataclass(frozen=True, eq=False)
class Analysis:
    """Everything that was decided about one table.

    Parameters
    ----------
    table : Dataset or None
        The table as read.
    preparation : dict
        Arguments of `prepare` that are in force, plain values.
    dataset : Dataset or None
        The prepared table, None where preparation failed.
    runs : tuple of Run
        All runs, oldest first.
    runs_made : int
        Number of runs ever made, by which they are called.
    run_id : str or None
        Which run is read.
    score : str
        Ranking score, a key of SCORES.
    threshold : int or None
        Models that must agree for a binarised pair; None for the mean rule.
    counted_fully : frozenset of str
        Runs whose agreements shall be exact whatever it costs.
    links : tuple of Link
        Must-links and cannot-links by row id; they belong to no run.
    unsure : tuple of (plain id, plain id) or (plain id, plain id, str)
        Pairs of rows that could not be told, and by whom where a file said so; they
        are not asked about again.
    link_weight : float or "evidence"
        What all links broken add to a score; "evidence" weighs each as an answer that
        may mislead.
    note : str
        Plain text of the analyst, for the report.
    cluster_names : tuple of ClusterName
        Names of clusters; they belong to rows, not to a partition.
    result : AnalysisResult or None
        The partition that was chosen; report and files are about it.
    segmentations : tuple of KeptPartition
        Partitions that are kept for other tables.
    new_table : Dataset or None
        Another table as read, whose rows are to be placed.
    memberships : tuple of SoftTable
        Uploaded memberships.
    fuzzy_pairs : tuple of (str, str)
        Saved pairs of soft partitions, by their keys.
    cns : (int, float, int) or None
        Neighbours, alpha and K that were chosen for CNS; None for automatic.
    part : tuple of str
        Which part of its file the table is: "sheet" or "array" and the name of that,
        of text "separator" and what separates its cells;
        empty for a file that holds one table.
    parts : tuple of str
        The names of all parts of the file, or what may separate its cells.
    new_part, new_parts : tuple of str
        The same of the file of the new table.
    """

    table: Dataset | None = None
    preparation: Mapping[str, Any] = field(default_factory=dict)
    dataset: Dataset | None = None
    runs: tuple[Run, ...] = ()
    runs_made: int = 0
    run_id: str | None = None
    score: str = "discotec-binary"
    threshold: int | None = None
    counted_fully: frozenset[str] = frozenset()
    links: tuple[Link, ...] = ()
    unsure: tuple[tuple[Any, ...], ...] = ()
    link_weight: Weight = EVIDENCE
    note: str = ""
    cluster_names: tuple[ClusterName, ...] = ()
    result: AnalysisResult | None = None
    segmentations: tuple[KeptPartition, ...] = ()
    new_table: Dataset | None = None
    memberships: tuple[SoftTable, ...] = ()
    fuzzy_pairs: tuple[tuple[str, str], ...] = ()
    cns: tuple[int, float, int] | None = None
    part: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    new_part: tuple[str, ...] = ()
    new_parts: tuple[str, ...] = ()

    def with_run(self, run: Run) -> Analysis:
        """The analysis with another run, which is read at the mean rule."""
        return replace(self, runs=(*self.runs, run), run_id=run.id, threshold=None)

    @property
    def run(self) -> Run | None:
        """The run that is read."""
        return next((run for run in self.runs if run.id == self.run_id), None)

    @property
    def ensemble(self) -> Ensemble | None:
        """The partitions of the run that is read."""
        return self.run.ensemble if self.run else None

    @property
    def samples(self) -> Dataset | None:
        """The prepared table of the run that is read."""
        return self.run.dataset if self.run else None

    @property
    def pool(self) -> tuple[Mapping[str, Any], ...] | None:
        """The pool of the run that is read."""
        return self.run.pool if self.run else None

    @property
    def random_state(self) -> int | None:
        """The seed of the run that is read."""
        return self.run.random_state if self.run else None

    @property
    def noise(self) -> NoiseMeans | None:
        """What noise means in the run that is read."""
        return self.run.ensemble.noise if self.run else None

    @property
    def exact(self) -> bool:
        """Whether the agreements of the run shall be exact whatever it costs."""
        return self.run_id in self.counted_fully
