"""Archive: one analysis as one file, and back.

    analysis.json      version, cursor, look and the steps as plain values
    contents/<sha256>  tables, results and uploaded files that the steps hold

The file may come from anywhere: names and sizes are checked before memory is taken,
every content is compared with its hash, and what is not asked for is refused.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import asdict
from typing import Any

from clusterlens import __version__
from clusterlens.compute._numbers import whole
from clusterlens.ui.server.memory.records import Records, check_row
from clusterlens.ui.server.memory.schema import ARCHIVE
from clusterlens.ui.server.memory.store import Row, Store, Stored, new_id

FORMAT = 1
SUFFIX = ".clusterlens"
MAX_BYTES = 4_000_000_000
_LOG, _CONTENTS = "analysis.json", "contents/"
_MAX_LOG_BYTES = 200_000_000


class ArchiveError(ValueError):
    """A file is no analysis that can be taken in; the message says why."""


class NewerError(ArchiveError):
    """A file is an analysis that only a newer version can take in."""


def export_analysis(store: Store, analysis: str) -> bytes:
    """Return an analysis of the store, with all that it holds, as one file."""
    stored = store.read(analysis)
    log = {
        "format": FORMAT,
        "made by": f"ClusterLens {__version__}",
        "cursor": stored.cursor,
        "about": stored.about,
        "look": stored.look,
        "steps": [{**asdict(row), "holds": sorted(row.holds)} for row in stored.rows],
    }
    held = sorted({key for row in stored.rows for key in row.holds})
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(_LOG, json.dumps(log), zipfile.ZIP_DEFLATED)
        for key in held:
            archive.writestr(_CONTENTS + key, store.contents.get(key))
    return out.getvalue()


def import_analysis(store: Store, data: bytes, *, max_bytes: int = MAX_BYTES) -> str:
    """Take a file in as a new analysis of the store; return its id.

    Raises
    ------
    ArchiveError
        If it is damaged, no such file, made by a newer version, or too large. Nothing
        is taken in then.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            log = _log(archive)
            ARCHIVE(log)
            rows = [Row(**{**s, "holds": frozenset(s["holds"])}) for s in log["steps"]]
            for row in rows:
                check_row(row)
            keys = sorted({key for row in rows for key in row.holds})
            _take_contents(archive, store, keys, max_bytes)
        steps = Records(store.contents, max_bytes=max_bytes).read(rows)
        cursor = log["cursor"]
        if cursor >= len(steps):
            raise ArchiveError(f"its cursor is {cursor} of {len(steps)} steps")
        about = {**log["about"], "imported": True}
        stored = Stored(new_id(), 0, cursor, (), about, log["look"])
    except NewerError:
        raise
    except _DAMAGED as error:
        raise ArchiveError(
            f"The file is no analysis that can be opened: {_words(error)}. Save it "
            "again on the Report page of the ClusterLens that has it."
        ) from error
    store.write(stored, 0, rows)
    return stored.id


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


def _log(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return the log, if this version can read it."""
    info = archive.getinfo(_LOG)
    if info.file_size > _MAX_LOG_BYTES:
        raise ArchiveError(f"its log claims {whole(info.file_size)} bytes")
    with archive.open(info) as file:
        log = json.loads(file.read(_MAX_LOG_BYTES + 1))
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


def _take_contents(
    archive: zipfile.ZipFile, store: Store, keys: list[str], max_bytes: int
) -> None:
    """Put the contents of an archive into the store, each after a look at its size."""
    infos = [archive.getinfo(_CONTENTS + key) for key in keys]
    total = sum(info.file_size for info in infos)
    if total > max_bytes:
        raise ArchiveError(
            f"it unpacks to {whole(total)} bytes, the limit is {whole(max_bytes)}"
        )
    for key, info in zip(keys, infos, strict=True):
        if info.compress_type != zipfile.ZIP_STORED:
            raise ArchiveError("a content is compressed")
        if store.contents.put(archive.read(info)) != key:
            raise ArchiveError(f"the content {key[:12]}… is damaged")
