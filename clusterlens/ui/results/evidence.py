"""Evidence about a partition, and the answer to one question about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clusterlens.compute.assigning.few_columns import TypingTool
from clusterlens.compute.pool.k_selection import KSelection
from clusterlens.compute.pool.nulls import NullAgreement
from clusterlens.compute.pool.separation import ClusterSeparation
from clusterlens.compute.pool.stability import ClusterStability
from clusterlens.ui.results.label_verdict import Light
from clusterlens.ui.results.leading import Leads


@dataclass(frozen=True)
class LabelsMatch:
    """How far a partition matches given labels.

    Parameters
    ----------
    column : str
        Column of the labels.
    value : float
        Adjusted Rand index with them.
    is_guess : bool
        Whether only the place of the column says that it holds labels.
    """

    column: str
    value: float
    is_guess: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """Results of the checks of a partition.

    Parameters
    ----------
    title, table : str
        Names of the partition and of its table.
    clusters : array of int, shape (n_samples,)
        Its clusters; noise is -1.
    names : mapping of int to str
        Names of its clusters.
    is_here : bool
        Whether the run that is read has the same rows.
    leads : Leads
        The models that lead with and without answers, and reasons to doubt them.
    null_check, k_selection, stability, separation, columns
        Results of the checks; None if they were not measured.
    labels : LabelsMatch, optional
        The match with given labels.
    n_broken : int
        Answers that the partition contradicts.
    cut_column : str
        The column with two values that alone reproduces it; empty for none.
    n_links_since : int
        Links that were added or removed since it was chosen as the result.
    """

    title: str
    table: str
    clusters: np.ndarray
    names: Mapping[int, str]
    is_here: bool
    leads: Leads
    null_check: NullAgreement | None = None
    k_selection: KSelection | None = None
    stability: ClusterStability | None = None
    separation: ClusterSeparation | None = None
    columns: TypingTool | None = None
    labels: LabelsMatch | None = None
    n_broken: int = 0
    cut_column: str = ""
    n_links_since: int = 0

    @property
    def sizes(self) -> dict[int, int]:
        """Number of rows of each cluster, without noise."""
        found, counts = np.unique(self.clusters[self.clusters >= 0], return_counts=True)
        return dict(zip(found.tolist(), counts.tolist(), strict=True))


@dataclass(frozen=True)
class Row:
    """One question with its answer.

    Parameters
    ----------
    key : str
        Key of the question.
    light : Light
        Whether the answer supports the partition.
    answer, basis : str
        The answer in words, and the numbers that it rests on.
    short : str
        The answer in a few words, of rows that decide.
    defended, doubted, against, unfinished, open : sequence of str
        Parts of the paragraph: claims that hold, claims that fail, signs of a wrong
        result, questions whose check was stopped, open questions.
    clusters : frozenset of str
        Names of the clusters that pass, of a check of each.
    """

    key: str
    light: Light
    answer: str
    basis: str = ""
    defended: Sequence[str] = ()
    doubted: Sequence[str] = ()
    against: Sequence[str] = ()
    unfinished: Sequence[str] = ()
    open: Sequence[str] = ()
    short: str = ""
    clusters: frozenset[str] = frozenset()
