"""Tests of contents: stored once, completely or not at all, and verified."""

import errno
import os
from pathlib import Path

import pytest

from clusterlens.ui.server.memory.contents import Contents


def test_the_same_bytes_are_kept_once(tmp_path):
    contents = Contents(tmp_path)
    assert contents.put(b"abc") == contents.put(b"abc")
    assert contents.size() == 3
    assert contents.get(contents.put(b"abc")) == b"abc"


def test_a_damaged_or_lost_file_is_told_apart_from_a_good_one(tmp_path):
    contents = Contents(tmp_path)
    key = contents.put(b"abc")
    contents.path(key).write_bytes(b"abx")
    with pytest.raises(ValueError, match="damaged"):
        contents.get(key)
    contents.path(key).unlink()
    with pytest.raises(ValueError, match="no longer"):
        contents.get(key)


@pytest.mark.parametrize("key", ["../secret", "", "A" * 64, "a" * 63, "a/b"])
def test_no_key_leads_out_of_the_folder(tmp_path, key):
    with pytest.raises(ValueError, match="no SHA-256"):
        Contents(tmp_path).path(key)


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    contents = Contents(tmp_path)

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        contents.put(b"abc")
    assert list(tmp_path.iterdir()) == []


def test_cleaning_takes_what_is_unused_and_not_new(tmp_path):
    contents = Contents(tmp_path)
    used, old, new = (contents.put(text) for text in (b"used", b"old", b"new"))
    for key in (used, old):
        os.utime(contents.path(key), (0, 0))
    assert contents.clean({used}) == 3
    assert {path.name for path in Path(tmp_path).iterdir()} == {used, new}


def test_what_is_put_again_is_new_again(tmp_path):
    contents = Contents(tmp_path)
    key = contents.put(b"old")
    os.utime(contents.path(key), (0, 0))
    contents.put(b"old")
    assert contents.clean(set()) == 0
    assert key in contents
