"""What the pages of a session are made of, and what a walk over all of it takes.

    python -m benchmarks.page_models

Makes one page after the other in a document, as a browser's would be, and prints the
processor time of each, the models there are by then, and the time of a walk over them
(which happens whenever models come or go): Bokeh's own, and the one of the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import process_time
from typing import Any

import panel as pn
from bokeh.document import Document
from bokeh.model import util

from clusterlens.ui.server.defaults import make_few
from clusterlens.ui.session import Session
from clusterlens.ui.shell import Shell


async def main() -> None:
    """Make the pages and print."""
    pn.extension("tabulator", "filedropper")
    bokehs = util.visit_immediate_value_references
    make_few()
    ours = util.visit_immediate_value_references
    shell = Shell(Session())
    document = shell.view.server_doc(Document())
    for name, page in shell.pages.items():
        made = milliseconds(page.make)
        walks = []
        for visit in (bokehs, ours):
            util.visit_immediate_value_references = visit
            walks.append(milliseconds(document.models.recompute))
        print(
            f"{name:10} made in {made:4.0f} ms, {len(document.models):5} models, "
            f"walk {walks[0]:4.0f} ms by Bokeh, {walks[1]:4.0f} ms here "
            f"(ratio {walks[1] / walks[0]:.2f})"
        )
    shell.close()


def milliseconds(work: Callable[[], Any]) -> float:
    """Return the processor time of a call."""
    start = process_time()
    work()
    return 1000 * (process_time() - start)


if __name__ == "__main__":
    asyncio.run(main())
