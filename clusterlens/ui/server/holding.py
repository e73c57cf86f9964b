"""Holding: a page that computes is kept for a while after it was closed or reloaded.

`panel serve app.py` gives a page up 15 seconds after its browser has gone, and what it
computed with it; so a reload would end a long run. Who serves cannot be told another
lifetime from app.py, but each page may say that it is not to be given up.
"""

from __future__ import annotations

import asyncio
from typing import Any

from clusterlens.ui.kit.components import go_on
from clusterlens.ui.work.jobs import Jobs

# For as long a page without a connection is held.
HELD_MILLISECONDS = 600_000
_LOOK_SECONDS = 1.0


def hold(jobs: Jobs, context: Any) -> None:
    """Keep the session of a page while an action of it is under way.

    Parameters
    ----------
    jobs : Jobs
        The work of the page.
    context : BokehSessionContext
        That of its document; it has no session yet while the page is made.
    """
    held: set[asyncio.Future[None]] = set()

    def begin(event: Any) -> None:
        if jobs.busy and context.session is not None and not held:
            task = go_on(_keep(jobs, context.session))
            held.add(task)
            task.add_done_callback(held.discard)

    jobs.param.watch(begin, ["shown"])


async def _keep(jobs: Jobs, session: Any) -> None:
    """Let a session not expire until its work is done, or nobody came for long."""
    session.block_expiration()
    try:
        while jobs.busy and (
            session.connection_count
            or session.milliseconds_since_last_unsubscribe < HELD_MILLISECONDS
        ):
            await asyncio.sleep(_LOOK_SECONDS)
    finally:
        session.unblock_expiration()
