"""Content-addressed cache of expensive results, shared by all sessions.

Sessions that run the same pool on the same features get the same immutable ensemble and
the same comparison with structureless data. A session waits if another one is computing
the result. If there is a store, arrays derived from an ensemble also outlive the
process, so that reopening an analysis computes nothing anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from clusterlens import __version__
from clusterlens.compute._run.options import Cancel, raise_if_cancelled
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.ui.jobs.arrays import arrays_from_bytes, arrays_to_bytes
from clusterlens.ui.jobs.private_files import (
    make_folder,
    open_plain,
    opener,
    plain_files,
)
from clusterlens.ui.jobs.result_cache import buffers

# Bytes of all cached results, in memory and on the disk.
MOST_BYTES = 500_000_000
# Faster results are not written to a file.
_LONG_SECONDS = 0.3
_VERSIONS = {
    "clusterlens": __version__,
    **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
}
_PAUSE = 0.1


Found = TypeVar("Found")
Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class _Arrays:
    """Named arrays as a cached result."""

    named: Arrays


class Results:
    """Cache of frozen results by content, least recently used dropped first.

    Parameters
    ----------
    n_bytes : int
        Largest number of bytes in memory, and on the disk. A larger result is returned
        but not cached.
    folder : Path, optional
        Folder of arrays on the disk. Default: none are written.
    writer : str, default ""
        Name of this process, for unfinished files in the folder.
    """

    def __init__(
        self, n_bytes: int = MOST_BYTES, folder: Path | None = None, writer: str = ""
    ) -> None:
        self.n_bytes, self.folder, self.writer = n_bytes, folder, writer
        self._kept: OrderedDict[str, Any] = OrderedDict()
        self._under_way: dict[str, threading.Event] = {}
        self._lock = threading.Lock()

    def get(
        self, key: str, compute: Callable[[], tuple[Found, bool]], cancel: Cancel
    ) -> Found:
        """Return the result of a key: cached, awaited from another thread, or computed.

        Parameters
        ----------
        key : str
            Digest of the inputs, see `content_key`.
        compute : callable
            Returns the result, and whether it may be shared.
        cancel : callable
            Called while waiting; returns whether to stop.
        """
        while (ended := self._ended_by_another(key)) is not None:
            while not ended.wait(_PAUSE):
                raise_if_cancelled(cancel)
        try:
            with self._lock:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    return self._kept[key]
            found, is_whole = compute()
            if is_whole:
                self._keep(key, found)
            return found
        finally:
            with self._lock:
                self._under_way.pop(key).set()

    def peek(self, key: str) -> Any:
        """Return the result of a key if it is cached in memory, else None."""
        with self._lock:
            return self._kept.get(key)

    def arrays(self, key: str, compute: Callable[[], Arrays], cancel: Cancel) -> Arrays:
        """Return named arrays as `get` does; slow ones are also cached on the disk.

        If a file cannot be read or written, the arrays are computed.
        """

        def find() -> tuple[_Arrays, bool]:
            with contextlib.suppress(OSError, ValueError):
                return _Arrays(self._read(key)), True
            begun = time.monotonic()
            found = _Arrays(compute())
            if time.monotonic() - begun > _LONG_SECONDS:
                with contextlib.suppress(OSError):
                    self._write(key, arrays_to_bytes(found.named, {}))
            return found, True

        return self.get(key, find, cancel).named

    def _read(self, key: str) -> Arrays:
        if self.folder is None:
            raise FileNotFoundError
        path = self.folder / key
        with open_plain(path) as file:
            if os.fstat(file.fileno()).st_size > self.n_bytes:
                raise ValueError("it is larger than any that is written")
            named, _ = arrays_from_bytes(file.read())
        os.utime(path)
        return named

    def _write(self, key: str, data: bytes) -> None:
        """Write a file, and remove the least recently used files beyond the limit."""
        if self.folder is None or len(data) > self.n_bytes:
            return
        make_folder(self.folder)
        draft = self.folder / f"{self.writer}.{secrets.token_hex(8)}.part"
        try:
            with open(draft, "wb", opener=opener) as file:
                file.write(data)
            draft.replace(self.folder / key)
        finally:
            draft.unlink(missing_ok=True)
        files = list(plain_files(self.folder))
        files.sort(key=lambda file: (file[1].st_size <= self.n_bytes, file[1].st_mtime))
        excess = sum(status.st_size for _, status in files) - self.n_bytes
        for path, status in files:
            if excess <= 0:
                break
            path.unlink(missing_ok=True)
            excess -= status.st_size

    def _ended_by_another(self, key: str) -> threading.Event | None:
        """Return another thread's event for the key, or claim the key."""
        with self._lock:
            if key in self._under_way:
                return self._under_way[key]
            self._under_way[key] = threading.Event()
            return None

    def _keep(self, key: str, found: Any) -> None:
        """Cache a result, and drop the least recently used beyond the limit."""
        # An ensemble computes them at first use; here no page waits for them.
        getattr(found, "codes_and_gaps", None)
        with self._lock:
            self._kept[key] = found
            while sum(map(_n_bytes, self._kept.values())) > self.n_bytes:
                self._kept.popitem(last=False)


def content_key(
    X: np.ndarray, pool: Sequence[Mapping[str, Any]], seed: int, what: str = "pool"
) -> str:
    """Return a digest that is equal if data, pool, seed and versions are equal."""
    about = [what, X.shape, str(X.dtype), pool, seed, _VERSIONS]
    described = json.dumps(about, sort_keys=True)
    digest = hashlib.sha256(described.encode())
    digest.update(np.ascontiguousarray(X).data)
    return digest.hexdigest()


def ensemble_key(ensemble: Ensemble, what: str) -> str:
    """Return a digest that is equal if an ensemble's labels and votes are equal."""
    codes, gaps = ensemble.codes_and_gaps, ensemble.gaps
    about = [what, codes.shape, str(codes.dtype), _VERSIONS]
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    parts = [codes, ensemble.votes, *([] if gaps is None else [np.packbits(gaps)])]
    for part in parts:
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


def _n_bytes(found: Any) -> int:
    """Return the bytes of the arrays and tables of a result."""
    return sum(size for _, size in buffers(found))
