"""Rows: an analysis in the tables of a store, and back, with detection of damage.

A step has a digest of its content, and the entry of its analysis one of all its steps,
so that only data as written is read. Rows of an earlier version have no digest and are
read without this check.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from clusterlens.compute._plain import read_plain
from clusterlens.ui.server.memory.database import ERRORS, FILE

# Largest number of characters of one step's values.
_LONGEST = 200_000_000
# Upper bound on revisions; the next one still fits SQLite's integers.
_MOST_REVISIONS = 2**62


class Lost(ValueError):
    """Error of an analysis that is missing from the store, or damaged."""


@dataclass(frozen=True)
class Row:
    """One step as plain values.

    Parameters
    ----------
    kind, title, at : str
        Fields of the step; `at` is a time in UTC.
    given : dict
        Values of the action.
    changes : dict
        Fields of the analysis that differ from the step before.
    holds : frozenset of str
        Keys of contents named by the changes and values.
    """

    kind: str
    title: str
    at: str
    given: Mapping[str, Any]
    changes: Mapping[str, Any]
    holds: frozenset[str] = frozenset()


@dataclass(frozen=True)
class CheckRow:
    """One check as plain values.

    Parameters
    ----------
    key : str
        Hash of its inputs.
    record : dict
        Kind and date; progress of a check that was stopped.
    content : str
        Key of the content with its value; empty if it was stopped.
    """

    key: str
    record: Mapping[str, Any]
    content: str


@dataclass(frozen=True)
class Stored:
    """One analysis as it is stored."""

    id: str
    revision: int
    cursor: int
    rows: tuple[Row, ...]
    about: Mapping[str, Any] = field(default_factory=dict)
    view_state: Mapping[str, Any] = field(default_factory=dict)


def listed(db: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Return id, last change and deletion of readable entries, from both ends."""
    found: dict[tuple[Any, ...], None] = {}
    for order in ("ASC", "DESC"):
        sql = f"SELECT id, changed, deleted FROM analysis ORDER BY rowid {order}"
        with suppress(*ERRORS):
            for row in db.execute(sql):
                found[row] = None
    return list(found)


def read_analysis(
    db: sqlite3.Connection, analysis: str, *, deleted: bool = False
) -> Stored:
    """Read an analysis completely and as written; raise Lost if this fails."""
    head = db.execute(
        "SELECT revision, cursor, about, look, digest FROM analysis "
        "WHERE id = ? AND (? OR deleted IS NULL)",
        (analysis, deleted),
    ).fetchone()
    if head is None:
        raise Lost(
            f"there is no analysis {analysis!r} on this machine; it was deleted, or "
            "the link is of another one."
        )
    holds: dict[int, set[str]] = {}
    for position, content in db.execute(
        "SELECT position, content FROM holds WHERE analysis = ?", (analysis,)
    ):
        holds.setdefault(position, set()).add(content)
    found = db.execute(
        "SELECT digest, position, kind, title, at, given, changes FROM step "
        "WHERE analysis = ? ORDER BY position",
        (analysis,),
    ).fetchall()
    what = "its entry"
    try:
        rows = []
        for k, (digest, position, *texts) in enumerate(found):
            what = f"its step {k + 1}"
            held = sorted(holds.get(position, ()))
            _compare(digest, k, *texts, held)
            kind, title, at, *plain = texts
            given, changes = map(read_values, plain)
            rows.append(Row(kind, title, at, given, changes, frozenset(held)))
        what = "its entry"
        revision, cursor, about, view_state, digest = head
        _compare(
            digest, analysis, cursor, about, view_state, *(row[0] for row in found)
        )
        if type(revision) is not int or type(cursor) is not int:
            raise TypeError("its numbers are none")
        if not 0 < revision < _MOST_REVISIONS:
            raise ValueError("no revision has its number")
        if [position for _, position, *_ in found] != [*range(len(found))]:
            raise ValueError("steps are missing")
        return Stored(
            analysis,
            revision,
            cursor,
            (*rows,),
            read_values(about),
            read_values(view_state),
        )
    except (TypeError, ValueError) as error:
        raise Lost(
            f"the analysis {analysis!r} is damaged: {what} cannot be read ({error}). "
            f"No other one is concerned; bring {FILE} back from a copy to have it."
        ) from error


def insert_steps(
    db: sqlite3.Connection, analysis: str, first: int, rows: Sequence[Row]
) -> None:
    """Write steps from a position on, each with its digest."""
    for position, row in enumerate(rows, first):
        texts = (row.kind, row.title, row.at, as_text(row.given), as_text(row.changes))
        held = sorted(row.holds)
        db.execute(
            "INSERT INTO step (analysis, position, kind, title, at, given, changes, "
            "digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (analysis, position, *texts, _digest(position, *texts, held)),
        )
        db.executemany(
            "INSERT INTO holds (analysis, position, content) VALUES (?, ?, ?)",
            [(analysis, position, key) for key in held],
        )


def seal(db: sqlite3.Connection, analysis: str) -> None:
    """Write the digest of an entry and of its steps."""
    sql = "SELECT cursor, about, look FROM analysis WHERE id = ?"
    head = db.execute(sql, (analysis,)).fetchone()
    sql = "SELECT digest FROM step WHERE analysis = ? ORDER BY position"
    steps = (digest for (digest,) in db.execute(sql, (analysis,)))
    db.execute(
        "UPDATE analysis SET digest = ? WHERE id = ?",
        (_digest(analysis, *head, *steps), analysis),
    )


def insert_check(db: sqlite3.Connection, analysis: str, row: CheckRow) -> None:
    """Write a check with its digest, replacing one under the same key."""
    cells = (row.key, as_text(row.record), row.content)
    db.execute(
        "INSERT OR REPLACE INTO measured (analysis, key, record, content, digest) "
        "VALUES (?, ?, ?, ?, ?)",
        (analysis, *cells, _digest(*cells)),
    )


def readable_checks(
    db: sqlite3.Connection, analysis: str
) -> tuple[list[CheckRow], int]:
    """Read the checks of an analysis; return the number of damaged ones, too."""
    found = db.execute(
        "SELECT digest, key, record, content FROM measured WHERE analysis = ? "
        "ORDER BY rowid",
        (analysis,),
    ).fetchall()
    rows = []
    for digest, key, record, content in found:
        with suppress(TypeError, ValueError):
            _compare(digest or " ", key, record, content)
            rows.append(CheckRow(key, read_values(record), content))
    return rows, len(found) - len(rows)


def _digest(*cells: Any) -> str:
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()


def _compare(digest: str, *cells: Any) -> None:
    """Refuse cells that do not match their digest; earlier versions wrote none."""
    if digest and digest != _digest(*cells):
        raise ValueError("it is not as it was written")


def read_values(text: Any) -> dict[str, Any]:
    """Read values by name; raise TypeError or ValueError for other text."""
    values = read_plain(text, _LONGEST, _LONGEST)
    if not isinstance(values, dict):
        raise TypeError("values without names")
    return values


def as_text(values: Any) -> str:
    """Write values as JSON."""
    return json.dumps(values)


def plain_or_none(text: Any) -> Any:
    """Return the values of a text, None if it holds none."""
    try:
        return read_plain(text, _LONGEST, _LONGEST)
    except (ValueError, TypeError):
        return None
