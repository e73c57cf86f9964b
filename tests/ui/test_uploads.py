"""Tests of uploads: in pieces, complete or refused, and without waiting threads."""

import asyncio
import base64
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from clusterlens.compute._run.options import Cancelled
from clusterlens.ui import serving
from clusterlens.ui.composition import new_session
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.server import uploads
from clusterlens.ui.server.server import Server
from clusterlens.ui.server.uploads import FileTaker, Upload
from tests.ui.loop import run

SERVER = SimpleNamespace(in_thread=asyncio.to_thread)


def pieces(content: bytes, size: int) -> list[str]:
    starts = range(0, len(content), size)
    return [base64.b64encode(content[k : k + size]).decode() for k in starts]


def content(upload: Upload, job: Job | None = None) -> bytes:
    return run(upload.content(job or Job("", SERVER)))


@pytest.mark.parametrize("size", [1, 7, 1000, 5000])
def test_a_file_arrives_as_it_was_whatever_its_pieces(size):
    given = np.random.default_rng(0).bytes(1000)
    upload = Upload("t.bin", len(given))
    for piece in pieces(given, size):
        upload.take(piece)
    assert content(upload) == given
    assert upload.ended


def test_an_empty_file_arrives_empty():
    assert content(Upload("t.csv", 0)) == b""


def test_the_job_says_how_many_megabytes_have_come():
    upload, job = Upload("t.csv", 3_000_000), Job("", SERVER)
    for piece in pieces(bytes(2_000_000), 1_000_000):
        upload.take(piece)

    async def main():
        waits = asyncio.create_task(upload.content(job))
        while job.done < 2:
            await asyncio.sleep(0)
        progress = job.title, job.done, job.total, job.unit
        upload.take(pieces(bytes(1_000_000), 1_000_000)[0])
        await waits
        return progress

    assert run(main()) == ("Upload t.csv", 2, 3, "MB")


def test_a_file_above_the_limit_is_refused_before_a_piece_comes():
    upload = Upload("t.csv", uploads.MAX_BYTES + 1)
    assert upload.ended
    with pytest.raises(ValueError, match="the limit is 1\u202f000"):
        content(upload)


@pytest.mark.parametrize("piece", ["AA==", "AAA=AAA=", "AAAA====", "AA", "é", "\n"])
def test_a_piece_that_is_no_text_of_its_bytes_is_refused(piece):
    upload = Upload("t.csv", 0 if piece == "AA==" else 2)
    upload.take(piece)
    assert upload.ended
    with pytest.raises(ValueError, match=r"t\.csv (did not arrive|sent more)"):
        content(upload)


def test_no_more_is_kept_than_was_announced():
    upload, piece = Upload("t.csv", 10), pieces(bytes(1_000_000), 1_000_000)[0]
    for _ in range(60):
        upload.take(piece)
    assert upload.ended
    assert upload._pieces == []
    with pytest.raises(ValueError, match="more than the 10 bytes"):
        content(upload)


def test_a_file_that_cannot_be_read_on_is_no_file():
    upload = Upload("t.csv", 10)
    upload.take(pieces(b"12345", 5)[0])
    upload.take(None)
    with pytest.raises(ValueError, match="did not arrive whole"):
        content(upload)


def test_a_file_that_stays_away_is_given_up_with_words(monkeypatch):
    monkeypatch.setattr(uploads, "_GIVES_UP_AFTER_SECONDS", 0.2)
    upload = Upload("t.csv", 10)
    upload.take(pieces(b"12345", 5)[0])
    with pytest.raises(ValueError, match="stopped arriving"):
        content(upload)
    assert upload.ended


def test_cancel_ends_the_wait():
    job = Job("", SERVER)
    job.stop.set()
    upload = Upload("t.csv", 10)
    with pytest.raises(Cancelled):
        content(upload, job)
    assert upload.ended


