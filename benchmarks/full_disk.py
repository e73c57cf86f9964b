"""Fill the disk under a working session: it must report this and lose no saved step.

    mount -t tmpfs -o size=4m tmpfs /mnt/small
    python -m benchmarks.full_disk /mnt/small [--times 100] [--seed 0]

The folder is on a small file system used for nothing else. Each time a file fills all
but some random kilobytes of it, and a session acts (links, scores, undo, redo,
preparations, pools) until it says that it cannot save. Then another server must find
the acknowledged steps in a sound store, and the page must still hold its last step.
Once there is free space again, “try again” must save all of it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import sqlite3
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

from benchmarks.kills import choose_action
from clusterlens.ui.composition import new_session
from clusterlens.ui.server.memory.database import FILE, StoreError
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.session import Session
from tests.support.digest import digest

HARM = ("lost", "unsound", "unsaid", "gone from the page", "not saved with room")
MOST_ACTIONS = 60
MOST_FREE = 60_000


def main() -> None:
    """Fill the disk as often as asked and print the results."""
    parser = argparse.ArgumentParser(description="Fill the disk of a session.")
    parser.add_argument("folder", type=Path, help="on a small file system")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if shutil.disk_usage(given.folder).total > 100_000_000:
        parser.error("the file system is large; give one of a few MB")
    rng, found = random.Random(given.seed), Counter[str]()
    for _ in range(given.times):
        home = given.folder / "home"
        found += asyncio.run(fill_once(home, given.folder / "ballast", rng))
        shutil.rmtree(home)
    harm = {name: found[name] for name in HARM}
    print(json.dumps({**found, **harm}))
    assert not any(harm.values())


async def fill_once(home: Path, ballast: Path, rng: random.Random) -> Counter[str]:
    """Act on a disk that is nearly full, make room, and go on."""
    found, store = Counter({"times": 1}), Store(home)
    session = new_session(Server(store))
    assert await session.act("load example", name="iris")
    acknowledged = digest(session)
    fill(ballast, rng.randrange(MOST_FREE))
    for _ in range(MOST_ACTIONS):
        kind, values = choose_action(rng)
        if kind in ("undo", "redo"):
            getattr(session, kind)()
            await session.memory.settled()
        else:
            await session.act(kind, **values)
        if session.memory.state != "saved":
            found[f"while {kind}"] += 1
            break
        acknowledged = digest(session)
    else:
        found["never full"] += 1
    here, problem = digest(session), session.memory.problem
    if session.memory.state == "failed":
        reported = "try again" in problem and str(home) in problem
        found["unsaid"] += not reported
        found["gone from the page"] += here == acknowledged
        found += await of_another_server(home, session.memory.analysis, acknowledged)
    ballast.unlink()
    session.memory.retry()
    await session.memory.settled()
    found["not saved with room"] += session.memory.state != "saved"
    again = await opened(home, session.memory.analysis)
    found["lost"] += digest(again) != here
    found["unsound"] += not is_sound(home)
    session.close()
    store.close()
    return found


def fill(ballast: Path, free: int) -> None:
    """Take all room but some bytes."""
    size = max(0, shutil.disk_usage(ballast.parent).free - free)
    with suppress(OSError):
        ballast.write_bytes(bytes(size))


async def of_another_server(home: Path, analysis: str, known: str) -> Counter[str]:
    """Check the store with another server while the disk is full; it may refuse."""
    try:
        session = await opened(home, analysis)
    except (StoreError, OSError):
        return Counter({"another server says that the disk is full": 1})
    return Counter(
        {"lost": int(digest(session) != known), "unsound": int(not is_sound(home))}
    )


async def opened(home: Path, analysis: str) -> Session:
    """Open an analysis as after a new start."""
    with closing(Store(home)) as store:
        session = new_session(Server(store))
        assert await session.open(analysis), session.jobs.notices
        session.close()
        return session


def is_sound(home: Path) -> bool:
    """Return whether SQLite finds the database sound."""
    with closing(sqlite3.connect(home / FILE)) as db:
        return db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


if __name__ == "__main__":
    main()
