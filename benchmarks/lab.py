"""From a slider of the CNS page to pixels, in a browser, while it is dragged.

    python -m benchmarks.lab [--rows 10000] [--columns 10] [--places 20]

A browser (an installed Chromium or Chrome) opens the page CNS on `rows` samples with 50
candidate seeds and takes hold of each slider in turn. A place is timed from the move of
the mouse that changes the slider to the frame that shows the next picture of the map;
at a new neighbourhood size that picture is the preview, and their number is printed.
The mouse moves on only when the server rests and no picture has come for half a second,
so that a late picture of the place before is not taken for the answer. Then the slider
is dragged there and back without a pause: pictures a second, and the time from its last
move to its last picture. Printed beside the budgets, with the processor time of the
server per place, which depends less on what else the machine does.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page

from benchmarks.sliders import Dragged, Server, open_page, serve, served
from tests.support.pages import open_browser

PORT = 5318
# Class of a slider, the quantity it sets, the share of its track to drag over, budget
# in milliseconds.
SLIDERS = (
    ("cl-alpha", "alpha", (0.05, 0.95), 150),
    ("cl-n-clusters", "clusters K", (0.05, 1.0), 150),
    ("cl-neighbours", "neighbours k", (0.2, 0.95), 250),
)


def main() -> None:
    """Measure all sliders, or serve the page that is measured."""
    parser = argparse.ArgumentParser(description="From a slider to pixels.")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--places", type=int, default=20)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve_page(given.rows, given.columns)
    else:
        measure(given.rows, given.columns, given.places)


def measure(rows: int, columns: int, n_places: int) -> None:
    """Open the page, drag the sliders, print the results."""
    size = ("--rows", str(rows), "--columns", str(columns))
    with served("benchmarks.lab", PORT, *size) as server, open_browser() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        open_page(page, server, ("picture", ".cl-membership-map"))
        print(f"{rows:,} samples, {columns} columns, 50 candidate seeds; milliseconds")
        print(
            f"{'from slider to pixels':24}{'budget':>7}{'median':>8}{'ratio':>7}"
            f"{'longest':>9}{'processor':>11}{'previews':>10}"
            f"{'dragged: a second':>19}{'to the last':>13}"
        )
        for css, what, ends, budget in SLIDERS:
            print(
                one_slider(page, server, css, what, ends, budget, n_places), flush=True
            )


def one_slider(
    page: Page,
    server: Server,
    css: str,
    what: str,
    ends: tuple[float, float],
    budget: int,
    n_places: int,
) -> str:
    """Take hold of a slider, stop at places, drag it there and back; return a line."""
    slider = slider_of(page, server, css, ends)
    previews: list[int] = []
    server.ask("reset")

    def after() -> None:
        previews.append(int(server.ask("previews")))
        server.ask("reset")

    processor = slider.stop_at(np.linspace(0, 1, n_places).tolist(), after)
    waits = [wait for (wait,) in slider.waits]
    rate, last = slider.there_and_back()
    slider.let_go()
    middle = float(np.median(waits))
    seen = f"{sum(previews)} of {len(waits)}"
    return (
        f"{what:24}{budget:7}{middle:8.0f}{middle / budget:7.2f}{max(waits):9.0f}"
        f"{processor:11.0f}{seen:>10}{rate:19.1f}{last:13.0f}"
    )


def slider_of(
    page: Page, server: Server, css: str, ends: tuple[float, float]
) -> Dragged:
    """Return a slider of the page, to be dragged over a share of its track."""
    box = page.locator(f".{css} .MuiSlider-root").bounding_box()
    thumb = page.locator(f".{css} .MuiSlider-thumb").bounding_box()
    y = thumb["y"] + thumb["height"] / 2
    first, last = ((box["x"] + share * box["width"], y) for share in ends)
    return Dragged(page, server, (thumb["x"] + thumb["width"] / 2, y), (first, last))


def serve_page(rows: int, columns: int) -> None:
    """Serve the page CNS on a table of blobs, and report the number of previews."""
    import pandas as pd
    from sklearn.datasets import make_blobs

    X, _ = make_blobs(rows, columns, centers=12, cluster_std=2.5, random_state=0)
    table = pd.DataFrame(X).to_csv(index=False).encode()
    previews: set[Any] = set()

    def begin(session: Any) -> Any:
        session.view_state.page = "cns"

        def note(results: Any) -> None:
            solution = results["cns_solution"].value
            if solution is not None and solution.preview:
                previews.add(solution.n_neighbors)

        session.derived.watch(["cns_solution"], note)

        async def load() -> None:
            key = session.keep_file(table)
            await session.act("load file", name="blobs.csv", sha256=key)

        return load

    notes = {"previews": lambda: int(len(previews) > 0), "reset": previews.clear}
    serve(begin, PORT, notes)


if __name__ == "__main__":
    os.chdir(Path(__file__).parents[1])
    main()
