"""Kill the served page again and again, while a browser works on it.

`panel serve app.py` and its worker processes are killed with SIGKILL while a script
clicks pairs on the map, links them by a key, undoes, redoes and runs pools: by turns at
a random moment after the page has come up, while a pool runs, and within milliseconds
of the first byte of a write. A step counts as acknowledged when the chip in the header
says "saved" and the list of links on screen is the stored one. Then the server starts
again, and the page must show the content of the store.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from benchmarks.pages import (
    PATIENCE,
    ROOT,
    Served,
    begin_linking,
    browser_page,
    drop_pair,
    places_at_rest,
    sample_places,
    wait_for_pictures,
)
from clusterlens.ui.server.memory.store import FILE, Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.session import Session

POOL = [
    {"clusterer": "k-means", "n_clusters": [2, 3, 4, 5]},
    {
        "clusterer": "agglomerative",
        "n_clusters": [2, 3],
        "linkage": ["average", "ward"],
    },
]
LOOK = json.dumps({"page": "consensus", "tab": "links"})
SETTLE_SECONDS = 20
MOMENTS = ("at any moment", "while a pool runs", "in a write")
LATEST_SECONDS = 20  # for a write to begin
WRITE_SECONDS = 0.004  # that a write takes, about
# Text of the chip, and the number of links in the list.
SHOWN = """() => {
  const text = (root, css) => {
    const hit = root.querySelector(css);
    if (hit) return hit.shadowRoot || hit;
    for (const e of root.querySelectorAll('*'))
      if (e.shadowRoot) { const h = text(e.shadowRoot, css); if (h) return h; }
    return null;
  };
  const saved = text(document, '.cl-saved'), links = text(document, '.cl-links');
  const chip = saved && saved.querySelector('.chip');
  return [chip ? chip.textContent : '',
    links && links.querySelector('h3') ? links.querySelectorAll('tr').length : -1];
}"""


@dataclass(frozen=True)
class Held:
    """Content of a store with a single analysis."""

    id: str
    revision: int
    cursor: int
    links: int
    digest: str


def kill_pages(
    folder: Path, kills: int, seconds: float, rng: random.Random
) -> Counter[str]:
    """Kill so many times; the moments take turns."""
    found, served = Counter[str](), Served(folder)
    try:
        with browser_page() as page:
            base = begin(served.home)
            served.start()
            assert open_page(page, served, base.id), "the page does not open"
            for k in range(kills):
                start, moment = time.monotonic(), MOMENTS[k % len(MOMENTS)]
                one = kill_page(page, served, base, moment, seconds, rng)
                found += one
                words = ", ".join(key for key, n in one.items() if n)
                print(f"{k + 1}: {words}, {time.monotonic() - start:.0f} s", flush=True)
    finally:
        served.kill()
    return found


def begin(home: Path) -> Held:
    """Keep an analysis of an example with a run, made in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.page_kills", str(home)]
    subprocess.run(command, cwd=ROOT, check=True)
    return held(home)


async def analyse(home: Path) -> None:
    """Load an example and run a pool on it."""
    session = Session(Server(Store(home)))
    assert await session.act("load example", name="iris")
    assert await session.act("run pool", pool=POOL)


def open_page(page: Any, served: Served, analysis: str) -> Held | None:
    """Open the analysis; return the acknowledged content, None if it does not open."""
    query = urlencode({"analysis": analysis, "look": LOOK})
    page.goto(f"{served.address}/app?{query}", timeout=PATIENCE)
    return settled(page, served.home, seconds=PATIENCE / 1000)


