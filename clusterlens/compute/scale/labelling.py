"""label_rows: labels of models of landmarks for all rows of a large table."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._run.processes import Workers
from clusterlens.compute._validation import (
    DataError,
    IntArray,
    RandomState,
    check_labels,
    check_random_state,
    check_range,
)
from clusterlens.compute.assigning.assigner import ALPHA
from clusterlens.compute.ensemble.ensemble import Ensemble, check_ensemble
from clusterlens.compute.notes import Note
from clusterlens.compute.pool.specs import Pool, pool_specs
from clusterlens.compute.scale.errors import consensus_labels
from clusterlens.compute.scale.first_pass import FirstPass, draw_rows, first_pass
from clusterlens.compute.scale.folder import RunFolder, check_out
from clusterlens.compute.scale.landmarks import Landmarks
from clusterlens.compute.scale.result import ScaledRun, read_run
from clusterlens.compute.scale.source import ParquetSource, open_source
from clusterlens.compute.scale.stages import (
    MODELS,
    Sampled,
    Stages,
    check_held_back,
)
from clusterlens.compute.table.column_streams import WordStream
from clusterlens.compute.table.dataset import (
    Column,
    Dataset,
    check_dataset,
    is_id_name,
)
from clusterlens.compute.table.row_encoder import RowEncoder
from clusterlens.compute.table.streamed_preparation import words_as_cells

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class Given:
    """Landmarks with their models and the partition that all rows get.

    Parameters
    ----------
    dataset : Dataset
        Prepared landmarks, as `draw_landmarks` gives them.
    ensemble : Ensemble
        Their models.
    labels : array of int64, shape (n_samples,)
        The partition.
    """

    dataset: Dataset
    ensemble: Ensemble
    labels: IntArray

    @property
    def rows(self) -> IntArray:
        """Rows of the source that the rows of the table of landmarks are."""
        rows = self.dataset.table.iloc[:, 0].to_numpy()
        if rows.dtype.kind != "i" or len(np.unique(rows)) != len(rows):
            raise DataError(
                f"The first column of {self.dataset.name!r} does not say which rows "
                "its rows are; give landmarks of draw_landmarks."
            )
        return rows

    @property
    def digest(self) -> str:
        """SHA-256 of everything that decides on the labels."""
        found = hashlib.sha256(self.dataset.X.tobytes())
        for part in (self.ensemble.labels, self.ensemble.votes, self.labels):
            found.update(part.tobytes())
        found.update(repr(self.ensemble.names).encode())
        if self.ensemble.noise != "cluster":
            found.update(self.ensemble.noise.encode())
        return found.hexdigest()


@takes_running
def label_rows(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    dataset: Dataset,
    ensemble: Ensemble,
    labels: npt.ArrayLike,
    pool: Pool | None = None,
    random_state: RandomState = 0,
    *,
    n_held_back: int | None = None,
    alpha: float = ALPHA,
    unreadable: str = "stop",
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    client: Client | str | None = None,
) -> ScaledRun:
    """Label every row of a large table by models of its landmarks.

    Parameters
    ----------
    source : path
        The Parquet file or folder that the landmarks were drawn from.
    out : path
        Folder for the results, as of `run_at_scale`. An interrupted run in it
        continues; a complete one is returned.
    dataset : Dataset
        Landmarks of `draw_landmarks`, prepared.
    ensemble : Ensemble
        Models of the landmarks, one label per row of dataset.X.
    labels : array-like of int, shape (n_samples,)
        The partition that takes the place of the consensus; -1 is noise.
    pool : str or sequence, optional
        The pool that the models are from. It is fitted to held-back rows to measure the
        error of the landmarks; without it there is no such measurement.
    random_state : int, Generator or None, default 0
        Seed of everything random; use the seed of the pool.
    n_held_back : int, optional
        Rows that are held back. Default: as for `run_at_scale`.
    alpha : float, default 0.05
        Rate at which rows like the landmarks may be called "nowhere", in (0, 1).
    unreadable : {"stop", "skip"}, default "stop"
        As for `draw_landmarks`.
    n_jobs : int, optional
        Threads and worker processes. Default: all cores.
    progress : callable, optional
        Called as progress(done, total), in thousandths of the work.
    cancel : callable, optional
        Asked between blocks; True stops. Finished files stay in `out`.
    client : dask.distributed.Client or str, optional
        As for `run_at_scale`.

    Returns
    -------
    run : ScaledRun
        Results for all rows.

    Raises
    ------
    DataError
        If the landmarks are not of this source, a file has changed since the run began,
        or `out` holds something else.
    Cancelled
        If `cancel` said so.

    Notes
    -----
    As in `run_at_scale`, but the preparation is learnt from the landmarks. Values of
    text columns that no landmark has are taken as missing, with a note.

    Examples
    --------
    >>> import tempfile
    >>> from clusterlens.compute.pool import run_pool
    >>> from clusterlens.compute.scale import draw_landmarks
    >>> from clusterlens.compute.table import prepare
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2_000, 2)) + np.repeat([[0, 0], [9, 9]], 1_000, 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/table.parquet"
    ...     pd.DataFrame(X, columns=["a", "b"]).to_parquet(path)
    ...     landmarks = prepare(draw_landmarks(path, 300))
    ...     pool = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]
    ...     models = run_pool(landmarks, pool)
    ...     out = f"{folder}/labelled"
    ...     run = label_rows(path, out, landmarks, models, models.labels[0])
    >>> run.n_labelled, len(run.clusters)
    (2000, 2)
    """
    run = RunOptions(n_jobs, progress, cancel, None, client)
    opened = open_source(source, unreadable)
    dataset = check_dataset(dataset, name="dataset")
    check_ensemble(ensemble)
    if pool is not None:
        pool_specs(pool, dataset.X)  # refuses a wrong one early
    given = Given(dataset, ensemble, check_labels(labels, n_samples=len(dataset.X)))
    return label_all(
        opened,
        out,
        given,
        pool,
        check_random_state(random_state),
        run,
        n_held_back=n_held_back,
        alpha=check_range(alpha, 1e-9, 1 - 1e-9, name="alpha"),
        unreadable=unreadable,
    )


def label_all(
    source: ParquetSource,
    out: str | os.PathLike[str],
    given: Given,
    pool: Pool | None,
    seed: int,
    run: RunOptions,
    *,
    n_held_back: int | None = None,
    alpha: float = ALPHA,
    unreadable: str = "stop",
    workers: Workers | None = None,
    enter: Callable[[str, str], object] | None = None,
) -> ScaledRun:
    """Label every row of an opened source, as `label_rows`.

    `workers` are processes to fit the held-back models in. `enter` is called at the
    beginning of each stage with its name and its unit; progress is in this unit then.
    """
    if given.ensemble.n_samples != len(given.dataset.X):
        raise ValueError(
            f"ensemble has {given.ensemble.n_samples} samples for "
            f"{len(given.dataset.X)} landmarks; give models of these landmarks."
        )
    n_landmarks = len(given.rows)
    held = check_held_back(n_held_back, n_landmarks)
    asked = {
        "pool": repr(pool),
        "random_state": seed,
        "n_landmarks": n_landmarks,
        "n_held_back": 0 if pool is None else held,
        "alpha": alpha,
        "unreadable": unreadable,
        "landmarks": given.digest,
        "files": [asdict(file) for file in source.files],
    }
    folder = RunFolder(path := check_out(out), asked)
    if (known := read_run(path)) is not None:
        return known
    stages = _GivenStages(folder, source, pool, asked, run, given, workers, enter)
    return stages.finish()


class _GivenStages(Stages):
    """Stages of a run with given landmarks, models and partition."""

    def __init__(
        self,
        folder: RunFolder,
        source: ParquetSource,
        pool: Pool | None,
        asked: dict[str, Any],
        run: RunOptions,
        given: Given,
        workers: Workers | None,
        enter: Callable[[str, str], object] | None,
    ) -> None:
        super().__init__(folder, source, [] if pool is None else pool, asked, run)
        self.given, self.workers, self._begin_stage = given, workers, enter

    def _steps(self) -> list[RunOptions]:
        steps = super()._steps()
        return steps if self._begin_stage is None else [self.run] * len(steps)

    def _enter(self, stage: str, unit: str = "") -> None:
        if self._begin_stage is not None:
            self._begin_stage(stage, unit)

    def _read(self, run: RunOptions) -> Sampled:
        """Take the landmarks, learn what all words mean, and draw held-back rows."""
        dataset, rows = self.given.dataset, self.given.rows
        columns = dataset.preparation.columns_
        n_rows = self.source.n_rows
        n_held = self.asked["n_held_back"]
        # Landmarks among them are left out below.
        n_drawn = min(n_held + len(rows), n_rows) if n_held else 0
        drawn = draw_rows(n_rows, n_drawn, self.seed)
        names = [column.name for column in columns]
        self._check_columns(columns)
        found = first_pass(self.source, drawn, self.asked["unreadable"], run, names)
        if rows.max() >= found.source.n_rows:
            raise DataError(
                f"Landmark {rows.max()} is beyond the {found.source.n_rows} rows of "
                f"{self.source.folder!r}; draw landmarks of these files."
            )
        codes, notes = _codes(columns, found)
        encoder = RowEncoder(dataset.preparation, codes)
        counts = dataset.row_counts
        known = dataset.positions >= 0
        _, first = np.unique(dataset.positions[known], return_index=True)
        weights = np.asarray(counts * (found.source.n_rows / len(rows)), np.float64)
        landmarks = Landmarks(
            np.ascontiguousarray(dataset.X),
            rows[known][first],
            weights,
            np.ones(len(counts), bool),
        )
        held_back = self._held_back(encoder, found, n_held)
        notes = [*found.source.notes, *notes, *self._too_few(held_back)]
        notes.append(Note("landmarks", landmarks=len(rows), rows=found.source.n_rows))
        ids = (f.name for f in found.source.schema if is_id_name(f.name))
        return Sampled(
            found.source, encoder, next(ids, None), landmarks, held_back, notes
        )

    def _check_columns(self, columns: Sequence[Column]) -> None:
        """Refuse columns that cannot be read in parts."""
        for column in columns:
            if column.name not in self.source.schema.names:
                raise DataError(
                    f"Column {column.name!r} of the landmarks is not in "
                    f"{self.source.folder!r}; draw landmarks of these files."
                )
            if column.first_day is not None:
                raise DataError(
                    f"Column {column.name!r} has dates, which are no feature of a "
                    "table that is read in parts; give it the role 'ignore'."
                )

    def _held_back(
        self, encoder: RowEncoder, found: FirstPass, n_held: int
    ) -> np.ndarray[Any, Any]:
        """Return features of rows that are no landmarks, (n_held_back, n_features)."""
        others = np.flatnonzero(~np.isin(found.rows, self.given.rows))
        rng = np.random.default_rng([self.seed, 3])
        chosen = np.sort(rng.permutation(others)[:n_held])
        return encoder.features(found.sample.take(pa.array(chosen)))[0]

    def _models(self, name: str, X: Any, pool: Pool, run: RunOptions) -> Ensemble:
        path = self.folder.path / name
        if name == MODELS and not path.exists():
            given = self.given.ensemble
            Ensemble(
                given.labels,
                names=given.names,
                families=given.families,
                specs=given.specs,
                weights=given.weights,
                noise=given.noise,
            ).save(path)
        return super()._models(name, X, pool, run)

    def _consensus(self, models: Ensemble, run: RunOptions) -> IntArray:
        return self.given.labels

    def _refit_consensus(self, refit: Ensemble, run: RunOptions) -> IntArray | None:
        """Return the model that the partition is, or the consensus if it is that."""
        for name in self._same_models:
            if name in refit.names:
                return refit.labels[refit.names.index(name)]
        return super()._refit_consensus(refit, run) if self._is_consensus else None

    @cached_property
    def _same_models(self) -> list[str]:
        """Models that are the given partition."""
        models = self.given.ensemble
        return [
            name
            for name, labels in zip(models.names, models.labels, strict=True)
            if adjusted_rand_score(labels, self.given.labels) == 1
        ]

    @cached_property
    def _is_consensus(self) -> bool:
        """Whether the given partition is the consensus of the given models."""
        closest = consensus_labels(self.given.ensemble, self.seed, self.run.quiet)
        return bool(adjusted_rand_score(closest, self.given.labels) == 1)


def _codes(
    columns: Iterable[Column], found: FirstPass
) -> tuple[dict[str, pd.Series], list[Note]]:
    """Return the number of every word of the columns, with notes on unknown words."""
    codes, notes = {}, []
    for column in columns:
        stream = found.stream.columns[column.name]
        if not isinstance(stream, WordStream):
            continue
        cells, counts = words_as_cells(column.name, stream)
        values, _ = column.encode(cells.reset_index(drop=True), "missing")
        codes[column.name] = pd.Series(values, cells.index)
        lost = np.isnan(values) & cells.notna().to_numpy()
        if lost.any():
            notes.append(
                Note(
                    "words not among landmarks",
                    repr(column.name),
                    cells=int(counts[lost].sum()),
                    first=repr(str(cells.index[int(lost.argmax())]))[:80],
                )
            )
    return codes, notes
