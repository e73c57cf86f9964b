"""Verdict on a partition: whether its clusters are stable and separate groups.

The pool that the partition comes from is no evidence. Each cluster must be found again
in other samples, and must be separate, more than clusters in structureless copies.
Either kind of evidence is "yes" if all clusters pass, "in part" if the clusters that
pass hold half of the rows, else "no". Clusters are groups if both kinds are "yes"; in
part if both are "in part" or one alone is "yes"; else hardly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clusterlens.compute.formatting import count, whole
from clusterlens.compute.pool.separation import ClusterSeparation
from clusterlens.compute.pool.stability import RECOVERED, ClusterStability
from clusterlens.ui.results.label_verdict import Light

_MOST = 1 / 2
_NEARLY_ALL = 0.9
_POINTS: dict[Light, int] = {"no": 0, "in part": 1, "yes": 2}
COPIES_IN_WORDS = "copies of the table without groups"
PARTITION_CONCLUSIONS = {
    "Yes": (
        "every cluster is found again in other samples and lies apart, more than "
        f"clusters in {COPIES_IN_WORDS}. They may be named and described."
    ),
    "Only in part": (
        "describe only clusters that pass both; the table of clusters says which."
    ),
    "Hardly": (
        "do not read them as groups: another sample would be cut elsewhere, or "
        f"{COPIES_IN_WORDS} are cut as clearly. They may still serve to divide the "
        "table into parts."
    ),
    "Not decided yet": (
        "wait for both: clusters can come back by chance, and a sparse border is not "
        "yet a gap."
    ),
}


@dataclass(frozen=True)
class PartitionVerdict:
    """Verdict on the clusters of a partition, with its grounds.

    Parameters
    ----------
    answer : str
        Verdict in a few words.
    again, apart : Light
        Grades of stability and separation.
    """

    answer: str
    again: Light
    apart: Light


def weigh_partition(
    stability: ClusterStability | None, separation: ClusterSeparation | None
) -> PartitionVerdict:
    """Grade stability and separation; both decide."""
    again: Light = "unknown"
    if stability is not None:
        again = grade_clusters(stability.stable, stability.sizes)
    apart: Light = "unknown"
    if separation is not None:
        apart = grade_clusters(separation.apart, separation.sizes)
    return PartitionVerdict(_answer(again, apart), again, apart)


def informative(sizes: np.ndarray) -> npt.NDArray[np.bool_]:
    """Return which clusters the checks say something about, from their sizes (k,).

    A cluster of nearly all rows is found again and has few neighbours outside in any
    table, so only the other clusters count.
    """
    counted = sizes <= _NEARLY_ALL * sizes.sum()
    return counted if counted.any() else np.ones(len(sizes), bool)


def grade_clusters(passed: np.ndarray, sizes: np.ndarray) -> Light:
    """Grade by the clusters that pass, and by their rows."""
    counted = informative(sizes)
    passed, sizes = passed[counted], sizes[counted]
    if passed.all():
        return "yes"
    return "in part" if sizes[passed].sum() >= _MOST * sizes.sum() else "no"


def _answer(again: Light, apart: Light) -> str:
    if "unknown" in (again, apart):
        return "Not decided yet"
    points = _POINTS[again] + _POINTS[apart]
    if points == 2 * _POINTS["yes"]:
        return "Yes"
    return "Only in part" if points >= 2 * _POINTS["in part"] else "Hardly"


def partition_grounds(
    verdict: PartitionVerdict,
    stability: ClusterStability | None,
    separation: ClusterSeparation | None,
) -> Sequence[tuple[str, Light, str]]:
    """Return each kind of evidence for clusters: title, grade, and reason."""
    return (
        ("Found again", verdict.again, _again(stability)),
        ("Apart", verdict.apart, _apart(separation)),
    )


def _again(found: ClusterStability | None) -> str:
    if found is None:
        return "It has not been measured how well they come back in other samples."
    part = passing(found.stable, found.sizes)
    return (
        f"{part} more than by chance: sharing {RECOVERED:.0%} of the rows with what "
        f"{whole(len(found.similarities))} resamples make of them, and lacking at most "
        "half as much as clusters of their size in "
        f"{count(found.n_copies, 'copy', 'copies')} without groups (bootstrap Jaccard, "
        "Hennig 2007)."
    )


def _apart(found: ClusterSeparation | None) -> str:
    if found is None:
        return "Their neighbours are being compared with those in copies."
    part = passing(found.apart, found.sizes)
    return (
        f"{part} more than by chance: with at most a quarter as many of the "
        f"{found.n_neighbors} nearest rows outside as if the same borders cut "
        f"{count(found.n_copies, 'copy', 'copies')} without groups (k-nearest-"
        "neighbour consistency, Ding & He 2004)."
    )


def passing(
    passed: npt.NDArray[np.bool_], sizes: np.ndarray, verbs: tuple[str, str] = ("", "")
) -> str:
    """Format how many informative clusters pass, with a verb for one or for several."""
    counted = passed[informative(sizes)]
    n_passed = int(counted.sum())
    part = f"{n_passed} of {count(len(counted), 'cluster')}"
    return f"{part} {verbs[n_passed != 1]}".rstrip()
