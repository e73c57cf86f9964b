"""read_landmarks: landmarks of a complete run as a table in memory."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clusterlens.compute._plain import Record, read_json
from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import DataError, IntArray
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.storing import load_ensemble
from clusterlens.compute.scale.folder import LANDMARKS, PREPARED, check_out
from clusterlens.compute.scale.landmark_table import take_rows
from clusterlens.compute.scale.result import MANIFEST, MOST_BYTES
from clusterlens.compute.scale.source import (
    RUN,
    UNREADABLE_RULES,
    ParquetSource,
    open_source,
)
from clusterlens.compute.scale.stages import MODELS
from clusterlens.compute.table.dataset import Dataset


@takes_running
def read_landmarks(
    folder: str | os.PathLike[str],
    source: str | os.PathLike[str],
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Dataset:
    """Read the landmarks of a complete run as a table in memory.

    Parameters
    ----------
    folder : path
        Folder of the run, which `run_at_scale` or `label_rows` has written.
    source : path
        The Parquet file or folder that the run labelled, unchanged since.
    n_jobs : int, optional
        Threads. Default: all cores.
    progress : callable, optional
        Called as progress(done, total), in rows of the source.
    cancel : callable, optional
        Asked between blocks; True stops.

    Returns
    -------
    landmarks : Dataset
        As `draw_landmarks` returns it: not prepared yet, with the place of each row in
        the source as the first column. `load_ensemble` reads the labels of these rows
        from "models.parquet" in `folder`, in the same order.

    Raises
    ------
    DataError
        If `folder` holds no complete run, or `source` is not its table.
    Cancelled
        If `cancel` said so.

    Notes
    -----
    Takes one pass over the source, because the folder of a run has no cells of it.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from clusterlens.compute.ensemble import load_ensemble
    >>> from clusterlens.compute.scale import run_at_scale
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3_000, 2)) + np.repeat([[0, 0], [9, 9], [0, 9]], 1_000, 0)
    >>> pool = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table, out = f"{folder}/table.parquet", f"{folder}/out"
    ...     pd.DataFrame(X, columns=["x", "y"]).to_parquet(table)
    ...     run = run_at_scale(table, out, pool, n_landmarks=500)
    ...     landmarks = read_landmarks(out, table)
    ...     models = load_ensemble(f"{out}/models.parquet")
    >>> landmarks.table.shape, models.labels.shape
    ((500, 3), (3, 500))
    """
    path = check_out(folder, name="folder")
    opened = open_table_of_run(path, source)
    run = RunOptions(n_jobs, progress, cancel)
    return landmarks_of_run(path, opened, Path(source).name, run)


def models_of_run(folder: Path, n_landmarks: int) -> Ensemble:
    """Read the models of a run, with labels of so many landmarks."""
    models = load_ensemble(folder / MODELS)
    if models.n_samples != n_landmarks:
        raise DataError(
            f"{MODELS} of {folder.name!r} has labels of {models.n_samples} rows for "
            f"{n_landmarks} landmarks; it is damaged, so run it again."
        )
    return models


def landmarks_of_run(
    folder: Path, source: ParquetSource, name: str, run: RunOptions
) -> Dataset:
    """Read the landmarks of a run from its opened table, as `read_landmarks`."""
    skipped = _read(folder, PREPARED).texts("skipped")
    left = source.without_paths(skipped)
    rule = unreadable_rule(folder)
    return take_rows(left, name, _landmark_rows(folder), rule, run)[0]


def unreadable_rule(folder: Path) -> str:
    """Return the rule of a run for unreadable files, "stop" or "skip"."""
    return _read(folder, RUN).text("unreadable", UNREADABLE_RULES)


def open_table_of_run(folder: Path, source: str | os.PathLike[str]) -> ParquetSource:
    """Open the table of a complete run; DataError if `source` is another one."""
    if not (folder / MANIFEST).is_file():
        raise DataError(
            f"folder {str(folder)!r} holds no complete run; finish it by the call or "
            "command that began it."
        )
    opened = open_source(source, unreadable_rule(folder))
    now = json.loads(json.dumps([asdict(file) for file in opened.files]))
    if now != _read(folder, RUN).get("files"):
        raise DataError(
            f"source {os.fspath(source)!r} is not the table of the run in "
            f"{str(folder)!r}, or has changed since; give the table of this run."
        )
    return opened


def may_be_table_of_run(folder: Path, source: Path) -> bool:
    """Return whether the first file of a run is in a table, by its size and time."""
    files = _read(folder, RUN).get("files")
    try:
        first = files[0]
        top = source if source.is_dir() else source.parent
        found = (top / first["path"]).stat()
        same_file = source.is_dir() or source.name == first["path"]
        facts = (found.st_size, found.st_mtime_ns)
        return same_file and facts == (first["n_bytes"], first["modified"])
    except (OSError, LookupError, TypeError):
        return False


def _landmark_rows(folder: Path) -> IntArray:
    """Return the rows of the table that are landmarks, ascending."""
    try:
        columns = pq.read_table(folder / LANDMARKS, columns=["row", "held back"])
        rows = columns["row"].to_numpy()[~columns["held back"].to_numpy()]
    except (OSError, KeyError, pa.ArrowException) as error:
        raise DataError(
            f"{LANDMARKS} of {folder.name!r} cannot be read ({error!s:.80})."
        ) from None
    if not len(rows) or rows[0] < 0 or (np.diff(rows) <= 0).any():
        raise DataError(f"{LANDMARKS} of {folder.name!r} is damaged; run it again.")
    return np.asarray(rows, np.int64)


def _read(folder: Path, name: str) -> Record:
    """Return the content of a file of a run."""
    try:
        content: Any = (folder / name).read_bytes()
    except OSError as error:
        raise DataError(
            f"{name} of {folder.name!r} cannot be read ({error.strerror})."
        ) from None
    return read_json(content, name, MOST_BYTES)
