"""Ensembles and memberships as typed bytes, and back; plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.fuzzy.partition import FuzzyPartition
from clusterlens.compute.notes import Note, as_note
from clusterlens.ui.jobs.arrays import arrays_from_bytes, arrays_to_bytes
from clusterlens.ui.server.memory.schema import ENSEMBLE, SOFT
from clusterlens.ui.state.analysis import SoftTable
from clusterlens.ui.state.partitions import refuse_large_labels


class RecordError(ValueError):
    """Error of a record that does not describe an analysis."""


def plain(value: Any) -> Any:
    """Return a value as it is after a round trip through JSON."""
    return json.loads(json.dumps(value, default=_plain_one))


def _plain_one(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    return repr(value)


def pack(ensemble: Ensemble) -> bytes:
    """Write an ensemble as typed bytes."""
    about = {
        "names": ensemble.names,
        "families": ensemble.families,
        "noise": ensemble.noise,
        "specs": plain(ensemble.specs),
        "notes": [[n.kind, n.subject, n.numbers] for n in ensemble.notes],
        "memberships": sorted(ensemble.memberships),
    }
    labels = ensemble.labels
    small = np.result_type(*map(np.min_scalar_type, (labels.min(), labels.max())))
    soft = {f"memberships {t}": rows for t, rows in ensemble.memberships.items()}
    gaps = ensemble.missing
    return arrays_to_bytes(
        {
            "labels": labels.astype(small),
            "type": np.zeros(0, labels.dtype),
            "seconds": ensemble.seconds,
            "weights": ensemble.weights,
            **soft,
            **({} if gaps is None else {"missing": gaps.astype(np.uint8)}),
        },
        about,
    )


def unpack(data: bytes) -> Ensemble:
    """Read an ensemble; raise ValueError for other bytes."""
    arrays, about = arrays_from_bytes(data)
    ENSEMBLE(about)
    labels, kind = arrays["labels"], arrays["type"].dtype
    if labels.ndim != 2 or labels.dtype.kind not in "iu" or kind.kind not in "iu":
        raise RecordError("its labels are no matrix of whole numbers")
    gaps = arrays.get("missing")
    found = Ensemble(
        labels.astype(kind),
        about["names"],
        about["families"],
        about["noise"],
        specs=about["specs"],
        seconds=arrays["seconds"],
        notes=list(map(_note, about["notes"])),
        memberships={t: arrays[f"memberships {t}"] for t in about["memberships"]},
        weights=arrays.get("weights"),
        missing=None if gaps is None else gaps.astype(bool),
    )
    refuse_large_labels(found)
    return found


def _note(stored: Any) -> Note:
    """Read a note, or a sentence written by an earlier version."""
    if isinstance(stored, str):
        return as_note(stored)
    kind, subject, numbers = stored
    return Note(kind, subject, **numbers)


def pack_soft(table: SoftTable) -> bytes:
    """Write uploaded memberships as typed bytes, with rows by plain ids."""
    return arrays_to_bytes(
        {"rows": table.rows.memberships}, {"ids": plain(table.row_ids)}
    )


def unpack_soft(name: str, data: bytes) -> SoftTable:
    """Read uploaded memberships."""
    arrays, about = arrays_from_bytes(data)
    SOFT(about)
    ids, rows = np.asarray(about["ids"]), FuzzyPartition(arrays["rows"])
    if len(ids) != len(rows.memberships):
        raise RecordError(f"it has {len(ids)} ids for {len(rows.memberships)} rows")
    return SoftTable(name, ids, rows)
