"""The only patch of a library: it makes Panel send every change of a page.

Panel queues changes that are made while it is writing. The writer that has emptied the
queue removes its mark after its last write. A change queued in between, and its writer,
then find no mark and wait for the next change of the page. That may never come, and the
page does not show its last change. Panel 1.9.4 and 1.10.0 have this fault.
`tests/ui/test_patches.py` reproduces it in a few lines, and fails when the patch can be
removed.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from panel.io import document


@cache
def send_everything() -> None:
    """Make Panel send every change of a page, in this process, from now on."""
    write_queue = document._dispatch_msgs

    async def write_all(doc: Any) -> None:
        await write_queue(doc)
        if doc in queues() and doc not in document._WRITE_BLOCK:
            document._WRITE_BLOCK[doc] = True
            document._dispatch_write_task(doc, write_all, doc)

    document._dispatch_msgs = write_all


def queues() -> Any:
    """Return the changes that Panel has yet to write, by document."""
    has_events = hasattr(document, "_WRITE_EVENTS")  # since 1.10
    return document._WRITE_EVENTS if has_events else document._WRITE_MSGS
