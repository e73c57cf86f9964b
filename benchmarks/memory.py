"""Seconds to open an analysis again, and from an answer to the new ranking.

    python -m benchmarks.memory [reopen | answer | screen] [--home FOLDER]
        [--rows 20000] [--models 200] [--answers 20] [--large 100000]

Without a browser, wall-clock and processor seconds. `reopen`: `--large` x 10 with 56
models, opened by a process that did not write it. `answer`: links at `--rows` samples
and `--models` models, from the action to the ranking that the page draws; median.

`screen`: both in a browser, in milliseconds; see `benchmarks.memory_screen`.

The two analyses are made once and kept in the folder of `--home`, so that the next
start measures at once; each start works on a copy. Without one they are made anew.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.session import Session
from clusterlens.ui.state.analysis import Analysis, Run
from clusterlens.ui.state.history import Step

LARGE_MODELS = 56
SHOWN = ("ranking", "rows", "selected", "link_states", "constraints?")


def made(n: int, d: int, n_models: int) -> Analysis:
    """Return an analysis of planted groups and models with errors."""
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


def kept(home: Path, n: int, n_models: int) -> Path:
    """Return a folder that keeps a large analysis alone; made where it is not there."""
    folder = home / f"{n}x{n_models}"
    if not folder.exists():
        begun = home / f"{n}x{n_models} begun"
        shutil.rmtree(begun, ignore_errors=True)
        asyncio.run(_write(begun, n, n_models))
        begun.rename(folder)
    return folder


async def _write(folder: Path, n: int, n_models: int) -> None:
    session = Session(Server(Store(folder)))
    session.look.page = "consensus"  # where it is left, and opened again
    session.history.do(Step("start", "Test", made(n, 10, n_models)))
    start = clocks()
    await session.memory.settled()
    spent = (f"{b - a:.2f}" for a, b in zip(start, clocks(), strict=True))
    size = session.memory.store.size()
    print(f"{n:,} rows, {n_models} models saved:", *spent, f"s, {size:,} bytes")
    session.memory.store.close()


def clocks() -> tuple[float, float]:
    """Wall-clock and processor seconds."""
    return time.perf_counter(), time.process_time()


async def reopen(folder: Path) -> None:
    """Open the only analysis of a folder again."""
    session = Session(Server(Store(folder)))
    start = clocks()
    assert await session.open(session.memory.store.entries()[0].id)
    print("reopen", *(f"{b - a:.2f}" for a, b in zip(start, clocks(), strict=True)))


async def answer(n: int, n_models: int, answers: int) -> None:
    """Link pairs, one after the other, and wait for the ranking."""
    session = Session(Server())
    session.history.do(Step("start", "Test", made(n, 10, n_models)))
    session.derived.watch(SHOWN, lambda results: None)
    while not session.jobs.at_rest:
        await asyncio.sleep(0.01)
    rng, wall, work = np.random.default_rng(1), [], []
    for _ in range(answers):
        a, b = map(int, rng.choice(n, 2, replace=False))
        before, start = session.derived.get("ranking").value, clocks()
        session.act_now("add link", kind="cannot", a=a, b=b)
        while (found := session.derived.get("ranking")).value is before or (
            not found.ready
        ):
            await asyncio.sleep(0.001)  # the ranking needs the processor
        end = clocks()
        wall.append(end[0] - start[0])
        work.append(end[1] - start[1])
        while not session.jobs.at_rest:
            await asyncio.sleep(0.01)
    print(f"answer {statistics.median(wall):.4f} {statistics.median(work):.4f}")


def main() -> None:
    """Print the requested part, or all parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = ("all", "reopen", "answer", "screen", "opened")
    parser.add_argument("part", nargs="?", default="all", choices=parts)
    parser.add_argument("--home", type=Path, help="keeps the analyses for the next")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--answers", type=int, default=20)
    parser.add_argument("--large", type=int, default=100_000)
    given = parser.parse_args()
    if given.part == "opened":
        asyncio.run(reopen(given.home))
        return
    with tempfile.TemporaryDirectory() as folder:
        home, work = given.home or Path(folder, "kept"), Path(folder)

        def copied(name: str, n: int, n_models: int) -> Path:
            """Return a copy of the kept folder, to keep it for the next start."""
            return shutil.copytree(kept(home, n, n_models), work / name / "home")

        if given.part in ("all", "reopen"):
            copy = copied("reopen", given.large, LARGE_MODELS)
            opened = [sys.executable, "-m", "benchmarks.memory", "opened"]
            subprocess.run([*opened, "--home", str(copy)], check=True)
        if given.part in ("all", "answer"):
            asyncio.run(answer(given.rows, given.models, given.answers))
        if given.part in ("all", "screen"):
            from benchmarks.memory_screen import answer_on_screen, reopen_on_screen

            copy = copied("answer", given.rows, given.models)
            answer_on_screen(copy.parent, given.answers)
            copy = copied("open", given.large, LARGE_MODELS)
            reopen_on_screen(copy.parent)


if __name__ == "__main__":
    main()
