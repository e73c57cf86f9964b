"""From a slider to pixels: code shared by the benchmarks that drag a slider.

A page is served by another process, which reports when it is idle. The browser records
the moves of the mouse and the frames that show a new picture or new markup.
"""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import sleep
from typing import Any

import numpy as np
from playwright.sync_api import Page, TimeoutError

from benchmarks.start import LONG, processor_seconds
from tests.support.pages import FIND, wait_for_pictures

# Milliseconds to wait for a new picture; none comes if it equals the one before.
PATIENCE = 15_000
# Milliseconds without a picture after which none is on its way.
QUIET = 500
DRAG_SECONDS = 2

# Notes when the mouse moved last, and when each part, ["picture" or "markup", class of
# its card], was on screen anew.
NOTES = f"""(parts) => {{ {FIND}
  const noted = window.noted = {{moved: 0, painted: [], latest: performance.now()}};
  document.addEventListener('mousemove',
    (event) => {{ noted.moved = event.timeStamp; }}, true);
  const note = (k) => {{
    const after = new MessageChannel();
    after.port1.onmessage = () => {{
      noted.latest = performance.now();
      noted.painted[k].push(noted.latest);
    }};
    after.port2.postMessage(0);
  }};
  parts.forEach(([kind, css], k) => {{
    noted.painted.push([]);
    let arrived = false;
    if (kind === 'markup') {{
      const host = find(document, css);
      new MutationObserver(() => {{
        if (arrived) return;
        arrived = true;
        requestAnimationFrame(() => {{ arrived = false; note(k); }});
      }}).observe(host.shadowRoot || host,
        {{childList: true, subtree: true, characterData: true, attributes: true}});
      return;
    }}
    const view = figureView(css), image = view.model.renderers.find(
      (renderer) => renderer.glyph?.type === 'ImageRGBA').data_source;
    image.properties.data.change.connect(() => {{ arrived = true; }});
    const paint = view.paint.bind(view);
    view.paint = () => {{
      paint();
      if (!arrived) return;
      arrived = false;
      note(k);
    }};
  }});
}}"""
FORGET = "noted.painted = noted.painted.map(() => [])"
# When every part was on screen for the first time after the last move.
FIRST = "noted.painted.map((times) => times.find((at) => at > noted.moved))"
ANSWERED = f"{FIRST}.every((at) => at)"

Place = tuple[float, float]


@dataclass
class Server:
    """A served page: its address, its process, and its reports."""

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


@contextmanager
def served(module: str, port: int, *options: str) -> Iterator[Server]:
    """Let `python -m module --serve` serve its page from another process, end it."""
    process = subprocess.Popen([sys.executable, "-m", module, "--serve", *options])
    server = Server(f"http://127.0.0.1:{port}", process.pid)
    try:
        while process.poll() is None:
            with suppress(OSError):
                server.ask("rest")
                break
            sleep(0.2)
        yield server
    finally:
        process.terminate()
        process.wait()


def serve(
    begin: Callable[[Any], None],
    port: int,
    notes: Mapping[str, Callable[[], object]] | None = None,
) -> None:
    """Serve the app, with each session started by a function, and its recorded values.

    Parameters
    ----------
    begin : callable
        Called with a Session before its page is made; its result is called once the
        page is there.
    port : int
        On the loopback interface.
    notes : dict, optional
        Other values that can be requested, by name.
    """
    import panel as pn
    from tornado.web import RequestHandler

    from clusterlens.ui.composition import new_session
    from clusterlens.ui.server.server import Server
    from clusterlens.ui.session import Session
    from clusterlens.ui.shell import Shell

    sessions: list[Session] = []

    def page() -> None:
        pn.extension("tabulator")
        session = new_session(Server())
        sessions.append(session)
        loaded = begin(session)
        shell = Shell(session)
        shell.view.servable()
        pn.state.onload(shell.begin)
        pn.state.onload(loaded)

    known = dict(notes or {})
    known["rest"] = lambda: int(all(one.jobs.at_rest for one in sessions))

    class Noted(RequestHandler):
        def get(self, what: str) -> None:
            self.write(str(known[what]()))

    pn.serve(
        {"/": page},
        port=port,
        address="127.0.0.1",
        show=False,
        websocket_origin=[f"127.0.0.1:{port}"],
        extra_patterns=[(r"/noted/(\w+)", Noted)],
    )


@dataclass
class Dragged:
    """A slider that the mouse takes along a line, and when parts of the page followed.

    Parameters
    ----------
    page, server : Page, Server
        Both ends; `NOTES` were begun.
    thumb : (float, float)
        Where to take hold.
    ends : pair of places
        Of the line.
    waits : list of list of float
        Filled: milliseconds from each move to each part.
    """

    page: Page
    server: Server
    thumb: Place
    ends: tuple[Place, Place]
    waits: list[list[float]] = field(default_factory=list)

    def stop_at(
        self, shares: Sequence[float], after: Callable[[], None] = lambda: None
    ) -> float:
        """Take hold, stop at shares of the line; milliseconds of processor time each.

        `after` is called after each place that brought new pictures; the thumb is held
        until `let_go`.
        """
        self.page.mouse.move(*self.thumb)
        self.page.mouse.down()
        self.until_quiet()
        start = processor_seconds(self.server.pid)
        for share in shares:
            self.page.evaluate(FORGET)
            self._go(share)
            if self._answered():
                self.waits.append(
                    self.page.evaluate(f"{FIRST}.map((at) => at - noted.moved)")
                )
                self.until_quiet()
                after()
        return 1000 * (processor_seconds(self.server.pid) - start) / len(shares)

    def there_and_back(self) -> tuple[float, float]:
        """Return pictures a second without a pause, and milliseconds to the last."""
        self.page.evaluate(FORGET)
        for position in np.linspace(0, 4, 50 * DRAG_SECONDS):
            self._go(1 - abs(position % 2 - 1))
            sleep(0.02)
        self.until_quiet()
        painted, moved = self.page.evaluate("[noted.painted[0], noted.moved]")
        during = sum(at <= moved for at in painted)
        return during / DRAG_SECONDS, painted[-1] - moved

    def let_go(self) -> None:
        """End the drag."""
        self.page.mouse.up()
        self.until_quiet()

    def until_quiet(self) -> None:
        """Return when nothing is under way and every picture is on screen."""
        self.server.until_at_rest()
        quiet = f"performance.now() - noted.latest > {QUIET}"
        self.page.wait_for_function(quiet, timeout=LONG)

    def _go(self, share: float) -> None:
        (x0, y0), (x1, y1) = self.ends
        self.page.mouse.move(x0 + share * (x1 - x0), y0 + share * (y1 - y0))

    def _answered(self) -> bool:
        """Return whether every part was drawn again after the last move."""
        try:
            self.page.wait_for_function(ANSWERED, timeout=PATIENCE)
        except TimeoutError:
            return False
        return True


def open_page(page: Page, server: Server, *parts: tuple[str, str]) -> None:
    """Open the page and note its parts once they are there and nothing is under way."""
    page.goto(server.address, timeout=LONG)
    page.locator(parts[0][1]).first.wait_for(timeout=LONG)
    server.until_at_rest()
    wait_for_pictures(page, *(css for kind, css in parts if kind == "picture"))
    page.wait_for_timeout(QUIET)
    page.evaluate(NOTES, parts)
