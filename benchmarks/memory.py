"""Seconds to open an analysis again, and from an answer to the new ranking.

    python -m benchmarks.memory [reopen | answer | screen]

Without a browser, wall-clock and processor seconds. `reopen`: 100,000 x 10 with 56
models, written by one process and opened by another. `answer`: links at 20,000 samples
and 200 models, from the action to the ranking that the page draws; median of 20.

`screen`: both in a browser, in milliseconds. From the second click on the map to the
pair that is read, and from the key that answers to the frame with the new order, 20
times (budget 150 ms); from a click on a recent analysis of 100,000 x 10 to the ranking,
and to the map and both matrices as well (budget 3 s).
"""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from benchmarks.pages import (
    BEGIN_CLOCK,
    Served,
    begin_linking,
    browser_page,
    places_at_rest,
    wait_for_pictures,
)
from clusterlens import compile_kernels
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.ui.analysis import Analysis, Run
from clusterlens.ui.history import Step
from clusterlens.ui.memory.store import Store
from clusterlens.ui.session import Session

ANSWERS = 20
PICTURES = (".cl-map", ".cl-consensus-matrix", ".cl-binarised-matrix")
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


async def write(folder: Path, n: int = 100_000, n_models: int = 56) -> str:
    """Keep a large analysis; return its id."""
    session = Session(Store(folder))
    session.history.do(Step("test", "Test", made(n, 10, n_models)))
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


def on_screen(folder: Path) -> None:
    """Answer about pairs, then open an analysis again, in a browser."""
    compile_kernels()
    served = Served(folder)
    analysis = asyncio.run(write(served.home, 20_000, 200))
    look = json.dumps({"page": "consensus", "tab": "links"})
    query = urlencode({"analysis": analysis, "look": look})
    with browser_page() as page:
        try:
            served.start("--warm")
            page.goto(f"{served.address}/app?{query}")
            wait_for_pictures(page, *PICTURES)
            answer_on_screen(page)
        finally:
            served.end()
        asyncio.run(write(served.home))
        try:
            served.start("--warm")
            for _ in range(2):  # the first time also warms caches of the server
                reopen_on_screen(page, served.address)
        finally:
            served.end()


def answer_on_screen(page: Any) -> None:
    """Click pairs and answer; print medians in milliseconds."""
    begin_linking(page)
    rng = np.random.default_rng(0)
    rows = ["keydown", ".cl-ranking-table", ".tabulator-row"]
    read, ranked = [], []
    for _ in range(ANSWERS):
        places = places_at_rest(page)
        first, second = (places[k] for k in rng.choice(len(places), 2, replace=False))
        page.mouse.click(*first)
        page.evaluate(BEGIN_CLOCK, ["mousedown", ".cl-pair", "table"])
        page.mouse.click(*second)
        read.append(page.evaluate("window.clock"))
        if key := telling_key(page):
            page.evaluate(BEGIN_CLOCK, rows)
            page.keyboard.press(key)
            ranked.append(page.evaluate("window.clock"))
        page.keyboard.press("Escape")
        page.wait_for_timeout(1000)  # whatever else follows is done by then
    for what, times in (("pair", read), ("order", ranked)):
        seen = [one for one in times if one is not None]
        middle = f"{statistics.median(seen):.0f}" if seen else "no"
        print(f"{what} {middle} ms, {len(seen)} of {len(times)}")


def telling_key(page: Any) -> str | None:
    """The key of an answer that moves models in the ranking, by what the card says."""
    effects = page.locator(".cl-pair p")
    for key in "MC":
        if effects.filter(has_text=re.compile(rf"^{key} puts .*models? up")).count():
            return key.lower()
    return None


def reopen_on_screen(page: Any, address: str) -> None:
    """Open the latest recent analysis; print milliseconds to ranking and pictures."""
    page.goto(f"{address}/app")
    recent = page.locator(".cl-recent .cl-open").first
    recent.wait_for()
    page.wait_for_timeout(3000)
    start = time.perf_counter()
    recent.click()
    page.locator(".cl-ranking-table .tabulator-row").first.wait_for()
    listed = time.perf_counter()
    wait_for_pictures(page, *PICTURES)
    drawn = time.perf_counter()
    print(f"reopen {1000 * (listed - start):.0f} ms to the ranking, ", end="")
    print(f"{1000 * (drawn - start):.0f} ms to all pictures")


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
    if what in ("all", "screen"):
        with tempfile.TemporaryDirectory() as home:
            on_screen(Path(home))


if __name__ == "__main__":
    main()
