"""Labels of all rows: every model and the consensus, a Parquet file for each piece."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clusterlens.compute._drafts import draft_of
from clusterlens.compute._run.options import Cancel, RunOptions, raise_if_cancelled
from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.assigning.assigner import Assigner
from clusterlens.compute.estimators.neighbors import NeighborSearch
from clusterlens.compute.scale.mapping import map_jobs
from clusterlens.compute.scale.source import ParquetSource, Piece, UnreadableFile
from clusterlens.compute.table.export import free_name
from clusterlens.compute.table.projection import Projection
from clusterlens.compute.table.row_encoder import RowEncoder

FOLDER = "labels"
ROW, CONSENSUS = "row", "consensus"
AXES = ("x", "y")
# Columns after the consensus.
_LAST = pa.schema(
    [
        ("margin", pa.float32()),
        ("nowhere", pa.bool_()),
        *((axis, pa.float32()) for axis in AXES),
    ]
)
# Rows that are labelled together, few enough for a cache.
BLOCK = 1 << 14


class SharedSearch(NeighborSearch):
    """A search that remembers the neighbours of the rows that were asked last.

    Several assigners with the same prototypes ask for the same rows one after another;
    each takes the first columns of the same table.

    Parameters
    ----------
    X : array of float64, shape (n_samples, n_features)
        The samples.
    width : int
        Neighbours to look for.
    """

    def __init__(self, X: FloatArray, width: int) -> None:
        super().__init__(X)
        self._width, self._last = min(width, len(X)), threading.local()

    def nearest(
        self, queries: FloatArray, n_neighbors: int, own: IntArray | None = None
    ) -> Any:
        """Find the nearest samples of each query, as `NeighborSearch`.

        Parameters
        ----------
        queries : array of float64, shape (n_queries, n_features)
            Rows to search for; the caller does not change them meanwhile.
        n_neighbors : int
            Samples to find.
        own : array of int, shape (n_queries,), optional
            A sample that each query leaves out; then nothing is remembered.

        Returns
        -------
        table, distances : array, shape (n_queries, n_neighbors)
            Indices of the samples, and distances.
        """
        if own is not None or n_neighbors > self._width:
            return super().nearest(queries, n_neighbors, own)
        place = queries.__array_interface__["data"], queries.shape, queries.strides
        if getattr(self._last, "place", None) != place:
            self._last.found = super().nearest(queries, self._width)
            # Held, so that no other array gets its place.
            self._last.place, self._last.queries = place, queries
        table, distances = self._last.found
        return (
            np.ascontiguousarray(table[:, :n_neighbors]),
            np.ascontiguousarray(distances[:, :n_neighbors]),
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the remembered neighbours."""
        return {k: v for k, v in vars(self).items() if k != "_last"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state; nothing is remembered."""
        vars(self).update(state, _last=threading.local())

    def forget(self) -> None:
        """Forget the last rows: other rows may take their place in memory."""
        self._last.place = None


@dataclass(frozen=True, eq=False)
class LabelPlan:
    """Everything that labels a piece of the table.

    Parameters
    ----------
    source : ParquetSource
        The table.
    encoder : RowEncoder
        Its preparation.
    models : tuple of Assigner
        One per model.
    consensus : Assigner
        Assigner of the consensus partition.
    projection : Projection
        Axes of the map.
    names : tuple of str
        Names of the models.
    row_id : str or None
        Column that identifies the rows.
    alpha : float
        Rate of "nowhere" among rows like those seen.
    out : str
        Folder of the run.
    """

    source: ParquetSource
    encoder: RowEncoder
    models: tuple[Assigner, ...]
    consensus: Assigner
    projection: Projection
    names: tuple[str, ...]
    row_id: str | None
    alpha: float
    out: str

    @cached_property
    def schema(self) -> pa.Schema:
        """Columns of the files: rows, labels of each model, and the consensus."""
        fields = [pa.field(ROW, pa.int64())]
        if self.row_id is not None:
            kind = self.source.schema.field(self.row_id).type
            name = free_name(self.row_id, (ROW, CONSENSUS, *_LAST.names))
            fields.append(pa.field(name, kind))
        taken = {CONSENSUS, *_LAST.names, *(f.name for f in fields)}
        columns = [free_name(name, taken) for name in self.names]
        kinds = [_smallest(model.clusters) for model in self.models]
        fields += list(map(pa.field, columns, kinds))
        fields.append(pa.field(CONSENSUS, _smallest(self.consensus.clusters)))
        return pa.schema([*fields, *_LAST])

    @property
    def label_columns(self) -> list[str]:
        """Names of the columns of the models."""
        names = self.schema.names[: -1 - len(_LAST)]
        return names[len(names) - len(self.models) :]

    def part(self, piece: Piece) -> Path:
        """File of the labels of a piece."""
        return Path(self.out, FOLDER, f"part-{piece.number:06d}.parquet")

    @cached_property
    def _search(self) -> SharedSearch:
        """The search among the prototypes that models have in common."""
        rows = self.consensus.rows
        everyone = (*self.models, self.consensus)
        sharing = [one for one in everyone if np.array_equal(one.rows, rows)]
        widths = [max(one.width, 2 * one.n_neighbors) for one in sharing]
        search = SharedSearch(rows, max(widths))
        for one in sharing:
            one.share_search(search)
        return search

    def label(
        self, X: FloatArray, cancel: Cancel | None = None
    ) -> list[np.ndarray[Any, Any]]:
        """Return labels of rows (n, d) by model, then the columns from consensus on."""
        blocks = []
        for start in range(0, len(X), BLOCK):
            raise_if_cancelled(cancel)
            some = X[start : start + BLOCK]
            self._search.forget()
            assigned = self.consensus.assign(some, RunOptions(n_jobs=1))
            nowhere = self.consensus.nowhere(assigned, self.alpha)
            labels = [model.label(some) for model in self.models]
            places = self.projection.transform(some).T
            last = (assigned.cluster, assigned.margin, np.asarray(nowhere), *places)
            blocks.append([*labels, *last])
        return [np.concatenate(some) for some in zip(*blocks, strict=True)]


def write_labels(plan: LabelPlan, run: RunOptions) -> None:
    """Write the labels of all pieces that are not there yet.

    A file appears when it is complete, so that a run which was ended at any moment goes
    on with the pieces that are missing.
    """
    Path(plan.out, FOLDER).mkdir(exist_ok=True)
    done = {p.number for p in plan.source.pieces if plan.part(p).exists()}
    plan.label(plan.consensus.rows[:1])  # makes what threads share
    # A function does not reach the workers of a cluster.
    cancel = run.cancel if run.client is None else None
    jobs = plan.source.jobs(without=done)
    work = [sum(piece.n_rows for piece in job) for job in jobs]
    for result in map_jobs(_label_job, (plan, cancel), jobs, work, run):
        if isinstance(result, UnreadableFile):
            raise result


def _label_job(shared: tuple[LabelPlan, Cancel | None], job: Sequence[Piece]) -> None:
    """Write the labels of some pieces of one row group."""
    plan, cancel = shared
    columns = list(plan.encoder.columns)
    if plan.row_id is not None and plan.row_id not in columns:
        columns.append(plan.row_id)
    start = plan.source.starts[job[0].file]
    for piece, table in plan.source.read(job, columns):
        first = start + piece.start
        cells: list[Any] = [pa.array(np.arange(first, first + piece.n_rows))]
        if plan.row_id is not None:
            cells.append(table[plan.row_id])
        X, kept = plan.encoder.features(table)
        own = plan.schema.names[len(cells) :]
        found = plan.label(X, cancel) if len(X) else [np.empty(0)] * len(own)
        places = pa.array(np.cumsum(kept) - 1, mask=~kept)
        for name, values in zip(own, found, strict=True):
            kind = plan.schema.field(name).type
            column = pa.array(values, from_pandas=True).cast(kind)
            cells.append(column.take(places))
        with draft_of(plan.part(piece)) as draft:
            pq.write_table(
                pa.table(cells, schema=plan.schema), draft, compression="zstd"
            )


def _smallest(labels: IntArray) -> pa.DataType:
    """Return the smallest signed type of labels."""
    return pa.from_numpy_dtype(np.min_scalar_type(-int(labels.max()) - 1))
