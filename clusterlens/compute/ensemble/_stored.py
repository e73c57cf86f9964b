"""Writing an ensemble to Parquet with metadata, without executable content."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clusterlens.compute._drafts import draft_of

FORMAT = 1
KEY = b"clusterlens.ensemble"


def write_ensemble(ensemble: Any, path: str | os.PathLike[str]) -> None:
    """Write an ensemble to one Parquet file, which appears once it is complete.

    The file has a column of labels per partition, null in gaps, and a column of numbers
    per column of memberships. The rest is JSON in the metadata, with the versions of
    the format and of the library. Entries of specs that JSON cannot represent are
    written as text. O(n T) time.
    """
    columns = {f"label {t}": labels for t, labels in enumerate(ensemble.labels)}
    gaps = ensemble.missing
    for t, rows in ensemble.memberships.items():
        columns |= {f"membership {t} {k}": column for k, column in enumerate(rows.T)}
    arrays = {name: pa.array(column) for name, column in columns.items()}
    if gaps is not None:
        for t, labels in enumerate(ensemble.labels):
            arrays[f"label {t}"] = pa.array(labels, mask=gaps[t])
    table = pa.table(arrays)
    table = table.replace_schema_metadata({KEY: json.dumps(_about(ensemble))})
    with draft_of(Path(path)) as draft:
        pq.write_table(table, draft, compression="zstd")


def _about(ensemble: Any) -> dict[str, Any]:
    """Return everything but the numbers, as plain values."""
    from clusterlens import __version__

    seconds = [None if np.isnan(s) else float(s) for s in ensemble.seconds]
    return {
        "format": FORMAT,
        "version": __version__,
        "noise": ensemble.noise,
        "names": list(ensemble.names),
        "families": list(ensemble.families),
        "specs": json.loads(json.dumps(ensemble.specs, default=_plain)),
        "seconds": seconds,
        "notes": list(ensemble.notes),
        "weights": ensemble.weights.tolist(),
    }


def _plain(value: Any) -> Any:
    """Convert a value that JSON cannot represent: NumPy numbers, else to text."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
