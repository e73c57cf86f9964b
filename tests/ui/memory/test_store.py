"""Tests of the log: other versions, other writers and damage."""

import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from clusterlens.ui.composition import new_session
from clusterlens.ui.jobs import shared_results
from clusterlens.ui.server.memory import database as module
from clusterlens.ui.server.memory.database import StoreError
from clusterlens.ui.server.memory.store import FILE, Conflict, Row, Store, Stored
from clusterlens.ui.server.server import Server
from tests.folders import ROOT
from tests.ui.loop import run

# The file of the first version, as SQL; it never changes.
FIRST_VERSION = """
PRAGMA application_id = 1129082483;
PRAGMA user_version = 1;
CREATE TABLE analysis (id TEXT PRIMARY KEY, revision INTEGER NOT NULL, cursor INTEGER
  NOT NULL, made TEXT NOT NULL, changed TEXT NOT NULL, deleted TEXT, about TEXT NOT
  NULL, look TEXT NOT NULL);
CREATE TABLE step (analysis TEXT NOT NULL REFERENCES analysis(id) ON DELETE CASCADE,
  position INTEGER NOT NULL, kind TEXT NOT NULL, title TEXT NOT NULL, at TEXT NOT NULL,
  given TEXT NOT NULL, changes TEXT NOT NULL, PRIMARY KEY (analysis, position));
CREATE TABLE holds (analysis TEXT NOT NULL, position INTEGER NOT NULL, content TEXT NOT
  NULL, PRIMARY KEY (analysis, position, content), FOREIGN KEY (analysis, position)
  REFERENCES step(analysis, position) ON DELETE CASCADE);
INSERT INTO analysis VALUES ('a1', 3, 1, '2026-01-02T03:04:05+00:00',
  '2026-01-02T03:04:06+00:00', NULL, '{"table": "t"}', '{"page": "pool"}');
INSERT INTO step VALUES ('a1', 0, 'start', 'Start', '2026-01-02T03:04:05+00:00', '{}',
  '{"score": "discotec-binary"}');
INSERT INTO step VALUES ('a1', 1, 'set score', 'Set the score',
  '2026-01-02T03:04:06+00:00', '{"score": "aari"}', '{"score": "aari"}');
"""


def row(title: str, *holds: str) -> Row:
    return Row("test", title, "2026-01-01", {"x": title}, {"y": 1}, frozenset(holds))


def new(store: Store, *titles: str) -> Stored:
    stored = Stored("a", 0, 0, ())
    store.write(stored, 0, [row(title) for title in titles])
    return store.read("a")


def test_what_was_written_is_read_by_another_process_of_the_same_folder(tmp_path):
    new(Store(tmp_path), "one", "two")
    found = Store(tmp_path).read("a")
    assert [r.title for r in found.rows] == ["one", "two"]
    assert (found.revision, found.cursor) == (1, 0)


