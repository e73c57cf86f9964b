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
from pathlib import Path

import numpy as np

from clusterlens.ui.composition import new_session
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.history import Step
from tests.support.large_analysis import clocks, kept, made

LARGE_MODELS = 56
SHOWN = ("ranking", "rows", "selected", "link_states", "constraints?")


async def reopen(folder: Path) -> None:
    """Open the only analysis of a folder again."""
    session = new_session(Server(Store(folder)))
    start = clocks()
    assert await session.open(session.memory.store.entries()[0].id)
    print("reopen", *(f"{b - a:.2f}" for a, b in zip(start, clocks(), strict=True)))


async def answer(n: int, n_models: int, answers: int) -> None:
    """Link pairs, one after the other, and wait for the ranking."""
    session = new_session(Server())
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
