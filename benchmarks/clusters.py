"""The page Clusters: its slider for k, in a browser, and the import of partitions.

    python -m benchmarks.clusters slider [--rows 20000] [--models 100] [--repeats 3]
    python -m benchmarks.clusters import [--rows 10000] [--models 200]

`slider`: a browser (an installed Chromium or Chrome) opens the page and drags the
slider from k = 2 to its end, stopping at each number. The output has the milliseconds
from the move of the mouse to the frames with the new icicle and the new map, as medians
over all numbers of `repeats` fresh sessions without earlier views, and the processor
time of the server for everything on the page.

`import`: seconds to read label columns from a file of text, joined by row id, without
gaps and with a fifth of the cells missing.
"""

from __future__ import annotations

import argparse
import io
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import Page

import clusterlens as cl
from benchmarks.sliders import Dragged, Server, open_page, serve, served
from tests.support.large_analysis import made
from tests.support.pages import open_browser

PORT = 5319
BUDGET = 150
IMPORT_BUDGET = 3.0
PARTS = (("markup", ".cl-icicle"), ("picture", ".cl-compare"))
GAPS = (0.0, 0.2)


def main() -> None:
    """Run a measurement, or serve the measured page."""
    parser = argparse.ArgumentParser(description="The page Clusters.")
    parser.add_argument("what", nargs="?", choices=["slider", "import"])
    parser.add_argument("--rows", type=int)
    parser.add_argument("--models", type=int)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve_page(given.rows, given.models)
    elif given.what == "slider":
        drag(given.rows or 20_000, given.models or 100, given.repeats)
    elif given.what == "import":
        read(given.rows or 10_000, given.models or 200)
    else:
        parser.error("say slider or import.")


def drag(rows: int, models: int, repeats: int) -> None:
    """Drag the slider in fresh sessions and print the results."""
    size = ("--rows", str(rows), "--models", str(models))
    waits, processor = [], []
    with (
        served("benchmarks.clusters", PORT, *size) as server,
        open_browser() as browser,
    ):
        for _ in range(repeats):
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            open_page(page, server, *PARTS)
            slider, n_places = slider_of(page, server)
            shares = np.linspace(0, 1, n_places).tolist()
            processor.append(slider.stop_at(shares))
            slider.let_go()
            waits += slider.waits
            page.close()
    print(f"{rows:,} samples, {models} models, {len(waits)} numbers; milliseconds")
    print(f"{'from slider to':16}{'budget':>7}{'median':>8}{'ratio':>7}{'longest':>9}")
    for what, times in zip(("icicle", "map"), zip(*waits, strict=True), strict=True):
        middle = float(np.median(times))
        line = f"{what:16}{BUDGET:7}{middle:8.0f}{middle / BUDGET:7.2f}"
        print(f"{line}{max(times):9.0f}", flush=True)
    print(f"processor time of the server per number: {np.median(processor):.0f}")


def slider_of(page: Page, server: Server) -> tuple[Dragged, int]:
    """Return the slider, held at its current number, and how many numbers it has."""
    slider = page.locator(".cl-k input")
    low, high, now = (
        int(slider.evaluate(f"input => input.{name}"))
        for name in ("min", "max", "value")
    )
    rows = [
        page.locator(f".cl-icicle .row-of-k[data-do='{k}']").bounding_box()
        for k in (low, now, high)
    ]
    box = slider.bounding_box()
    x = box["x"] + box["width"] / 2
    first, held, last = ((x, row["y"] + row["height"] / 2) for row in rows)
    return Dragged(page, server, held, (first, last)), high - low + 1


def serve_page(rows: int, models: int) -> None:
    """Serve the page Clusters on planted groups."""
    from clusterlens.ui.state.history import Step

    step = Step("test", "Test", made(rows, 10, models), {})

    def begin(session: Any) -> Any:
        session.view_state.page = "clusters"
        return lambda: session.history.do(step)

    serve(begin, PORT)


def read(rows: int, models: int) -> None:
    """Read label columns without and with gaps, print seconds beside the budget."""
    rng = np.random.default_rng(0)
    ids = [f"id {i}" for i in range(rows)]
    names = [f"model {t}" for t in range(models)]
    labels = pd.DataFrame(rng.integers(0, 12, (rows, models)), ids, names, "Int64")
    print(f"{models} partitions of {rows:,} samples")
    print(f"{'gaps':>6}{'megabytes':>11}{'budget':>8}{'seconds':>9}{'processor':>11}")
    for gaps in GAPS:
        file = labels.mask(rng.random(labels.shape) < gaps).to_csv().encode()
        clock, processor = time.perf_counter(), time.process_time()
        cl.load_partitions(io.BytesIO(file), ids)
        print(
            f"{gaps:6.0%}{len(file) / 1e6:11.1f}{IMPORT_BUDGET:8.0f}"
            f"{time.perf_counter() - clock:9.2f}{time.process_time() - processor:11.2f}"
        )


if __name__ == "__main__":
    os.chdir(Path(__file__).parents[1])
    main()
