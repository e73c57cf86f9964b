"""Holding: a page that computes is kept for a while after it was closed or reloaded.

`panel serve app.py` gives a page up 15 seconds after its browser has gone, and what it
computed with it; so a reload would end a long run. Who serves cannot be told another
lifetime from app.py, but each page may say that it is not to be given up. The page that
takes the analysis up finds it among those that were left (`Server.left`).
"""

from __future__ import annotations

import asyncio
from typing import Any

from clusterlens.ui.kit.components import go_on

# For as long a page without a connection is held.
HELD_MILLISECONDS = 600_000
_LOOK_SECONDS = 1.0


def hold(session: Any, context: Any) -> None:
    """Keep the session of a page while an action of it is under way.

    Parameters
    ----------
    session : Session
        What the page shows.
    context : BokehSessionContext
        That of its document; it has no session yet while the page is made.
    """
    held: set[asyncio.Future[None]] = set()
    jobs = session.jobs

    def begin(event: Any) -> None:
        if jobs.busy and context.session is not None and not held:
            task = go_on(_keep(session, context.session))
            held.add(task)
            task.add_done_callback(held.discard)

    jobs.param.watch(begin, ["shown"])


async def _keep(session: Any, page: Any) -> None:
    """Let a page not expire until its work is done, or nobody came for long.

    Who follows its work on another page has come, too.
    """
    jobs, left = session.jobs, session.server.left
    page.block_expiration()
    try:
        while jobs.busy and (
            page.connection_count
            or jobs.followers
            or page.milliseconds_since_last_unsubscribe < HELD_MILLISECONDS
        ):
            (left.discard if page.connection_count else left.add)(session)
            await asyncio.sleep(_LOOK_SECONDS)
    finally:
        left.discard(session)
        page.unblock_expiration()
