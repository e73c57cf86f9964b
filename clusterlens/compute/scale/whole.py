"""Sizes and profiles of clusters, distances and ranking of models, for all rows.

Sizes, profiles and contingency tables add up over the pieces, so that they are exact in
one pass; the order by DISCOTEC comes from rows that are drawn from all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scipy.sparse import csr_array

from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._validation import IntArray
from clusterlens.compute.ensemble.ensemble import NOISE, Ensemble, NoiseMeans
from clusterlens.compute.ensemble.overlaps import Overlaps
from clusterlens.compute.ranking.progressive import (
    ProgressiveRanking,
    rank_progressively,
)
from clusterlens.compute.scale.labels import ROW, LabelPlan
from clusterlens.compute.scale.mapping import map_jobs
from clusterlens.compute.scale.profiles import GroupSums
from clusterlens.compute.scale.source import Piece, UnreadableFile
from clusterlens.compute.table.profiles import ClusterProfiles

# Rows that DISCOTEC compares with each other at most.
MOST_COMPARED = 1 << 15


@dataclass(frozen=True, eq=False)
class WholeTable:
    """Facts of the labels of all rows.

    Parameters
    ----------
    n_rows : int
        Rows with labels.
    tables : csr_array of int64, shape (n_codes, n_codes)
        Contingency tables of all pairs of models; the codes of all models stand one
        after another, those of model t from `starts[t]`.
    starts : array of int64, shape (n_models + 1,)
        Where the codes of each model start.
    is_noise : array of bool, shape (n_codes,)
        Codes that are noise.
    drawn : array of int, shape (n_models, n_drawn)
        Labels of rows that were drawn uniformly.
    consensus : dict of int to int
        Rows of each cluster of the consensus, rows that belong nowhere left out.
    n_nowhere : int
        Rows that are too far from their cluster.
    profiles : ClusterProfiles
        Clusters of the consensus compared with all rows.
    """

    n_rows: int
    tables: csr_array
    starts: IntArray
    is_noise: npt.NDArray[np.bool_]
    drawn: IntArray
    consensus: dict[int, int]
    n_nowhere: int
    profiles: ClusterProfiles

    def overlaps(self, noise: NoiseMeans) -> Overlaps:
        """Compare pairs of models on all rows; silent noise counts as a cluster."""
        n_models = len(self.starts) - 1
        cells = self.tables.tocoo()
        rows, columns = (
            np.searchsorted(self.starts, place, side="right") - 1
            for place in (cells.row, cells.col)
        )
        counts = cells.data.astype(np.float64)
        pair = rows * n_models + columns
        together = np.ones(len(counts), dtype=bool)
        if noise == "singletons":
            together = ~(self.is_noise[cells.row] | self.is_noise[cells.col])
        sums = [
            np.bincount(pair, values, n_models**2).reshape(n_models, n_models)
            for values in (
                counts ** (1 + together),
                counts * np.log(counts) * together,
            )
        ]
        squares, logs = sums
        return Overlaps(self.n_rows, squares.astype(np.int64), np.asarray(logs, float))

    def rank(
        self, landmarks: Ensemble, overlaps: Overlaps, seed: int, run: RunOptions
    ) -> ProgressiveRanking:
        """Rank the models for all rows, with intervals.

        Parameters
        ----------
        landmarks : Ensemble
            Names, families and votes of the models, and what their noise means; silent
            noise counts as a cluster.
        overlaps : Overlaps
            The models compared on all rows, with the same meaning of noise.
        seed : int
            Chooses which rows are compared first.
        run : RunOptions
            Threads and cancel.

        Returns
        -------
        ranking : ProgressiveRanking
            The last look.
        """
        ensemble = Ensemble(
            self.drawn,
            landmarks.names,
            landmarks.families,
            weights=landmarks.weights,
            noise="singletons" if landmarks.noise == "singletons" else "cluster",
            specs=landmarks.specs,
        )
        joined = overlaps.squares.diagonal()
        votes = zip(ensemble.votes.tolist(), joined.tolist(), strict=True)
        threshold = -(-sum(vote * pairs for vote, pairs in votes) // self.n_rows**2)
        more = self.n_rows > self.drawn.shape[1]
        looks = rank_progressively(
            ensemble,
            threshold=threshold,
            random_state=seed,
            n_population=self.n_rows if more else None,
            first_size=min(2_048, max(500, self.drawn.shape[1] // 4)),
            n_jobs=run.n_jobs,
            cancel=run.cancel,
            executor=run.executor,
        )
        *_, last = looks
        return last


def read_whole(plan: LabelPlan, seed: int, run: RunOptions) -> WholeTable:
    """Read the labels of all pieces once and add up their counts."""
    clusters = [model.clusters for model in plan.models]
    starts = np.cumsum([0, *map(len, clusters)])
    rng = np.random.default_rng([seed, 1])
    n = plan.source.n_rows
    drawn = np.sort(rng.choice(n, min(n, MOST_COMPARED), replace=False))
    tables = csr_array((int(starts[-1]), int(starts[-1])), dtype=np.int64)
    parts, groups = [], _no_sums(plan)
    jobs = plan.source.jobs()
    work = [sum(piece.n_rows for piece in job) for job in jobs]
    for result in map_jobs(_read_job, (plan, starts, drawn), jobs, work, run):
        if isinstance(result, UnreadableFile):
            raise result
        table, rows, sums = result
        tables = tables + table
        parts.append(rows)
        groups.merge(sums)
    known = plan.consensus.clusters
    *sizes, n_nowhere = groups.sizes.tolist()
    return WholeTable(
        int(groups.sizes.sum()),
        tables,
        starts,
        np.concatenate(clusters) == NOISE,
        np.concatenate(parts, axis=1),
        dict(zip(known.tolist(), sizes, strict=True)),
        n_nowhere,
        groups.profiles(known),
    )


def _no_sums(plan: LabelPlan) -> GroupSums:
    """Return empty sums of the clusters of the consensus and, last, of nowhere."""
    columns = plan.encoder.preparation.columns_
    return GroupSums(columns, len(plan.consensus.clusters) + 1)


def _read_job(
    shared: tuple[LabelPlan, IntArray, IntArray], job: Sequence[Piece]
) -> tuple[csr_array, IntArray, GroupSums]:
    """Count the labels of some pieces, and take their rows that were drawn."""
    plan, starts, drawn = shared
    known = plan.consensus.clusters
    n_codes = int(starts[-1])
    tables, parts = csr_array((n_codes, n_codes), dtype=np.int64), []
    sums = _no_sums(plan)
    for piece, cells in plan.source.read(job, plan.encoder.columns):
        table = pq.ParquetFile(plan.part(piece)).read()
        labelled = pc.is_valid(table["consensus"])
        table = table.filter(labelled)
        labels = [table[name].to_numpy() for name in plan.label_columns]
        clusters = [one.clusters for one in plan.models]
        tables = tables + one_hot_table(labels, clusters, starts)
        chosen = np.isin(table[ROW].to_numpy(), drawn)
        parts.append(np.array([row[chosen] for row in labels]))
        consensus = table["consensus"].to_numpy()
        far = table["nowhere"].fill_null(False).to_numpy() & (consensus != -1)
        groups = np.where(far, len(known), np.searchsorted(known, consensus))
        sums.add(plan.encoder.values(cells.filter(labelled)), groups)
    return tables, np.concatenate(parts, axis=1), sums


def one_hot_table(
    labels: Sequence[IntArray], clusters: Sequence[IntArray], starts: IntArray
) -> csr_array:
    """Count the rows in each pair of clusters of all models, (n_codes, n_codes).

    `labels` holds (n,) labels of each model, `clusters` its sorted clusters, and its
    codes stand from `starts` on. O(n T²) time.
    """
    codes = np.array(
        [
            np.searchsorted(known, row) + start
            for row, known, start in zip(labels, clusters, starts[:-1], strict=True)
        ]
    )
    n_models, n = codes.shape
    ends = np.arange(0, n * n_models + 1, n_models)
    ones = np.ones(n * n_models, np.int64)
    one_hot = csr_array((ones, codes.T.ravel(), ends), shape=(n, int(starts[-1])))
    return csr_array(one_hot.T @ one_hot)
