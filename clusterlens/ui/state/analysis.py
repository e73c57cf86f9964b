"""Analysis: all decisions, as one frozen value.

Only actions make another one (`clusterlens.ui.actions`). Derived results are computed
by the nodes of `clusterlens.ui.jobs.derived`.
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
from clusterlens.ui.widgets.palette import file_labels

EVIDENCE: Literal["evidence"] = "evidence"
# Charge on the score for breaking all links, as in the paper.
PAPER_WEIGHT = 1.0


def new_run_id() -> str:
    """Make a run id that other pages do not use, even at the same time."""
    return f"r{secrets.token_hex(4)}"


@dataclass(frozen=True, eq=False)
class Run:
    """One immutable run: a prepared table, a pool with its seed, and its partitions.

    Parameters
    ----------
    id : str
        Id, unique in an analysis and never reused.
    name : str
        Name on screen.
    dataset : Dataset
        The prepared table.
    pool : tuple of dict
        Entries of the pool, as `run_pool` takes them.
    random_state : int
        Seed of the pool.
    ensemble : Ensemble
        Partitions of the pool, followed by kept partitions.
    kept : tuple of dict
        Definition of each kept partition, with the links it obeys, as plain values.
    n_asked : int, default 0
        Number of models of the pool if the run is unfinished; else 0.
    votes : {"models", "families", "hubs", "typical"}, default "models"
        Units with equal votes; "typical" gives one vote to each model of the typical
        half. Kept partitions have none.
    stopped_of : int, default 0
        Number of models of the pool if the run was stopped and kept; else 0.
    preset : PresetUsed or None, default None
        The preset that the pool is based on, with its version.
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
        """The preset of its pool with its version; empty for a custom pool."""
        return self.preset.words(len(self.pool)) if self.preset else ""


@dataclass(frozen=True)
class ClusterName:
    """A name with its rows, by plain row id."""

    text: str
    rows: tuple[int | str, ...]


@dataclass(frozen=True)
class Link:
    """Knowledge of the analyst about two rows: together (must) or apart (cannot).

    `by` is the respondent, if a file names one.
    """

    kind: Literal["must", "cannot"]
    a: Any
    b: Any
    by: str = ""


@dataclass(frozen=True, eq=False)
class AnalysisResult:
    """The partition chosen by the analyst, the same on every page.

    Its labels do not change with the run or the links.

    Parameters
    ----------
    run_id : str
        Run in which it was chosen.
    dataset : Dataset
        The prepared table of that run.
    made : dict
        Definition of the partition, the plain values of a `Choice`.
    title : str
        Its name on screen.
    clusters : array of int, shape (n_samples,)
        Cluster of each sample by its number on screen; noise is -1.
    numbers : tuple of (int, int)
        Each original label, with its number on screen.
    links : tuple of Link
        The links that were in force.
    chosen_on : str
        Title of the page on which it was chosen.
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
        """Return the position of the result among the models of a run, or None."""
        is_model = self.run_id == run_id and self.made["kind"] == "model"
        return int(self.made.get("model", 0)) if is_model else None


@dataclass(frozen=True)
class Succession:
    """Changes of the clusters of a segmentation by a refit.

    Parameters
    ----------
    of : str
        Name of the older segmentation.
    rows : {"new", "both"}
        Whether the new table was clustered, or both tables.
    stays, gone, new : tuple of str
        Names of the clusters that stayed, vanished, and are new.
    """

    of: str
    rows: Literal["new", "both"]
    stays: tuple[str, ...]
    gone: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class KeptPartition:
    """Partition kept for other tables, with the names of its clusters.

    Parameters
    ----------
    name : str
        Name of the kept partition.
    result : AnalysisResult
        The result at that time; it does not change.
    names : tuple of (int, str)
        Names of clusters, by their number on screen.
    follows : Succession or None
        Data on the refitted segmentation, if any.
    """

    name: str
    result: AnalysisResult
    names: tuple[tuple[int, str], ...] = ()
    follows: Succession | None = None

    @property
    def labels(self) -> np.ndarray:
        """Number of each sample's cluster from 1, -1 for noise."""
        return file_labels(self.result.clusters)

    def holds(self, result: AnalysisResult) -> bool:
        """Return whether this result is the kept one, even after it was read again."""
        kept = self.result
        same = (kept.run_id, kept.title, kept.made) == (
            result.run_id,
            result.title,
            result.made,
        )
        return same and np.array_equal(kept.clusters, result.clusters)


