"""Kill workers of runs: a run must end, name its lost models, and be saved.

    python -m benchmarks.dead_workers [--runs 50] [--seed 0]

A session runs a pool; at a random moment one of its worker processes, or every second
time all of them, is killed with SIGKILL. The run must end with the remaining models and
with notes that name the lost ones, and be saved; a run without a kill must again have
all its models.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil

from clusterlens.ui.composition import new_session
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.session import Session

POOL = [{"clusterer": "k-means", "n_clusters": list(range(2, 14))}]
N_MODELS = 12
HARM = ("not ended", "not saved", "lost unsaid", "lost by the run after them")


async def main() -> None:
    """Kill workers as often as asked and print the results."""
    parser = argparse.ArgumentParser(description="Kill workers of runs.")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng, found = random.Random(given.seed), Counter[str]()
    with tempfile.TemporaryDirectory() as home:
        session = new_session(Server(Store(Path(home))))
        assert await session.act("load example", name="digits")
        for k in range(given.runs):
            found += await kill_once(session, k, rng)
        assert await run(session, given.runs)
        found["lost by the run after them"] = N_MODELS - n_models(session)
        session.close()
    harm = {name: found[name] for name in HARM}
    print(json.dumps({**found, **harm}))
    assert not any(harm.values())


async def run(session: Session, seed: int) -> bool:
    """Run the pool in place of the run before."""
    if session.analysis.runs:
        session.undo()
    # The same pool and seed would be found, not run.
    return await session.act("run pool", pool=POOL, random_state=1000 + seed)


def n_models(session: Session) -> int:
    """Return the number of models of the run."""
    return session.analysis.runs[-1].ensemble.n_partitions


async def kill_once(session: Session, k: int, rng: random.Random) -> Counter[str]:
    """Run a pool, and kill one or all of its workers meanwhile."""
    running = asyncio.create_task(run(session, k))
    while not (workers := at_work()) and not running.done():
        await asyncio.sleep(0.005)
    await asyncio.sleep(rng.uniform(0, 0.5))
    killed = workers if k % 2 else rng.sample(workers, min(1, len(workers)))
    for process in killed:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    ended, _ = await asyncio.wait({running}, timeout=120)
    if not ended:
        return Counter({"runs": 1, "not ended": 1})
    if not running.result():
        # All models were lost: the run is refused with words.
        reported = bool(session.jobs.notices)
        return Counter(
            {"runs": 1, "refused in words": reported, "lost unsaid": not reported}
        )
    lost = N_MODELS - n_models(session)
    notes = session.analysis.runs[-1].ensemble.notes
    named = sum(note.count("k-means k=") for note in notes if "WorkerDied" in note)
    return Counter(
        {
            "runs": 1,
            "workers killed": len(killed),
            "models lost": lost,
            "lost unsaid": int(lost != named),
            "not saved": int(session.memory.state != "saved"),
        }
    )


def at_work() -> list[psutil.Process]:
    """Worker processes of this one."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # ended meanwhile
            if "resource_tracker" not in " ".join(process.cmdline()):
                found.append(process)
    return found


if __name__ == "__main__":
    asyncio.run(main())
