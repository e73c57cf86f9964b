"""Large tables: Parquet files and folders on the server's disk that may be opened.

A browser sends a name from a list, never a path. The lists hold the tables and the
complete runs directly in the folders of the setting, and the table and the run given on
the command line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Self

from clusterlens.compute._validation import DataError
from clusterlens.compute.scale.result import MANIFEST
from clusterlens.compute.scale.run_landmarks import may_be_table_of_run
from clusterlens.compute.scale.source import is_run

SETTING = "CLUSTERLENS_FOLDERS"
_SUFFIX = ".parquet"
# Entries of a folder among which a Parquet file is looked for.
_MOST_ENTRIES = 1_000


class LargeTables:
    """Names of the tables on this disk that may be opened.

    Parameters
    ----------
    folders : iterable of Path
        Folders that hold tables.

    Attributes
    ----------
    own : Path or None
        The table that the server was started with.
    n_landmarks : int
        Landmarks to draw from it.
    own_run : Path or None
        The complete run of it to begin with, instead of landmarks.
    """

    def __init__(self, folders: Iterable[Path] = ()) -> None:
        self._folders = tuple(folders)
        self.own: Path | None = None
        self.n_landmarks = 0
        self.own_run: Path | None = None
        self._written: set[Path] = set()

    @classmethod
    def named(cls) -> Self:
        """Return the tables in the folders that the setting names."""
        named = os.environ.get(SETTING, "").split(os.pathsep)
        return cls(Path(name) for name in named if name)

    def listed(self) -> dict[str, Path]:
        """Return the tables by name; folders that cannot be read have none."""
        found = {} if self.own is None else {self.own.name: self.own}
        for name, path, folder in self._entries():
            if name not in found and _is_table(path, folder):
                found[name] = path
        return found

    def find(self, name: str) -> Path:
        """Return the path of a table; DataError if none of this name may be opened."""
        if self.own is not None and name == self.own.name:
            return self.own
        for known, path, folder in self._entries():
            if known == name and _is_table(path, folder):
                return path
        raise DataError(
            f"{name!r} is not among the tables of this server's disk; see that it is "
            f"there and that {SETTING} names its folder."
        )

    def runs(self) -> dict[str, Path]:
        """Return the complete runs by name, of `clusterlens run` or of All rows."""
        own = self.own_run
        found = {} if own is None else {_name(own, own.parent): own}
        for name, path, folder in self._entries():
            if name not in found and _is_done(path, folder):
                found[name] = path
        return found

    def find_run(self, name: str) -> Path:
        """Return the folder of a run; DataError if none of this name may be opened."""
        if (found := self.runs().get(name)) is not None:
            return found
        raise DataError(
            f"{name!r} is not among the complete runs on this server's disk; see that "
            f"it is there and that {SETTING} names the folder that holds it."
        )

    def table_of(self, run: Path) -> str:
        """Return the name of the table of a run; DataError if it may not be opened."""
        for name, path in self.listed().items():
            if may_be_table_of_run(run, path):
                return name
        raise DataError(
            f"the table of the run {run.name!r} is not among the tables of this "
            "server's disk, or has changed since; put it, as it was, into a folder "
            f"that {SETTING} names."
        )

    def _entries(self) -> Iterator[tuple[str, Path, Path]]:
        """Yield the entries of the folders: name, path and folder."""
        for folder in self._folders:
            try:
                inside = sorted(folder.iterdir())
            except OSError:
                continue
            for path in inside:
                yield _name(path, folder), path, folder

    @contextmanager
    def writing(self, folder: Path) -> Iterator[None]:
        """Keep other sessions from writing to a folder; DataError if one does."""
        if folder in self._written:
            raise DataError(
                "these rows are being labelled on another page; wait until they are."
            )
        self._written.add(folder)
        try:
            yield
        finally:
            self._written.discard(folder)

    def labels(self, name: str, key: str) -> Path:
        """Return the folder of labels: of a run by name, or by digest of a table."""
        if "/" in key:
            return self.find_run(key)
        table = self.find(name)
        stem = table.name.removesuffix(_SUFFIX)
        return table.with_name(f"{stem}-labels-{key[:16]}")


def _name(path: Path, folder: Path) -> str:
    return f"{folder.name}/{path.name}"


def _is_inside(path: Path, folder: Path) -> bool:
    """Return whether an entry is not hidden, and no link out of its folder."""
    return path.name[0] not in "._" and path.resolve().is_relative_to(folder.resolve())


def _is_done(path: Path, folder: Path) -> bool:
    """Return whether an entry of a folder is the folder of a complete run."""
    try:
        is_complete = is_run(path) and (path / MANIFEST).is_file()
        return is_complete and _is_inside(path, folder)
    except OSError:
        return False


def _is_table(path: Path, folder: Path) -> bool:
    """Return whether an entry of a folder is a Parquet file, or a folder with some.

    Links out of the folder, hidden files and folders of runs are no tables.
    """
    try:
        if not _is_inside(path, folder):
            return False
        if path.is_file():
            return path.suffix == _SUFFIX
        inside = islice(path.rglob("*"), _MOST_ENTRIES)
        return not is_run(path) and any(one.suffix == _SUFFIX for one in inside)
    except OSError:
        return False
