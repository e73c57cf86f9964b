"""load_ensemble: an ensemble from a file written by `Ensemble.save`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clusterlens.compute._plain import read_plain
from clusterlens.compute._validation import DataError, read_only
from clusterlens.compute.ensemble._stored import FORMAT, KEY
from clusterlens.compute.ensemble.ensemble import Ensemble

_ONE_EACH = ("names", "families", "specs", "seconds")


def load_ensemble(path: str | os.PathLike[str]) -> Ensemble:
    """Read an ensemble that `Ensemble.save` has written.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    ensemble : Ensemble
        Equal to the saved one.

    Raises
    ------
    DataError
        If the file cannot be read, is not an ensemble, or has a later version.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Ensemble([[0, 0, 1], [0, 1, 1]]).save(f"{folder}/e.parquet")
    ...     load_ensemble(f"{folder}/e.parquet")
    Ensemble(2 partitions of 3 samples)
    """
    if not isinstance(path, str | os.PathLike):
        raise DataError(f"path is {path!r:.60}; give the path of a file.")
    try:
        table = pq.read_table(Path(path))
        text = (table.schema.metadata or {})[KEY]
        about = read_plain(text, len(text), len(text))
    except (
        OSError,
        pa.ArrowException,
        ValueError,
        KeyError,
    ) as error:
        raise DataError(
            f"path {os.fspath(path)!r} is no ensemble ({type(error).__name__}); give a "
            "file that Ensemble.save has written, or read labels by load_partitions."
        ) from None
    if about["format"] > FORMAT:
        raise DataError(
            f"{os.fspath(path)!r} was written by ClusterLens {about['version']} in a "
            "later format; update ClusterLens."
        )
    count = len(about["names"])
    soft: dict[int, list[Any]] = {}
    for name in table.column_names[count:]:
        _, t, _ = name.split()
        soft.setdefault(int(t), []).append(table[name].to_numpy())
    given = {name: about[name] for name in _ONE_EACH}
    columns = [table[f"label {t}"] for t in range(count)]
    gaps = np.array([column.is_null().to_numpy() for column in columns])
    return Ensemble(
        [read_only(column.fill_null(0).to_numpy()) for column in columns],
        missing=gaps if gaps.any() else None,
        noise=about["noise"],
        notes=about["notes"],
        weights=about.get("weights"),
        memberships={t: np.column_stack(rows) for t, rows in soft.items()},
        **{**given, "seconds": np.array(given["seconds"], float)},
    )
