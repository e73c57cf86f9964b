"""Refit: a later partition with the labels and names of earlier clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel
from clusterlens.compute._validation import (
    UNLABELLED,
    DataError,
    Frozen,
    IntArray,
    RandomState,
    check_labels,
    read_only,
)
from clusterlens.compute.assigning.segmentation import (
    Segmentation,
    check_segmentation,
)
from clusterlens.compute.ensemble.contingency import contingency_table, match_clusters
from clusterlens.compute.table.dataset import Dataset

# A cluster below it is dissolved: Hennig (2007), section 3.
SAME_FROM = 0.5


@dataclass(frozen=True, eq=False)
class Refit(Frozen):
    """A segmentation that succeeds another one.

    Parameters
    ----------
    segmentation : Segmentation
        Segmentation of the new partition, with the labels and names of the clusters
        that still exist.
    labels : array of int64, shape (n_samples,)
        The new partition in these labels, -1 for noise.
    matches : DataFrame
        One row per cluster of either: "name", "then" and "now", its label before and in
        the new partition as given, missing if it has none, "likeness", the Jaccard
        coefficient of both over the rows of the new table, 0 without a partner, and
        "state": "stays", "gone" or "new".
    """

    segmentation: Segmentation
    labels: IntArray
    matches: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """Return the clusters of both.

        Returns
        -------
        matches : DataFrame
            `matches`.
        """
        return self.matches

    def __repr__(self) -> str:
        """List the clusters that stay, are gone and are new."""
        names = self.matches.groupby("state", sort=False)["name"].agg(list)
        parts = [f"{state}: {', '.join(some)}" for state, some in names.items()]
        return f"Refit({'; '.join(parts)})"


@takes_running
def refit(
    segmentation: Segmentation,
    dataset: Dataset,
    labels: npt.ArrayLike,
    *,
    rows: bool = True,
    random_state: RandomState = 0,
    cancel: Cancel | None = None,
) -> Refit:
    """Replace an older partition by a new one, and keep the names that still fit.

    Parameters
    ----------
    segmentation : Segmentation
        The older one.
    dataset : Dataset
        The table of the new partition, prepared; it has the columns of the older one.
    labels : array-like of int, shape (n_samples,)
        The new partition, -1 for noise.
    rows, random_state, cancel
        As for `Segmentation`.

    Returns
    -------
    refit : Refit
        The new segmentation, its labels, and which clusters stay, are gone or are new.

    Raises
    ------
    DataError
        If the dataset lacks columns of the older segmentation, or is not prepared.
    ValueError
        If the labels do not fit the dataset.

    Notes
    -----
    The older segmentation assigns the rows of the new table. Its clusters and the new
    ones are matched one to one by their overlap (`match_labels`), and a pair is the
    same cluster if its Jaccard coefficient is at least 0.5; otherwise the older cluster
    is dissolved. Rows that belong nowhere, noise, and rows with gaps are in no cluster.
    New clusters get labels above all older ones. Time of `Segmentation.assign` and of a
    new `Segmentation`.

    References
    ----------
    Hennig, C. Cluster-wise assessment of cluster stability. Computational Statistics &
    Data Analysis 52 (2007).

    Examples
    --------
    >>> from clusterlens.compute.table.dataset import prepare
    >>> then = prepare(pd.DataFrame({"size": [1.0, 1.2, 1.1, 7.0, 7.1, 7.3]}))
    >>> now = prepare(pd.DataFrame({"size": [7.2, 7.1, 7.0, 1.1, 1.0, 4.0, 4.1, 4.2]}))
    >>> old = Segmentation(then, [0, 0, 0, 1, 1, 1], ["small", "large"])
    >>> new = refit(old, now, [0, 0, 0, 1, 1, 2, 2, 2])
    >>> new.labels.tolist()
    [1, 1, 1, 0, 0, 2, 2, 2]
    """
    check_segmentation(segmentation)
    if not isinstance(dataset, Dataset):
        raise DataError(
            f"dataset is a {type(dataset).__name__}; give a prepared Dataset, as "
            "prepare returns it."
        )
    found = check_labels(labels, n_samples=len(dataset.X)).astype(np.int64)
    in_use = dataset.positions >= 0
    assigned = segmentation.assign(dataset, cancel=cancel)[in_use]
    placed = assigned["cluster"].fillna(UNLABELLED).to_numpy(np.int64)
    placed[assigned["nowhere"].fillna(False).to_numpy(bool)] = UNLABELLED
    old = np.array([k for k in segmentation.names if k != UNLABELLED], np.int64)
    new = np.setdiff1d(found, [UNLABELLED])
    then, now, likeness = _same(old, new, placed, found[dataset.positions[in_use]])
    stays = np.isin(new, now)
    renamed = np.empty_like(new)
    renamed[stays] = then[np.argsort(now)]
    renamed[~stays] = old.max(initial=-1) + 1 + np.arange((~stays).sum())
    relabelled = found.copy()
    in_a_cluster = found != UNLABELLED
    relabelled[in_a_cluster] = renamed[np.searchsorted(new, found[in_a_cluster])]
    names = {label: segmentation.names[label] for label in then.tolist()}
    made = Segmentation(
        dataset, relabelled, names, rows=rows, random_state=random_state, cancel=cancel
    )
    gone, fresh = np.setdiff1d(old, then), new[~stays]
    nothing = np.zeros(len(gone) + len(fresh))
    matches = pd.DataFrame(
        {
            "name": [
                *map(segmentation.names.get, [*then.tolist(), *gone.tolist()]),
                *map(made.names.get, renamed[~stays].tolist()),
            ],
            "then": pd.array([*then, *gone, *[None] * len(fresh)], "Int64"),
            "now": pd.array([*now, *[None] * len(gone), *fresh], "Int64"),
            "likeness": np.r_[likeness, nothing],
            "state": np.repeat(
                ["stays", "gone", "new"], [len(then), len(gone), len(fresh)]
            ),
        }
    )
    return Refit(made, read_only(relabelled), matches)


def _same(
    old: IntArray, new: IntArray, placed: IntArray, found: IntArray
) -> tuple[IntArray, IntArray, npt.NDArray[np.float64]]:
    """Return the labels of the clusters that are the same, and their likeness."""
    both = (placed != UNLABELLED) & (found != UNLABELLED)
    nothing = np.empty(0, np.int64)
    if not both.any():
        return nothing, nothing, nothing.astype(float)
    rows = np.searchsorted(old, placed[both])
    columns = np.searchsorted(new, found[both])
    table = contingency_table(rows, columns)
    a, b = match_clusters(table)
    shared = table.tocsr()[a, b]
    n_old, n_new = _counts(old, placed)[a], _counts(new, found)[b]
    likeness = np.asarray(shared) / (n_old + n_new - shared)
    same = likeness >= SAME_FROM
    return old[a[same]], new[b[same]], likeness[same]


def _counts(clusters: IntArray, labels: IntArray) -> IntArray:
    """Count the rows of each of some sorted labels, without noise: (n_clusters,)."""
    inside = labels[labels != UNLABELLED]
    return np.bincount(np.searchsorted(clusters, inside), minlength=len(clusters))
