"""The folder of a run: finished files stay, the manifest comes last.

run.json           arguments of the run, sizes and times of the files
prepared.json      the preparation, as fitted on all rows
landmarks.parquet  features of landmarks and held-back rows
models.parquet     the pool on the landmarks; held-back.parquet: on held-back rows
labels/part-*      labels of all rows
manifest.json      the result; its presence says that all is there
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clusterlens.compute._drafts import draft_of
from clusterlens.compute._plain import Record, read_json
from clusterlens.compute._run.folder_locks import lock_folder
from clusterlens.compute._validation import DataError, FloatArray, plain_repr
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.storing import load_ensemble
from clusterlens.compute.scale.landmarks import Landmarks
from clusterlens.compute.scale.result import MOST_BYTES
from clusterlens.compute.scale.source import RUN

PREPARED, LANDMARKS = "prepared.json", "landmarks.parquet"
DRAFT = ".part"


class RunFolder:
    """Files of one run.

    Parameters
    ----------
    path : path
        The folder; made if it is not there.
    asked : dict
        Arguments of the run as plain values. A folder with another run is refused.
    """

    def __init__(self, path: str | os.PathLike[str], asked: dict[str, Any]) -> None:
        self.path = check_out(path)
        self._lock: int | None = None
        self._asked = json.loads(json.dumps(asked))
        self._check()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs from writing; DataError if another run writes now.

        A folder that is not there yet is locked by `begin`.
        """
        try:
            if self.path.exists():
                self._take_lock()
            yield
        finally:
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    def _take_lock(self) -> None:
        if self._lock is not None:
            return
        try:
            self._lock = lock_folder(self.path)
        except BlockingIOError:
            raise DataError(
                f"Another run writes to out {str(self.path)!r} now; wait until it has "
                "ended, or give another folder."
            ) from None

    def _check(self) -> None:
        """Refuse a folder with another run, or with something else."""
        asked = self._asked
        if (known := self.read(RUN)) is None:
            there = self.path.iterdir() if self.path.exists() else ()
            if any(file.suffix != DRAFT for file in there):
                raise DataError(
                    f"out {str(self.path)!r} is not empty and holds no run; give a new "
                    "folder."
                )
            return
        self._check_files(known.get("files"), asked["files"])
        changed = [key for key in asked if known.get(key) != asked[key]]
        if changed:
            raise DataError(
                f"out {str(self.path)!r} holds a run with another {changed[0]}; give "
                "another folder, or remove this one to begin anew."
            )

    def begin(self) -> None:
        """Create the folder of a run after its arguments have been checked."""
        self.path.mkdir(parents=True, exist_ok=True)
        self._take_lock()
        self._check()  # another run may have begun and ended meanwhile
        self.write(RUN, self._asked)

    def _check_files(self, then: list[Any], now: list[Any]) -> None:
        """Refuse a table with changed files; name the first."""
        different = [one for one in [*then, *now] if one not in then or one not in now]
        if different:
            raise DataError(
                f"File {different[0]['path']!r} of source is gone, new or has changed "
                f"since the run in out {str(self.path)!r} began; give another folder, "
                "or remove this one to begin anew."
            )

    def read(self, name: str) -> Record | None:
        """Return the content of a file, None if there is no such file."""
        file = self.path / name
        return read_json(file.read_bytes(), name, MOST_BYTES) if file.exists() else None

    def write(self, name: str, plain: dict[str, Any]) -> None:
        """Write plain values to a file, which appears when it is complete."""
        text = json.dumps(plain, indent=1, allow_nan=False)
        with draft_of(self.path / name) as draft:
            draft.write_text(text, encoding="utf-8")

    def tidy(self) -> None:
        """Remove drafts that a killed process has left."""
        for draft in self.path.rglob(f"*{DRAFT}"):
            draft.unlink()

    def read_landmarks(self) -> tuple[Landmarks, FloatArray] | None:
        """Return the landmarks, and the features of held-back rows."""
        if not (self.path / LANDMARKS).exists():
            return None
        table = pq.ParquetFile(self.path / LANDMARKS).read().to_pandas()
        held = table.pop("held back").to_numpy()
        own = table[~held]
        X = np.ascontiguousarray(own.iloc[:, 3:].to_numpy(np.float64))
        rows, weights, uniform = (own.iloc[:, j].to_numpy() for j in range(3))
        landmarks = Landmarks(X, rows, weights, uniform)
        held_back = table[held].iloc[:, 3:].to_numpy(np.float64)
        return landmarks, np.ascontiguousarray(held_back)

    def write_landmarks(self, landmarks: Landmarks, held_back: FloatArray) -> None:
        """Write the landmarks, and the features of held-back rows."""
        n, m = len(landmarks.X), len(held_back)
        columns: dict[str, Any] = {
            "row": np.append(landmarks.rows, np.full(m, -1)),
            "weight": np.append(landmarks.weights, np.ones(m)),
            "uniform": np.append(landmarks.uniform, np.ones(m, bool)),
        }
        both = np.concatenate([landmarks.X, held_back])
        columns |= {f"feature {j}": column for j, column in enumerate(both.T)}
        columns["held back"] = np.arange(n + m) >= n
        with draft_of(self.path / LANDMARKS) as draft:
            pq.write_table(pa.table(columns), draft, compression="zstd")

    def read_models(self, name: str) -> Ensemble | None:
        """Return a stored ensemble, None if there is no such file."""
        file = self.path / name
        return load_ensemble(file) if file.exists() else None


def check_out(path: Any, *, name: str = "out") -> Path:
    """Return the folder of a run, there or not yet; DataError if it is none."""
    if not isinstance(path, str | os.PathLike):
        raise DataError(f"{name} is {plain_repr(path)}; give the path of a folder.")
    if Path(path).exists() and not Path(path).is_dir():
        raise DataError(f"{name} {os.fspath(path)!r} is a file; give a folder.")
    return Path(path)
