"""ScaledRun: the result of `run_at_scale`, which its manifest holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from clusterlens.compute._numbers import count
from clusterlens.compute._plain import Record
from clusterlens.compute._validation import Frozen
from clusterlens.compute.notes import Note, as_note

_TABLES = ("models", "clusters")
_MEASURED = ("score", "score_low", "score_high", "ari", "low", "high")


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
        "score_low" and "score_high", and "ari", the adjusted Rand index with the model
        fitted in memory on held-back rows, with "low" and "high".
    clusters : DataFrame
        One row per cluster of the consensus: "cluster", its label, and "rows".
    n_nowhere : int
        Rows too far from every cluster of the consensus.
    consensus_error : tuple of float
        Adjusted Rand index of the consensus as of a model, and its interval.
    distances : array of float64, shape (n_models, n_models)
        One minus the adjusted Rand index of models on all rows, in the order of
        `models`.
    smallest_seen : tuple of int
        Rows of the smallest group that has at least 1, and at least 10, landmarks with
        a chance of 95%.
    notes : tuple of Note
        Everything that was left out, filled or estimated.
    """

    folder: str
    n_rows: int
    n_labelled: int
    n_landmarks: int
    models: pd.DataFrame
    clusters: pd.DataFrame
    n_nowhere: int
    consensus_error: tuple[float, float, float]
    distances: np.ndarray[Any, Any]
    smallest_seen: tuple[int, int]
    notes: tuple[Note, ...]

    @property
    def files(self) -> list[Path]:
        """Files of labels, in the order of the rows."""
        return sorted(Path(self.folder, "labels").glob("part-*.parquet"))

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
        known = dict(vars(self)) | {"notes": list(self.notes)}
        del known["folder"]
        for name in _TABLES:
            table = getattr(self, name)
            known[name] = {
                column: _plain(table[column].to_numpy()) for column in table.columns
            }
        known["distances"] = [_plain(row) for row in self.distances]
        known["consensus_error"] = _plain(np.array(self.consensus_error))
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
        known["models"] = known["models"].astype(dict.fromkeys(_MEASURED, float))
        known["distances"] = np.array(known["distances"], np.float64)
        error = np.array(known["consensus_error"], np.float64)
        known["consensus_error"] = tuple(error.tolist())
        known["smallest_seen"] = tuple(known["smallest_seen"])
        known["notes"] = tuple(map(as_note, known["notes"]))
        return cls(folder=folder, **known)

    def __repr__(self) -> str:
        """Say the sizes."""
        return (
            f"ScaledRun({count(len(self.models), 'model')} of "
            f"{count(self.n_labelled, 'row')}, fitted to "
            f"{count(self.n_landmarks, 'landmark')})"
        )


def _plain(values: np.ndarray[Any, Any]) -> list[Any]:
    """Return values as a list, None for NaN."""
    return [None if v != v else v for v in values.tolist()]
