"""Size of the pages of a session, and the time to walk over their models and send them.

    python -m benchmarks.page_models

Makes one page after the other in a document, as a browser's would be, and prints the
processor time of each, its longest step, the number of models so far, and the times of
a walk over them (done whenever models are added or removed) and of sending them all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import process_time
from typing import Any

import panel as pn
from bokeh.core.json_encoder import serialize_json
from bokeh.document import Document

from clusterlens.ui.composition import new_session
from clusterlens.ui.server.server import Server
from clusterlens.ui.shell import Shell


async def main() -> None:
    """Make the pages and print."""
    pn.extension("tabulator")
    shell = Shell(new_session(Server()))
    document = shell.view.server_doc(Document())
    for name, page in shell.pages.items():
        steps = []
        while not page.made:
            steps.append(milliseconds(lambda page=page: next(page._making)))
        walk = milliseconds(document.models.recompute)
        sending = milliseconds(lambda: serialize_json(document.to_json()))
        print(
            f"{name:10} made in {sum(steps):4.0f} ms, longest step {max(steps):3.0f}; "
            f"{len(document.models):5} models, walk {walk:3.0f} ms, sending "
            f"{sending:4.0f}"
        )
    shell.close()


def milliseconds(work: Callable[[], Any]) -> float:
    """Return the processor time of a call."""
    start = process_time()
    work()
    return 1000 * (process_time() - start)


if __name__ == "__main__":
    asyncio.run(main())
