"""What the pages of a session are made of, and what it takes to walk over and send it.

    python -m benchmarks.page_models

Makes one page after the other in a document, as a browser's would be, and prints the
processor time of each, its longest step, the models there are by then, and the times of
a walk over them (which happens whenever models come or go) and of sending them all:
Bokeh's own, and those of the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import process_time
from typing import Any

import panel as pn
from bokeh.core.has_props import HasProps
from bokeh.core.json_encoder import serialize_json
from bokeh.document import Document
from bokeh.model import util

from clusterlens.ui.server.lean import make_lean
from clusterlens.ui.server.server import Server
from clusterlens.ui.session import Session
from clusterlens.ui.shell import Shell

WAYS = (
    (util, "visit_immediate_value_references"),
    (HasProps, "properties_with_values"),
)


async def main() -> None:
    """Make the pages and print."""
    pn.extension("tabulator", "filedropper")
    ways = [[getattr(*way) for way in WAYS]]
    make_lean()
    ways.append([getattr(*way) for way in WAYS])
    shell = Shell(Session(Server()))
    document = shell.view.server_doc(Document())
    for name, page in shell.pages.items():
        steps = []
        while not page.made:
            steps.append(milliseconds(lambda page=page: next(page._making)))
        walks, sendings = [], []
        for way in ways:
            for (owner, attribute), function in zip(WAYS, way, strict=True):
                setattr(owner, attribute, function)
            walks.append(milliseconds(document.models.recompute))
            sendings.append(milliseconds(lambda: serialize_json(document.to_json())))
        print(
            f"{name:10} made in {sum(steps):4.0f} ms, longest step {max(steps):3.0f}; "
            f"{len(document.models):5} models, walk {walks[0]:3.0f} ms by Bokeh, "
            f"{walks[1]:3.0f} here (ratio {walks[1] / walks[0]:.2f}), sending "
            f"{sendings[0]:4.0f}, {sendings[1]:3.0f} ({sendings[1] / sendings[0]:.2f})"
        )
    shell.close()


def milliseconds(work: Callable[[], Any]) -> float:
    """Return the processor time of a call."""
    start = process_time()
    work()
    return 1000 * (process_time() - start)


if __name__ == "__main__":
    asyncio.run(main())
