"""Kill the served page again and again, while a browser works on it.

`panel serve app.py` and its worker processes are killed with SIGKILL at a random moment
after the page has come up, while somebody clicks pairs on the map, links them by a key,
undoes, redoes and runs pools. A step counts as acknowledged when the chip in the header
says "saved" and the list of links on screen is the stored one. Then the server starts
again, and the page must show what the store holds.
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
    places_at_rest,
    sample_places,
    wait_for_pictures,
)
from clusterlens.ui.memory.store import FILE, Store
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
# What the chip says, and how many links are listed.
TOLD = """() => {
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
    """What a store holds of its only analysis."""

    id: str
    revision: int
    cursor: int
    links: int
    digest: str


def kill_pages(
    folder: Path, kills: int, seconds: float, rng: random.Random
) -> Counter[str]:
    """Kill so many times, up to some seconds after the page has come up."""
    found, served = Counter[str](), Served(folder)
    try:
        with browser_page() as page:
            base = begin(served.home)
            served.start()
            assert open_page(page, served, base.id), "the page does not open"
            for _ in range(kills):
                found += kill_page(page, served, base, rng.uniform(0, seconds), rng)
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
    session = Session(Store(home))
    assert await session.act("load example", name="iris")
    assert await session.act("run pool", pool=POOL)


def open_page(page: Any, served: Served, analysis: str) -> Held | None:
    """Open the analysis; return what is acknowledged, None if it does not open."""
    query = urlencode({"analysis": analysis, "look": LOOK})
    page.goto(f"{served.address}/app?{query}", timeout=PATIENCE)
    return settled(page, served.home, seconds=PATIENCE / 1000)


def kill_page(
    page: Any, served: Served, base: Held, seconds: float, rng: random.Random
) -> Counter[str]:
    """Work on the page, kill the server, start it again, and compare."""
    wait_for_pictures(page, ".cl-map")
    begin_linking(page)
    places_at_rest(page)
    known, doing, dead = settled(page, served.home), "resting", threading.Event()
    assert known is not None, "what the page shows is not what the store holds"

    def kill() -> None:
        dead.set()
        served.kill()

    timer = threading.Timer(seconds, kill)
    timer.start()
    while not dead.is_set():
        doing = work(page, known.cursor > base.cursor, rng)
        known = settled(page, served.home, dead) or known
    timer.join()
    sound, after = is_sound(served.home), held(served.home)
    same = after.revision > known.revision or after == known
    served.start()
    opens = open_page(page, served, after.id) is not None
    return Counter(
        {
            "kills": 1,
            f"while {doing}": 1,
            "lost": int(not same or after.revision < known.revision),
            "unsound": int(not sound),
            "does not open": int(not opens),
            "more than acknowledged": int(after.revision > known.revision),
        }
    )


def work(page: Any, can_undo: bool, rng: random.Random) -> str:
    """Do one thing on the page; return what."""
    wish = rng.choice(["link"] * 6 + ["undo"] * 2 * can_undo + ["redo", "run pool"])
    if wish == "run pool":
        page.locator(".cl-nav-pool").click()
        page.get_by_role("button", name="Run the pool").click()
        page.locator(".cl-nav-consensus").click()
    elif wish == "link":
        page.keyboard.press("Escape")  # drops B of a refused pair
        for place in rng.sample(sample_places(page), 2):
            page.mouse.click(*place)
        page.keyboard.press(rng.choice("mc"))
    else:
        page.keyboard.press("Control+z" if wish == "undo" else "Control+Shift+z")
    return wish


def settled(
    page: Any,
    home: Path,
    dead: threading.Event | None = None,
    seconds: float = SETTLE_SECONDS,
) -> Held | None:
    """Return what is acknowledged: saved by the chip, and on screen as in the store.

    None if the server ends before, or if that does not come.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end and not (dead and dead.is_set()):
        chip, links = page.evaluate(TOLD)
        if chip == "saved":
            found = held(home)
            if found.links == links:
                return found
        page.wait_for_timeout(20)
    return None


def held(home: Path) -> Held:
    """Read what the store holds of its only analysis."""
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
    """Whether SQLite finds its file in order."""
    db = sqlite3.connect(home / FILE, timeout=20)
    try:
        sound = db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return bool(sound and not db.execute("PRAGMA foreign_key_check").fetchall())
    finally:
        db.close()


if __name__ == "__main__":
    asyncio.run(analyse(Path(sys.argv[1])))
