"""Partitions: the choice of a partition for the page Clusters, and cluster names.

A `Choice` defines a partition in plain values, so that an action can make it again. A
name belongs to the samples that it was given to. A cluster of exactly these samples has
the name; a cluster that shares more than half with them is marked as like it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, Literal

import numpy as np
import pandas as pd

from clusterlens.compute.consensus.partition import (
    CONSENSUS_FUNCTIONS,
    consensus_partition,
)
from clusterlens.compute.consensus.tree import ConsensusTree, consensus_tree
from clusterlens.compute.ensemble.constraints import ConstraintError, Constraints
from clusterlens.compute.ensemble.ensemble import NOISE, Ensemble
from clusterlens.compute.formatting import percent, whole
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.state.analysis import Analysis, AnalysisResult, ClusterName, Link
from clusterlens.ui.state.links import (
    LinkError,
    PlainId,
    as_constraints,
    links_as_json,
    named_alike,
    plain_ids,
    shown_rows,
)
from clusterlens.ui.state.literals import literal
from clusterlens.ui.state.view_parameters import Brush

TREE = "bisecting-kmeans"
SEED = 0
MOST_CLUSTERS = 20
# Largest size, in samples, for functions with quadratic cost.
_QUADRATIC_UP_TO = 5_000
_MOST_BYTES = 1 << 30
_SAME = 0.5
# Labels are counted up to the largest one.
MOST_LABEL = 1_000_000

Kind = Literal["result", "consensus", "model", "group", "labels"]


@dataclass(frozen=True)
class Choice:
    """Definition of a partition of the samples of a run.

    Parameters
    ----------
    kind : {"result", "consensus", "model", "group", "labels"}
        The result, a consensus of the run, one of its models, a group against the rest,
        or the given labels.
    k : int
        Number of clusters of a consensus.
    method : str
        Its consensus function, a key of CONSENSUS_FUNCTIONS.
    obeys : bool
        Whether it obeys the links.
    model : int
        Position of a model.
    group : Brush or None
        The samples of a group.
    votes : tuple of int
        Votes of the models for a consensus, weighted by answers; empty for the votes of
        the run.
    """

    kind: Kind
    k: int = 0
    method: str = TREE
    obeys: bool = False
    model: int = 0
    group: Brush | None = None
    votes: tuple[int, ...] = ()

    def title(self, ensemble: Ensemble | None) -> str:
        """Return the title of the partition; the result has its own."""
        if self.kind == "model":
            assert ensemble is not None, "a model belongs to a run"
            return ensemble.names[self.model]
        if self.kind == "group":
            return "selected group"
        if self.kind == "labels":
            return "given labels"
        made = "consensus tree" if self.method == TREE else f"consensus {self.method}"
        voters = " by answers" if self.votes else ""
        return f"{made} k={self.k}{voters}" + (" with links" if self.obeys else "")

    def python(
        self,
        ensemble: Ensemble,
        n_found: int,
        row_ids: Sequence[PlainId],
        links: Sequence[Link] = (),
        *,
        ens: str = "ensemble",
        ds: str = "dataset",
    ) -> str:
        """Write the labels of the partition as a Python expression, an array.

        Parameters
        ----------
        ensemble : Ensemble
            Partitions of the run, named `ens` in Python.
        n_found : int
            Number of clusters of the partition.
        row_ids : sequence of int or str
            Plain ids of the samples of a group.
        links : sequence of Link
            Links that it obeys.
        ens, ds : str
            Names of the ensemble and of the prepared table.
        """
        if self.kind == "model":
            return f"{ens}.labels[{position_in_python(ensemble, self.model, ens)}]"
        if self.kind == "labels":
            return f"{ds}.labels_true"
        if self.kind == "group":
            return group_in_python(row_ids, ds)
        if self.votes:
            ens += f".with_weights({literal(list(self.votes))})"
        if self.method == TREE and not self.obeys:
            k, most = min(self.k, n_found), most_clusters(ensemble)
            return f"cl.consensus_tree({ens}, {most}, {SEED}).cut({k})"
        obeyed = ""
        if self.obeys:
            text = literal(links_as_json(links))
            obeyed = (
                f", constraints=cl.constraints_from_json({text}, {ds}.row_ids, "
                'missing="skip")'
            )
        made = f"{ens}, {self.k}, {literal(self.method)}, {SEED}"
        return f"cl.consensus_partition({made}{obeyed})"

    def values(self, samples: Dataset) -> dict[str, Any]:
        """Return the choice as plain values, groups by row ids."""
        values: dict[str, Any] = {"kind": self.kind}
        if self.kind == "consensus":
            values |= {"k": self.k, "method": self.method, "obeys": self.obeys}
            values |= {"votes": list(self.votes)} if self.votes else {}
        elif self.kind == "model":
            values |= {"model": self.model}
        elif self.group is not None:
            ids = np.asarray(samples.row_ids)[self.group.positions]
            values |= {"rows": list(plain_ids(ids))}
        return values


def position_in_python(ensemble: Ensemble, model: int, ens: str = "ensemble") -> str:
    """Write the position of a model of an ensemble, by its name if it is unique."""
    name = ensemble.names[model]
    if ensemble.names.count(name) > 1:
        return literal(model)
    return f"{ens}.names.index({literal(name)})"


def group_in_python(row_ids: Sequence[PlainId], ds: str = "dataset") -> str:
    """Write the labels of a group against the rest: 0 for these rows, 1 for others."""
    index = f"{ds}.table.loc[{ds}.row_ids].index"
    if not all(isinstance(row, int) for row in row_ids):
        index += ".astype(str)"
    return f"1 - {index}.isin({literal(list(row_ids))})"


def number_of(cluster: int) -> int:
    """Return the number of a cluster in files and scripts; noise stays -1."""
    return cluster + 1 if cluster >= 0 else NOISE


def choice_from(values: Mapping[str, Any], samples: Dataset) -> Choice:
    """Return the choice defined by plain values."""
    given = dict(values)
    if "rows" in given:
        at = _index(samples.row_ids).get_indexer(pd.Index(given.pop("rows")))
        given["group"] = Brush(np.sort(at[at >= 0]), "rows")
    given["votes"] = tuple(given.get("votes", ()))
    return Choice(**given)


def _index(row_ids: Any) -> pd.Index:
    """Return an index of plain row ids."""
    index = pd.Index(row_ids)
    plain = index.inferred_type in ("integer", "string")
    return index if plain else pd.Index(plain_ids(index))


def functions_for(ensemble: Ensemble) -> list[str]:
    """Return the consensus functions that are affordable for an ensemble."""
    n, columns = ensemble.n_samples, int(ensemble.n_codes @ ensemble.votes)
    return [
        name
        for name, function in CONSENSUS_FUNCTIONS.items()
        if function.n_bytes(n, columns) <= _MOST_BYTES
        and (function.partial or not ensemble.is_partial)
        and ("n²" not in function.cost or n <= _QUADRATIC_UP_TO)
    ]


def most_clusters(ensemble: Ensemble) -> int:
    """Return the largest number of clusters on offer."""
    return min(MOST_CLUSTERS, ensemble.n_samples)


def make_tree(ensemble: Ensemble, **kernels: Any) -> ConsensusTree:
    """Return the tree that is cut into consensus partitions by default."""
    return consensus_tree(ensemble, most_clusters(ensemble), SEED, **kernels)


def labels_of(
    choice: Choice,
    ensemble: Ensemble,
    samples: Dataset,
    links: Constraints | None = None,
    tree: ConsensusTree | None = None,
    result: AnalysisResult | None = None,
    **kernels: Any,
) -> np.ndarray:
    """Return the label of each sample, shape (n_samples,).

    Raises
    ------
    ValueError
        If there is no such partition.
    """
    if choice.kind == "result":
        found = clusters_of_result(result, samples) if result else None
        if found is None:
            raise ValueError(
                "there is no result of these rows; choose one on Clusters."
            )
        return found
    if choice.kind == "model":
        if not 0 <= choice.model < ensemble.n_partitions:
            raise ValueError(
                f"model is {choice.model}; give 0 to {ensemble.n_partitions - 1}."
            )
        return ensemble.labels[choice.model].astype(np.int64)
    if choice.kind == "labels":
        if samples.labels_true is None:
            raise ValueError("the table has no column of labels; choose one on Data.")
        return np.asarray(samples.labels_true, np.int64)
    if choice.kind == "group":
        inside = np.ones(ensemble.n_samples, np.int64)
        inside[choice.group.positions if choice.group else []] = 0
        if inside.all() or not inside.any():
            raise ValueError("the group is none or all of the samples; select some.")
        return inside
    if choice.votes:
        ensemble = ensemble.with_weights(choice.votes)
    if choice.method == TREE and not choice.obeys:
        tree = tree or make_tree(ensemble, **kernels)
        return tree.cut(min(choice.k, tree.n_leaves))
    try:
        return consensus_partition(
            ensemble,
            choice.k,
            choice.method,
            SEED,
            constraints=links if choice.obeys else None,
            **kernels,
        )
    except ConstraintError as error:
        raise _too_few_clusters(choice.k, error, samples) from None


def clusters_of_result(result: AnalysisResult, samples: Dataset) -> np.ndarray | None:
    """Return the cluster of each sample in the result, shape (n_samples,).

    None if the result lacks a sample.
    """
    if result.dataset is samples:
        return result.clusters
    if not named_alike(result.dataset, samples):
        return None
    ids = pd.Index(plain_ids(samples.row_ids))
    at = pd.Index(plain_ids(result.dataset.row_ids)).get_indexer(ids)
    return None if (at < 0).any() else result.clusters[at]


def _too_few_clusters(k: int, error: ConstraintError, samples: Dataset) -> LinkError:
    """Return an error with the rows that too few clusters cannot keep apart."""
    ends = np.array([pair for _, *pair in error.chain], np.intp).reshape(-1, 2)
    rows = dict.fromkeys(plain_ids(np.asarray(samples.row_ids)[np.unique(ends)]))
    pairs = (plain_ids(np.asarray(samples.row_ids)[pair]) for pair in ends)
    links = [Link("cannot", a, b) for a, b in pairs]
    return LinkError(
        f"{k} clusters cannot keep the rows {shown_rows(list(rows))} apart as the "
        "cannot-links among them ask; take more clusters, or remove one of these "
        "links.",
        tuple(links),
    )


def free_name(name: str, taken: Collection[str]) -> str:
    """Return a name, with the first number that makes it unique."""
    numbered = (f"{name} ({k})" for k in count(2))
    return next(free for free in chain([name], numbered) if free not in taken)


def chosen_labels(
    analysis: Analysis, values: Mapping[str, Any], **kernels: Any
) -> tuple[Choice, np.ndarray]:
    """Make the partition of the selected run defined by plain values."""
    run = analysis.run
    if run is None:
        raise ValueError("there is no run to take a partition of; run a pool first.")
    choice = choice_from(values, run.dataset)
    links = None
    if choice.obeys:
        places = {row: k for k, row in enumerate(plain_ids(run.dataset.row_ids))}
        links = as_constraints(analysis.links, places)
    labels = labels_of(
        choice,
        run.ensemble,
        run.dataset,
        links,
        result=analysis.result,
        **kernels,
    )
    return choice, labels


def refuse_large_labels(ensemble: Ensemble) -> None:
    """Raise ValueError if a label is far above the number of samples."""
    largest = ensemble.labels.max(axis=1)
    model, limit = int(largest.argmax()), max(MOST_LABEL, ensemble.n_samples)
    if largest[model] > limit:
        raise ValueError(
            f"partition {ensemble.names[model]!r} has the label "
            f"{whole(largest[model])}, the limit is {whole(limit)}; number its "
            "clusters from 0, or give texts as labels."
        )


@dataclass(frozen=True)
class Called:
    """Name of a cluster, with the share of rows that it has in common with the name.

    Parameters
    ----------
    text : str
        The name.
    share : float
        Rows of both over rows of either (Jaccard); 1 for the same rows.
    """

    text: str
    share: float

    @property
    def is_own(self) -> bool:
        """Return whether the name was given to exactly these rows."""
        return self.share == 1

    def __str__(self) -> str:
        return self.text if self.is_own else f"like {self.text} ({percent(self.share)})"


def names_of(
    clusters: np.ndarray, row_ids: Any, names: Iterable[ClusterName]
) -> dict[int, Called]:
    """Return the names of clusters, by cluster.

    Parameters
    ----------
    clusters : array of int, shape (n_samples,)
        Cluster of each sample, negative is noise.
    row_ids : array, shape (n_samples,)
        Row id of each sample.
    names : iterable of ClusterName
        Names with their rows. A cluster has the name with the largest share, the last
        one of ties, and none with a share of at most half.
    """
    names = tuple(names)
    if not names:
        return {}
    index = _index(row_ids)
    found: dict[int, Called] = {}
    sizes = np.bincount(clusters[clusters >= 0])
    for name in names:
        at = index.get_indexer(pd.Index(name.rows))
        own = clusters[at[at >= 0]]
        common = np.bincount(own[own >= 0], minlength=len(sizes))
        share = common / np.maximum(sizes + np.count_nonzero(at >= 0) - common, 1)
        best = int(share.argmax()) if len(share) else 0
        least = found[best].share if best in found else np.nextafter(_SAME, 1)
        if len(share) and share[best] >= least:
            found[best] = Called(name.text, float(share[best]))
    return found


def named(
    names: tuple[ClusterName, ...],
    text: str,
    rows: Sequence[PlainId],
    among: Collection[PlainId],
) -> tuple[ClusterName, ...]:
    """Name rows, replacing their name; an empty text removes it.

    A name belongs to rows if they are all of its rows `among` the rows of the selected
    run.
    """
    own, there = set(rows), set(among)
    kept = tuple(name for name in names if there.intersection(name.rows) != own)
    return (*kept, ClusterName(text, tuple(rows))) if text else kept
