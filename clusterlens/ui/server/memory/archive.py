"""Archive: one analysis as one file, and back.

    analysis.json      version, cursor, look, steps and checks as plain values
    contents/<sha256>  tables, results and uploaded files of steps and checks

The file is untrusted: names and sizes are checked before memory is allocated, every
content is compared with its hash, and unknown entries are refused.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import IO, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from clusterlens import __version__
from clusterlens.compute._plain import check_plain, largest_unpacked, read_plain
from clusterlens.compute.formatting import whole
from clusterlens.ui.server.memory.contents import Contents
from clusterlens.ui.server.memory.measured import read_checks
from clusterlens.ui.server.memory.records import Records, check_row
from clusterlens.ui.server.memory.rows import CheckRow
from clusterlens.ui.server.memory.schema import ARCHIVE
from clusterlens.ui.server.memory.store import Row, Store, Stored, new_id

FORMAT = 2
SUFFIX = ".clusterlens"
MAX_BYTES = 4_000_000_000
_LOG, _CONTENTS = "analysis.json", "contents/"
_MAX_LOG_BYTES, _MAX_LOG_VALUES = 50_000_000, 4_000_000


class ArchiveError(ValueError):
    """Error of a file that is no analysis, or of one too large, with the reason."""


class NewerError(ArchiveError):
    """Error of an analysis that only a newer version can import."""


def export_analysis(store: Store, analysis: str) -> bytes:
    """Return an analysis of the store, with all its contents, as one file.

    Raises
    ------
    ArchiveError
        If the file would be larger than what `import_analysis` takes.
    """
    stored, (checks, _) = store.read(analysis), store.checks(analysis)
    log = {
        "format": FORMAT,
        "made by": f"ClusterLens {__version__}",
        "cursor": stored.cursor,
        "about": stored.about,
        "look": stored.view_state,
        "steps": [{**asdict(row), "holds": sorted(row.holds)} for row in stored.rows],
        "checks": [asdict(check) for check in checks],
    }
    text, held = json.dumps(log), _held(stored.rows, checks)
    try:
        check_plain(text, _MAX_LOG_BYTES, _MAX_LOG_VALUES)
    except ValueError as error:
        raise ArchiveError(
            f"the steps of this analysis do not fit into a file: {error}. The analysis "
            "stays on this machine; save its report, script and rows instead."
        ) from error
    n_bytes = store.contents.size(set(held))
    if n_bytes > MAX_BYTES:
        raise ArchiveError(
            f"its tables and results have {whole(n_bytes)} bytes, and a file takes "
            f"{whole(MAX_BYTES)}. The analysis stays on this machine; save its report, "
            "script and rows instead."
        )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(_LOG, text, zipfile.ZIP_DEFLATED)
        for key in held:
            archive.writestr(_CONTENTS + key, store.contents.get(key))
    return out.getvalue()


def import_analysis(
    store: Store,
    data: bytes,
    *,
    max_bytes: int = MAX_BYTES,
    apart: Callable[..., Any] | None = None,
) -> str:
    """Import a file as a new analysis of the store; return its id.

    Parameters
    ----------
    store : Store
        Store for the analysis.
    data : bytes
        Content of the file.
    max_bytes : int
        Largest number of bytes of its contents.
    apart : callable, optional
        Calls a function with the file and further arguments in a separate process
        (`read_in_process`). Default: this process.

    Raises
    ------
    ArchiveError
        If it is damaged, no analysis, made by a newer version, or too large. Nothing is
        imported then.
    """
    if apart is None:
        log = check_analysis(io.BytesIO(data), max_bytes)
    else:
        log = apart(check_analysis, max_bytes)
    rows, checks = _rows(log), _checks(log)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        contents = _Contents(archive, _held(rows, checks), max_bytes)
        for key in contents:
            store.contents.put(contents.get(key))
    about = {**log["about"], "imported": True}
    stored = Stored(new_id(), 0, log["cursor"], (), about, log["look"])
    store.write(stored, 0, rows)
    store.write_checks(stored.id, checks)
    return stored.id


def check_analysis(file: IO[bytes], max_bytes: int) -> dict[str, Any]:
    """Return the log of a file, after reading everything in it once."""
    try:
        with zipfile.ZipFile(file) as archive:
            log = _log(archive, file.seek(0, io.SEEK_END))
            ARCHIVE(log)
            rows = _rows(log)
            for row in rows:
                check_row(row)
            checks = _checks(log)
            contents = _Contents(archive, _held(rows, checks), max_bytes)
            for key in contents:
                contents.get(key)
            read_checks(checks, contents)
            steps = Records(contents, max_bytes=max_bytes).read(rows)
        if log["cursor"] >= len(steps):
            raise ArchiveError(f"its cursor is {log['cursor']} of {len(steps)} steps")
    except NewerError:
        raise
    except _DAMAGED as error:
        raise ArchiveError(
            f"The file is no analysis that can be opened: {_words(error)}. Save it "
            "again on the Report page of the ClusterLens that has it."
        ) from error
    return log


def _rows(log: Mapping[str, Any]) -> list[Row]:
    """Return the steps of a log."""
    return [Row(**{**s, "holds": frozenset(s["holds"])}) for s in log["steps"]]


def _checks(log: Mapping[str, Any]) -> list[CheckRow]:
    """Return the checks of a log; files of format 1 have none."""
    return [CheckRow(**check) for check in log.get("checks", ())]


def _held(rows: Iterable[Row], checks: Iterable[CheckRow]) -> list[str]:
    """Return the keys of the contents of steps and checks."""
    held = {key for row in rows for key in row.holds}
    return sorted(held | {check.content for check in checks if check.content})


_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
    AttributeError,
)


def _words(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"it lacks a part ({error.args[0]})"
    if isinstance(error, (zipfile.BadZipFile, zlib.error, EOFError)):
        return f"it is damaged or was not saved whole ({error})"
    return str(error)


def _log(archive: zipfile.ZipFile, n_bytes: int) -> dict[str, Any]:
    """Return the log of an archive of so many bytes, if this version can read it."""
    info = archive.getinfo(_LOG)
    packed = min(info.compress_size, n_bytes)
    if info.file_size > largest_unpacked(packed, _MAX_LOG_BYTES):
        raise ArchiveError(f"its log claims {whole(info.file_size)} bytes")
    with archive.open(info) as file:
        text = file.read(_MAX_LOG_BYTES + 1)
    log = read_plain(text, _MAX_LOG_BYTES, _MAX_LOG_VALUES)
    if not isinstance(log, dict) or not isinstance(log.get("format"), int):
        raise ArchiveError("its log has no format")
    if log["format"] > FORMAT:
        raise NewerError(
            f"The file was made by a newer version ({log.get('made by')!s:.40}, format "
            f"{log['format']}, this one knows {FORMAT}). Open it there, or install "
            "that version here."
        )
    if log["format"] < 1:
        raise ArchiveError(f"its log has format {log['format']}, which there is not")
    return log


class _Contents(Contents):
    """Contents of an archive listed in its log, for reading only."""

    def __init__(
        self, archive: zipfile.ZipFile, held: Iterable[str], max_bytes: int
    ) -> None:
        self.alive: WeakValueDictionary[str, Any] = WeakValueDictionary()
        self.keys: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._archive = archive
        self._infos = {key: archive.getinfo(_CONTENTS + key) for key in held}
        total = sum(info.file_size for info in self._infos.values())
        if total > max_bytes:
            raise ArchiveError(
                f"it unpacks to {whole(total)} bytes, the limit is {whole(max_bytes)}"
            )
        if any(i.compress_type != zipfile.ZIP_STORED for i in self._infos.values()):
            raise ArchiveError("a content is compressed")

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys."""
        return iter(self._infos)

    def get(self, key: str) -> bytes:
        """Return a content after checking its hash."""
        if key not in self._infos:
            raise ArchiveError(f"a step names the content {key[:12]}…, which it lacks")
        data = self._archive.read(self._infos[key])
        if hashlib.sha256(data).hexdigest() != key:
            raise ArchiveError(f"the content {key[:12]}… is damaged")
        return data
