"""Store: the log of every analysis, in one SQLite file, and the contents beside it.

    <home>/clusterlens.sqlite    analyses and their steps, saved pools (WAL)
    <home>/contents/<sha256>     tables, results and uploaded files
    <home>/found/<sha256>        expensive derived results
    <home>/present/<id>          locked by a process that has the store open

A write is one transaction based on the revision that its writer has seen. If another
writer came first, it is refused and nothing is changed. So any number of servers on one
machine may share a store. WAL does not work on network file systems.

Damaged data is never removed: an unreadable file is set aside, and its readable part is
copied; reading reports a row that is not as it was written.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import platformdirs

from clusterlens.compute.formatting import count
from clusterlens.ui.jobs.private_files import make_folder, plain_files
from clusterlens.ui.server.memory.contents import Contents, remove_drafts
from clusterlens.ui.server.memory.database import (
    ERRORS,
    FILE,
    HOME,
    Damaged,
    StoreError,
    connect,
    lying_aside,
    open_database,
    set_aside,
)
from clusterlens.ui.server.memory.presence import Presence, is_there, one_by_one
from clusterlens.ui.server.memory.rows import (
    CheckRow,
    Lost,
    Row,
    Stored,
    as_text,
    insert_check,
    insert_steps,
    listed,
    plain_or_none,
    read_analysis,
    read_values,
    readable_checks,
    seal,
)
from clusterlens.ui.state.history import now


class Conflict(Exception):
    """Error of a write that is not based on the latest revision."""


@dataclass(frozen=True)
class Entry:
    """One analysis in a list: its summary, the time of its last change, its deletion.

    `about` is the readable summary, and may be anything if the entry is damaged.
    """

    id: str
    about: Any
    changed: str
    deleted: bool


@dataclass(frozen=True)
class Intent:
    """Running work on an analysis, with everything needed to repeat it.

    Parameters
    ----------
    id : str
        Unique id.
    kind : str
        Kind of the action; empty for a requested result.
    title : str
        Description for the screen.
    given : dict
        Values of the action, or the name of the result.
    view_state : dict
        View to show at its end.
    stage : str
        Present stage, if it differs from the title.
    done, total : int
        Progress.
    """

    id: str
    kind: str
    title: str
    given: Mapping[str, Any] = field(default_factory=dict)
    view_state: Mapping[str, Any] = field(default_factory=dict)
    stage: str = ""
    done: int = 0
    total: int = 0


def home() -> Path:
    """Return the folder of analyses: CLUSTERLENS_HOME, by default the platform's."""
    chosen = os.environ.get(HOME)
    if chosen:
        return Path(chosen).expanduser()
    return Path(platformdirs.user_data_dir("clusterlens", appauthor=False))


def new_id() -> str:
    """Make an id that cannot be guessed."""
    return secrets.token_hex(8)


_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


def _alone(
    does: Callable[Concatenate[Store, _Given], _Found],
) -> Callable[Concatenate[Store, _Given], _Found]:
    """Run a method on the thread of its store, and wait for it.

    When the process ends, that thread finishes its calls and accepts no more. Later
    calls run on their own thread, one after another.
    """

    @wraps(does)
    def call(self: Store, /, *given: _Given.args, **more: _Given.kwargs) -> _Found:
        if threading.current_thread() is self._thread:
            return does(self, *given, **more)
        try:
            under_way = self._executor.submit(does, self, *given, **more)
        except RuntimeError:
            with self._shutdown_lock:
                self._executor.shutdown()
                return does(self, *given, **more)
        return under_way.result()

    return call


