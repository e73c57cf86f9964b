"""From a slider of the CNS page to pixels, in a browser, while it is dragged.

    python -m benchmarks.lab [--rows 10000] [--columns 10] [--places 20]

A browser (an installed Chromium or Chrome) opens the page CNS on `rows` samples with 50
candidate seeds and takes hold of each slider in turn. A place is timed from the move of
the mouse that changes the slider to the frame in which the next picture of the map is
on screen; at a new neighbourhood size that picture is the preview, whose number is
printed. The mouse moves on only when the server rests and no picture has come for half
a second, so that a late picture of the place before is not taken for the answer. Then
the slider is dragged there and back without a pause: pictures a second, and the time
from its last move to its last picture. Printed beside the budgets, with the processor
time of the server per place, which depends less on what else the machine does.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
from playwright.sync_api import Page, TimeoutError

from benchmarks.pages import open_browser
from benchmarks.start import IDLE, LONG, processor_seconds

PORT = 5318
# Class of a slider, what it sets, the share of its track to drag over, milliseconds.
SLIDERS = (
    ("cl-alpha", "alpha", (0.05, 0.95), 150),
    ("cl-n-clusters", "clusters K", (0.05, 1.0), 150),
    ("cl-neighbours", "neighbours k", (0.2, 0.95), 250),
)
# A place whose picture is the one before it brings no new one.
PATIENCE = 15_000
# Milliseconds without a picture after which none is on its way.
QUIET = 500
DRAG_SECONDS = 2
# When the first picture after the last move was on screen.
ANSWERED = "noted.painted.find((at) => at > noted.moved)"
# Notes when the mouse moved last, and when a picture of the map was on screen.
NOTES = """() => {
  const is_image = (renderer) => renderer.glyph?.type === 'ImageRGBA';
  const map = [...Bokeh.documents[0]._all_models.values()].find(
    (model) => model.type === 'Figure' && model.renderers.some(is_image));
  const view = Bokeh.index.find_one(map);
  const image = map.renderers.find(is_image).data_source;
  const noted = window.noted = {moved: 0, painted: [], latest: performance.now()};
  let arrived = false;
  document.addEventListener('mousemove',
    (event) => { noted.moved = event.timeStamp; }, true);
  image.properties.data.change.connect(() => { arrived = true; });
  const paint = view.paint.bind(view);
  view.paint = () => {
    paint();
    if (!arrived) return;
    arrived = false;
    const after = new MessageChannel();
    after.port1.onmessage = () => {
      noted.latest = performance.now();
      noted.painted.push(noted.latest);
    };
    after.port2.postMessage(0);
  };
}"""


@dataclass
class Server:
    """A served page: its address, its process, and what it says of itself."""

    address: str
    pid: int

    def ask(self, what: str) -> str:
        """Ask for a note of the server."""
        with urllib.request.urlopen(f"{self.address}/noted/{what}", timeout=300) as got:
            return got.read().decode()

    def until_at_rest(self) -> None:
        """Return when nothing is under way."""
        while self.ask("rest") != "1":
            sleep(0.02)


def main() -> None:
    """Measure all sliders, or serve the page that is measured."""
    parser = argparse.ArgumentParser(description="From a slider to pixels.")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--places", type=int, default=20)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.rows, given.columns)
    else:
        measure(given.rows, given.columns, given.places)


def measure(rows: int, columns: int, n_places: int) -> None:
    """Open the page, drag the sliders, print what was found."""
    with served(rows, columns) as server, open_browser() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(server.address, timeout=LONG)
        page.wait_for_function(IDLE, timeout=LONG)
        page.locator(".cl-alpha .MuiSlider-thumb").wait_for(timeout=LONG)
        server.until_at_rest()
        page.evaluate(NOTES)
        print(f"{rows:,} samples, {columns} columns, 50 candidate seeds; milliseconds")
        print(
            f"{'from slider to pixels':24}{'budget':>7}{'median':>8}{'ratio':>7}"
            f"{'longest':>9}{'processor':>11}{'previews':>10}"
            f"{'dragged: a second':>19}{'to the last':>13}"
        )
        for css, what, ends, budget in SLIDERS:
            found = Found(page, server, css, ends).measure(n_places)
            middle = float(np.median(found["waits"]))
            print(
                f"{what:24}{budget:7}{middle:8.0f}{middle / budget:7.2f}"
                f"{max(found['waits']):9.0f}{found['processor']:11.0f}"
                f"{found['previews']:>10}{found['rate']:19.1f}{found['last']:13.0f}",
                flush=True,
            )


class Found:
    """The times of one slider.

    Parameters
    ----------
    page, server : Page, Server
        Both ends.
    css : str
        Class of the slider.
    ends : tuple of float
        Shares of its track to drag between.
    """

    def __init__(
        self, page: Page, server: Server, css: str, ends: tuple[float, float]
    ) -> None:
        self._page, self._server, self._ends = page, server, ends
        box = page.locator(f".{css} .MuiSlider-root").bounding_box()
        self._left, self._width = box["x"], box["width"]
        thumb = page.locator(f".{css} .MuiSlider-thumb").bounding_box()
        self._y = thumb["y"] + thumb["height"] / 2
        page.mouse.move(thumb["x"] + thumb["width"] / 2, self._y)

    def measure(self, n_places: int) -> dict[str, Any]:
        """Take hold of the slider, stop at places, drag there and back, let go."""
        self._page.mouse.down()
        self._until_quiet()
        start, previews = processor_seconds(self._server.pid), 0
        waits = []
        for share in np.linspace(*self._ends, n_places):
            wait = self._wait_at(share)
            if wait is not None:
                waits.append(wait)
                previews += int(self._server.ask("previews"))
        used = 1000 * (processor_seconds(self._server.pid) - start) / n_places
        rate, last = self._drag()
        self._page.mouse.up()
        self._until_quiet()
        return {
            "waits": waits,
            "processor": used,
            "previews": f"{previews} of {len(waits)}",
            "rate": rate,
            "last": last,
        }

    def _go(self, share: float) -> None:
        self._page.mouse.move(self._left + share * self._width, self._y)

    def _until_quiet(self) -> None:
        """Return when nothing is under way and every picture is on screen."""
        self._server.until_at_rest()
        quiet = f"performance.now() - noted.latest > {QUIET}"
        self._page.wait_for_function(quiet, timeout=LONG)

    def _wait_at(self, share: float) -> float | None:
        """Milliseconds from a move to the next picture, if any; then let all rest."""
        self._server.ask("reset")
        self._page.evaluate("noted.painted = []")
        self._go(share)
        try:
            self._page.wait_for_function(ANSWERED, timeout=PATIENCE)
        except TimeoutError:
            return None
        wait = self._page.evaluate(f"{ANSWERED} - noted.moved")
        self._until_quiet()
        return float(wait)

    def _drag(self) -> tuple[float, float]:
        """Pictures a second without a pause, and milliseconds to the last of them."""
        self._page.evaluate("noted.painted = []")
        low, high = self._ends
        for turn in np.linspace(0, 4, 50 * DRAG_SECONDS):
            self._go(high - (high - low) * abs(turn % 2 - 1))
            sleep(0.02)
        self._until_quiet()
        painted, moved = self._page.evaluate("[noted.painted, noted.moved]")
        during = sum(at <= moved for at in painted)
        return during / DRAG_SECONDS, painted[-1] - moved


@contextmanager
def served(rows: int, columns: int) -> Iterator[Server]:
    """Serve the page from another process, end it."""
    command = [sys.executable, "-m", "benchmarks.lab", "--serve"]
    options = ["--rows", str(rows), "--columns", str(columns)]
    process = subprocess.Popen([*command, *options])
    server = Server(f"http://127.0.0.1:{PORT}", process.pid)
    try:
        while True:
            with suppress(OSError):
                server.ask("rest")
                break
            sleep(0.2)
        yield server
    finally:
        process.terminate()
        process.wait()


def serve(rows: int, columns: int) -> None:
    """Serve the page CNS on a table of blobs, and what happened to it."""
    import panel as pn
    from sklearn.datasets import make_blobs
    from tornado.web import RequestHandler

    from clusterlens.compute.table.dataset import make_dataset, prepare
    from clusterlens.ui.analysis import Analysis
    from clusterlens.ui.history import Step
    from clusterlens.ui.session import Session
    from clusterlens.ui.shell import Shell

    X, _ = make_blobs(rows, columns, centers=12, cluster_std=2.5, random_state=0)
    table = make_dataset(X, name="blobs")
    analysis = Analysis(table=table, dataset=prepare(table))
    sessions: list[Session] = []
    previews: set[Any] = set()

    def page() -> None:
        pn.extension("tabulator", "filedropper")
        session = Session()
        sessions.append(session)
        session.look.page = "cns"

        def read() -> None:
            session.history.do(Step("load file", "Read the table", analysis, {}))

        def note(results: Any) -> None:
            solution = results["cns_solution"].value
            if solution is not None and solution.preview:
                previews.add(solution.n_neighbors)

        session.derived.watch(["cns_solution"], note)
        Shell(session).view.servable()
        pn.state.onload(read)

    class Noted(RequestHandler):
        def get(self, what: str) -> None:
            if what == "rest":
                self.write(str(int(all(s.jobs.at_rest for s in sessions))))
            elif what == "previews":
                self.write(str(int(len(previews) > 0)))
            else:
                previews.clear()

    pn.serve(
        {"/": page},
        port=PORT,
        address="127.0.0.1",
        show=False,
        websocket_origin=[f"127.0.0.1:{PORT}"],
        extra_patterns=[(r"/noted/(\w+)", Noted)],
    )


if __name__ == "__main__":
    os.chdir(Path(__file__).parents[1])
    main()
