"""Contents: bytes in files named by their SHA-256, so that each is stored once.

A file with such a name is complete: it is written under another name, flushed to the
disk, and renamed. Several processes may write and read the same folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeGuard
from weakref import WeakKeyDictionary, WeakValueDictionary

from clusterlens.ui.jobs.private_files import (
    make_folder,
    open_plain,
    opener,
    plain_files,
)

_NAME = re.compile(r"[0-9a-f]{64}")
# Younger files may not belong to an analysis yet.
_YOUNG_SECONDS = 3600
_PIECE = 1_000_000


def is_key(value: object) -> TypeGuard[str]:
    """Return whether a value has the form of a SHA-256 in hexadecimal digits."""
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


class Contents:
    """The files of a folder.

    Parameters
    ----------
    folder : Path
        Folder, created if missing.
    writer : str
        Name of the process, for unfinished files.

    Attributes
    ----------
    alive, keys : weak mappings
        Objects in memory by the key of their content, and the reverse, so that no
        session writes or reads an object twice.
    """

    def __init__(self, folder: Path, writer: str = "") -> None:
        self.folder, self._writer = folder, writer
        self.alive: WeakValueDictionary[str, Any] = WeakValueDictionary()
        self.keys: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        make_folder(folder)

    def path(self, key: str) -> Path:
        """Return the path of a content; raise ValueError if the key is no SHA-256."""
        if not is_key(key):
            raise ValueError(f"{key!r} is no SHA-256 in hexadecimal digits.")
        return self.folder / key

    def put(self, data: bytes) -> str:
        """Store bytes; return their SHA-256 after they are on the disk."""
        key = hashlib.sha256(data).hexdigest()
        path = self.path(key)
        with contextlib.suppress(OSError):  # if it fails, the file is written again
            if self.renew(key) and _holds(path, data):
                return key
        draft = self.folder / f"{self._writer}.{secrets.token_hex(8)}.part"
        try:
            with open(draft, "xb", opener=opener) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            raise
        _sync_folder(self.folder)
        return key

    def renew(self, key: str) -> bool:
        """Renew the age of a content, so that cleaning spares it; False if lost."""
        with contextlib.suppress(FileNotFoundError):
            if key in self:
                os.utime(self.path(key))
                return True
        return False

    def get(self, key: str) -> bytes:
        """Return a content; raise ValueError if it is lost or damaged."""
        try:
            with open_plain(self.path(key)) as file:
                # Checked before memory is allocated, because a damaged file may have
                # any size.
                if hashlib.file_digest(file, "sha256").hexdigest() == key:
                    file.seek(0)
                    return file.read()
        except FileNotFoundError:
            raise ValueError(
                f"the file {key} is no longer in {self.folder}; bring it back from a "
                "copy of that folder."
            ) from None
        except OSError as error:
            raise ValueError(
                f"the file {self.path(key)} cannot be read ({error.strerror}); see to "
                "it, or bring it back from a copy."
            ) from error
        raise ValueError(
            f"the file {self.path(key)} is damaged; bring it back from a copy."
        )

    def __contains__(self, key: str) -> bool:
        """Return whether a content is stored."""
        return self.path(key).is_file()

    def size(self, keys: Collection[str] | None = None) -> int:
        """Return the bytes of all files, or of some contents."""
        return sum(
            status.st_size
            for path, status in plain_files(self.folder)
            if keys is None or path.name in keys
        )

    def clean(self, used: Collection[str]) -> int:
        """Remove unused files that are not young; return the bytes gained."""
        gained, before = 0, time.time() - _YOUNG_SECONDS
        for path, status in plain_files(self.folder):
            if path.name not in used and status.st_mtime < before:
                path.unlink(missing_ok=True)
                gained += status.st_size
        return gained


def remove_drafts(folder: Path, is_there: Callable[[str], bool]) -> None:
    """Remove unfinished files of processes that have ended.

    Parameters
    ----------
    folder : Path
        Folder, which may be missing.
    is_there : callable
        Returns whether a writer is still running.
    """
    for path in folder.glob("*.part"):
        if not is_there(path.name.partition(".")[0]):
            with contextlib.suppress(OSError):
                path.unlink()


def _holds(path: Path, data: bytes) -> bool:
    """Return whether a file holds these bytes; a damaged file is written again."""
    view = memoryview(data)
    with open_plain(path) as file:
        if os.fstat(file.fileno()).st_size != len(view):
            return False
        starts = range(0, len(view), _PIECE)
        return all(file.read(_PIECE) == view[at : at + _PIECE] for at in starts)


def _sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, if the system supports it."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
