"""Seconds to open an analysis again, and from an answer to the new ranking.

    python -m benchmarks.memory [reopen | answer]

Without a browser. `reopen`: 100,000 x 10 with 56 models, written by one process and
opened by another. `answer`: links at 20,000 samples and 200 models, from the action to
the ranking that the page draws; median of 20. Wall-clock and processor seconds.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.ui.analysis import Analysis, Run
from clusterlens.ui.history import Step
from clusterlens.ui.memory.store import Store
from clusterlens.ui.session import Session

ANSWERS = 20
SHOWN = ("ranking", "rows", "selected", "link_states", "constraints?")


def made(n: int, d: int, n_models: int) -> Analysis:
    """An analysis of planted groups that models see with errors."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 8, n)
    X = groups[:, None] + rng.normal(size=(n, d))
    table = make_dataset(X, name="planted")
    ready = prepare(table)
    labels = [
        np.where(rng.random(n) < rng.uniform(0.05, 0.4), rng.integers(0, 8, n), groups)
        for _ in range(n_models)
    ]
    families = [f"family {k % 5}" for k in range(n_models)]
    run = Run("r1", "run 1", ready, (), 0, Ensemble(labels, families=families))
    return Analysis(table, {}, ready, (run,), 1, "r1")


def clocks() -> tuple[float, float]:
    """Wall-clock and processor seconds."""
    return time.perf_counter(), time.process_time()


async def write(folder: Path) -> str:
    """Keep a large analysis; return its id."""
    session = Session(Store(folder))
    session.history.do(Step("test", "Test", made(100_000, 10, 56)))
    start = clocks()
    await session.memory.settled()
    print("save", *(f"{b - a:.2f}" for a, b in zip(start, clocks(), strict=True)))
    print("bytes", session.memory.store.size())
    return session.memory.analysis or ""


async def reopen(folder: Path, analysis: str) -> None:
    """Open it again."""
    session = Session(Store(folder))
    start = clocks()
    assert await session.open(analysis)
    print("reopen", *(f"{b - a:.2f}" for a, b in zip(start, clocks(), strict=True)))


async def answer() -> None:
    """Link pairs, one after the other, and wait for the ranking."""
    session = Session()
    session.history.do(Step("test", "Test", made(20_000, 10, 200)))
    session.derived.watch(SHOWN, lambda results: None)
    while not session.jobs.at_rest:
        await asyncio.sleep(0.01)
    rng, wall, work = np.random.default_rng(1), [], []
    for _ in range(ANSWERS):
        a, b = map(int, rng.choice(20_000, 2, replace=False))
        before, start = session.derived.get("ranking").value, clocks()
        session.act_now("add link", kind="cannot", a=a, b=b)
        while (found := session.derived.get("ranking")).value is before or (
            not found.ready
        ):
            await asyncio.sleep(0)
        end = clocks()
        wall.append(end[0] - start[0])
        work.append(end[1] - start[1])
        while not session.jobs.at_rest:
            await asyncio.sleep(0.01)
    print(f"answer {statistics.median(wall):.4f} {statistics.median(work):.4f}")


def main() -> None:
    """Print what was asked for, or all of it."""
    what, rest = (sys.argv[1:2] or ["all"])[0], sys.argv[2:]
    if what == "opened":
        asyncio.run(reopen(Path(rest[0]), rest[1]))
        return
    if what in ("all", "reopen"):
        with tempfile.TemporaryDirectory() as home:
            analysis = asyncio.run(write(Path(home)))
            opened = [sys.executable, "-m", "benchmarks.memory", "opened", home]
            subprocess.run([*opened, analysis], check=True)
    if what in ("all", "answer"):
        asyncio.run(answer())


if __name__ == "__main__":
    main()
