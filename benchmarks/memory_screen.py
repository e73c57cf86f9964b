"""An answer and a reopened analysis in a browser, in milliseconds.

From the second click on the map, once the first is answered, to the pair that is read,
from the key that answers to the frame with the new order (budget 100 ms), both together
(150 ms), and from the key to the last new picture of the map and both matrices (400
ms). From a click on a recent analysis to its ranking, and to the map and both matrices
(3 s), by servers that have just started. Each figure is printed as it is measured;
`benchmarks.memory` says how it is begun.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd

from clusterlens import compile_kernels
from clusterlens.ui.server.memory.store import Store
from tests.support.pages import (
    BEGIN_CLOCK,
    FIND,
    PATIENCE,
    Served,
    begin_linking,
    browser_page,
    drop_pair,
    places_at_rest,
    wait_for_pictures,
)

PICTURES = (".cl-map", ".cl-consensus-matrix", ".cl-binarised-matrix")
LOOK = json.dumps({"page": "consensus", "tab": "links"})
ORDER = ["keydown", ".cl-ranking-table", ".ranked"]
READ = ["mousedown", ".cl-pair", "table"]
# Milliseconds from the next key to the last new picture in these cards within 1.5
# seconds, by card, as the promise `window.pictures`; null where none is new.
BEGIN_PICTURES = f"""(classes) => {{ {FIND}
  const image = (css) => imageOf(figureView(css), 'ImageRGBA')?.image[0];
  window.pictures = new Promise((done) => {{
    window.addEventListener('keydown', () => {{
      const start = performance.now(), last = classes.map(() => null);
      let before = classes.map(image);
      const look = () => {{
        const late = performance.now() - start, now = classes.map(image);
        now.forEach((one, k) => {{ if (one !== before[k]) last[k] = late; }});
        before = now;
        if (late > 1500) done(last);
        else requestAnimationFrame(look);
      }};
      requestAnimationFrame(look);
    }}, {{capture: true, once: true}});
  }});
}}"""
_BEGUN = time.perf_counter()


def tell(text: str) -> None:
    """Print a line with the seconds since the start."""
    print(f"{time.perf_counter() - _BEGUN:6.1f} s  {text}", flush=True)


def answer_on_screen(folder: Path, answers: int) -> None:
    """Click pairs of an analysis and answer; print every time and the medians."""
    compile_kernels()
    tell("kernels are ready")
    served = Served(folder)
    store = Store(served.home)
    query = urlencode({"analysis": store.entries()[0].id, "look": LOOK})
    store.close()
    with browser_page() as page:
        try:
            served.start("--warm")
            tell("the server answers")
            page.goto(f"{served.address}/app?{query}")
            wait_for_pictures(page, *PICTURES)
            page.locator(".cl-suggestions button").first.wait_for()
            tell("all pictures are there, and pairs are suggested")
            begin_linking(page)
            _summarise(_answers(page, answers))
        finally:
            served.end()


def _answers(page: Any, answers: int) -> list[dict[str, float | None]]:
    """Return milliseconds to the pair, the order and each picture; None if unchanged.

    Without an order where no answer would move a model.
    """
    rng, places, found = np.random.default_rng(0), places_at_rest(page), []
    for k in range(answers):
        first, second = (places[i] for i in rng.choice(len(places), 2, replace=False))
        page.mouse.click(*first)
        page.locator(".cl-pair").get_by_text("Click sample B").wait_for()
        page.evaluate(BEGIN_CLOCK, READ)
        page.mouse.click(*second)
        times = {"pair": page.evaluate("window.clock")}
        if key := telling_key(page):
            page.evaluate(BEGIN_CLOCK, ORDER)
            page.evaluate(BEGIN_PICTURES, PICTURES)
            page.keyboard.press(key)
            times["order"] = page.evaluate("window.clock")
            times |= dict(zip(PICTURES, page.evaluate("window.pictures"), strict=True))
        parts = (f"{what} {one:.0f} ms" for what, one in times.items() if one)
        tell(f"{k + 1}: {', '.join(parts)}")
        found.append(times)
        drop_pair(page)
    return found


def _summarise(found: list[dict[str, float | None]]) -> None:
    """Print the medians of the answers that moved a model."""
    times = pd.DataFrame(found, columns=["pair", "order", *PICTURES], dtype=float)
    times = times[times["order"].notna()]
    times["pair and order, the key at once"] = times["pair"] + times["order"]
    times["last new picture"] = times[list(PICTURES)].max(axis=1)
    for what, some in times.items():
        tell(f"{what}: median {some.median():.0f} ms of {some.count()}")


def telling_key(page: Any) -> str | None:
    """Return the key of an answer that the card says moves models."""
    effects = page.locator(".cl-pair p")
    for key in "MC":
        if effects.filter(has_text=re.compile(rf"^{key} ranks .*models? up")).count():
            return key.lower()
    return None


def reopen_on_screen(folder: Path) -> None:
    """Open the only recent analysis, by two servers one after the other.

    The first server finds no counts; the second one finds the counts stored by the
    first. Each is asked twice: at its start, while it prepares its kernels, and later.
    """
    compile_kernels()
    served = Served(folder)
    with browser_page() as page:
        for when in ("nothing counted", "counted by an earlier server"):
            try:
                served.start("--warm")
                tell("the server answers")
                _tell_reopened(page, served.address, when)
                _tell_reopened(page, served.address, "again on the same server")
            finally:
                served.end()


def _tell_reopened(page: Any, address: str, when: str) -> None:
    """Open the latest analysis and print the times to its ranking and pictures."""
    page.goto(f"{address}/app")
    recent = page.locator(".cl-recent .cl-open").first
    recent.wait_for(timeout=PATIENCE)
    page.wait_for_timeout(3000)
    start = time.perf_counter()
    recent.click()
    page.locator(".cl-ranking-table .ranked").first.wait_for()
    listed = time.perf_counter()
    wait_for_pictures(page, *PICTURES)
    ranking, pictures = listed - start, time.perf_counter() - start
    tell(
        f"reopened, {when}: {1000 * ranking:.0f} ms to the ranking, "
        f"{1000 * pictures:.0f} ms to all pictures"
    )