def test_stalled_uploads_leave_uploads_and_actions_of_others_alone():
    table = b"a,b\n1,2\n3,4\n5,7\n8,9\n"

    async def main():
        server, waits = Server(), []
        stalled = [new_session(server) for _ in range(20)]
        for session in stalled:
            upload = Upload("t.csv", len(table))
            upload.take(pieces(table[:5], 5)[0])
            waits.append(asyncio.create_task(session.receive(upload)))
        while not all(s.jobs.shown for s in stalled):
            await asyncio.sleep(0.01)
        one, other = new_session(server), new_session(server)
        upload = Upload("t.csv", len(table))
        for piece in pieces(table, 7):
            upload.take(piece)
        received = one.receive(upload), other.act("load example", name="rings")
        done = await asyncio.wait_for(asyncio.gather(*received), 50)
        waiting = [s.jobs.shown.title for s in stalled]
        for session in (*stalled, one, other):
            session.close()
        await asyncio.gather(*waits)
        return done, one.analysis.table.table.shape, set(waiting)

    assert run(main()) == ([True, True], (4, 2), {"Upload t.csv"})


def test_the_browser_is_asked_for_pieces_until_nobody_wants_them(monkeypatch):
    begun, asked = [], []
    taker = FileTaker(begun.append)
    monkeypatch.setattr(taker, "_send_msg", asked.append)
    taker._handle_msg({"name": "t.csv", "size": 4, "others": 2})
    (upload,) = begun
    assert (upload.name, upload.size, upload.others) == ("t.csv", 4, 2)
    taker._handle_msg({"piece": pieces(b"abcd", 4)[0]})
    assert content(upload) == b"abcd"
    taker._handle_msg({"piece": ""})
    assert asked == ["next", "next", "stop"]


def test_the_file_of_the_command_line_is_read_and_hashed_beside_the_event_loop(
    tmp_path, monkeypatch
):
    file, threads = tmp_path / "t.csv", []
    file.write_bytes(b"a,b\n1,2\n3,4\n5,7\n8,9\n")

    async def main():
        session = new_session(Server())
        keep_file = session.keep_file

        def kept(content):
            threads.append(threading.current_thread())
            return keep_file(content)

        monkeypatch.setattr(session, "keep_file", kept)
        await serving._load_file(session, file)
        assert session.analysis.table.table.shape == (4, 2)
        assert threads != [threading.current_thread()]
        assert len(threads) == 1

    run(main())


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "cannot be read (No such file"), (bytes(3_000_000), "has 3 MB, the limit")],
)
def test_a_file_of_the_command_line_that_is_gone_or_too_large_is_told_on_the_page(
    tmp_path, monkeypatch, content, words
):
    monkeypatch.setattr(uploads, "MAX_BYTES", 2_000_000)
    file = tmp_path / "t.csv"
    if content is not None:
        file.write_bytes(content)

    async def main():
        session = new_session(Server())
        await serving._load_file(session, file)
        (notice,) = session.jobs.notices
        assert words in notice.text
        assert "unexpectedly" not in notice.text
        assert session.analysis.table is None

    run(main())


def test_a_place_takes_one_file_at_a_time():
    begun = []
    taker = FileTaker(begun.append)
    piece = pieces(b"12345", 5)[0]
    for name, size in (("first", 10), ("second", 5)):
        taker._handle_msg({"name": name, "size": size, "others": 0})
        taker._handle_msg({"piece": piece})
    for name in ("third", "fourth"):
        taker._handle_msg({"name": name, "size": 5, "others": 0})
    first, second, third, fourth = begun
    assert first._pieces == third._pieces == []
    assert third.ended
    assert fourth.ended
    with pytest.raises(ValueError, match="first did not arrive whole, because second"):
        content(first)
    with pytest.raises(ValueError, match="third was not taken, because second waits"):
        content(third)
    assert content(second) == b"12345"


def test_what_came_of_a_file_is_freed_when_its_page_ends():
    async def main():
        session = new_session(Server())
        hold, upload = threading.Event(), Upload("t.csv", 20)
        running = asyncio.create_task(
            session.jobs.act("Hold", lambda: lambda job: hold.wait(), kind="hold")
        )
        await asyncio.sleep(0)
        received = asyncio.create_task(session.receive(upload))
        await asyncio.sleep(0)
        upload.take(pieces(b"12345", 5)[0])
        session.close()
        hold.set()
        await asyncio.gather(running, received)
        assert upload.ended
        assert upload._pieces == []

    run(main())
