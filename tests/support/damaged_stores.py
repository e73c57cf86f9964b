"""Stores damaged in every way, and the behaviour of a server with them.

Each mutant is a store of three analyses with one kind of damage: bytes or pages of its
files, values in its cells, its schema, its log after a kill, the files beside it. A new
server opens it, lists its analyses, opens and continues every analysis; then another
server opens the result. `python -m benchmarks.hostile store` does so with many of them.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import secrets
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterlens.ui.composition import new_session
from clusterlens.ui.pages.data import recent
from clusterlens.ui.server.memory.database import StoreError
from clusterlens.ui.server.memory.pools import OwnPools
from clusterlens.ui.server.memory.store import FILE, Intent, Store
from clusterlens.ui.server.server import Server
from tests.support.digest import digest

POOL = [{"clusterer": "k-means", "n_clusters": [2, 3]}]
PAGE = 4096
Damage = Callable[[Path, random.Random], None]


@dataclass(frozen=True)
class Base:
    """A sound store, as it was closed and as a kill leaves it; digests by analysis."""

    closed: Path
    killed: Path
    digests: dict[str, list[str]]


async def make_base(folder: Path) -> Base:
    """Keep three analyses, a pool, and a run that was interrupted."""
    store, digests = Store(folder / "closed"), {}
    for table in ("iris", "wine", "rings"):
        session, known = new_session(Server(store)), []
        for kind, values in (
            ("load example", {"name": table}),
            ("run pool", {"pool": POOL}),
            ("add link", {"kind": "must", "a": 0, "b": 1}),
            ("set score", {"score": "aari"}),
            ("set link weight", {"weight": 0.5}),
        ):
            assert await session.act(kind, **values), session.jobs.notices
            known.append(digest(session))
        digests[str(session.memory.analysis)] = known
        session.close()
    first = next(iter(digests))
    store.rename(first, "Žluťoučký kůň")
    store.write_pool("mine", json.dumps(POOL))
    store.note(first, [Intent("i1", "run pool", "Run the pool", {"pool": POOL})])
    store.found.mkdir()
    shutil.copytree(store.folder, folder / "killed")
    store.close()
    return Base(store.folder, folder / "killed", digests)


def _flip(path: Path, rng: random.Random, times: int, end: int | None = None) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(times):
        data[rng.randrange(min(len(data), end or len(data)))] = rng.randrange(256)
    path.write_bytes(data)


def _put(path: Path, rng: random.Random, size: int, content: bytes) -> None:
    """Write something over a piece of a file that begins at a multiple of its size."""
    data = path.read_bytes()
    at = size * rng.randrange(max(1, len(data) // size))
    path.write_bytes(data[:at] + content + data[at + size :])


def _swap_pages(path: Path, rng: random.Random) -> None:
    data = path.read_bytes()
    pages = [data[at : at + PAGE] for at in range(0, len(data), PAGE)]
    one, other = rng.sample(range(len(pages)), 2)
    pages[one], pages[other] = pages[other], pages[one]
    path.write_bytes(b"".join(pages))


def _truncate(path: Path, rng: random.Random) -> None:
    os.truncate(path, rng.randrange(path.stat().st_size))


def _of_file(damage: Callable[..., None], *given: Any) -> Damage:
    return lambda folder, rng: damage(folder / FILE, rng, *given)


def _sql(folder: Path, *statements: str) -> None:
    db = sqlite3.connect(folder / FILE, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


COLUMNS = {
    "analysis": ("id", "revision", "cursor", "changed", "about", "look", "digest"),
    "step": ("analysis", "position", "kind", "title", "at", "given", "changes"),
    "holds": ("analysis", "position", "content"),
    "pool": ("name", "entries"),
    "under_way": ("id", "analysis", "process", "intent"),
}
CELLS = (
    *("7", "-1", "0.5", "9223372036854775807", "''", "'x'", "x'00ff'", "zeroblob(99)"),
    *("'[]'", "'null'", "'{}'", "'{\"a\": 1}'", '\'{"rows": "many"}\'', "'{'"),
    *("char(0)", "'<img src=x onerror=alert(1)>'", "'' || hex(zeroblob(5000))"),
    "replace(hex(zeroblob(5000)), '0', '[')",
    "CAST(x'fffe41' AS TEXT)",
    "CAST(x'eda080' AS TEXT)",
)


def _place(rng: random.Random) -> tuple[str, str, str]:
    """Choose a table, a column, and the row of one of its cells."""
    table = rng.choice([*COLUMNS, "step", "analysis"])
    sql = (
        f"(SELECT rowid FROM {table} ORDER BY rowid LIMIT 1 OFFSET {rng.randrange(3)})"
    )
    return table, rng.choice(COLUMNS[table]), sql


def _cell(folder: Path, rng: random.Random) -> None:
    table, column, row = _place(rng)
    cell = rng.choice([*CELLS, f"substr({column}, 3)", f"upper({column})"])
    _sql(folder, f"UPDATE OR IGNORE {table} SET {column} = {cell} WHERE rowid = {row}")


def _no_text(folder: Path, rng: random.Random) -> None:
    table, column, row = _place(rng)
    cell = f"CAST(CAST({column} AS BLOB) || x'80ff' AS TEXT)"
    _sql(folder, f"UPDATE OR IGNORE {table} SET {column} = {cell} WHERE rowid = {row}")


def _swap_rows(folder: Path, rng: random.Random) -> None:
    db = sqlite3.connect(folder / FILE, isolation_level=None)
    columns = "kind, title, at, given, changes, digest"
    sql = f"SELECT rowid, {columns} FROM step"
    one, other = rng.sample(db.execute(sql).fetchall(), 2)
    names = [f"{name} = ?" for name in columns.split(", ")]
    for row, values in ((one[0], other[1:]), (other[0], one[1:])):
        sql = f"UPDATE step SET {', '.join(names)} WHERE rowid = ?"
        db.execute(sql, (*values, row))
    db.close()


def _remove_row(folder: Path, rng: random.Random) -> None:
    table, _, row = _place(rng)
    _sql(folder, f"DELETE FROM {table} WHERE rowid = {row}")


def _schema(folder: Path, rng: random.Random) -> None:
    table, column, _ = _place(rng)
    _sql(
        folder,
        rng.choice(
            [
                f"DROP TABLE {table}",
                f"ALTER TABLE {table} RENAME TO other",
                f"ALTER TABLE {table} RENAME COLUMN {column} TO other",
                f"ALTER TABLE {table} ADD COLUMN other TEXT DEFAULT ''",
                "CREATE TRIGGER t AFTER INSERT ON step BEGIN DELETE FROM step; END",
                f"CREATE VIEW v AS SELECT * FROM {table}",
                f"PRAGMA user_version = {rng.randrange(-1, 9)}",
                f"PRAGMA application_id = {rng.randrange(9)}",
            ]
        ),
    )


def _beside(folder: Path, rng: random.Random) -> None:
    """Damage a file beside the database, or put another one there."""
    path = rng.choice(sorted((folder / "contents").iterdir()))
    match rng.randrange(9):
        case 0:
            _flip(path, rng, 1)
        case 1:
            _truncate(path, rng)
        case 2:
            path.unlink()
        case 3:
            path.unlink()
            path.mkdir()
        case 4:
            (path.parent / f"{secrets.token_hex(8)}.part").write_bytes(b"half")
        case 5:
            (path.parent / "notes.txt").write_text("of somebody")
        case 6:
            (folder / "found" / path.name).write_bytes(path.read_bytes()[:500])
        case 7:
            (folder / "present").mkdir(exist_ok=True)
            (folder / "present" / "x").write_bytes(rng.randbytes(500))
        case 8:
            (folder / FILE).unlink()


# Each kind of damage: its function, and whether it acts on a store left by a kill.
DAMAGE: dict[str, tuple[Damage, bool]] = {
    "one byte": (_of_file(_flip, 1), False),
    "twenty bytes": (_of_file(_flip, 20), False),
    "a byte of the head": (_of_file(_flip, 1, 100), False),
    "truncated": (_of_file(_truncate), False),
    "a page of zeros": (_of_file(_put, PAGE, bytes(PAGE)), False),
    "a sector of noise": (_of_file(_put, 512, random.Random(0).randbytes(512)), False),
    "pages swapped": (_of_file(_swap_pages), False),
    "a cell of another kind": (_cell, False),
    "a text of no UTF-8": (_no_text, False),
    "rows swapped": (_swap_rows, False),
    "a row removed": (_remove_row, False),
    "the schema": (_schema, False),
    "the files beside it": (_beside, False),
    "its log after a kill": (
        lambda folder, rng: rng.choice((_truncate, lambda p, r: _flip(p, r, 3)))(
            folder / f"{FILE}-wal", rng
        ),
        True,
    ),
}


def mutate(base: Base, kind: str, folder: Path, rng: random.Random) -> None:
    """Put a damaged copy of a store into a folder."""
    damage, is_killed = DAMAGE[kind]
    shutil.copytree(base.killed if is_killed else base.closed, folder)
    damage(folder, rng)


class _Errors(logging.Handler):
    """Records of errors that a server would write into its log."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


