"""Writing a segmentation: a zip archive of JSON and Parquet, nothing executable.

segmentation.json    rules, names, centres, counts
prototypes.parquet   the prototypes: features and cluster
held-out.parquet     oddness of held-out rows, by cluster
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clusterlens.compute._drafts import draft_of
from clusterlens.compute.assigning._record import SegmentationRecord
from clusterlens.compute.table.plain_preparation import preparation_to_plain

FORMAT = 2
ABOUT, ROWS, ODD = "segmentation.json", "prototypes.parquet", "held-out.parquet"


def write_kept(kept: SegmentationRecord, path: str | os.PathLike[str]) -> None:
    """Write a segmentation; the file appears once it is complete."""
    data = _pack(kept)
    with draft_of(Path(path)) as draft:
        draft.write_bytes(data)


def _pack(kept: SegmentationRecord) -> bytes:
    assigner = kept.assigner
    features = {f"feature {j}": column for j, column in enumerate(assigner.rows.T)}
    n_held_out = [len(scores) for scores in assigner.held_out]
    codes = np.repeat(np.arange(len(n_held_out)), n_held_out)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        text = json.dumps(_about(kept), allow_nan=False)
        archive.writestr(ABOUT, text, zipfile.ZIP_DEFLATED)
        archive.writestr(ROWS, _parquet({"cluster": assigner.codes, **features}))
        odd = np.concatenate(assigner.held_out)
        archive.writestr(ODD, _parquet({"cluster": codes, "oddness": odd}))
    return out.getvalue()


def _parquet(columns: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    numbers = {name: np.asarray(values, float) for name, values in columns.items()}
    table = pa.table(numbers)
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()


def _about(kept: SegmentationRecord) -> dict[str, Any]:
    """Return everything but the rows, as plain values."""
    from clusterlens import __version__

    assigner = kept.assigner
    return {
        "format": FORMAT,
        "made by": f"ClusterLens {__version__}",
        "title": kept.title,
        "row id": kept.row_id,
        "clusters": kept.clusters.tolist(),
        "counts": kept.counts.tolist(),
        "names": [kept.names[int(label)] for label in kept.clusters],
        "preparation": preparation_to_plain(kept.preparation),
        "columns": [
            {
                "name": column.name,
                "edges": None if column.edges is None else column.edges.tolist(),
                "counts": column.counts.tolist(),
            }
            for column in kept.columns
        ],
        "assigner": {
            "clusters": assigner.clusters.tolist(),
            "sizes": assigner.sizes.tolist(),
            "rule": assigner.rule,
            "neighbours": assigner.n_neighbors,
            "centres": assigner.centres.tolist(),
            "scales": assigner.scales.tolist(),
            "curve": assigner.curve.tolist(),
            "agreement": dict(assigner.agreement),
            "reproduced": assigner.reproduced,
            "calibration error": _number(assigner.calibration_error),
            "expected": assigner.expected.tolist(),
            "dispersion": assigner.dispersion,
            "widening": assigner.widening.tolist(),
            "repeated": _number(assigner.repeated),
        },
    }


def _number(value: float) -> float | None:
    """Return a number, None for NaN."""
    return None if np.isnan(value) else value