def test_what_comes_when_the_process_ends_is_written(tmp_path):
    code = f"""
import atexit
from pathlib import Path
from tests.ui.memory.test_store import Store, new

store = Store(Path({str(tmp_path)!r}))
atexit.register(store.close)
atexit.register(new, store, "one", "two")
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [r.title for r in Store(tmp_path).read("a").rows] == ["one", "two"]


def test_the_first_version_is_read_for_ever(tmp_path):
    with sqlite3.connect(tmp_path / FILE) as db:
        db.executescript(FIRST_VERSION)
    db.close()
    found = Store(tmp_path).read("a1")
    assert [r.kind for r in found.rows] == ["start", "set score"]
    assert (found.revision, found.cursor, found.view_state) == (3, 1, {"page": "pool"})


def test_a_migration_takes_old_analyses_along(tmp_path, monkeypatch):
    new(Store(tmp_path), "one")
    added = "ALTER TABLE analysis ADD COLUMN colour TEXT NOT NULL DEFAULT 'red'"
    monkeypatch.setattr(module, "MIGRATIONS", (*module.MIGRATIONS, added))
    store = Store(tmp_path)
    assert store.read("a").rows[0].title == "one"
    assert store._read("SELECT colour FROM analysis") == [("red",)]
    assert store._read("PRAGMA user_version") == [(len(module.MIGRATIONS),)]


def test_a_migration_that_fails_changes_nothing(tmp_path, monkeypatch):
    new(Store(tmp_path), "one")
    broken = "ALTER TABLE analysis ADD COLUMN colour TEXT; NO SUCH STATEMENT"
    with monkeypatch.context() as patch:
        patch.setattr(module, "MIGRATIONS", (*module.MIGRATIONS, broken))
        with pytest.raises(StoreError):
            Store(tmp_path)
    assert Store(tmp_path).read("a").rows[0].title == "one"


def test_several_servers_may_start_at_the_same_time(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(lambda _: Store(tmp_path), range(8)))
    new(stores[0], "one")
    assert all(store.read("a").rows for store in stores)


def test_a_newer_file_is_refused_and_left_alone(tmp_path):
    store = Store(tmp_path)
    store._db.execute(f"PRAGMA user_version = {len(module.MIGRATIONS) + 1}")
    store.close()
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(StoreError, match="newer version"):
        Store(tmp_path)
    assert (tmp_path / FILE).read_bytes() == before


def test_the_file_of_another_program_is_refused_and_left_alone(tmp_path):
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("CREATE TABLE recipes (name TEXT)")
    db.close()
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(StoreError, match="another program"):
        Store(tmp_path)
    assert (tmp_path / FILE).read_bytes() == before


def test_of_two_writers_on_one_analysis_the_later_one_is_refused(tmp_path):
    one, other = Store(tmp_path), Store(tmp_path)
    seen = new(one, "start")
    one.write(seen, 1, [row("mine")])
    with pytest.raises(Conflict):
        other.write(seen, 1, [row("yours")])
    assert [r.title for r in other.read("a").rows] == ["start", "mine"]


def test_writers_of_several_servers_lose_nothing(tmp_path):
    stores = [Store(tmp_path) for _ in range(4)]
    seen = new(stores[0], "start")

    def work(number: int) -> int:
        refused = 0
        for k in range(25):
            while True:
                found = stores[number].read("a")
                try:
                    step = row(f"{number}.{k}")
                    stores[number].write(found, len(found.rows), [step])
                    break
                except Conflict:
                    refused += 1
        return refused

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    found = stores[0].read("a")
    assert len(found.rows) == 101
    assert found.revision == seen.revision + 100
    assert {r.title for r in found.rows[1:]} == {
        f"{i}.{k}" for i in range(4) for k in range(25)
    }


def test_a_deleted_analysis_comes_back_until_it_is_cleaned_away(tmp_path):
    store = Store(tmp_path)
    new(store, "one")
    store.delete("a")
    assert store.entries() == []
    assert [entry.deleted for entry in store.entries(deleted=True)] == [True]
    with pytest.raises(ValueError, match="no analysis"):
        store.read("a")
    store.restore("a")
    assert store.read("a").rows[0].title == "one"
    store.delete("a")
    store.clean()
    assert store.entries(deleted=True) == []


def test_a_copy_goes_its_own_way(tmp_path):
    store = Store(tmp_path)
    new(store, "one", "two")
    copy = store.duplicate("a", "copy")
    found = store.read(copy)
    assert [r.title for r in found.rows] == ["one", "two"]
    store.write(found, 1, [row("else")])
    assert [r.title for r in store.read("a").rows] == ["one", "two"]
    assert store.read(copy).about["title"] == "copy"


def test_cleaning_keeps_what_a_step_holds(tmp_path):
    store = Store(tmp_path)
    held, free = store.contents.put(b"held"), store.contents.put(b"free")
    store.write(Stored("a", 0, 0, ()), 0, [row("one", held)])
    for key in (held, free):
        os.utime(store.contents.path(key), (0, 0))
    store.clean()
    assert held in store.contents
    assert free not in store.contents


HOSTILE = ["'; DROP TABLE analysis; --", "<script>alert(1)</script>", "\x00", "\ud800"]


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_is_kept_as_it_is(tmp_path, text):
    store = Store(tmp_path)
    store.write(Stored("a", 0, 0, (), {"table": text}), 0, [row("one")])
    store.rename("a", text)
    entry = store.entries()[0]
    assert (entry.about["table"], entry.about["title"]) == (text, text)


@pytest.mark.skipif(os.name != "posix", reason="umasks are of POSIX")
def test_all_that_is_kept_is_for_its_owner_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(shared_results, "_LONG_SECONDS", -1)
    old = os.umask(0)
    try:
        home = tmp_path / "home"
        home.mkdir()
        server = Server(Store(home))

        async def main():
            session = new_session(server)
            assert await session.act("load example", name="iris")
            assert await session.memory.settled()

        run(main())
        server.results.arrays("a" * 64, lambda: {"a": np.zeros(3)}, lambda: False)
        modes = {path: path.stat().st_mode & 0o777 for path in home.rglob("*")}
        server.close()
    finally:
        os.umask(old)
    assert home.stat().st_mode & 0o777 == 0o700
    assert len(modes) > 6
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}
