"""Folders and files that only their owner can read, whatever the umask.

A folder may hold files of other users: dangling links, pipes, devices. Only plain files
are listed and read, so that none of these blocks a reader.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_FOLDER, _FILE = 0o700, 0o600
_BINARY = getattr(os, "O_BINARY", 0)  # Windows only


def make_folder(folder: Path) -> None:
    """Make a folder for its owner alone; close an existing one to others."""
    folder.mkdir(parents=True, exist_ok=True, mode=_FOLDER)
    with suppress(PermissionError):  # a folder of another user, who decides
        folder.chmod(_FOLDER)


def make_file(file: Path) -> None:
    """Make an empty file for its owner alone, unless it exists."""
    with suppress(FileExistsError):
        os.close(opener(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY))


def opener(file: str | os.PathLike[str], flags: int) -> int:
    """Open a file for `open`; a new one is for its owner alone."""
    handle = os.open(file, flags, _FILE)
    if flags & os.O_CREAT and hasattr(os, "fchmod"):
        with suppress(PermissionError):
            os.fchmod(handle, _FILE)
    return handle


def plain_files(
    folder: Path, pattern: str = "*"
) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the plain files of a folder with their status."""
    for path in folder.glob(pattern):
        with suppress(OSError):
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                yield path, status


def open_plain(path: Path) -> io.BufferedReader:
    """Open a plain file for reading; raise OSError at once for any other file."""
    # Without O_NONBLOCK, opening a pipe would wait for a writer.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY)
    file = os.fdopen(handle, "rb")
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a plain file", str(path))
    return file
