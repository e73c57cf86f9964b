"""Store: the log of every analysis, in one SQLite file, and the contents beside it.

    <home>/clusterlens.sqlite    analyses and their steps, pools of one's own (WAL)
    <home>/contents/<sha256>     tables, results and uploaded files
    <home>/found/<sha256>        what follows from results, and took long
    <home>/present/<id>          held by a process that has the store open

A write is one transaction on top of the revision that its writer has seen; where
somebody else wrote meanwhile it is refused and nothing is changed. So any number of
servers on one machine may share a store. WAL does not work on network file systems.
What is damaged is never removed: a file that cannot be read is set aside, and what can
be read of it taken over; a row that is not as it was written is told where it is read.
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

from clusterlens.compute._numbers import count
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
from clusterlens.ui.work.private_files import make_folder, plain_files


class Conflict(Exception):
    """Somebody else wrote to the analysis since it was read."""


@dataclass(frozen=True)
class Entry:
    """One analysis in a list: what it is about, when it changed, whether deleted.

    `about` is what could be read of it, and may be anything where it is damaged.
    """

    id: str
    about: Any
    changed: str
    deleted: bool


@dataclass(frozen=True)
class Intent:
    """Work under way on an analysis, with all that it takes to do it again.

    Parameters
    ----------
    id : str
        Like no other.
    kind : str
        Of the action; empty for a result that was asked for.
    title : str
        What is being done, for the screen.
    given : dict
        Values of the action, or the name of the result.
    look : dict
        What is looked at once it is done.
    stage : str
        What it is at, where that is not what the title says.
    done, total : int
        How far it is.
    """

    id: str
    kind: str
    title: str
    given: Mapping[str, Any] = field(default_factory=dict)
    look: Mapping[str, Any] = field(default_factory=dict)
    stage: str = ""
    done: int = 0
    total: int = 0


def home() -> Path:
    """Where analyses are kept: CLUSTERLENS_HOME, else the place of the platform."""
    chosen = os.environ.get(HOME)
    if chosen:
        return Path(chosen).expanduser()
    return Path(platformdirs.user_data_dir("clusterlens", appauthor=False))


def new_id() -> str:
    """Make an id that nobody guesses."""
    return secrets.token_hex(8)


_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


def _alone(
    does: Callable[Concatenate[Store, _Given], _Found],
) -> Callable[Concatenate[Store, _Given], _Found]:
    """Do what a method does on the thread of its store, and wait for it.

    When the process ends, that thread does what it was asked for, and takes no more:
    what comes then is done here, one after the other.
    """

    @wraps(does)
    def call(self: Store, *given: _Given.args, **more: _Given.kwargs) -> _Found:
        if threading.current_thread() is self._thread:
            return does(self, *given, **more)
        try:
            under_way = self._turns.submit(does, self, *given, **more)
        except RuntimeError:
            with self._last_turn:
                self._turns.shutdown()
                return does(self, *given, **more)
        return under_way.result()

    return call


class Store:
    """The analyses of a folder; safe to use from several threads and processes.

    The database has a thread of its own, which takes one call after the other, so that
    there is no lock that anybody could hold. Who calls waits: an event loop never does.

    Parameters
    ----------
    folder : Path
        Made if it is not there.

    Raises
    ------
    StoreError
        If the file was made by a newer version, is none of ours, or is damaged while
        another process has it open.
    OSError
        If the folder cannot be written.

    Attributes
    ----------
    told : str
        What became of a store that was damaged or lost; empty if nothing was wrong.
    """

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        self.folder, self.file = folder, folder / FILE
        self.found, self._present = folder / "found", folder / "present"
        self._turns = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._thread = self._turns.submit(threading.current_thread).result()
        self._last_turn = threading.RLock()
        self.told = ""
        self._left: set[str] = set()
        try:
            self._open()
        except BaseException as error:
            self._turns.shutdown()
            if isinstance(error, ERRORS):
                raise StoreError(f"{folder} cannot be used ({error}).") from error
            raise
        for place in (self.contents.folder, self.found):
            remove_drafts(place, lambda writer: is_there(self._present, writer))

    @property
    def name(self) -> str:
        """Of this process where it has the store open, like no other."""
        return self._presence.name

    @_alone
    def _open(self) -> None:
        """Open the database, or begin a new one where it is damaged."""
        with one_by_one(self.folder / "opening"):
            self._presence = Presence(self._present, new_id())
            self.contents = Contents(self.folder / "contents", self.name)
            try:
                self._db, is_new = open_database(self.file)
            except Damaged as error:
                self._begin_anew(error)
            else:
                self._tell_lost(is_new)

    def _begin_anew(self, why: Damaged) -> None:
        """Set a damaged file aside, and take over what can be read of it."""
        if self._presence.others():
            raise StoreError(
                f"{why} Another ClusterLens has it open: stop all of them and start "
                "one, which will set it aside and take over what can be read."
            )
        aside = set_aside(self.file)
        self._db, _ = open_database(self.file)
        n_taken, n_lost = self._take_over(aside)
        self.told = (
            f"{why} It lies in {aside} as it was; "
            f"{count(n_taken, 'analysis', 'analyses')} could be taken over from it, "
            f"{n_lost or 'none'} could be seen and not be read. What you do is kept in "
            "a new store. To have the rest, bring the file back from a copy."
        )

    def _take_over(self, aside: Path) -> tuple[int, int]:
        """Copy what is whole in a damaged file; return how much, and what was not."""
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
                with self._turn() as db:
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
            self.told = (
                f"{self.file} was not there or empty, though {self.contents.folder} "
                "holds what belongs to analyses. Stop ClusterLens and bring the file "
                "back from a copy to have them; “Clean up” would remove what is left."
            )

    def aside(self) -> list[Path]:
        """Damaged files that lie beside the one in use."""
        return lying_aside(self.file)

    def close(self) -> None:
        """Let go of the file, once what was asked for is done."""
        self._let_go()
        self._turns.shutdown()

    @_alone
    def _let_go(self) -> None:
        self._db.close()
        self._presence.close()

    @contextmanager
    def _turn(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """Do several statements or none of them, on the thread of the store."""
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
        with self._turn("BEGIN") as db:
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
        ended : collection of str
            Ids of what is under way no more, as the rows hold what came of it.

        Raises
        ------
        Conflict
            If the revision is another one by now.
        """
        with self._turn() as db:
            values = (stored.cursor, now(), as_text(stored.about), as_text(stored.look))
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
    def write_look(self, analysis: str, look: Mapping[str, Any]) -> None:
        """Write what is looked at; it is no change of the analysis."""
        with self._turn() as db:
            sql = "UPDATE analysis SET look = ? WHERE id = ?"
            if db.execute(sql, (as_text(look), analysis)).rowcount:
                seal(db, analysis)

    @_alone
    def write_checks(self, analysis: str, rows: Iterable[CheckRow]) -> None:
        """Keep checks with an analysis, in place of those under the same keys."""
        with self._turn() as db:
            sql = "SELECT 1 FROM analysis WHERE id = ?"
            if db.execute(sql, (analysis,)).fetchone():
                for row in rows:
                    insert_check(db, analysis, row)

    @_alone
    def checks(self, analysis: str) -> tuple[list[CheckRow], int]:
        """Return the checks of an analysis, and how many are damaged."""
        with self._turn("BEGIN") as db:
            return readable_checks(db, analysis)

    @_alone
    def note(
        self, analysis: str, intents: Sequence[Intent], ended: Collection[str] = ()
    ) -> None:
        """Note what this process has under way on an analysis, and what ended."""
        with self._turn() as db:
            for intent in intents:
                values = (intent.id, self.name, as_text(asdict(intent)))
                db.execute(
                    "INSERT INTO under_way (id, analysis, process, intent) "
                    "SELECT ?1, id, ?2, ?3 FROM analysis WHERE id = ?4 "
                    "ON CONFLICT (id) DO UPDATE SET process = ?2, intent = ?3",
                    (*values, analysis),
                )
            _end(db, ended)

    def under_way(self, analysis: str) -> tuple[list[Intent], list[Intent]]:
        """Return what is under way on an analysis, and what was interrupted.

        Interrupted is what was left, and what a process had under way that ended.
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
        """Let what is under way be interrupted, though this process goes on.

        Where it cannot be written, this process knows it all the same.
        """
        self._left.update(ids)
        with self._turn() as db:
            db.executemany(
                "UPDATE under_way SET process = '' WHERE id = ?", [(i,) for i in ids]
            )
        self._left.difference_update(ids)

    def _goes_on(self, intent: str, process: str) -> bool:
        return intent not in self._left and is_there(self._present, process)

    @_alone
    def take(self, intent: str) -> bool:
        """Put what was interrupted under way here; False where another did before."""
        with self._turn() as db:
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
        """Return an analysis; Lost if there is none of this id, or it is damaged."""
        with self._turn("BEGIN") as db:
            return read_analysis(db, analysis)

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
            Entry(i, plain_or_none(about), at, bool(gone))
            for i, about, at, gone in rows
        ]

    @_alone
    def rename(self, analysis: str, name: str) -> None:
        """Give an analysis a name of its own."""
        with self._turn() as db:
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
        """Take an analysis off the list; `restore` brings it back until cleaning."""
        self._mark(analysis, now())

    def restore(self, analysis: str) -> None:
        """Bring a deleted analysis back."""
        self._mark(analysis, None)

    @_alone
    def _mark(self, analysis: str, deleted: str | None) -> None:
        with self._turn() as db:
            db.execute(
                "UPDATE analysis SET deleted = ? WHERE id = ?", (deleted, analysis)
            )

    def pools(self) -> dict[str, str]:
        """Entries of the pools that were given a name, by name."""
        rows = self._read("SELECT name, entries FROM pool")
        return {str(name): str(entries) for name, entries in rows}

    @_alone
    def write_pool(self, name: str, entries: str | None) -> None:
        """Keep the entries of a pool under a name; None forgets it."""
        with self._turn() as db:
            db.execute("DELETE FROM pool WHERE name = ?", (name,))
            if entries is not None:
                db.execute("INSERT INTO pool VALUES (?, ?)", (name, entries))

    def size(self) -> int:
        """Bytes on the disk."""
        files = [*plain_files(self.folder, f"{FILE}*"), *plain_files(self.found)]
        return self.contents.size() + sum(status.st_size for _, status in files)

    def clean(self) -> int:
        """Forget deleted analyses and what no analysis holds; return bytes gained.

        Contents stay as long as a damaged file lies there, which may hold them.
        """
        before, held = self.size(), self._forget_deleted()
        if not self.aside():
            self.contents.clean(held)
        for path, _ in plain_files(self.found):  # found again where it is missed
            path.unlink(missing_ok=True)
        self._make_small()
        return max(0, before - self.size())

    @_alone
    def _forget_deleted(self) -> set[str]:
        """Forget deleted analyses; return the contents that the others hold."""
        with self._turn() as db:
            db.execute("DELETE FROM analysis WHERE deleted IS NOT NULL")
            sql = "SELECT content FROM holds UNION SELECT content FROM measured"
            held = db.execute(sql).fetchall()
        return {content for (content,) in held}

    @_alone
    def _make_small(self) -> None:
        """Give what the file does not use any more back to the disk."""
        try:
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except ERRORS as error:
            raise self._failed(error) from error


def _intent(text: Any) -> Intent:
    try:
        return Intent(**read_values(text))
    except TypeError as error:
        raise Lost(f"a note of what is under way is damaged ({error})") from error


def _moment(text: Any) -> str:
    """Return a time as it is, the present one where it is none."""
    try:
        return datetime.fromisoformat(text).isoformat()
    except (TypeError, ValueError):
        return now()


def _end(db: sqlite3.Connection, ids: Collection[str]) -> None:
    db.executemany("DELETE FROM under_way WHERE id = ?", [(i,) for i in ids])
