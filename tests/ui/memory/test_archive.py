"""Tests of analyses as files: round trip, and distrust."""

import io
import json
import zipfile

import numpy as np
import pytest

from clusterlens.ui.composition import new_session
from clusterlens.ui.exports import document
from clusterlens.ui.pages.report import timeline
from clusterlens.ui.server.memory import archive as archive_module
from clusterlens.ui.server.memory.archive import (
    ArchiveError,
    export_analysis,
    import_analysis,
)
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from tests.ui.loop import run
from tests.ui.memory.test_memory import assert_same_history, begun, opened


@pytest.fixture
def saved(tmp_path, quick_pool):
    """A session and its analysis as a file."""

    async def main():
        session = await begun(tmp_path / "one")
        await session.act("add link", kind="must", a=0, b=1)
        await session.act("set score", score="aari")
        session.undo()
        await session.memory.settled()
        return session, export_analysis(session.memory.store, session.memory.analysis)

    return run(main())


def changed(data: bytes, **changes) -> bytes:
    """Return the file with another log."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            content = old.read(info)
            if info.filename == "analysis.json":
                content = json.dumps({**json.loads(content), **changes}).encode()
            new.writestr(info.filename, content)
    return out.getvalue()


def test_an_analysis_goes_to_another_machine_and_is_the_same(saved, tmp_path):
    session, data = saved
    store = Store(tmp_path / "two")
    name = import_analysis(store, data)
    assert_same_history(session, run(opened(tmp_path / "two", name)))
    assert import_analysis(store, data) != name


def test_a_file_of_a_newer_version_says_so(saved, tmp_path):
    with pytest.raises(ArchiveError, match="newer version"):
        import_analysis(Store(tmp_path / "two"), changed(saved[1], format=99))


@pytest.mark.parametrize(
    "changes",
    [
        {"format": None},
        {"format": 0},
        {"cursor": 99},
        {"cursor": "x"},
        {"steps": []},
        {"steps": [{}]},
        {"steps": 3},
        {"about": 5},
        {"about": {"rows": "many"}},
        {"about": {"title": ["a"]}},
        {"look": None},
        {"look": {"model": [[[[[[[[[0]]]]]]]]]}},
    ],
)
def test_a_log_that_makes_no_sense_is_refused(saved, tmp_path, changes):
    store = Store(tmp_path / "two")
    with pytest.raises(ArchiveError, match="no analysis"):
        import_analysis(store, changed(saved[1], **changes))
    assert store.entries() == []


def test_truncated_and_damaged_files_are_refused(saved, tmp_path):
    data, store = saved[1], Store(tmp_path / "two")
    rng = np.random.default_rng(0)
    broken = [data[:end] for end in (0, 100, len(data) // 2, len(data) - 1)]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        # Damage inside the log and the contents, which must all be detected. The last
        # bytes of the log only mark its end, after all of it has been read.
        log, *contents = archive.infolist()
        offsets = [i.header_offset + 200 + int(rng.integers(50)) for i in contents]
        start = log.header_offset + len(log.FileHeader())
        offsets.extend(range(start, start + log.compress_size - 4, 9))
    for offset in offsets:
        copy = bytearray(data)
        copy[offset] ^= 0xFF
        broken.append(bytes(copy))
    for bad in broken:
        with pytest.raises(ArchiveError):
            import_analysis(store, bad)
    assert store.entries() == []


def test_what_claims_too_much_is_refused_before_memory_is_taken(saved, tmp_path):
    with pytest.raises(ArchiveError, match="limit"):
        import_analysis(Store(tmp_path / "two"), saved[1], max_bytes=1000)


@pytest.mark.parametrize(
    ("limit", "value", "words"),
    [
        ("_MAX_LOG_BYTES", 900, "steps .* do not fit into a file: .* limit is 900"),
        ("_MAX_LOG_VALUES", 90, "steps .* do not fit into a file: .* than 90 values"),
        ("MAX_BYTES", 1000, "tables and results have .* a file takes 1.000"),
    ],
)
def test_no_file_is_written_that_could_not_be_opened(
    saved, monkeypatch, limit, value, words
):
    monkeypatch.setattr(archive_module, limit, value)
    memory = saved[0].memory
    with pytest.raises(ArchiveError, match=words):
        export_analysis(memory.store, memory.analysis)


def test_a_log_that_unpacks_to_far_more_than_the_file_has_is_refused(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("analysis.json", b" " * 30_000_000)
    with pytest.raises(ArchiveError, match="its log claims 30"):
        import_analysis(Store(tmp_path / "two"), out.getvalue())


def test_a_file_that_leads_out_of_the_store_is_refused(saved, tmp_path):
    with zipfile.ZipFile(io.BytesIO(saved[1])) as archive:
        steps = json.loads(archive.read("analysis.json"))["steps"]
    steps[1]["holds"] = ["../../../secret"]
    with pytest.raises(ArchiveError, match="SHA-256"):
        import_analysis(Store(tmp_path / "two"), changed(saved[1], steps=steps))


def test_hostile_names_travel_as_they_are(tmp_path):
    async def main():
        session = new_session(Server(Store(tmp_path / "one")))
        name = "<script>alert(1)</script>'; DROP TABLE step; --.csv"
        key = session.keep_file(b"a,b\n1,2\n3,4\n5,7\n8,9\n")
        assert await session.act("load file", name=name, sha256=key)
        data = export_analysis(session.memory.store, session.memory.analysis)
        store = Store(tmp_path / "two")
        found = await opened(tmp_path / "two", import_analysis(store, data))
        assert found.analysis.table.name == session.analysis.table.name
        assert store.entries()[0].about["table"] == session.analysis.table.name

    run(main())


@pytest.mark.parametrize(
    "at", ["1969-12-31T23:59:59+00:00", "0003-01-01T00:00:00+14:00", "3100-06-01", "x"]
)
def test_a_step_of_any_time_is_taken_in_and_shown(saved, tmp_path, at):
    store, data = Store(tmp_path / "two"), saved[1]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        steps = json.loads(archive.read("analysis.json"))["steps"]
    data = changed(data, steps=[{**step, "at": at} for step in steps])
    if at == "x":
        with pytest.raises(ArchiveError, match="at is 'x'"):
            import_analysis(store, data)
        return
    session = run(opened(tmp_path / "two", import_analysis(store, data)))
    assert "<span class='at'>" in timeline._row(1, session.history.steps[1], 1)
    assert document._when("3100-06-01T12:00:00+14:00") == "31 May 3100, 22:00 UTC"


def test_that_an_analysis_came_as_a_file_is_known_wherever_it_goes_on(saved, tmp_path):
    session, data = saved
    assert not session.memory.imported

    async def main():
        store = Store(tmp_path / "two")
        name = import_analysis(store, data)
        found = await opened(tmp_path / "two", name)
        assert found.memory.imported
        await found.act("set score", score="anmi")
        again = await opened(tmp_path / "two", name)
        assert again.analysis.score == "anmi"
        assert again.memory.imported
        copy = await opened(tmp_path / "two", store.duplicate(name, "copy"))
        assert copy.memory.imported
        await again.act("load example", name="wine")
        assert again.memory.analysis != name
        assert again.memory.imported

    run(main())