@dataclass(frozen=True, eq=False)
class SoftTable:
    """Uploaded memberships with their rows."""

    name: str
    row_ids: np.ndarray
    rows: FuzzyPartition


@dataclass(frozen=True)
class LargeTable:
    """A table on the server's disk; its landmarks are the table of the analysis.

    Parameters
    ----------
    name : str
        Its name among the large tables of the server.
    n_rows : int
        Number of its rows.
    files : str
        SHA-256 of the names, sizes and times of its files.
    skips : bool
        Whether files that cannot be read are left out.
    """

    name: str
    n_rows: int
    files: str
    skips: bool = False


@dataclass(frozen=True, eq=False)
class Analysis:
    """All decisions about one table.

    Parameters
    ----------
    table : Dataset or None
        The table as read.
    preparation : dict
        Arguments of `prepare` in force, plain values.
    dataset : Dataset or None
        The prepared table, None if preparation failed.
    runs : tuple of Run
        All runs, oldest first.
    runs_made : int
        Number of runs ever made, used in their names.
    run_id : str or None
        Id of the selected run.
    score : str
        Ranking score, a key of SCORES.
    threshold : int or None
        Number of models that must agree for a binarised pair; None for the mean rule.
    counted_fully : frozenset of str
        Runs with agreements that must be exact, whatever the cost.
    links : tuple of Link
        Must-links and cannot-links by row id; they belong to no run.
    unsure : tuple of (plain id, plain id) or (plain id, plain id, str)
        Pairs of rows marked as unsure, with the respondent if a file names one; they
        are not suggested again.
    link_weight : float or "evidence"
        Charge on the score for breaking all links; "evidence" counts each link as an
        answer that may mislead.
    note : str
        Plain text of the analyst, for the report.
    cluster_names : tuple of ClusterName
        Names of clusters; they belong to rows, not to a partition.
    result : AnalysisResult or None
        The chosen partition, used by report and files.
    segmentations : tuple of KeptPartition
        Partitions kept for other tables.
    new_table : Dataset or None
        Another table as read, with rows to assign.
    memberships : tuple of SoftTable
        Uploaded memberships.
    fuzzy_pairs : tuple of (str, str)
        Saved pairs of soft partitions, by their keys.
    cns : (int, float, int) or None
        Chosen neighbours, alpha and K of CNS; None for automatic.
    part : tuple of str
        Part of the file: "sheet" or "array" with its name, or "separator" with the
        separator of a text; empty for a file with one table.
    parts : tuple of str
        Names of all parts of the file, or possible separators.
    new_part, new_parts : tuple of str
        The same for the file of the new table.
    large : LargeTable or None
        The large table that the rows of the table are drawn from.
    labelled : tuple of str
        Source of the labels of the large table: a SHA-256 that names the folder, or
        the name of an opened run, and the title of the partition; empty if its rows
        were not labelled.
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
    large: LargeTable | None = None
    labelled: tuple[str, ...] = ()

    def with_run(self, run: Run) -> Analysis:
        """Return the analysis with another run, selected at the mean rule."""
        return replace(self, runs=(*self.runs, run), run_id=run.id, threshold=None)

    @property
    def run(self) -> Run | None:
        """The selected run."""
        return next((run for run in self.runs if run.id == self.run_id), None)

    @property
    def selected_run(self) -> Run:
        """The selected run, where one is certain."""
        assert self.run is not None, "no run is selected"
        return self.run

    @property
    def ensemble(self) -> Ensemble | None:
        """The partitions of the selected run."""
        return self.run.ensemble if self.run else None

    @property
    def samples(self) -> Dataset | None:
        """The prepared table of the selected run."""
        return self.run.dataset if self.run else None

    @property
    def pool(self) -> tuple[Mapping[str, Any], ...] | None:
        """The pool of the selected run."""
        return self.run.pool if self.run else None

    @property
    def random_state(self) -> int | None:
        """The seed of the selected run."""
        return self.run.random_state if self.run else None

    @property
    def noise(self) -> NoiseMeans | None:
        """Treatment of noise in the selected run."""
        return self.run.ensemble.noise if self.run else None

    @property
    def exact(self) -> bool:
        """Return whether the agreements of the run must be exact, whatever the cost."""
        return self.run_id in self.counted_fully