async def judge(folder: Path, digests: dict[str, list[str]]) -> tuple[str, str]:
    """Work on a damaged store as a server does; return the outcome and its reason.

    "opened": every analysis is as it was written. "refused": changes were reported in
    words, and the rest is as it was. "changed": an analysis differs or is gone without
    a message. Unexpected errors are raised.
    """
    errors = _Errors()
    logging.getLogger().addHandler(errors)
    try:
        outcome = await _judge(folder, digests)
    finally:
        logging.getLogger().removeHandler(errors)
    assert not errors.messages, errors.messages[0]
    return outcome


async def _judge(folder: Path, digests: dict[str, list[str]]) -> tuple[str, str]:
    before = {path.name for path in folder.glob(f"{FILE}*")}
    try:
        store = Store(folder)
    except (StoreError, OSError) as error:
        assert before <= {path.name for path in folder.glob(f"{FILE}*")}, "removed"
        return "refused", str(error)
    assert store.aside() or "as it was" not in store.repair_report, (
        "the damaged store is gone"
    )
    assert not [*folder.rglob("*.part")], "a draft of nobody is left"
    messages, listed, changed = (
        [store.repair_report] if store.repair_report else [],
        set(),
        [],
    )
    for entry in store.entries(deleted=True):
        recent._row(entry, False)
        listed.add(entry.id)
    for analysis, known in digests.items():
        session = new_session(Server(store))
        is_there = await session.open(analysis)
        notices = " ".join(notice.text for notice in session.jobs.notices)
        assert "failed unexpectedly" not in notices, notices
        if is_there and digest(session) != known[-1]:
            changed.append(f"{analysis} is another one")
        elif is_there:
            messages += [notices] if notices else []
            assert await session.act("set link weight", weight=0.25), notices
            assert session.memory.state == "saved", session.memory.problem
            store.rename(analysis, "again")
            copy = store.duplicate(analysis, "copy")
            assert await new_session(Server(store)).open(copy)
        elif analysis in listed or store.repair_report:
            messages.append(notices)
        else:
            changed.append(f"{analysis} is gone")
        session.close()
    messages += _unreadable(OwnPools(store))
    number = len(store.entries())
    with suppress(StoreError):  # in words
        store.clean()
    store.close()
    again = Store(folder)
    assert len(again.entries()) == number, "another server finds other analyses"
    again.close()
    if changed:
        return "changed", changed[0]
    return ("refused", messages[0]) if messages else ("opened", "")


def _unreadable(pools: OwnPools) -> list[str]:
    """Return the messages about pools that cannot be read."""
    messages = []
    for name in pools.names():
        try:
            pools.read(name)
        except ValueError as error:
            messages.append(str(error))
    return messages


def attack_stores(folder: Path) -> Callable[[random.Random], tuple[str, str, str]]:
    """Strike with damaged stores."""
    base = asyncio.run(make_base(folder / secrets.token_hex(4)))

    def strike(rng: random.Random) -> tuple[str, str, str]:
        kind, mutant = rng.choice([*DAMAGE]), folder / secrets.token_hex(4)
        mutate(base, kind, mutant, rng)
        try:
            return kind, *asyncio.run(judge(mutant, base.digests))
        finally:
            shutil.rmtree(mutant)

    return strike
