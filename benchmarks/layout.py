"""Processor time of the browser with and without the replaced parts of Panel's layout.

    python -m benchmarks.layout [--rounds 3]

`page.html` replaces parts of the layout of Panel before 1.10. Opens iris by turns with
the page as it is and with the original layout, and prints the seconds of the browser's
main thread for: opening and running the example, four selected models, the first view
of Clusters, and the return to Consensus. Waits do not count, nor does other work of the
machine.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from itertools import pairwise
from pathlib import Path

import panel
from playwright.sync_api import Page

from clusterlens.ui.shell import TEMPLATE
from tests.support.pages import Served, open_browser

CONDITION = 'if (!("schedule_layout" in esm)) {'
APP = """
from pathlib import Path
import clusterlens.ui.shell as shell
shell.TEMPLATE = Path({folder!r}, Path({chosen!r}).read_text())
from clusterlens.ui.cli import open_page
open_page()
"""
# Milliseconds after which nothing is laid out any more.
SETTLED = 6_000
PATIENCE = 300_000


def main() -> None:
    """Measure both pages by turns, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    folder = Path(tempfile.mkdtemp())
    text = TEMPLATE.read_text(encoding="utf-8")
    if CONDITION not in text:
        raise SystemExit("page.html replaces no part of the layout any more.")
    pages = {"replaced": text, "original": text.replace(CONDITION, "if (false) {")}
    for name, page in pages.items():
        (folder / name).write_text(page, encoding="utf-8")
    chosen, app = folder / "chosen", folder / "app.py"
    chosen.write_text("replaced")
    app.write_text(APP.format(folder=str(folder), chosen=str(chosen)))
    served = Served(folder, app)
    served.start()
    seconds: dict[str, list[list[float]]] = {name: [] for name in pages}
    print(
        f"Panel {panel.__version__}; seconds of the browser's main thread: opened and"
    )
    print("run, four models selected, Clusters, back on Consensus")
    try:
        with open_browser() as browser:
            for visit in range(rounds + 1):  # the first one fills the caches
                for name in pages:
                    chosen.write_text(name)
                    page = browser.new_page(viewport={"width": 1440, "height": 900})
                    found = measure(page, served.address)
                    page.close()
                    if visit:
                        seconds[name].append(found)
    finally:
        served.kill()
    for name, rows in seconds.items():
        medians = map(statistics.median, zip(*rows, strict=True))
        print(f"{name:10}", *(f"{median:6.2f}" for median in medians))


def measure(page: Page, address: str) -> list[float]:
    """Return the seconds of the main thread for each part of a visit."""
    page.set_default_timeout(PATIENCE)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    ticks: list[float] = []

    def note() -> None:
        page.wait_for_timeout(SETTLED)
        metrics = session.send("Performance.getMetrics")["metrics"]
        ticks.extend(m["value"] for m in metrics if m["name"] == "TaskDuration")

    page.goto(f"{address}/app")
    page.wait_for_selector(".cl-nav-data button")
    note()
    page.locator(".cl-gallery .card", has_text="Iris").locator(".cl-open-run").click()
    page.locator(".cl-ranking-table .ranked").first.wait_for()
    note()
    for row in range(2, 6):
        page.locator(".cl-ranking-table .ranked").nth(row).click()
        page.wait_for_timeout(1_500)
    note()
    for key in ("clusters", "consensus"):
        page.locator(f".cl-nav-{key} button").click()
        page.locator(f".cl-page-{key}").first.wait_for()
        note()
    return [after - before for before, after in pairwise(ticks)]


if __name__ == "__main__":
    main()
