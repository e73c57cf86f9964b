"""Analyses that are made without a page, for tests in a browser that begin with one."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from clusterlens.compute.pool.specs import pool_grids
from clusterlens.compute.ranking.voting import CHOSEN_VOTES
from clusterlens.ui.composition import new_session
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from tests.ui.loop import run

Step = tuple[str, Mapping[str, Any]]


def pool_run(pool: str | list[dict[str, Any]] = "quick", rows: int = 0) -> Step:
    """Return the step that runs a pool, by its name for so many rows."""
    entries = pool_grids(pool, rows)[0] if isinstance(pool, str) else pool
    return "run pool", {"pool": entries, "votes": CHOSEN_VOTES}


def keep(home: Path, table: Path | str, *steps: Step, **view_state: Any) -> str:
    """Keep an analysis of a file or an example in a store, after some steps.

    Returns the query of its address, with values of what the page looks at.
    """
    store = Store(home)
    session = new_session(Server(store))

    async def work() -> None:
        if isinstance(table, Path):
            key = session.keep_file(table.read_bytes())
            loaded = "load file", {"name": table.name, "sha256": key}
        else:
            loaded = "load example", {"name": table}
        for kind, values in (loaded, *steps):
            assert await session.act(kind, **values), session.jobs.notices
        await session.memory.settled()

    try:
        run(work())
        found = {"analysis": session.memory.analysis, "look": json.dumps(view_state)}
    finally:
        session.close()
        store.close()
    return urlencode(found)
