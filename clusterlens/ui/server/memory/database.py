"""Database: the file of a store, its tables and versions, and its repair."""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from clusterlens.ui.jobs.private_files import make_file

FILE = "clusterlens.sqlite"
HOME = "CLUSTERLENS_HOME"
# Application id of our SQLite files: "CLns".
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
    """
    CREATE TABLE under_way (
      id TEXT PRIMARY KEY,
      analysis TEXT NOT NULL REFERENCES analysis(id) ON DELETE CASCADE,
      process TEXT NOT NULL,
      intent TEXT NOT NULL
    );
    """,
    """
    ALTER TABLE analysis ADD COLUMN digest TEXT NOT NULL DEFAULT '';
    ALTER TABLE step ADD COLUMN digest TEXT NOT NULL DEFAULT '';
    """,
    """
    CREATE TABLE measured (
      analysis TEXT NOT NULL REFERENCES analysis(id) ON DELETE CASCADE,
      key TEXT NOT NULL,
      record TEXT NOT NULL,
      content TEXT NOT NULL,
      digest TEXT NOT NULL,
      PRIMARY KEY (analysis, key)
    );
    """,
)
_PATIENCE_SECONDS = 20.0
_ASIDE = ".damaged-"
# SQLite may quote bytes of a damaged file that are no text.
ERRORS = (sqlite3.Error, UnicodeDecodeError)
# Errors of SQLite that a damaged file causes. An SQL error while reading concerns SQL
# stored in the file.
_OWN_FAULT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


class StoreError(ValueError):
    """Error of a store that cannot be used, with the reason and a remedy."""


class Damaged(StoreError):
    """Error of a file that is no database, or does not match its version."""


def connect(file: Path) -> sqlite3.Connection:
    """Open a database unchanged; bytes that are no UTF-8 are replaced."""
    db = sqlite3.connect(
        file, timeout=_PATIENCE_SECONDS, isolation_level=None, check_same_thread=False
    )
    db.text_factory = lambda text: text.decode(errors="replace")
    return db


def open_database(file: Path) -> tuple[sqlite3.Connection, bool]:
    """Open the file of a store in the present version; also return if it was empty.

    Raises
    ------
    Damaged
        If it cannot be read.
    StoreError
        If it cannot be used as it is: that of another program or a newer version.
    """
    make_file(file)
    db = connect(file)
    try:
        version = _check(db, file)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        # Every write reaches the file itself at once, so a damaged log loses nothing.
        db.execute("PRAGMA wal_autocheckpoint = 1")
        db.execute("PRAGMA foreign_keys = ON")
        if version < len(MIGRATIONS):
            _migrate(db, file)
        db.execute("DELETE FROM pool WHERE 0")  # the header may forbid all writes
    except BaseException as error:
        db.close()
        if isinstance(error, ERRORS):
            raise _store_error(file, error) from error
        raise
    return db, version == 0


def _check(db: sqlite3.Connection, file: Path) -> int:
    """Return the version of a sound file of ours, 0 for an empty one."""
    db.execute("BEGIN")  # another process may be creating the file now
    version = db.execute("PRAGMA user_version").fetchone()[0]
    parts = _parts(db)
    mark = db.execute("PRAGMA application_id").fetchone()[0]
    db.execute("COMMIT")
    if (version or parts) and mark != APPLICATION:
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
    found = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != "ok":
        raise Damaged(f"{file} is damaged ({found}).")
    if db.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise Damaged(f"{file} is damaged: analyses are missing to which steps belong.")
    if parts != _parts_of(version):
        raise Damaged(f"{file} is damaged: it is not what format {version} is.")
    return int(version)


def _parts(db: sqlite3.Connection) -> set[tuple[str, ...]]:
    """Return kind, name and column of everything except SQLite's own statistics."""
    return set(
        db.execute(
            "SELECT m.type, m.name, p.name FROM sqlite_master m LEFT JOIN "
            "pragma_table_info(m.name) p WHERE m.name NOT LIKE 'sqlite_stat%'"
        )
    )


def _parts_of(version: int) -> set[tuple[str, ...]]:
    db = sqlite3.connect(":memory:")
    try:
        db.executescript(";".join(MIGRATIONS[:version]))
        return _parts(db)
    finally:
        db.close()


def _migrate(db: sqlite3.Connection, file: Path) -> None:
    """Migrate to the present version, all or nothing, one process at a time."""
    db.execute("BEGIN EXCLUSIVE")
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        for script in MIGRATIONS[version:]:
            for statement in script.split(";"):
                db.execute(statement)
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute("COMMIT")
    except ERRORS as error:
        raise StoreError(
            f"{file} cannot be brought to the present version ({error}); nothing in it "
            "was changed. See that there is room, and that it can be written."
        ) from error
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _store_error(file: Path, error: BaseException) -> StoreError:
    """Return an error of a file that cannot be opened, Damaged if it is at fault."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    says_read_only = code == sqlite3.SQLITE_READONLY and os.access(file, os.W_OK)
    if code in _OWN_FAULT or says_read_only:
        return Damaged(f"{file} is damaged ({error}).")
    return StoreError(
        f"{file} cannot be used ({error}); see that it can be read and written, bring "
        "it back from a copy, or move it away to begin with an empty one."
    )


def set_aside(file: Path) -> Path:
    """Rename a damaged file with its log; return the new path."""
    when = datetime.now(UTC).strftime("%Y-%m-%d-%H%M%S")
    aside = file.with_name(f"{file.name}{_ASIDE}{when}-{secrets.token_hex(2)}")
    # The log first, because a new database would take it for its own.
    for end in ("-wal", "-shm", ""):
        with suppress(FileNotFoundError):
            os.rename(f"{file}{end}", f"{aside}{end}")
    return aside


def lying_aside(file: Path) -> list[Path]:
    """Return the damaged files that were set aside, the oldest first."""
    found = file.parent.glob(f"{file.name}{_ASIDE}*")
    return sorted(path for path in found if path.suffix[-4:] not in ("-wal", "-shm"))