def kill_page(
    page: Any,
    served: Served,
    base: Held,
    moment: str,
    seconds: float,
    rng: random.Random,
) -> Counter[str]:
    """Work on the page, kill the server, start it again, and compare."""
    wait_for_pictures(page, ".cl-map")
    begin_linking(page)
    places_at_rest(page)
    known, doing = settled(page, served.home), "resting"
    assert known is not None, "what the page shows is not what the store holds"
    if moment == "while a pool runs":
        doing = run_pool(page, rng.uniform(0, seconds))
        served.kill()
        moment = moment if doing == "run pool" else "at any moment"
    else:
        dead = threading.Event()
        killer = threading.Thread(
            target=kill_later,
            args=(served, dead, rng.uniform(0, seconds), moment == "in a write"),
        )
        killer.start()
        while not dead.is_set():
            doing = work(page, known.cursor > base.cursor, rng)
            known = settled(page, served.home, dead) or known
        killer.join()
    sound, after = is_sound(served.home), held(served.home)
    same = after.revision > known.revision or after == known
    served.start()
    opens = open_page(page, served, after.id) is not None
    return Counter(
        {
            "kills": 1,
            moment: 1,
            f"doing {doing}": 1,
            "lost": int(not same or after.revision < known.revision),
            "unsound": int(not sound),
            "does not open": int(not opens),
            "more than acknowledged": int(after.revision > known.revision),
        }
    )


def kill_later(
    served: Served, dead: threading.Event, seconds: float, in_a_write: bool
) -> None:
    """Kill after some seconds, or within milliseconds of the next write after them."""
    time.sleep(seconds)
    if in_a_write:
        before, end = written(served.home), time.monotonic() + LATEST_SECONDS
        while written(served.home) == before and time.monotonic() < end:
            time.sleep(0.0002)
        time.sleep(random.uniform(0, WRITE_SECONDS))
    dead.set()
    served.kill()


def written(home: Path) -> tuple[int, ...]:
    """Return values that change as soon as a store is written."""
    log, contents = home / f"{FILE}-wal", home / "contents"
    found = [path.stat() for path in (log, contents) if path.exists()]
    return tuple(value for one in found for value in (one.st_mtime_ns, one.st_size))


def run_pool(page: Any, seconds: float) -> str:
    """Run the pool of the page Pool for some time; return the state afterwards."""
    from playwright.sync_api import TimeoutError

    page.locator(".cl-nav-pool").click()
    # Exactly: the button that undoes the last run says so, too.
    page.get_by_role("button", name="Run the pool", exact=True).click()
    running = page.locator(".cl-run-progress").first
    with suppress(TimeoutError):  # it was over before it was seen
        running.wait_for(timeout=1000 * SETTLE_SECONDS)
    page.wait_for_timeout(1000 * seconds)
    return "run pool" if running.is_visible() else "resting"


def work(page: Any, can_undo: bool, rng: random.Random) -> str:
    """Do one quick thing on the page; return what."""
    action = rng.choice(["link"] * 6 + ["undo"] * 2 * can_undo + ["redo"])
    if action == "link":
        drop_pair(page)  # of an answer that was refused
        for place in rng.sample(sample_places(page), 2):
            page.mouse.click(*place)
        page.keyboard.press(rng.choice("mc"))
    else:
        page.keyboard.press("Control+z" if action == "undo" else "Control+Shift+z")
    return action


def settled(
    page: Any,
    home: Path,
    dead: threading.Event | None = None,
    seconds: float = SETTLE_SECONDS,
) -> Held | None:
    """Return the acknowledged content: saved by the chip, and on screen as stored.

    None if the server ends before, or if this does not happen.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end and not (dead and dead.is_set()):
        chip, links = page.evaluate(SHOWN)
        if chip == "saved":
            found = held(home)
            if found.links == links:
                return found
        page.wait_for_timeout(20)
    return None


def held(home: Path) -> Held:
    """Read the content of the store for its only analysis."""
    db = sqlite3.connect(home / FILE, timeout=20)
    try:
        db.execute("BEGIN")
        ((name, revision, cursor, about),) = db.execute(
            "SELECT id, revision, cursor, about FROM analysis"
        )
        steps = db.execute(
            "SELECT position, kind, at, given, changes FROM step ORDER BY position"
        )
        digest = hashlib.sha256(json.dumps([cursor, *steps]).encode()).hexdigest()
    finally:
        db.close()
    return Held(name, revision, cursor, json.loads(about)["links"], digest)


def is_sound(home: Path) -> bool:
    """Return whether SQLite finds the database sound."""
    db = sqlite3.connect(home / FILE, timeout=20)
    try:
        sound = db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return bool(sound and not db.execute("PRAGMA foreign_key_check").fetchall())
    finally:
        db.close()


if __name__ == "__main__":
    asyncio.run(analyse(Path(sys.argv[1])))
