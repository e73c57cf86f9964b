"""Keep a closed page for ten minutes if it computes or has something unsaved.

Bokeh ends a session 15 seconds after its browser has gone, so a reload would end a long
run. `app.py` cannot set that lifetime, but each session may block its expiration. The
next page that opens the analysis finds the session in `Server.left`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from clusterlens.ui.widgets.scripted import go_on

# Time for which a page without a connection is kept.
HELD_MILLISECONDS = 600_000
_LOOK_SECONDS = 1.0


def hold(session: Any, context: Any) -> None:
    """Keep the session of a page while an action runs or a step is unsaved.

    Parameters
    ----------
    session : Session
        Session of the page.
    context : BokehSessionContext
        Context of its document; it has no session yet while the page is made.
    """
    held: set[asyncio.Future[None]] = set()

    def begin(event: Any) -> None:
        if _is_needed(session) and context.session is not None and not held:
            task = go_on(_keep(session, context.session))
            held.add(task)
            task.add_done_callback(held.discard)

    session.jobs.param.watch(begin, ["shown"])
    session.history.param.watch(begin, ["steps"])
    session.memory.param.watch(begin, ["state"])


def _is_needed(session: Any) -> bool:
    return session.jobs.busy or not session.is_kept


async def _keep(session: Any, page: Any) -> None:
    """Block the expiration of a page while it is needed and visited.

    A page that follows its work counts as a visitor.
    """
    jobs, left = session.jobs, session.server.left
    page.block_expiration()
    try:
        while _is_needed(session) and (
            page.connection_count
            or jobs.followers
            or page.milliseconds_since_last_unsubscribe < HELD_MILLISECONDS
        ):
            (left.discard if page.connection_count else left.add)(session)
            await asyncio.sleep(_LOOK_SECONDS)
    finally:
        left.discard(session)
        page.unblock_expiration()
