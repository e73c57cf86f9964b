"""Session: the only mutable state of one browser session.

Views read parameters from here and never call each other. The analysis itself changes
only by actions (`clusterlens.ui.actions`), which end up in the log; what is merely
looked at (selected model, colours, brushed samples) are plain parameters.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import param
from scipy.spatial import KDTree

from clusterlens.compute.ensemble.agreement import Agreement
from clusterlens.compute.ensemble.contingency import match_labels
from clusterlens.compute.ensemble.ensemble import (
    NOISE,
    Ensemble,
    distinct_partitions,
)
from clusterlens.compute.ranking.ranking import Ranking, rank_partitions
from clusterlens.compute.ranking.robustness import Robustness
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.jobs import Jobs
from clusterlens.ui.log import Action, ActionLog


@dataclass(frozen=True, eq=False)
class Run:
    """One immutable run: a prepared table, a pool, and everything counted once.

    Parameters
    ----------
    name : str
        Name on screen, unique in the session.
    dataset : Dataset
        The prepared table.
    ensemble : Ensemble
        What the pool found.
    agreement : Agreement
        The two count tables of the pass over pairs; estimated for very many samples.
    compared : Ensemble
        The ensemble restricted to the samples that were compared with each other: all
        of them if the agreement is exact.
    disagreement : array of float, shape (n_samples,)
        Disagreement of the pool about each sample, in [0, 1].
    tree_order : array of int, shape (n_samples,)
        Ordering of the samples by the consensus tree.
    projection : Projection
        Map of the samples.
    """

    name: str
    dataset: Dataset
    ensemble: Ensemble
    agreement: Agreement
    compared: Ensemble
    disagreement: np.ndarray
    tree_order: np.ndarray
    projection: Projection

    @cached_property
    def leader(self) -> int:
        """Position of the model closest to the consensus by the recommended score."""
        return int(rank_partitions(self.agreement).order[0])

    @cached_property
    def clusters_of(self) -> Callable[[int], np.ndarray]:
        """Clusters of a model, numbered like the leader's they match; noise is -1.

        `clusters_of(model)` is an array of int, shape (n_samples,); the latest ones
        are kept, as every redraw asks for them.
        """
        return lru_cache(maxsize=4)(self._match)

    def _match(self, model: int) -> np.ndarray:
        """Match the clusters of a model with the leader's."""
        codes = self.ensemble.codes
        matched = match_labels(codes[self.leader], codes[model])
        return np.where(self.ensemble.labels[model] == NOISE, NOISE, matched)

    def order_by(self, key: str, model: int) -> np.ndarray:
        """Order the samples by a model's clusters, the consensus tree, or as read."""
        if key == "file":
            return np.arange(self.ensemble.n_samples)
        if key == "tree":
            return self.tree_order
        clusters = self.clusters_of(model)[self.tree_order]
        return self.tree_order[np.argsort(clusters, kind="stable")]

    def together_with(self, position: int) -> np.ndarray:
        """Count for each sample the models that put it together with one sample."""
        count = np.zeros(self.ensemble.n_samples, np.int32)
        for codes in self.ensemble.codes:
            count += codes == codes[position]
        return count

    @cached_property
    def copy_of(self) -> np.ndarray:
        """Number of the distinct partition of each model, shape (n_partitions,)."""
        return distinct_partitions(self.ensemble)[1]

    def distinct(self, models: np.ndarray) -> np.ndarray:
        """Keep the first model of each distinct partition, in the given order."""
        first = np.unique(self.copy_of[models], return_index=True)[1]
        return models[np.sort(first)]

    @cached_property
    def nearest(self) -> KDTree:
        """Search tree over the map, for clicks."""
        return KDTree(self.projection.coordinates)

    @property
    def make_up(self) -> str:
        """The pool in words: how many models of each family, how many distinct."""
        families = Counter(self.ensemble.families)
        parts = ", ".join(f"{count} {name}" for name, count in families.most_common())
        distinct = self.copy_of.max() + 1
        return f"{self.ensemble.n_partitions} models: {parts} · {distinct} distinct"


class Session(param.Parameterized):
    """State of one browser session; knows nothing of widgets."""

    page = param.String("data", doc="The page that is shown.")

    table = param.ClassSelector(class_=Dataset, doc="The table as loaded, with roles.")
    preparation = param.Dict({}, doc="Arguments of prepare that are in force.")
    dataset = param.ClassSelector(class_=Dataset, doc="The prepared table.")
    projection = param.ClassSelector(class_=Projection, doc="Map of the samples.")
    runs = param.ClassSelector(class_=tuple, default=(), doc="All runs, oldest first.")
    run = param.ClassSelector(class_=Run, doc="The run that is shown.")
    robustness = param.Dict({}, doc="(run name, score) -> Robustness.")

    score = param.String("discotec-binary", doc="Ranking score, a key of SCORES.")
    threshold = param.Integer(0, doc="Agreement needed for a binarised pair.")
    ranking = param.ClassSelector(class_=Ranking, doc="Models of the run in order.")

    model = param.Integer(-1, doc="Position of the selected model.")
    colour_by = param.Selector(
        default="model", objects=["model", "disagreement", "labels"]
    )
    order_by = param.Selector(default="model", objects=["model", "tree", "file"])
    shading = param.Selector(default="linear", objects=["linear", "eq_hist"])
    inspected = param.Integer(None, allow_None=True, doc="Position of a sample.")
    brushed = param.Array(np.empty(0, np.intp), doc="Positions of brushed samples.")

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.log = ActionLog()
        self.jobs = Jobs()
        self.files: dict[str, bytes] = {}

    def keep_file(self, content: bytes) -> str:
        """Keep the content of an uploaded file; return its SHA-256 for the log."""
        key = hashlib.sha256(content).hexdigest()
        self.files[key] = content
        return key

    def commit(self, action: Action, updates: Mapping[str, Any]) -> None:
        """Put an action into the log and its result into the parameters, at once.

        The page is turned last, when its views already show the result.
        """
        self.log.append(action)
        page = updates.get("page", self.page)
        self.param.update(**{k: v for k, v in updates.items() if k != "page"})
        self.page = page

    @property
    def current_robustness(self) -> Robustness | None:
        """Robustness of the ranking on screen, once it has been computed."""
        return self.robustness.get((self.run.name, self.score)) if self.run else None
