"""Store: the log of every analysis, in one SQLite file, and the contents beside it.

    <home>/clusterlens.sqlite    analyses and their steps, pools of one's own (WAL)
    <home>/contents/<sha256>     tables, results and uploaded files
    <home>/found/<sha256>        what follows from results, and took long

A write is one transaction on top of the revision that its writer has seen; where
somebody else wrote meanwhile it is refused and nothing is changed. So any number of
servers on one machine may share a store. WAL does not work on network file systems.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

from clusterlens.ui.memory.contents import Contents

FILE = "clusterlens.sqlite"
HOME = "CLUSTERLENS_HOME"
OFF = "off"
# Marks a SQLite file as one of ours: "CLns".
APPLICATION = 0x434C6E73
# Each script leads from the version of its position to the next; none ever changes.
MIGRATIONS = (
    """
    CREATE TABLE analysis (
      id TEXT PRIMARY KEY,
      revision INTEGER NOT NULL,
      cursor INTEGER NOT NULL,
      made TEXT NOT NULL,
      changed TEXT NOT NULL,
      deleted TEXT,
      about TEXT NOT NULL,
      look TEXT NOT NULL
    );
    CREATE TABLE step (
      analysis TEXT NOT NULL REFERENCES analysis(id) ON DELETE CASCADE,
      position INTEGER NOT NULL,
      kind TEXT NOT NULL,
      title TEXT NOT NULL,
      at TEXT NOT NULL,
      given TEXT NOT NULL,
      changes TEXT NOT NULL,
      PRIMARY KEY (analysis, position)
    );
    CREATE TABLE holds (
      analysis TEXT NOT NULL,
      position INTEGER NOT NULL,
      content TEXT NOT NULL,
      PRIMARY KEY (analysis, position, content),
      FOREIGN KEY (analysis, position) REFERENCES step(analysis, position)
        ON DELETE CASCADE
    );
    """,
    """
    CREATE TABLE pool (
      name TEXT PRIMARY KEY,
      entries TEXT NOT NULL
    );
    """,
)
_PATIENCE_SECONDS = 20.0


class StoreError(ValueError):
    """The store cannot be used; the message says why and what to do."""


class Conflict(Exception):
    """Somebody else wrote to the analysis since it was read."""


@dataclass(frozen=True)
class Row:
    """One step as plain values.

    Parameters
    ----------
    kind, title, at : str
        As of the step; `at` is a time in UTC.
    given : dict
        Values of the action.
    changes : dict
        Fields of the analysis that differ from those of the step before.
    holds : frozenset of str
        Contents that the changes and values name.
    """

    kind: str
    title: str
    at: str
    given: Mapping[str, Any]
    changes: Mapping[str, Any]
    holds: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Stored:
    """One analysis as it is stored."""

    id: str
    revision: int
    cursor: int
    rows: tuple[Row, ...]
    about: Mapping[str, Any] = field(default_factory=dict)
    look: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """One analysis in a list: what it is about, when it changed, whether deleted."""

    id: str
    about: Mapping[str, Any]
    changed: str
    deleted: bool


def home() -> Path:
    """Where analyses are kept: CLUSTERLENS_HOME, else the place of the platform."""
    chosen = os.environ.get(HOME)
    if chosen:
        return Path(chosen).expanduser()
    return Path(platformdirs.user_data_dir("clusterlens", appauthor=False))


@cache
def shared_store() -> Store | str | None:
    """Return the store of this process.

    Returns
    -------
    store : Store, str or None
        A text says why there is none; None where CLUSTERLENS_HOME is "off".
    """
    if os.environ.get(HOME) == OFF:
        return None
    try:
        return Store(home())
    except (StoreError, OSError) as error:
        return f"Nothing is kept: {error}"


def new_id() -> str:
    """Make an id that nobody guesses."""
    return secrets.token_hex(8)


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Store:
    """The analyses of a folder; safe to use from several threads and processes.

    Parameters
    ----------
    folder : Path
        Made if it is not there.

    Raises
    ------
    StoreError
        If the file is damaged, was made by a newer version, or is none of ours.
    OSError
        If the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.file = folder, folder / FILE
        self.contents, self.found = Contents(folder / "contents"), folder / "found"
        self._lock = threading.Lock()
        try:
            self._db = sqlite3.connect(
                self.file,
                timeout=_PATIENCE_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            _prepare(self._db, self.file)
        except sqlite3.Error as error:
            raise _unusable(self.file, str(error)) from error

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        """Do several statements or none of them."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    def write(self, stored: Stored, first: int, rows: Sequence[Row]) -> int:
        """Replace the steps from a position on; return the new revision.

        An analysis that was deleted meanwhile is brought back.

        Parameters
        ----------
        stored : Stored
            Id, the revision that was seen (0 for a new analysis), cursor, about and
            look; its rows do not matter.
        first : int
            Position of the first row that changes.
        rows : sequence of Row
            All rows from there on.

        Raises
        ------
        Conflict
            If the revision is another one by now.
        """
        with self._write() as db:
            values = (stored.cursor, now(), _text(stored.about), _text(stored.look))
            if stored.revision:
                done = db.execute(
                    "UPDATE analysis SET revision = revision + 1, cursor = ?, "
                    "changed = ?, about = ?, look = ?, deleted = NULL "
                    "WHERE id = ? AND revision = ?",
                    (*values, stored.id, stored.revision),
                )
                if not done.rowcount:
                    raise Conflict(stored.id)
            else:
                db.execute(
                    "INSERT INTO analysis (cursor, changed, about, look, id, revision, "
                    "made) VALUES (?, ?, ?, ?, ?, 1, ?)",
                    (*values, stored.id, values[1]),
                )
            db.execute(
                "DELETE FROM step WHERE analysis = ? AND position >= ?",
                (stored.id, first),
            )
            _insert(db, stored.id, first, rows)
        return stored.revision + 1

    def read(self, analysis: str) -> Stored:
        """Return an analysis; ValueError if there is none of this id."""
        with self._lock:
            db = self._db
            db.execute("BEGIN")
            try:
                head = db.execute(
                    "SELECT revision, cursor, about, look FROM analysis WHERE id = ? "
                    "AND deleted IS NULL",
                    (analysis,),
                ).fetchone()
                found = db.execute(
                    "SELECT kind, title, at, given, changes FROM step WHERE analysis "
                    "= ? ORDER BY position",
                    (analysis,),
                ).fetchall()
                held = db.execute(
                    "SELECT position, content FROM holds WHERE analysis = ?",
                    (analysis,),
                ).fetchall()
            finally:
                db.execute("COMMIT")
        if head is None:
            raise ValueError(
                f"there is no analysis {analysis!r} on this machine; it was deleted, "
                "or the link is of another one."
            )
        holds: dict[int, set[str]] = {}
        for position, content in held:
            holds.setdefault(position, set()).add(content)
        rows = tuple(
            Row(
                kind,
                title,
                at,
                json.loads(given),
                json.loads(changes),
                frozenset(holds.get(k, ())),
            )
            for k, (kind, title, at, given, changes) in enumerate(found)
        )
        revision, cursor, about, look = head
        return Stored(
            analysis, revision, cursor, rows, json.loads(about), json.loads(look)
        )

    def revision(self, analysis: str) -> int | None:
        """Return the revision of an analysis, None if there is none of this id."""
        found = self._read("SELECT revision FROM analysis WHERE id = ?", analysis)
        return found[0][0] if found else None

    def entries(self, *, deleted: bool = False) -> list[Entry]:
        """List the analyses, latest change first."""
        rows = self._read(
            "SELECT id, about, changed, deleted IS NOT NULL FROM analysis "
            "WHERE ? OR deleted IS NULL ORDER BY changed DESC, rowid DESC",
            deleted,
        )
        return [
            Entry(i, json.loads(about), at, bool(gone)) for i, about, at, gone in rows
        ]

    def rename(self, analysis: str, name: str) -> None:
        """Give an analysis a name of its own."""
        with self._write() as db:
            about = {**self._about(db, analysis), "title": name}
            db.execute(
                "UPDATE analysis SET about = ?, revision = revision + 1 WHERE id = ?",
                (_text(about), analysis),
            )

    def _about(self, db: sqlite3.Connection, analysis: str) -> dict[str, Any]:
        found = db.execute("SELECT about FROM analysis WHERE id = ?", (analysis,))
        return json.loads(found.fetchone()[0])

    def duplicate(self, analysis: str, title: str) -> str:
        """Copy an analysis with all its steps; return the id of the copy."""
        copy = new_id()
        with self._write() as db:
            about = {**self._about(db, analysis), "title": title}
            db.execute(
                "INSERT INTO analysis (id, revision, cursor, made, changed, about, "
                "look) SELECT ?, 1, cursor, ?, ?, ?, look FROM analysis WHERE id = ?",
                (copy, now(), now(), _text(about), analysis),
            )
            for table, columns in (
                ("step", "position, kind, title, at, given, changes"),
                ("holds", "position, content"),
            ):
                db.execute(
                    f"INSERT INTO {table} (analysis, {columns}) SELECT ?, {columns} "
                    f"FROM {table} WHERE analysis = ?",
                    (copy, analysis),
                )
        return copy

    def delete(self, analysis: str) -> None:
        """Take an analysis off the list; `restore` brings it back until cleaning."""
        self._mark(analysis, now())

    def restore(self, analysis: str) -> None:
        """Bring a deleted analysis back."""
        self._mark(analysis, None)

    def _mark(self, analysis: str, deleted: str | None) -> None:
        with self._write() as db:
            db.execute(
                "UPDATE analysis SET deleted = ? WHERE id = ?", (deleted, analysis)
            )

    def pools(self) -> dict[str, str]:
        """Entries of the pools that were given a name, by name."""
        return dict(self._read("SELECT name, entries FROM pool"))

    def write_pool(self, name: str, entries: str | None) -> None:
        """Keep the entries of a pool under a name; None forgets it."""
        with self._write() as db:
            db.execute("DELETE FROM pool WHERE name = ?", (name,))
            if entries is not None:
                db.execute("INSERT INTO pool VALUES (?, ?)", (name, entries))

    def size(self) -> int:
        """Bytes on the disk."""
        files = [*self.folder.glob(f"{FILE}*"), *self.found.glob("*")]
        return self.contents.size() + sum(path.stat().st_size for path in files)

    def clean(self) -> int:
        """Forget deleted analyses and what no analysis holds; return bytes gained."""
        before = self.size()
        with self._write() as db:
            db.execute("DELETE FROM analysis WHERE deleted IS NOT NULL")
            held = db.execute("SELECT DISTINCT content FROM holds").fetchall()
        self.contents.clean({content for (content,) in held})
        for path in self.found.glob("*"):  # found again where it is missed
            path.unlink(missing_ok=True)
        with self._lock:
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return max(0, before - self.size())


def _text(values: Any) -> str:
    return json.dumps(values)


def _insert(
    db: sqlite3.Connection, analysis: str, first: int, rows: Sequence[Row]
) -> None:
    for position, row in enumerate(rows, first):
        db.execute(
            "INSERT INTO step (analysis, position, kind, title, at, given, changes) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                analysis,
                position,
                row.kind,
                row.title,
                row.at,
                _text(row.given),
                _text(row.changes),
            ),
        )
        db.executemany(
            "INSERT INTO holds (analysis, position, content) VALUES (?, ?, ?)",
            [(analysis, position, key) for key in sorted(row.holds)],
        )


def _prepare(db: sqlite3.Connection, file: Path) -> None:
    """Check the file and bring it to the present version."""
    db.execute(f"PRAGMA busy_timeout = {int(1000 * _PATIENCE_SECONDS)}")
    db.execute("BEGIN")  # another process may be making the file at this moment
    version = db.execute("PRAGMA user_version").fetchone()[0]
    tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    mark = db.execute("PRAGMA application_id").fetchone()[0]
    db.execute("COMMIT")
    if (version or tables) and mark != APPLICATION:
        raise StoreError(
            f"{file} is a database of another program; move it away, or choose "
            f"another folder with {HOME}."
        )
    if version > len(MIGRATIONS):
        raise StoreError(
            f"{file} was made by a newer version of ClusterLens (format {version}, "
            f"this one knows {len(MIGRATIONS)}); use that version, or choose another "
            f"folder with {HOME}."
        )
    if version:
        found = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if found != "ok":
            raise _unusable(file, found)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA foreign_keys = ON")
    if version < len(MIGRATIONS):
        _migrate(db)


def _migrate(db: sqlite3.Connection) -> None:
    """Take the steps to the present version, all or none, one process at a time."""
    db.execute("BEGIN EXCLUSIVE")
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        for script in MIGRATIONS[version:]:
            for statement in script.split(";"):
                db.execute(statement)
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _unusable(file: Path, why: str) -> StoreError:
    return StoreError(
        f"{file} cannot be used ({why}); bring it back from a copy, or move it away "
        "to begin with an empty one."
    )
