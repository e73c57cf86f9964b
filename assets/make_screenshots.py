"""Make the pictures of the README and of the manual: use the served app, page by page.

Run from the root of the project, with Playwright and a Chromium installed:
`python assets/make_screenshots.py`, or with names of pages to make only those.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
SIZE = {"width": 1440, "height": 900}
COLOURS = 160  # enough for flat cards, and a third of the size
LONG = 300_000


def main(wanted: list[str]) -> None:
    """Take every page of an analysis of the iris, and Consensus in dark, too."""
    PICTURES.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "clusterlens", "--port=0", "--no-browser"]
    server = subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | {"CLUSTERLENS_HOME": "off"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        address = server.stdout.readline().split()[3]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            for theme in ("light", "dark"):
                page = browser.new_page(viewport=SIZE)
                page.set_default_timeout(LONG)
                page.goto(address)
                wait_until_idle(page)
                if theme == "dark":
                    page.get_by_role("button", name="Toggle theme").click()
                take_all(page, wanted, "" if theme == "light" else "-dark")
                page.close()
            browser.close()
    finally:
        server.terminate()


def take_all(page: Page, wanted: list[str], ending: str) -> None:
    """Go through the pages in reading order; a picture of each that is wanted."""
    for name, go in PAGES.items():
        go(page)
        asked = not wanted or name in wanted
        if asked and (not ending or name == "consensus"):
            wait_until_idle(page)
            page.screenshot(path=PICTURES / f"{name}{ending}.png")
            shrink(PICTURES / f"{name}{ending}.png")


def start(page: Page) -> None:
    """Stay on the page that a visitor sees first."""


def data(page: Page) -> None:
    """Open the iris."""
    card = page.locator(".cl-gallery .card", has_text="Iris")
    card.locator(".cl-data-only").click()
    page.locator(".cl-prepared").get_by_text("go into the pool").wait_for(timeout=LONG)


def pool(page: Page) -> None:
    """Run the default pool, and stay on its page."""
    open_page(page, "pool")
    page.get_by_role("button", name="Run the pool").click()
    page.locator(".cl-headline").get_by_text("if a majority").wait_for(timeout=LONG)
    open_page(page, "pool")


def labels(page: Page) -> None:
    """Wait until density has been measured as well."""
    open_page(page, "labels")
    page.get_by_text("of these labels shuffled").wait_for(timeout=LONG)


def consensus(page: Page) -> None:
    """Wait for both matrices."""
    open_page(page, "consensus")
    page.locator(".cl-binarised-matrix .bk-Canvas").wait_for(timeout=LONG)


def open_page(page: Page, key: str) -> None:
    """Turn to a page by the rail, and wait until it has been made."""
    page.locator(f".cl-nav-{key} button").click()
    page.locator(f".cl-page-{key} .cl-card").first.wait_for(timeout=LONG)


def turned(key: str) -> Callable[[Page], None]:
    return lambda page: open_page(page, key)


PAGES: dict[str, Callable[[Page], None]] = {
    "start": start,
    "data": data,
    "pool": pool,
    "consensus": consensus,
    **{key: turned(key) for key in ("clusters", "report", "fuzzy", "cns")},
    "labels": labels,
    "lessons": turned("lessons"),
}


def wait_until_idle(page: Page) -> None:
    """Wait until nothing more arrives."""
    page.wait_for_function("Bokeh.documents.every(d => d.is_idle)", timeout=LONG)
    page.wait_for_timeout(3_000)
    page.locator(".cl-job").wait_for(state="hidden", timeout=LONG)
    expect(page.locator(".skeleton:visible")).to_have_count(0, timeout=LONG)
    page.wait_for_timeout(1_000)


def shrink(path: Path) -> None:
    """Save a picture with few colours, which text and flat cards do not miss."""
    few = Image.open(path).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
