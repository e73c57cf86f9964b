"""Make the pictures of the README: serve the app, use it, take screenshots.

Run from the root of the project, with Playwright and a Chromium installed:
`python assets/make_screenshots.py`.
"""

import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ASSETS = Path(__file__).parent
SIZE = {"width": 1440, "height": 900}


def main() -> None:
    """Take the Consensus page of the default example in light and dark."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "panel", "serve", "app.py", "--port", str(port)]
    server = subprocess.Popen([*command, "--warm"], cwd=ASSETS.parent)
    try:
        wait_for(f"http://localhost:{port}/app")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page(viewport=SIZE)
            page.goto(f"http://localhost:{port}/app")
            use(page)
            page.screenshot(path=ASSETS / "consensus.png")
            browser.close()
    finally:
        server.terminate()


def wait_for(address: str) -> None:
    """Return when the server answers."""
    while True:
        try:
            urllib.request.urlopen(address).close()
        except urllib.error.URLError:
            time.sleep(0.2)
        else:
            return


def use(page: Page) -> None:
    """Load the default example, run the default pool, wait for the answer."""
    page.locator(".cl-load-example button").click()
    page.get_by_role("button", name="Next: choose a pool").click()
    page.get_by_role("button", name="Run the pool").click()
    page.get_by_text("if a majority must agree").wait_for(timeout=300_000)
    page.locator(".cl-binarised-matrix .bk-Canvas").wait_for(timeout=60_000)
    page.wait_for_function("Bokeh.documents.every(d => d.is_idle)")
    page.wait_for_timeout(2_000)


if __name__ == "__main__":
    main()
