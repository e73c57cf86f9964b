"""Sending: what Panel would leave unsent on its way to the browser.

Panel 1.9.4 writes changes that come while it is writing from a queue. Whoever has
emptied the queue takes its mark away after the last write; what was put in meanwhile,
and its writer, then find no mark, and wait for the next change of the page, which may
never come.
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
        if doc in document._WRITE_MSGS and doc not in document._WRITE_BLOCK:
            document._WRITE_BLOCK[doc] = True
            document._dispatch_write_task(doc, write_all, doc)

    document._dispatch_msgs = write_all
