"""Assigner: the cluster of a new row in a partition, or none, and how clear that is.

It works with any partition. Prototype rows vote, or the centres of the clusters are
used where they reproduce the clusters as well. Held-out rows estimate how often that
is correct and how far a row may be from its cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.options import DEFAULT_RUN, RunOptions
from clusterlens.compute._validation import (
    UNLABELLED,
    FloatArray,
    Frozen,
    IntArray,
)
from clusterlens.compute.assigning._calibration import p_values, shares, widened
from clusterlens.compute.assigning._prototypes import N_WITHIN, Prototypes
from clusterlens.compute.assigning._readings import (
    Reading,
    centre_costs,
    centre_distance,
    read_centres,
    read_neighbors,
    read_votes,
)
from clusterlens.compute.estimators.neighbors import NeighborSearch

ALPHA = 0.05
# Smallest adjusted Rand index at which a clustering counts as repeating a partition.
ALIKE = 0.75
# Names of the rules in `agreement`; of the two by centres the better one is used.
NEAREST_CENTRE, ROUND_GAUSSIANS = "nearest centre", "round Gaussians"
VOTED, DENSE = "{} neighbours", "density of {}"
_BLOCK = 16_384


class Assigned(NamedTuple):
    """Results for rows, each of shape (n_rows,).

    `cluster` and `other` are labels of the partition, the same where there is only one.
    `share` is how often similar rows are assigned correctly, `margin` that minus how
    often they are not, at least 0; `p` is the share of the rows of the cluster with at
    least the same nonconformity. `clearness` ranks rows of equal margin, in units of
    the rule.
    """

    cluster: IntArray
    share: FloatArray
    margin: FloatArray
    other: IntArray
    p: FloatArray
    clearness: FloatArray


@dataclass(frozen=True, eq=False)
class Assigner(Frozen):
    """Rule that assigns any number of rows to the clusters of a partition.

    Parameters
    ----------
    clusters : array of int, shape (n_clusters,)
        Labels of the partition, sorted; -1 is noise.
    sizes : array of int, shape (n_clusters,)
        Rows of each cluster.
    rule : {"neighbours", "density", "centres"}
        The rule used.
    n_neighbors : int
        Prototypes that vote, weighted by inverse distance, or that give the density
        around a row; 0 for centres.
    centres : array of float64, shape (n_clusters, n_features)
        Means.
    scales : array of float64, shape (n_clusters,)
        Root mean square deviation per feature from the mean.
    rows : array of float64, shape (n_prototypes, n_features)
        Features of prototypes; none in an assigner without rows.
    codes : array of int, shape (n_prototypes,)
        Position of their label in `clusters`.
    curve : array of float64, shape (2, n_points)
        Clearness of held-out rows, and the share of these that were assigned correctly.
    held_out : tuple of arrays of float64
        For each cluster the sorted nonconformity scores of its held-out rows.
    agreement : mapping of str to float
        Share of the held-out rows that get their label, for each rule tried.
    reproduced : float
        Share of all rows of the partition that keep their label. No accuracy: rows that
        are prototypes vote for themselves; `held_out_share` leaves them out.
    calibration_error : float
        Expected calibration error of the shares, NaN where too few rows are held out.
    expected : array of float64, shape (n_clusters,)
        Expected share of the rows assigned to each cluster, for rows exchangeable with
        the table.
    dispersion : float
        Variance of these shares beyond chance, in units of that by chance in one row.
    widening : array of float64, shape (2, n_points)
        p-values by held-out rows, and how often rows outside the partition get values
        as small; no points if it has no noise.
    repeated : float
        Adjusted Rand index of the partition with the clustering most like it, NaN if it
        has no noise or too many rows to try.

    Notes
    -----
    Held out means left out one at a time: of the prototypes, of the centre, and of what
    makes its neighbours dense. Nonconformity is the mean distance to the five nearest
    prototypes of the cluster, without rows the distance to its centre. A row is
    rejected if at most a share alpha of the held-out rows of the cluster scores as
    high: in full conformal prediction every score is computed with the new row
    included, which can only lower the other scores, so rows exchangeable with the table
    are rejected at a rate of at most alpha. Changes of a row's cluster are not
    accounted for.

    Clusters with noise around them follow the rows closely, and a row that is left out
    afterwards has still shaped its cluster. Up to 5,000 rows, the DBSCAN or HDBSCAN
    closest to the partition is therefore fitted again without a fifth of the rows, five
    times. The p-values of these fifths, and their share of noise, correct `p` and
    `expected`. This needs an adjusted Rand index of at least 0.75 with the partition.

    By density, for partitions with noise: the prototype of least mutual reachability
    distance decides (Campello et al. 2013), and a row that no cluster reaches as its
    own rows reach each other is noise. How clear that is follows from these distances:
    in a cluster from that to the next one, or to the end of its reach, in noise from
    how far beyond the nearest reach a row is.

    References
    ----------
    Campello, Moulavi & Sander, Density-based clustering based on hierarchical density
    estimates, PAKDD 2013.
    Vovk, Gammerman & Shafer, Algorithmic learning in a random world, 2005.
    Hart, The condensed nearest neighbor rule, IEEE Trans. Inf. Theory 14, 1968.
    """

    clusters: IntArray
    sizes: IntArray
    rule: str
    n_neighbors: int
    centres: FloatArray
    scales: FloatArray
    rows: FloatArray
    codes: IntArray
    curve: FloatArray
    held_out: tuple[FloatArray, ...]
    agreement: Mapping[str, float]
    reproduced: float
    calibration_error: float
    expected: FloatArray
    dispersion: float
    widening: FloatArray
    repeated: float

    @cached_property
    def prototypes(self) -> Prototypes:
        """Neighbour searches among the rows, built on first use."""
        return Prototypes(self.rows, self.codes)

    @property
    def held_out_share(self) -> float:
        """Share of the held-out rows that get their label; NaN if none were held out.

        The value in `agreement` of the rule used.
        """
        names = {
            "centres": (NEAREST_CENTRE, ROUND_GAUSSIANS),
            "neighbours": (VOTED.format(self.n_neighbors),),
            "density": (DENSE.format(self.n_neighbors),),
        }[self.rule]
        tried = self.agreement
        return max((tried[name] for name in names if name in tried), default=np.nan)

    @property
    def width(self) -> int:
        """Number of prototypes to search: the voters, and enough of the own cluster."""
        return max(self.n_neighbors, 2 * N_WITHIN)

    def assign(self, X: FloatArray, run: RunOptions = DEFAULT_RUN) -> Assigned:
        """Assign rows.

        Parameters
        ----------
        X : array of float64, shape (n_rows, n_features)
            Features, prepared as for the partition. The result for a row does not
            depend on the other rows.
        run : RunOptions
            Threads, progress in rows, cancel.

        Returns
        -------
        assigned : Assigned
            One entry per row.
        """
        if 0 < len(X) <= _BLOCK and run.executor is None:  # needs no other thread
            run.raise_if_cancelled()
            assigned = self._assign_block(X)
            run.report(len(X), len(X))
            return assigned
        starts = range(0, len(X), _BLOCK)
        blocks = [(X[start : start + _BLOCK],) for start in starts]
        work = [len(block[0]) for block in blocks]
        parts = list(run_blocks(self._assign_block, blocks, work, run))
        return Assigned(
            *(np.concatenate(column) for column in zip(*parts, strict=True))
        )

    def label(self, X: FloatArray) -> IntArray:
        """Return the cluster of each row, without how surely.

        Parameters
        ----------
        X : array of float64, shape (n_rows, n_features)
            As for `assign`.

        Returns
        -------
        labels : array of int, shape (n_rows,)
            Those of `assign`.
        """
        return self.clusters[self.read(X, self._found(X)).cluster]

    def share_search(self, search: NeighborSearch) -> None:
        """Use a search among the same rows that other assigners use, too.

        Parameters
        ----------
        search : NeighborSearch
            It finds the same prototypes.
        """
        vars(self)["prototypes"] = Prototypes(self.rows, self.codes, search)

    def nowhere(
        self, assigned: Assigned, alpha: float
    ) -> pd.api.extensions.ExtensionArray:
        """Say which rows are too far from their cluster to belong there.

        Parameters
        ----------
        assigned : Assigned
            What `assign` has said.
        alpha : float
            Rate of "nowhere" among rows like those seen.

        Returns
        -------
        nowhere : array of truth values, shape (n_rows,)
            Missing where the cluster has too few rows to say so, true for noise.
        """
        nowhere = pd.array(assigned.p <= alpha, dtype="boolean")
        unable = self.clusters[~self.can_judge(alpha)]
        nowhere[np.isin(assigned.cluster, unable)] = pd.NA
        nowhere[assigned.cluster == UNLABELLED] = True
        return nowhere

    def can_judge(self, alpha: float) -> npt.NDArray[np.bool_]:
        """Return which clusters have enough held-out rows to reject a row."""
        return self.n_beyond(alpha) > 0

    @property
    def is_checked(self) -> bool:
        """Whether rates hold: no noise, or a clustering that repeats the partition."""
        return UNLABELLED not in self.clusters or self.repeated >= ALIKE

    def n_beyond(self, alpha: float) -> IntArray:
        """Count the possible p-values of each cluster that are at most alpha.

        With m held-out rows a cluster can give k / (m + 1), widened, k = 1, ..., m + 1.
        """
        possible = (np.arange(1, len(s) + 2) / (len(s) + 1) for s in self.held_out)
        return np.array(
            [(widened(self.widening, p) <= alpha).sum() for p in possible], np.int64
        )

    def _found(self, X: FloatArray) -> tuple[IntArray, FloatArray] | None:
        """Look for the prototypes that vote, if any do."""
        if len(self.rows) and self.rule != "centres":
            return self.prototypes.nearest(X, min(len(self.rows), self.width))
        return None

    def _assign_block(self, X: FloatArray) -> Assigned:
        found = self._found(X)
        reading = self.read(X, found)
        alone = len(self.clusters) == 1
        share = np.ones(len(X)) if alone else shares(self.curve, reading.clearness)
        if not len(self.rows):
            odd = centre_distance(X, self.centres, self.scales, reading.cluster)
        else:
            odd = self.prototypes.mean_distance(X, reading.cluster, found)
        return Assigned(
            self.clusters[reading.cluster],
            share,
            np.maximum(2 * share - 1, 0.0),
            self.clusters[self._others(X, reading)],
            widened(self.widening, p_values(odd, reading.cluster, self.held_out)),
            np.asarray(reading.clearness, float),
        )

    def read(
        self,
        X: FloatArray,
        found: tuple[IntArray, FloatArray] | None,
        own: IntArray | None = None,
    ) -> Reading:
        """Apply the rule to rows.

        Parameters
        ----------
        X : array of float64, shape (n_rows, n_features)
            Features.
        found : tuple of array, shape (n_rows, n_found), optional
            Clusters and distances of the nearest prototypes.
        own : array of int, shape (n_rows,), optional
            Position of each row among the prototypes, left out of its own vote.

        Returns
        -------
        reading : Reading
            Clusters as positions in `clusters`.
        """
        if self.rule == "centres" or found is None:
            return read_centres(X, self.centres, self.scales)
        if self.rule == "density":
            cluster, clear = self.prototypes.in_reach(X, self.n_neighbors, own)
            votes = read_votes(*found, self.n_neighbors, len(self.clusters), cluster)
            return Reading(cluster, clear, votes.other)
        return read_neighbors(*found, self.n_neighbors, len(self.clusters))

    def _others(self, X: FloatArray, reading: Reading) -> IntArray:
        """Next cluster of each row, by centres if its neighbours share a cluster."""
        other = np.array(reading.other)
        rows = np.flatnonzero(other < 0)
        if len(self.clusters) == 1 or not len(rows):
            return np.where(other < 0, reading.cluster, other)
        costs = centre_costs(X[rows], self.centres, self.scales)
        costs[np.arange(len(rows)), reading.cluster[rows]] = np.inf
        other[rows] = costs.argmin(axis=1)
        return other
