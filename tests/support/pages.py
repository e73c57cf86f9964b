"""The served page in a browser, for the benchmarks and tests that drive it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
STARTED_WITHIN_SECONDS = 240
# Milliseconds that a busy machine may take to a page.
PATIENCE = 120_000
# Milliseconds between two looks at a figure.
PAUSE = 100

IDLE = "Bokeh.documents.length > 0 && Bokeh.documents.every(d => d.is_idle)"
# Finds the first element of a class, through shadow roots, and the view of its figure,
# which is remembered while it is in the page: to walk all of that takes milliseconds.
FIND = """
const find = (root, css) => {
  const hit = root.querySelector(css);
  if (hit) return hit;
  for (const e of root.querySelectorAll('*'))
    if (e.shadowRoot) { const h = find(e.shadowRoot, css); if (h) return h; }
  return null;
};
const figureView = (css) => {
  const known = (window.figureViews ??= {});
  if (known[css]?.el.isConnected) return known[css];
  const host = find(document, css);
  const inside = (e) => {
    for (; e; e = e.parentNode || e.host) if (e === host) return true;
    return false;
  };
  const views = Object.values(Bokeh.index).flatMap(function walk(v) {
    return [v, ...(v.child_views || []).flatMap(walk)];
  });
  known[css] = host && views.find((v) => v.model.type === 'Figure' && inside(v.el));
  return known[css];
};
const imageOf = (view, kind) => {
  const glyph = view && view.model.renderers.find((r) => r.glyph
    && r.glyph.type === kind && r.data_source.data.image.length);
  return glyph ? glyph.data_source.data : null;
};
"""
# Whether figures show their pictures.
PICTURED = f"""(classes) => {{ {FIND}
  const seen = (css) => imageOf(figureView(css), 'ImageRGBA');
  return !!(window.Bokeh && classes.every(seen));
}}"""
# Screen positions of the samples on the map, from left to right.
SAMPLES = f"""() => {{ {FIND}
  const view = figureView('.cl-map'), data = imageOf(view, 'ImageRGBA');
  if (!data) return null;
  const [image] = data.image, [height, width] = image.shape, filled = [];
  for (let i = 0; i < width * height; i++)
    if (image[i] >>> 24) filled.push([i % width, Math.floor(i / width)]);
  filled.sort((a, b) => a[0] - b[0]);
  const box = view.canvas_view.el.getBoundingClientRect(), frame = view.frame;
  return filled.map(([i, j]) => [
    box.x + frame.x_scale.compute(data.x[0] + (i + 0.5) * data.dw[0] / width),
    box.y + frame.y_scale.compute(data.y[0] + (j + 0.5) * data.dh[0] / height)]);
}}"""
# Lets a drag over the map draw a lasso.
TAKE_LASSO = f"""() => {{ {FIND}
  const tools = figureView('.cl-map').model.toolbar.tools;
  tools.find((tool) => tool.type === 'LassoSelectTool').active = true;
}}"""
# Milliseconds from the next event of a type to the frame that shows other texts in the
# parts of a card, as the promise `window.clock`; null if none comes in 20 seconds.
BEGIN_CLOCK = f"""([type, css, part]) => {{ {FIND}
  const texts = () => {{
    const host = find(document, css), root = host && (host.shadowRoot || host);
    const parts = root ? [...root.querySelectorAll(part)] : [];
    return parts.map((e) => e.textContent).join();
  }};
  const before = texts();
  window.clock = new Promise((done) => {{
    window.addEventListener(type, () => {{
      const start = performance.now();
      const look = () => {{
        const now = texts(), late = performance.now() - start;
        if (now && now !== before)
          requestAnimationFrame(() => done(performance.now() - start));
        else if (late > 20000) done(null);
        else requestAnimationFrame(look);
      }};
      requestAnimationFrame(look);
    }}, {{capture: true, once: true}});
  }});
}}"""


def find_browser() -> str | None:
    """Return the path of an installed Chromium or Chrome."""
    chosen = os.environ.get("CLUSTERLENS_BROWSER")
    found = (shutil.which(name) for name in BROWSERS)
    return chosen or next((path for path in found if path), None)


class Served:
    """`panel serve app.py` over a store, on one port of the loopback interface.

    Parameters
    ----------
    folder : Path
        Holds the store (`home`), large tables (`tables`) and the log of the server.
    app : Path, optional
        Served in the place of app.py, under the same name.
    """

    def __init__(self, folder: Path, app: Path = ROOT / "app.py") -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        self.address = f"http://127.0.0.1:{port}"
        self.home, self.log = folder / "home", folder / "log.txt"
        self.tables = folder / "tables"
        self._command = [
            *(sys.executable, "-m", "panel", "serve", str(app), "--liveness"),
            *("--address", "127.0.0.1", "--port", port),
            *("--allow-websocket-origin", f"127.0.0.1:{port}"),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *more: str) -> None:
        """Begin to serve; return when it answers."""
        with self.log.open("a") as out:
            self._process = subprocess.Popen(
                [*self._command, *more],
                cwd=ROOT,
                env={
                    **os.environ,
                    "CLUSTERLENS_HOME": str(self.home),
                    "CLUSTERLENS_FOLDERS": str(self.tables),
                },
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        for _ in range(10 * STARTED_WITHIN_SECONDS):
            try:
                urllib.request.urlopen(f"{self.address}/liveness", timeout=0.1).close()
                return
            except OSError:
                try:
                    self._process.wait(timeout=0.1)
                    break
                except subprocess.TimeoutExpired:
                    continue
        raise RuntimeError(f"the server did not start:\n{self.log.read_text()}")

    @property
    def pid(self) -> int:
        """The process that serves."""
        assert self._process is not None, "it has not been started"
        return self._process.pid

    def kill(self) -> None:
        """End it and its worker processes at once, by SIGKILL."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def end(self) -> int:
        """Tell it to end; return its exit status."""
        assert self._process is not None, "it has not been started"
        self._process.terminate()
        status = self._process.wait(timeout=20)
        self._process = None
        return status


