"""Tests of damaged stores: reported, intact parts kept, and nothing removed."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tracemalloc

import pytest

from clusterlens.ui.composition import new_session
from clusterlens.ui.jobs.shared_results import Results
from clusterlens.ui.pages.data.recent import Recent
from clusterlens.ui.server.memory import store as module
from clusterlens.ui.server.memory.database import StoreError
from clusterlens.ui.server.memory.presence import Presence, is_there
from clusterlens.ui.server.memory.rows import Lost
from clusterlens.ui.server.memory.store import FILE, Intent, Row, Store, Stored
from clusterlens.ui.server.server import Server
from tests.support.damaged_stores import DAMAGE, Base, judge, make_base, mutate
from tests.ui.loop import run

MUTANTS = 4  # of each kind


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Base:
    return run(make_base(tmp_path_factory.mktemp("base")))


@pytest.fixture
def folder(base, tmp_path):
    """An intact store that no process has open."""
    return shutil.copytree(base.closed, tmp_path / "store")


@pytest.mark.parametrize("kind", DAMAGE)
def test_what_is_damaged_is_refused_in_words_or_sound(base, tmp_path, kind):
    for seed in range(MUTANTS):
        folder = tmp_path / str(seed)
        mutate(base, kind, folder, random.Random(f"{kind} {seed}"))
        outcome, why = run(judge(folder, base.digests))
        assert outcome in ("refused", "opened"), (seed, outcome, why)


def test_a_sound_store_is_as_it_was(base, folder):
    assert run(judge(folder, base.digests)) == ("opened", "")


def test_a_file_that_cannot_be_read_is_set_aside_and_the_page_goes_on(base, folder):
    data = b"no database at all" * 100
    (folder / FILE).write_bytes(data)
    store = Store(folder)
    (aside,) = store.aside()
    assert aside.read_bytes() == data
    assert str(aside) in store.repair_report
    assert store.entries() == []

    async def main():
        session = new_session(Server(store))
        assert await session.act("load example", name="iris")
        return session.memory.state

    assert run(main()) == "saved"


def test_what_can_be_read_of_a_damaged_file_is_taken_over(base, folder):
    first, second, third = base.digests
    store = Store(folder)
    store.delete(second)
    changed = {entry.id: entry.changed for entry in store.entries(deleted=True)}
    store.close()
    with sqlite3.connect(folder / FILE) as db:
        db.execute("UPDATE step SET given = '{}x' WHERE analysis = ?", (third,))
        db.execute("DROP TABLE under_way")
    db.close()
    store = Store(folder)
    assert "Copied to a new store: 2 analyses; not readable: 1." in store.repair_report
    found = {e.id: (e.deleted, e.changed) for e in store.entries(deleted=True)}
    assert found == {
        first: (False, changed[first]),
        second: (True, changed[second]),
    }
    assert "mine" in store.pools()
    store.close()
    assert Store(folder).repair_report == ""


def test_a_file_whose_head_says_that_it_is_only_read_is_set_aside(base, folder):
    with (folder / FILE).open("r+b") as file:
        file.seek(18)  # "file format write version" of SQLite
        file.write(b"\x83")
    store = Store(folder)
    assert (
        "Copied to a new store: 3 analyses; not readable: none." in store.repair_report
    )

    async def main():
        session = new_session(Server(store))
        assert await session.open(next(iter(base.digests)))
        assert await session.act("set link weight", weight=0.25)
        return session.memory.state

    assert run(main()) == "saved"


@pytest.mark.parametrize("process", [b"\xff", 3, "../clusterlens.sqlite", "a\0b", "."])
def test_a_damaged_name_of_who_works_is_nobody_s(base, folder, process):
    store = Store(folder)
    analysis = next(iter(base.digests))
    store.note(analysis, [Intent("1", "run pool", "Run a pool")])
    store.close()
    with sqlite3.connect(folder / FILE) as db:
        db.execute("UPDATE under_way SET process = ?", (process,))
    db.close()
    store = Store(folder)
    going_on, interrupted = store.under_way(analysis)
    assert not going_on
    assert "1" in [intent.id for intent in interrupted]
    assert store.take("1")


@pytest.mark.parametrize("revision", [0, -1, 2**63 - 1])
def test_an_analysis_of_an_impossible_revision_is_lost_alone(base, folder, revision):
    analysis, other, _ = base.digests
    with sqlite3.connect(folder / FILE) as db:
        sql = "UPDATE analysis SET revision = ? WHERE id = ?"
        db.execute(sql, (revision, analysis))
    db.close()
    store = Store(folder)
    with pytest.raises(Lost, match="its entry cannot be read"):
        store.read(analysis)
    store.read(other)


def test_cleaning_up_leaves_what_a_file_that_was_set_aside_may_hold(folder):
    (folder / FILE).write_bytes(b"x" * 5000)
    store = Store(folder)
    before = sorted(store.contents.folder.iterdir())
    for path in before:
        os.utime(path, (0, 0))
    store.clean()
    assert sorted(store.contents.folder.iterdir()) == before
    for path in store.aside():
        path.unlink()
    store.clean()
    assert not [*store.contents.folder.iterdir()]


def test_a_damaged_file_that_another_server_has_open_is_left_to_it(folder):
    other = Store(folder)
    os.truncate(folder / FILE, 5000)
    with pytest.raises(StoreError, match="Another ClusterLens has it open"):
        Store(folder)
    assert other.aside() == []


def test_a_list_that_is_gone_is_told(folder):
    (folder / FILE).unlink()
    assert "restore the file from a backup" in Store(folder).repair_report


def test_a_new_folder_has_nothing_to_tell(tmp_path):
    assert Store(tmp_path / "new").repair_report == ""


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE step SET given = CAST(x'7bff7d' AS TEXT) WHERE position = 1",
        "UPDATE step SET given = replace(given, 'iris', 'wine') WHERE position = 1",
        "UPDATE step SET changes = 7 WHERE position = 1",
        "UPDATE step SET changes = '[' WHERE position = 1",
        "UPDATE step SET digest = '' WHERE position = 1",
        "DELETE FROM step WHERE position = 5",
        "DELETE FROM holds WHERE position = 1",
        "UPDATE analysis SET cursor = 0",
        'UPDATE analysis SET look = \'{"page": "pool"}\'',
    ],
)
def test_an_analysis_that_is_not_as_it_was_written_is_lost_alone(base, folder, damage):
    first, second, _ = base.digests
    column = "id" if "UPDATE analysis" in damage else "analysis"
    where = f" {'AND' if 'WHERE' in damage else 'WHERE'} {column} = '{first}'"
    with sqlite3.connect(folder / FILE) as db:
        db.execute(damage + where)
    db.close()
    store = Store(folder)
    with pytest.raises(Lost, match="is damaged"):
        store.read(first)
    assert store.read(second)
    assert len(store.entries()) == 3


def test_the_start_page_says_where_a_damaged_store_lies(folder):
    (folder / FILE).write_bytes(b"x" * 5000)

    async def main():
        session = new_session(Server(Store(folder)))
        panel = Recent(session)
        panel.show(None)
        await panel._task
        return panel._size.body, session.memory.store.aside()

    body, (aside,) = run(main())
    assert str(aside) in body


def test_an_error_of_the_file_is_told_in_words(folder):
    async def main():
        session = new_session(Server(Store(folder)))
        analysis = session.memory.store.entries()[0].id
        with sqlite3.connect(folder / FILE) as db:
            db.execute("DROP TABLE holds")
        db.close()
        assert not await session.open(analysis)
        return session.jobs.notices

    (notice,) = run(main())
    assert "cannot be read or written: no such table" in notice.text
    assert "unexpectedly" not in notice.text


@pytest.mark.parametrize(
    "note", ["[]", "{", "{}", '{"id": 1}', '{"id": "i1", "kind": "no", "title": "t"}']
)
def test_a_damaged_note_of_what_was_under_way_is_told(base, folder, note):
    with sqlite3.connect(folder / FILE) as db:
        db.execute("UPDATE under_way SET intent = ?", (note,))
    db.close()

    async def main():
        session = new_session(Server(Store(folder)))
        assert await session.open(next(iter(base.digests)))
        assert session.memory.interrupted == ()
        return session.jobs.notices

    (notice,) = run(main())
    assert "nor done again" in notice.text


def test_a_content_that_is_damaged_is_written_anew_when_it_comes_again(tmp_path):
    contents = Store(tmp_path).contents
    key = contents.put(b"content")
    for damaged in (b"c0ntent", b"cont", b""):
        contents.path(key).write_bytes(damaged)
        assert contents.put(b"content") == key
        assert contents.get(key) == b"content"


def test_a_content_that_cannot_be_read_is_told(tmp_path):
    contents = Store(tmp_path).contents
    key = contents.put(b"content")
    contents.path(key).unlink()
    contents.path(key).mkdir()
    with pytest.raises(ValueError, match="cannot be read"):
        contents.get(key)


def put_in_the_way(path, kind):
    """Replace a plain file with something else."""
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "a link to itself":
        path.symlink_to(path.name)
    elif kind == "a pipe":
        os.mkfifo(path)
    else:
        os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 200_000_000)


ODD = pytest.mark.parametrize(
    "kind",
    [
        "a sparse file",
        *(
            pytest.param(kind, marks=pytest.mark.skipif(os.name != "posix", reason=""))
            for kind in ("a link to itself", "a pipe")
        ),
    ],
)


@ODD
def test_a_content_that_is_no_plain_file_is_told_and_written_anew(tmp_path, kind):
    contents = Store(tmp_path).contents
    key = contents.put(b"content")
    put_in_the_way(contents.path(key), kind)
    contents.clean(set())
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"cannot be read|damaged"):
            contents.get(key)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    assert contents.put(b"content") == key
    assert contents.get(key) == b"content"


@ODD
@pytest.mark.parametrize("place", ["contents", "found", "present", ""])
def test_what_lies_in_the_folder_hides_no_analysis(folder, place, kind):
    async def main():
        session = new_session(Server(store := Store(folder)))
        put_in_the_way(folder / place / f"{FILE}{'0' * 64}", kind)
        panel = Recent(session)
        panel.show(None)
        await panel._task
        panel._do("clean")
        await panel._task
        (freed,) = session.jobs.notices
        return store.entries(), panel.text.body, freed.text

    entries, body, freed = run(main())
    assert entries
    assert all(f"open {entry.id}" in body for entry in entries)
    assert "freed" in freed


# Writes contents until it is killed, in the middle of one.
WRITER = """
import os, sys
from pathlib import Path
from clusterlens.ui.server.memory.store import Store