class Store:
    """The analyses of a folder; safe to use from several threads and processes.

    The database has a thread of its own, which takes one call after another, so that
    nobody can hold a lock. Callers wait, so an event loop must not call.

    Parameters
    ----------
    folder : Path
        Folder, created if missing.

    Raises
    ------
    StoreError
        If the file was made by a newer version or another program, or is damaged while
        another process has it open.
    OSError
        If the folder cannot be written.

    Attributes
    ----------
    repair_report : str
        Report on the repair of a damaged or lost store; empty if it was sound.
    """

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        self.folder, self.file = folder, folder / FILE
        self.found, self._present = folder / "found", folder / "present"
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._thread = self._executor.submit(threading.current_thread).result()
        self._shutdown_lock = threading.RLock()
        self.repair_report = ""
        self._left: set[str] = set()
        try:
            self._open()
        except BaseException as error:
            self._executor.shutdown()
            if isinstance(error, ERRORS):
                raise StoreError(f"{folder} cannot be used ({error}).") from error
            raise
        for place in (self.contents.folder, self.found):
            remove_drafts(place, lambda writer: is_there(self._present, writer))

    @property
    def name(self) -> str:
        """Unique name of this process's access to the store."""
        return self._presence.name

    @_alone
    def _open(self) -> None:
        """Open the database, or begin a new one if it is damaged."""
        with one_by_one(self.folder / "opening"):
            self._presence = Presence(self._present, new_id())
            try:
                self.contents = Contents(self.folder / "contents", self.name)
                self._open_or_replace()
            except BaseException:
                self._presence.close()
                raise

    def _open_or_replace(self) -> None:
        try:
            self._db, is_new = open_database(self.file)
        except Damaged as error:
            self._begin_anew(error)
        else:
            self._tell_lost(is_new)

    def _begin_anew(self, why: Damaged) -> None:
        """Set a damaged file aside, and copy its readable part."""
        if self._presence.others():
            raise StoreError(
                f"{why} Another ClusterLens has it open: stop all of them and start "
                "one, which will set it aside and take over what can be read."
            )
        aside = set_aside(self.file)
        self._db, _ = open_database(self.file)
        n_taken, n_lost = self._take_over(aside)
        self.repair_report = (
            f"{why} The file was moved to {aside}. "
            f"Copied to a new store: {count(n_taken, 'analysis', 'analyses')}; not "
            f"readable: {n_lost or 'none'}. To recover the rest, restore the file from "
            "a backup."
        )

    def _take_over(self, aside: Path) -> tuple[int, int]:
        """Copy the intact analyses of a damaged file; return the numbers of both."""
        taken = lost = 0
        old = connect(aside)
        try:
            for name, changed, deleted in listed(old):
                try:
                    stored = read_analysis(old, name, deleted=True)
                    self.write(replace(stored, revision=0), 0, stored.rows)
                except (Lost, StoreError, *ERRORS):
                    lost += 1
                    continue
                taken += 1
                with self._transaction() as db:
                    sql = "UPDATE analysis SET changed = ?, deleted = ? WHERE id = ?"
                    db.execute(sql, (_moment(changed), deleted and now(), name))
                with suppress(StoreError, *ERRORS):
                    self.write_checks(name, readable_checks(old, name)[0])
            with suppress(StoreError, *ERRORS):
                for name, entries in old.execute("SELECT name, entries FROM pool"):
                    self.write_pool(str(name), str(entries))
        finally:
            old.close()
        return taken, lost

    def _tell_lost(self, is_new: bool) -> None:
        if is_new and any(self.contents.folder.iterdir()):
            self.repair_report = (
                f"{self.file} was missing or empty, but {self.contents.folder} "
                "contains data of analyses. To recover them, stop ClusterLens and "
                "restore the file from a backup; “Clean up” would remove the data."
            )

    def aside(self) -> list[Path]:
        """Return damaged files that lie beside the one in use."""
        return lying_aside(self.file)

    def close(self) -> None:
        """Close the file after finishing pending calls."""
        self._let_go()
        self._executor.shutdown()

    @_alone
    def _let_go(self) -> None:
        self._db.close()
        self._presence.close()

    @contextmanager
    def _transaction(
        self, begin: str = "BEGIN IMMEDIATE"
    ) -> Iterator[sqlite3.Connection]:
        """Run several statements, all or none, on the thread of the store."""
        try:
            self._db.execute(begin)
            yield self._db
            self._db.execute("COMMIT")
        except ERRORS as error:
            raise self._failed(error) from error
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    def _failed(self, error: BaseException) -> StoreError:
        return StoreError(f"{self.file} cannot be read or written: {error}")

    @_alone
    def _read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._transaction("BEGIN") as db:
            return db.execute(sql, values).fetchall()

    @_alone
    def write(
        self,
        stored: Stored,
        first: int,
        rows: Sequence[Row],
        ended: Collection[str] = (),
    ) -> int:
        """Replace the steps from a position on; return the new revision.

        An analysis that was deleted meanwhile is restored.

        Parameters
        ----------
        stored : Stored
            Id, the last seen revision (0 for a new analysis), cursor, about and look;
            its rows are ignored.
        first : int
            Position of the first changed row.
        rows : sequence of Row
            All rows from that position on.
        ended : collection of str
            Ids of work that has ended, with results in the rows.

        Raises
        ------
        Conflict
            If the revision has changed.
        """
        with self._transaction() as db:
            values = (
                stored.cursor,
                now(),
                as_text(stored.about),
                as_text(stored.view_state),
            )
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
            insert_steps(db, stored.id, first, rows)
            seal(db, stored.id)
            _end(db, ended)
        return stored.revision + 1

    @_alone
    def write_view_state(self, analysis: str, view_state: Mapping[str, Any]) -> None:
        """Write the view; this does not count as a change of the analysis."""
        with self._transaction() as db:
            sql = "UPDATE analysis SET look = ? WHERE id = ?"
            if db.execute(sql, (as_text(view_state), analysis)).rowcount:
                seal(db, analysis)

    @_alone
    def write_checks(self, analysis: str, rows: Iterable[CheckRow]) -> None:
        """Store checks with an analysis, replacing those under the same keys."""
        with self._transaction() as db:
            sql = "SELECT 1 FROM analysis WHERE id = ?"
            if db.execute(sql, (analysis,)).fetchone():
                for row in rows:
                    insert_check(db, analysis, row)

    @_alone
    def checks(self, analysis: str) -> tuple[list[CheckRow], int]:
        """Return the checks of an analysis, and the number of damaged ones."""
        with self._transaction("BEGIN") as db:
            return readable_checks(db, analysis)

    @_alone
    def note(
        self, analysis: str, intents: Sequence[Intent], ended: Collection[str] = ()
    ) -> None:
        """Record running work of this process on an analysis, and work that ended."""
        with self._transaction() as db:
            for intent in intents:
                values = (intent.id, self.name, as_text(_record_of(intent)))
                db.execute(
                    "INSERT INTO under_way (id, analysis, process, intent) "
                    "SELECT ?1, id, ?2, ?3 FROM analysis WHERE id = ?4 "
                    "ON CONFLICT (id) DO UPDATE SET process = ?2, intent = ?3",
                    (*values, analysis),
                )
            _end(db, ended)

    def under_way(self, analysis: str) -> tuple[list[Intent], list[Intent]]:
        """Return running work on an analysis, and interrupted work.

        Work is interrupted if it was left, or if its process has ended.
        """
        rows = self._read(
            "SELECT id, process, intent FROM under_way "
            "WHERE analysis = ? ORDER BY rowid",
            analysis,
        )
        found: dict[bool, list[Intent]] = {True: [], False: []}
        for name, process, text in rows:
            found[self._goes_on(name, process)].append(_intent(text))
        return found[True], found[False]

    @_alone
    def leave(self, ids: Collection[str]) -> None:
        """Mark running work as interrupted, although this process continues.

        If this cannot be written, this process still knows it.
        """
        self._left.update(ids)
        with self._transaction() as db:
            db.executemany(
                "UPDATE under_way SET process = '' WHERE id = ?", [(i,) for i in ids]
            )
        self._left.difference_update(ids)

    def _goes_on(self, intent: str, process: str) -> bool:
        return intent not in self._left and is_there(self._present, process)

    @_alone
    def take(self, intent: str) -> bool:
        """Claim interrupted work for this process; return False if another did."""
        with self._transaction() as db:
            sql = "SELECT process FROM under_way WHERE id = ?"
            found = db.execute(sql, (intent,)).fetchone()
            if found is None or self._goes_on(intent, found[0]):
                return False
            sql = "UPDATE under_way SET process = ? WHERE id = ?"
            db.execute(sql, (self.name, intent))
        self._left.discard(intent)
        return True

    @_alone
    def read(self, analysis: str) -> Stored:
        """Return an analysis; raise Lost if the id is unknown, or it is damaged."""
        with self._transaction("BEGIN") as db:
            return read_analysis(db, analysis)

    def revision(self, analysis: str) -> int | None:
        """Return the revision of an analysis, None if the id is unknown."""
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
            Entry(i, plain_or_none(about), at, bool(gone))
            for i, about, at, gone in rows
        ]

    @_alone
    def rename(self, analysis: str, name: str) -> None:
        """Name an analysis."""
        with self._transaction() as db:
            about = {**read_analysis(db, analysis).about, "title": name}
            db.execute(
                "UPDATE analysis SET about = ?, revision = revision + 1 WHERE id = ?",
                (as_text(about), analysis),
            )
            seal(db, analysis)

    def duplicate(self, analysis: str, title: str) -> str:
        """Copy an analysis with all its steps; return the id of the copy."""
        stored = self.read(analysis)
        about = {**stored.about, "title": title}
        copy = replace(stored, id=new_id(), revision=0, about=about)
        self.write(copy, 0, stored.rows)
        self.write_checks(copy.id, self.checks(analysis)[0])
        return copy.id

    def delete(self, analysis: str) -> None:
        """Remove an analysis from the list; `restore` undoes it until cleaning."""
        self._mark(analysis, now())

    def restore(self, analysis: str) -> None:
        """Restore a deleted analysis."""
        self._mark(analysis, None)

    @_alone
    def _mark(self, analysis: str, deleted: str | None) -> None:
        with self._transaction() as db:
            db.execute(
                "UPDATE analysis SET deleted = ? WHERE id = ?", (deleted, analysis)
            )

    def pools(self) -> dict[str, str]:
        """Return the entries of the saved pools, by name."""
        rows = self._read("SELECT name, entries FROM pool")
        return {str(name): str(entries) for name, entries in rows}

    @_alone
    def write_pool(self, name: str, entries: str | None) -> None:
        """Save the entries of a pool under a name; None deletes it."""
        with self._transaction() as db:
            db.execute("DELETE FROM pool WHERE name = ?", (name,))
            if entries is not None:
                db.execute("INSERT INTO pool VALUES (?, ?)", (name, entries))

    def size(self) -> int:
        """Return the bytes on the disk."""
        files = [*plain_files(self.folder, f"{FILE}*"), *plain_files(self.found)]
        return self.contents.size() + sum(status.st_size for _, status in files)

    def clean(self) -> int:
        """Delete marked analyses and unused contents; return the bytes gained.

        Contents stay while a damaged file is set aside, because it may refer to them.
        """
        before, held = self.size(), self._forget_deleted()
        if not self.aside():
            self.contents.clean(held)
        for path, _ in plain_files(self.found):  # computed again if needed
            path.unlink(missing_ok=True)
        self._make_small()
        return max(0, before - self.size())

    @_alone
    def _forget_deleted(self) -> set[str]:
        """Delete marked analyses; return the contents of the others."""
        with self._transaction() as db:
            db.execute("DELETE FROM analysis WHERE deleted IS NOT NULL")
            sql = "SELECT content FROM holds UNION SELECT content FROM measured"
            held = db.execute(sql).fetchall()
        return {content for (content,) in held}

    @_alone
    def _make_small(self) -> None:
        """Return unused space of the file to the disk."""
        try:
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except ERRORS as error:
            raise self._failed(error) from error


def _record_of(intent: Intent) -> dict[str, Any]:
    """Return running work as it is stored, with the view state under its first name."""
    record = asdict(intent)
    return record | {"look": record.pop("view_state")}


def _intent(text: Any) -> Intent:
    """Read a stored record of running work."""
    try:
        record = dict(read_values(text))
        return Intent(view_state=record.pop("look"), **record)
    except (TypeError, ValueError, KeyError) as error:
        raise Lost(f"a note of what is under way is damaged ({error})") from error


def _moment(text: Any) -> str:
    """Return a valid time unchanged, otherwise the present time."""
    try:
        return datetime.fromisoformat(text).isoformat()
    except (TypeError, ValueError):
        return now()


def _end(db: sqlite3.Connection, ids: Collection[str]) -> None:
    db.executemany("DELETE FROM under_way WHERE id = ?", [(i,) for i in ids])
