"""The one patch of a library: every change of a page is sent.

Panel writes changes that come while it is writing from a queue. Whoever has emptied the
queue takes its mark away after the last write; what was put in meanwhile, and its
writer, then find no mark, and wait for the next change of the page, which may never
come: a page that has come to rest does not show its last change. Panel 1.9.4 and 1.10.0
do so; `tests/ui/test_patches.py` has it in a few lines, and fails when this can go.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from panel.io import document


@cache
def send_everything() -> None:
    """Let every change of a page be sent, in this process, from now on."""
    write_queue = document._dispatch_msgs

    async def write_all(doc: Any) -> None:
        await write_queue(doc)
        if doc in queues() and doc not in document._WRITE_BLOCK:
            document._WRITE_BLOCK[doc] = True
            document._dispatch_write_task(doc, write_all, doc)

    document._dispatch_msgs = write_all


def queues() -> Any:
    """Return what Panel has still to write, by document."""
    has_events = hasattr(document, "_WRITE_EVENTS")  # since 1.10
    return document._WRITE_EVENTS if has_events else document._WRITE_MSGS
