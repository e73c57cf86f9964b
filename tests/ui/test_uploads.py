"""Uploads: files in pieces, whole or not at all."""

import base64

import numpy as np
import pytest

from clusterlens.compute._run.options import Cancelled
from clusterlens.ui import uploads
from clusterlens.ui.jobs import Job
from clusterlens.ui.uploads import FileTaker, Upload


def pieces(content: bytes, size: int) -> list[str]:
    starts = range(0, len(content), size)
    return [base64.b64encode(content[k : k + size]).decode() for k in starts]


@pytest.mark.parametrize("size", [1, 7, 1000, 5000])
def test_a_file_arrives_as_it_was_whatever_its_pieces(size):
    content = np.random.default_rng(0).bytes(1000)
    upload, job = Upload("t.bin", len(content)), Job("")
    for piece in pieces(content, size):
        upload.take(piece)
    assert upload.content(job) == content
    assert upload.ended


def test_an_empty_file_arrives_empty():
    assert Upload("t.csv", 0).content(Job("")) == b""


def test_the_job_says_how_many_megabytes_have_come():
    upload, job = Upload("t.csv", 3_000_000), Job("")
    for piece in pieces(bytes(3_000_000), 1_000_000):
        upload.take(piece)
    upload.content(job)
    assert (job.title, job.done, job.total, job.unit) == ("Upload t.csv", 3, 3, "MB")


def test_a_file_above_the_limit_is_refused_before_a_piece_comes():
    upload = Upload("t.csv", uploads.MAX_BYTES + 1)
    with pytest.raises(ValueError, match="the limit is 1\u202f000"):
        upload.content(Job(""))
    assert upload.ended


def test_a_file_that_cannot_be_read_on_or_stays_away_is_no_file(monkeypatch):
    upload = Upload("t.csv", 10)
    upload.take(pieces(b"12345", 5)[0])
    upload.take(None)
    with pytest.raises(ValueError, match="did not arrive whole"):
        upload.content(Job(""))
    monkeypatch.setattr(uploads, "_GIVES_UP_AFTER_SECONDS", 0.2)
    with pytest.raises(ValueError, match="did not arrive whole"):
        Upload("t.csv", 10).content(Job(""))


def test_cancel_ends_the_wait():
    job = Job("")
    job.stop.set()
    upload = Upload("t.csv", 10)
    with pytest.raises(Cancelled):
        upload.content(job)
    assert upload.ended


def test_the_browser_is_asked_for_pieces_until_nobody_wants_them(monkeypatch):
    begun, asked = [], []
    taker = FileTaker(begun.append)
    monkeypatch.setattr(taker, "_send_msg", asked.append)
    taker._handle_msg({"name": "t.csv", "size": 4, "others": 2})
    (upload,) = begun
    assert (upload.name, upload.size, upload.others) == ("t.csv", 4, 2)
    taker._handle_msg({"piece": pieces(b"abcd", 4)[0]})
    assert upload.content(Job("")) == b"abcd"
    taker._handle_msg({"piece": ""})
    assert asked == ["next", "next", "stop"]