store = Store(Path(sys.argv[1]))
os.fsync = lambda handle: (print(store.name, flush=True), sys.stdin.read())
store.contents.put(b"content")
"""


def test_what_a_killed_process_was_writing_is_removed_at_the_next_start(tmp_path):
    def writer():
        return subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    with writer() as killed, writer() as living:
        try:
            names = [process.stdout.readline().strip() for process in (killed, living)]
            (tmp_path / "found").mkdir()
            for name in (*names, ""):
                (tmp_path / "found" / f"{name}.a.part").write_bytes(b"half")
            killed.send_signal(signal.SIGKILL)
            killed.wait()
            store = Store(tmp_path)
            left = [path.name.split(".")[0] for path in tmp_path.rglob("*.part")]
            assert left == [names[1]] * 2
        finally:
            living.kill()
    store.close()
    Store(tmp_path)
    assert not [*tmp_path.rglob("*.part")]


def test_a_result_is_written_under_the_name_of_its_process(tmp_path, monkeypatch):
    results = Results(10**6)
    results.folder, results.writer = tmp_path, "me"
    names = []
    replace = module.Path.replace
    monkeypatch.setattr(
        module.Path, "replace", lambda a, b: (names.append(a.name), replace(a, b))
    )
    results._write("key", b"content")
    assert names[0].startswith("me.")


def test_processes_come_in_one_by_one_and_know_of_each_other(tmp_path):
    one = Presence(tmp_path, "one")
    assert not one.others()
    two = Presence(tmp_path, "two")
    assert one.others()
    two.close()
    assert not one.others()
    assert is_there(tmp_path, "one")


def test_steps_of_an_earlier_version_have_no_digest_and_are_read(tmp_path):
    store = Store(tmp_path)
    row = Row("test", "t", "2026-01-01", {}, {})
    store.write(Stored("a", 0, 0, ()), 0, [row])
    store._db.execute("UPDATE step SET digest = ''")
    store._db.execute("UPDATE analysis SET digest = ''")
    found = store.read("a")
    assert store.write(found, 1, [row]) == 2
    assert len(store.read("a").rows) == 2