@contextmanager
def open_browser() -> Iterator[Any]:
    """Yield an installed browser without a window."""
    from playwright.sync_api import sync_playwright

    path = find_browser()
    if path is None:
        sys.exit(
            "No Chromium or Chrome; install one or name it in CLUSTERLENS_BROWSER."
        )
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def browser_page(width: int = 1440, height: int = 900) -> Iterator[Any]:
    """Yield a page of a browser without a window."""
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": width, "height": height})
        page.set_default_timeout(PATIENCE)
        yield page


def wait_for_content(page: Any) -> None:
    """Wait until a page that opens has its content."""
    page.locator(".cl-nav-data button").wait_for(timeout=PATIENCE)
    page.wait_for_function(IDLE, timeout=PATIENCE)


def wait_for_pictures(page: Any, *classes: str) -> None:
    """Wait until the figures of these cards show their pictures."""
    page.wait_for_function(PICTURED, arg=list(classes), timeout=PATIENCE, polling=PAUSE)


def begin_linking(page: Any) -> None:
    """Let clicks on the map pick a pair."""
    page.keyboard.press("l")
    page.locator(".cl-linking").get_by_text("click sample A").wait_for()


def drop_pair(page: Any) -> None:
    """Drop an unfinished pair, in a page that links; the next click picks A."""
    for _ in range(2):  # off, which drops the pair, and on again
        page.keyboard.press("l")


def sample_places(page: Any) -> list[list[float]]:
    """Return where samples are on the screen, the leftmost first."""
    found = page.wait_for_function(SAMPLES, timeout=PATIENCE, polling=PAUSE)
    return found.json_value()


def places_at_rest(page: Any) -> list[list[float]]:
    """Return where samples are once they stay there, after a page has come up."""
    places: list[list[float]] = []
    while (now := sample_places(page)) != places:
        places = now
        page.wait_for_timeout(500)
    return places
