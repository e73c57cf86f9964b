"""ScaledRun: the result of `run_at_scale`, which its manifest holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clusterlens.compute._plain import Record, read_json
from clusterlens.compute._validation import FloatArray, Frozen, IntArray
from clusterlens.compute.formatting import count
from clusterlens.compute.notes import Note, as_note
from clusterlens.compute.scale.errors import ERRORS
from clusterlens.compute.scale.labels import AXES, CONSENSUS
from clusterlens.compute.scale.profiles import profiles_from_plain, profiles_to_plain
from clusterlens.compute.table.profiles import ClusterProfiles

MANIFEST = "manifest.json"
MOST_BYTES = 1 << 30
_TABLES = ("models", "clusters")
_MEASURED = ("score", "score_low", "score_high", *ERRORS)


@dataclass(frozen=True, eq=False, repr=False)
class ScaledRun(Frozen):
    """A pool of clusterings with the labels of all rows of a large table.

    Attributes
    ----------
    folder : str
        Where everything is: `labels` in it holds a Parquet file for each piece of the
        table, with the row, its row id, the labels of every model (-1 is noise), and
        the consensus with margin and "nowhere".
    n_rows : int
        Rows of the table.
    n_labelled : int
        Rows with a value in a feature column, which have labels.
    n_landmarks : int
        Rows that the models were fitted to.
    models : DataFrame
        One row per model, closest to the consensus first: "model", "family", "column"
        (its name in the files), "clusters", the "score" (DISCOTEC, all rows) with
        "score_low" and "score_high"; "ari", the adjusted Rand index with the model
        fitted to held-back rows, the median of 19 samples, and "ari_least", the
        smallest.
    clusters : DataFrame
        One row per cluster of the consensus: "cluster", its label, and "rows".
    n_nowhere : int
        Rows too far from every cluster of the consensus.
    consensus_error : tuple of float
        Adjusted Rand indices of the consensus as of a model: median and smallest.
    distances : array of float64, shape (n_models, n_models)
        One minus the adjusted Rand index of models on all rows, in the order of
        `models`.
    smallest_seen : tuple of int
        Rows of the smallest group that has at least 1, and at least 10, landmarks with
        a chance of 95%.
    notes : tuple of Note
        Everything that was left out, filled or estimated.
    profiles : ClusterProfiles or None
        How the rows of each cluster of the consensus differ from all rows; None in
        results of older versions.
    """

    folder: str
    n_rows: int
    n_labelled: int
    n_landmarks: int
    models: pd.DataFrame
    clusters: pd.DataFrame
    n_nowhere: int
    consensus_error: tuple[float, float]
    distances: np.ndarray[Any, Any]
    smallest_seen: tuple[int, int]
    notes: tuple[Note, ...]
    profiles: ClusterProfiles | None = None

    @property
    def files(self) -> list[Path]:
        """Files of labels, in the order of the rows."""
        return sorted(Path(self.folder, "labels").glob("part-*.parquet"))

    @cached_property
    def first_label(self) -> int:
        """0 if there is a cluster with the label 0, else 1."""
        return int(not (self.clusters["cluster"] == 0).any())

    @cached_property
    def extent(self) -> FloatArray:
        """Smallest and largest x and y of all rows, shape (2, 2), from the footers."""
        ends = []
        for path in self.files:
            with pq.ParquetFile(path) as parquet:
                names, meta = parquet.schema_arrow.names, parquet.metadata
                chunks = [meta.row_group(0).column(names.index(a)) for a in AXES]
                ends.append([chunk.statistics for chunk in chunks])
        known = [pair for pair in ends if all(s and s.has_min_max for s in pair)]
        low = np.min([[s.min for s in pair] for pair in known], axis=0)
        high = np.max([[s.max for s in pair] for pair in known], axis=0)
        return np.array([low, high], np.float64)

    def places(self) -> Iterator[tuple[FloatArray, IntArray, npt.NDArray[np.bool_]]]:
        """Yield the labelled rows, a file at a time, for a map.

        Yields
        ------
        xy : array of float64, shape (n, 2)
            Places on the first two principal components of the landmarks.
        labels : array of int64, shape (n,)
            Clusters of the consensus.
        nowhere : array of bool, shape (n,)
            Rows that are too far from their cluster.
        """
        for path in self.files:
            table = pq.read_table(path, columns=[*AXES, CONSENSUS, "nowhere"])
            table = table.filter(pc.is_valid(table[CONSENSUS]))
            axes = [table[axis].to_numpy().astype(np.float64) for axis in AXES]
            labels = table[CONSENSUS].to_numpy().astype(np.int64)
            nowhere = table["nowhere"].fill_null(False).to_numpy()
            yield np.column_stack(axes), labels, nowhere & (labels != -1)

    def to_frame(self) -> pd.DataFrame:
        """Return the models.

        Returns
        -------
        models : DataFrame
            `models`.
        """
        return self.models

    def to_plain(self) -> dict[str, Any]:
        """Return texts, numbers, lists and dicts of them, for `from_plain`."""
        known = {f.name: getattr(self, f.name) for f in fields(self)}
        known["notes"] = list(self.notes)
        del known["folder"]
        for name in _TABLES:
            table = getattr(self, name)
            known[name] = {
                column: _plain(table[column].to_numpy()) for column in table.columns
            }
        known["distances"] = [_plain(row) for row in self.distances]
        known["consensus_error"] = _plain(np.array(self.consensus_error))
        if self.profiles is not None:
            known["profiles"] = profiles_to_plain(self.profiles)
        return known

    @classmethod
    def from_plain(cls, plain: Record, folder: str) -> Self:
        """Return the run that `to_plain` has written to a folder.

        Parameters
        ----------
        plain : Record
            The manifest.
        folder : str
            Its folder.

        Returns
        -------
        run : ScaledRun
            The run as it was written.
        """
        known = {name: plain.get(name) for name in plain.names()}
        for name in _TABLES:
            known[name] = pd.DataFrame(known[name])
        if ERRORS[1] not in known["models"]:
            # Older versions measured the error by another rule.
            known["models"] = known["models"].drop(columns=["low", "high"])
            known["models"][ERRORS] = np.nan
            known["consensus_error"] = (np.nan, np.nan)
        known["models"] = known["models"].astype(dict.fromkeys(_MEASURED, float))
        known["distances"] = np.array(known["distances"], np.float64)
        error = np.array(known["consensus_error"], np.float64)
        known["consensus_error"] = tuple(error.tolist())
        known["smallest_seen"] = tuple(known["smallest_seen"])
        known["notes"] = tuple(map(as_note, known["notes"]))
        if known.get("profiles") is not None:
            known["profiles"] = profiles_from_plain(known["profiles"])
        return cls(folder=folder, **known)

    def __repr__(self) -> str:
        """Say the sizes."""
        return (
            f"ScaledRun({count(len(self.models), 'model')} of "
            f"{count(self.n_labelled, 'row')}, fitted to "
            f"{count(self.n_landmarks, 'landmark')})"
        )


def read_run(folder: Path) -> ScaledRun | None:
    """Return the run of a folder; None if it is not complete."""
    file = folder / MANIFEST
    if not file.is_file():
        return None
    manifest = read_json(file.read_bytes(), MANIFEST, MOST_BYTES)
    return ScaledRun.from_plain(manifest, str(folder))


def _plain(values: np.ndarray[Any, Any]) -> list[Any]:
    """Return values as a list, None for NaN."""
    return [None if v != v else v for v in values.tolist()]
