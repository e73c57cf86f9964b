"""Session and page for each browser that connects."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bokeh.util.warnings import BokehUserWarning
from panel.io.resources import LOCAL_DIST

from clusterlens.compute._run.process_settings import ignore_warnings
from clusterlens.ui.composition import new_session
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.scheduler import is_serving
from clusterlens.ui.opening import EXTENSIONS
from clusterlens.ui.pages import import_pages
from clusterlens.ui.patches import send_everything
from clusterlens.ui.server.holding import hold
from clusterlens.ui.server.one_thread import keep_on, write_on_loop
from clusterlens.ui.server.server import Server
from clusterlens.ui.server.uploads import read_file
from clusterlens.ui.session import Session
from clusterlens.ui.shell import Shell, empty_frame
from clusterlens.ui.state.address import from_query, restore_view_state
from clusterlens.ui.widgets.toolkit import pn

# Others are answered between two pages.
_PAUSE_SECONDS = 0.01


def _is_lost_page() -> bool:
    """Return whether a page reconnects (`Connection`) to a session that has ended."""
    request = pn.state.curdoc.session_context.request
    return request.path.endswith("/ws") and request.query == "again"


def serve_page(server: Server, file: Path | None = None) -> None:
    """Show the frame of a page, which a session fills once a browser has drawn it.

    A server that warms up (`panel serve --warm`) calls this before anybody can connect.
    Kernels are then compiled, without a session.

    Parameters
    ----------
    server : Server
        Owner of the resources that all sessions share.
    file : Path, optional
        Table that the page begins with.
    """
    pn.extension(*EXTENSIONS)
    if not is_serving():
        server.warming.start()
        return
    keep_on(asyncio.get_running_loop())
    write_on_loop(pn.state.curdoc.session_context)
    if _is_lost_page():
        return  # an empty page shows the client that its session has ended
    # Browsers send style sheets of later widgets back in full, besides their names.
    # This is harmless (Bokeh pull request 12915) and would only fill the log.
    ignore_warnings("reference already known", BokehUserWarning)
    send_everything()
    import_pages()
    # Part of the page's markup, which is sent before the session is made. Without it
    # components would request their style sheets from another host.
    pn.state.curdoc.template_variables.setdefault("dist_url", LOCAL_DIST)
    view = empty_frame()
    pn.state.onload(partial(_fill_in_turn, server, file, view))
    # Panel cannot read addresses with two question marks, or of IPv6; Query can.
    view.servable(location=False)


async def _fill_in_turn(server: Server, file: Path | None, view: Any) -> None:
    """Fill a frame after the frames before it, unless its visitor has left.

    A request alone makes no session. Besides, cards that come while the browser fetches
    the page would not be sent to it, but their changes would.
    """
    context = pn.state.curdoc.session_context
    async with server.opening:
        await asyncio.sleep(_PAUSE_SECONDS)
        if context.session.connection_count:
            await _fill(server, file, view)


async def _fill(server: Server, file: Path | None, view: Any) -> None:
    """Make the session of a browser, and fill its frame part by part."""
    session = new_session(server)
    if server.startup_notice:
        session.jobs.notify("warning", server.startup_notice)
    pn.config.exception_handler = _handler(session)
    shell = Shell(session, view)
    pn.state.on_session_destroyed(lambda context: shell.close())
    hold(session, pn.state.curdoc.session_context)
    await server.scheduler.take(shell.fill(), lambda: True)
    given = {name: values[0] for name, values in pn.state.session_args.items()}
    try:
        analysis, view_state = from_query(
            {name: _decoded(v) for name, v in given.items()}
        )
    except ValueError as error:
        analysis, view_state = None, {}
        session.jobs.notify("warning", f"The link is not followed: {error}")
    if analysis is None:
        restore_view_state(session.view_state, view_state)
    shell.begin()
    if analysis is not None and session.memory.store is not None:
        pn.state.onload(partial(session.open, analysis, view_state or None))
    elif (own_run := server.tables.own_run) is not None:
        name = next(n for n, path in server.tables.runs().items() if path == own_run)
        pn.state.onload(partial(session.act, "open run", name=name))
    elif (own := server.tables.own) is not None:
        given = {"name": own.name, "n_landmarks": server.tables.n_landmarks}
        pn.state.onload(partial(session.act, "load landmarks", **given))
    elif file is not None:
        pn.state.onload(partial(_load_file, session, file))


async def _load_file(session: Session, file: Path) -> None:
    """Load a table as if it had been dropped."""

    def begin() -> Callable[[Job], str]:
        return lambda job: session.keep_file(read_file(file))

    key = await session.jobs.act(f"Read {file.name}", begin, kind="load file")
    if key is not None:
        await session.act("load file", name=file.name, sha256=key)


def _handler(session: Session) -> Callable[[Exception], None]:
    """Return a handler of errors of a session that does not keep it alive."""
    known = weakref.ref(session.jobs)

    def tell(error: Exception) -> None:
        jobs = known()
        if jobs is not None:
            jobs.fail("This step", error)

    return tell


def _decoded(value: bytes) -> str:
    return value.decode(errors="replace")
