"""Uploads: files that arrive from the browser in pieces, and their drop zones.

Pieces arrive on the event loop as text and are stored. The reader of a file also waits
on the loop, because a browser may stop in the middle and threads are few. The browser
sends the next piece after the arrival of one, so that other work can run on the loop
during a large upload.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import param
from panel.custom import JSComponent

from clusterlens.compute._run.options import raise_if_cancelled
from clusterlens.compute.formatting import whole
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.widgets.scripted import go_on, read_script

MAX_BYTES = 1_000_000_000
PASTED = "pasted table"
# Use of a file, determined by the drop zone.
TABLE, NEW_TABLE = "table", "new table"
_MB = 1_000_000
_LOOKS_AFTER_SECONDS = 0.2
_GIVES_UP_AFTER_SECONDS = 60


class Upload:
    """Incoming file; its pieces arrive and are awaited on the event loop.

    Parameters
    ----------
    name : str
        Name of the file.
    size : int
        Number of bytes.
    others : int, default 0
        Number of files dropped together with it, which are ignored.
    rows_of : {"table", "new table"}, default "table"
        Use of the file: the table of an analysis, or a table of new rows.

    Attributes
    ----------
    ended : bool
        Whether no more pieces are accepted.
    """

    def __init__(
        self, name: str, size: int, others: int = 0, rows_of: str = TABLE
    ) -> None:
        self.rows_of = rows_of
        self.name, self.size, self.others, self.ended = name, size, others, False
        self._pieces: list[bytes] = []
        self._missing = size
        self._refused = ""
        self._came = asyncio.Event()
        if size > MAX_BYTES:
            self._refuse(_too_large(size))

    def take(self, piece: str | None) -> None:
        """Accept the next piece in base64, or None if the browser cannot read on."""
        if self.ended:
            return
        content = _decoded(piece)
        if not content:
            self._refuse(
                "did not arrive whole; it may have been moved or changed: drop it "
                "again."
            )
        elif len(content) > self._missing:
            self._refuse(
                f"sent more than the {whole(self.size)} bytes that it announced; it "
                "may have changed: drop it again."
            )
        else:
            self._pieces.append(content)
            self._missing -= len(content)
        self._came.set()

    def give_way(self, other: Upload) -> None:
        """Let another upload to the same zone proceed, unless this one is complete."""
        if self.ended:
            return
        if self._missing == 0:
            other._refuse(
                f"was not taken, because {self.name} waits to be read; drop it later."
            )
        else:
            self._refuse(
                f"did not arrive whole, because {other.name} came; drop it again."
            )
            self._came.set()

    def _refuse(self, why: str) -> None:
        """Refuse the file, and free its pieces."""
        self._refused = why
        self.end()

    async def content(self, job: Job) -> bytes:
        """Wait for the whole file and report progress to the job.

        Raises
        ------
        ValueError
            If the file is too large, or its pieces do not arrive.
        """
        job.begin_stage(f"Upload {self.name}", unit="MB")
        try:
            while self._missing > 0 and not self._refused:
                await self._next(job)
                done = self.size - self._missing
                job.report(done // _MB, max(1, self.size // _MB))
            if self._refused:
                raise ValueError(f"{self.name} {self._refused}")
            return await job.server.in_thread(b"".join, self._pieces)
        finally:
            self.end()

    def end(self) -> None:
        """Accept no more pieces, and free those received."""
        self.ended = True
        self._pieces = []

    async def _next(self, job: Job) -> None:
        """Wait for a piece, with a timeout and for cancellation."""
        for _ in range(int(_GIVES_UP_AFTER_SECONDS / _LOOKS_AFTER_SECONDS)):
            raise_if_cancelled(job.cancelled)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._came.wait(), _LOOKS_AFTER_SECONDS)
                self._came.clear()
                return
        self._refuse(
            f"stopped arriving {_GIVES_UP_AFTER_SECONDS} seconds ago; the connection "
            "may have been lost: drop it again."
        )


def _decoded(piece: str | None) -> bytes:
    """Return the bytes of a piece in base64, none if it is no such text."""
    try:
        return base64.b64decode(piece or "", validate=True)
    except ValueError:
        return b""


def read_file(file: Path) -> bytes:
    """Read a file of this machine as if it had been dropped.

    Raises
    ------
    ValueError
        If it is too large, or cannot be read.
    """
    try:
        size = file.stat().st_size
        if size > MAX_BYTES:
            raise ValueError(f"{file.name} {_too_large(size)}")
        return file.read_bytes()
    except OSError as error:
        raise ValueError(
            f"{file.name} cannot be read ({error.strerror}); see to it, and load this "
            "page again."
        ) from error


def _too_large(size: int) -> str:
    return (
        f"has {whole(size / _MB)} MB, the limit is {whole(MAX_BYTES / _MB)}; "
        "keep fewer rows or columns, or store it as Parquet and start the server with "
        "it (clusterlens FILE)."
    )


class FileTaker(JSComponent):
    """Component that takes a dropped, chosen or pasted file.

    Parameters
    ----------
    begin : callable
        Called with the Upload of each file; may be a coroutine function.
    everywhere : bool
        Whether it takes files dropped or pasted anywhere on the page; otherwise it is a
        button to choose a file, or to drop one on.
    label : str
        Text of the button.
    outlined : bool
        Whether the button is only an outline, as for what few need.
    zone : str
        Text before the button, in a frame that takes dropped files; "" for no frame.
    rows_of : {"table", "new table"}
        Use of its files, set by the page.
    """

    rows_of = param.Selector(default=TABLE, objects=[TABLE, NEW_TABLE])
    everywhere = param.Boolean(False, doc="Whether the whole page takes files.")
    label = param.String("Browse…", doc="Text of the button.")
    outlined = param.Boolean(False, doc="Whether the button is only an outline.")
    zone = param.String("", doc="Text before the button.")
    pasted = param.String(PASTED, doc="What a pasted table is called.")

    _esm = read_script(__file__, "uploads.js")

    def __init__(self, begin: Callable[[Upload], Any], **params: Any) -> None:
        params.setdefault("margin", 0)
        super().__init__(**params)
        self._begin = begin
        self._upload: Upload | None = None

    def _handle_msg(self, data: Any) -> None:
        upload: Upload | None
        if "name" in data:
            name, size, others = data["name"], data["size"], data["others"]
            given = data.get("rows_of")
            rows_of = given if given == NEW_TABLE else TABLE
            upload = Upload(str(name), int(size), int(others), rows_of)
            if self._upload is not None:
                self._upload.give_way(upload)
            if not upload.ended:
                self._upload = upload
            go_on(self._begin(upload))
        else:
            upload = self._upload
            if upload is not None:
                upload.take(data["piece"])
        wanted = upload is not None and not upload.ended
        self._send_msg("next" if wanted else "stop")
