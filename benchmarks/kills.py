"""Kill a working session again and again: nothing acknowledged may be lost.

    python -m benchmarks.kills [--kills 50] [--seconds 2.5] [--seed 0]
        [--pages [--told]]

A process opens the analysis that the one before it left, acts on it (links, scores,
undo, redo, preparations, pools) and writes down each acknowledged save. It is killed
with SIGKILL at a random moment, also in the middle of a write or of a pool. Then the
database must be sound and hold everything written down, or one action more. With
`--pages` the served page is killed instead: see `benchmarks.page_kills`. Each such kill
takes 40 s on a busy machine. With `--told` the server is told to end, by SIGTERM.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import select
import signal
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clusterlens.ui.composition import new_session
from clusterlens.ui.server.memory.store import FILE, Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.session import Session
from tests.support.digest import digest

POOL = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]
SCORES = ("aari", "anmi", "discotec-kl", "discotec-binary")


def main() -> None:
    """Kill as often as asked and print the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=2.5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pages", action="store_true", help="kill the served page")
    parser.add_argument("--told", action="store_true", help="end it by SIGTERM")
    given = parser.parse_args()
    rng, found = random.Random(given.seed), Counter[str]()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        if given.pages:
            from benchmarks.page_kills import kill, kill_pages, tell
            from clusterlens import compile_kernels

            compile_kernels()
            stop = tell if given.told else kill
            found += kill_pages(folder, given.kills, given.seconds, rng, stop)
        else:
            for k in range(given.kills):
                found += kill_once(folder, rng, rng.uniform(0, given.seconds), k)
    print(json.dumps(dict(found)))
    assert found["lost"] == found["unsound"] == found["does not open"] == 0
    assert found["ended late"] == 0


def kill_once(folder: Path, rng: random.Random, seconds: float, k: int) -> Counter[str]:
    """Let a process work, kill it, and compare its notes with the store."""
    reports, reporting = os.pipe()
    child = os.fork()
    if not child:
        os.setsid()
        os.close(reports)
        try:
            asyncio.run(work(folder, reporting, rng.randrange(2**32) + k))
        finally:
            os._exit(1)
    os.close(reporting)
    line, doing = listen(reports, child, seconds)
    os.close(reports)
    return Counter(forked(check, folder, line, doing))


def forked(function: Callable[..., Any], *given: Any) -> Any:
    """Return the plain values of a function called in another process.

    This process only ever forks: Arrow's threads would not survive in its children.
    """
    result, output = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(output, json.dumps(function(*given)).encode())
        finally:
            os._exit(0)
    os.close(output)
    os.waitpid(child, 0)
    with os.fdopen(result) as answer:
        return json.load(answer)


def listen(reports: int, child: int, seconds: float) -> tuple[dict, str]:
    """Read the child's messages; kill it some time after the first one."""
    text, end = "", None
    while True:
        wait = 600 if end is None else max(0.0, end - time.monotonic())
        ready, _, _ = select.select([reports], [], [], wait)
        if ready:
            piece = os.read(reports, 65536).decode()
            text += piece
            if end is None and "\n" in text:
                end = time.monotonic() + seconds
            if piece:
                continue
        break
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while piece := os.read(reports, 65536).decode():
        text += piece
    lines = [json.loads(line) for line in text.split("\n")[:-1]]
    saved = [line for line in lines if "saved" in line]
    return saved[-1], str(lines[-1].get("doing", "resting"))


async def work(folder: Path, reporting: int, seed: int) -> None:
    """Act without end; report each action begun and each one acknowledged."""
    rng = random.Random(seed)
    session = new_session(Server(Store(folder)))
    entries = session.memory.store.entries()
    if entries:
        assert await session.open(entries[0].id), session.jobs.notices
    else:
        assert await session.act("load example", name="iris")

    def report(**words: object) -> None:
        os.write(reporting, (json.dumps(words) + "\n").encode())

    def say_saved() -> None:
        assert session.memory.state == "saved", session.memory.problem
        report(
            saved=session.memory.analysis,
            revision=session.memory.revision,
            digest=digest(session),
        )

    say_saved()
    while True:
        kind, values = choose_action(rng)
        report(doing=kind)
        if kind in ("undo", "redo"):
            getattr(session, kind)()
            await session.memory.settled()
        else:
            await session.act(kind, **values)
        say_saved()


def choose_action(rng: random.Random) -> tuple[str, dict]:
    """Choose what to do next."""
    kind = rng.choice(
        ["undo", "redo", "run pool", "set score", "set link weight", "prepare"]
        + ["add link"] * 4
    )
    values = {
        "run pool": lambda: {"pool": POOL, "random_state": rng.randrange(100)},
        "set score": lambda: {"score": rng.choice(SCORES)},
        "set link weight": lambda: {"weight": rng.random()},
        "prepare": lambda: {"scale": rng.choice(["robust", "minmax", "standard"])},
        "add link": lambda: {
            "kind": rng.choice(["must", "cannot"]),
            "a": rng.randrange(150),
            "b": rng.randrange(150),
        },
    }
    return kind, values.get(kind, dict)()


def check(folder: Path, reported: dict, doing: str) -> dict[str, int]:
    """Open the store as a new server would; count entries present and missing."""
    db = sqlite3.connect(folder / FILE)
    sound = db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    sound &= db.execute("PRAGMA foreign_key_check").fetchall() == []
    db.close()

    async def opened() -> Session:
        session = new_session(Server(Store(folder)))
        assert await session.open(reported["saved"]), session.jobs.notices
        return session

    session = asyncio.run(opened())
    revision = session.memory.revision
    same = revision == reported["revision"] and digest(session) == reported["digest"]
    session.memory.store.close()
    kept = same or revision == reported["revision"] + 1
    return {
        "kills": 1,
        f"while {doing}": 1,
        "lost": int(not kept),
        "unsound": int(not sound),
        "one more than acknowledged": int(revision > reported["revision"]),
    }


if __name__ == "__main__":
    main()
