"""Folders and files that only their owner can read, whatever the umask."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_FOLDER, _FILE = 0o700, 0o600


def make_folder(folder: Path) -> None:
    """Make a folder for its owner alone; close an existing one to others."""
    folder.mkdir(parents=True, exist_ok=True, mode=_FOLDER)
    with suppress(PermissionError):  # somebody else's, who decides on it
        folder.chmod(_FOLDER)


def make_file(file: Path) -> None:
    """Make an empty file for its owner alone, unless it is there."""
    with suppress(FileExistsError):
        os.close(opener(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY))


def opener(file: str | os.PathLike[str], flags: int) -> int:
    """Open a file for `open`; a new one is for its owner alone."""
    handle = os.open(file, flags, _FILE)
    if flags & os.O_CREAT and hasattr(os, "fchmod"):
        with suppress(PermissionError):
            os.fchmod(handle, _FILE)
    return handle
