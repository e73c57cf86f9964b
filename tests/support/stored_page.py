"""What a page shows of its analysis, and what the store holds of it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from clusterlens.ui.composition import new_session
from clusterlens.ui.server.memory.store import FILE, Store
from clusterlens.ui.server.server import Server
from tests.support.pages import PATIENCE, ROOT, Served

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


def begin(home: Path) -> Held:
    """Keep an analysis of an example with a run, made in a process of its own."""
    command = [sys.executable, "-m", "tests.support.stored_page", str(home)]
    subprocess.run(command, cwd=ROOT, check=True)
    return held(home)


async def analyse(home: Path) -> None:
    """Load an example and run a pool on it."""
    session = new_session(Server(Store(home)))
    assert await session.act("load example", name="iris")
    assert await session.act("run pool", pool=POOL)


def open_page(page: Any, served: Served, analysis: str) -> Held | None:
    """Open the analysis; return the acknowledged content, None if it does not open."""
    query = urlencode({"analysis": analysis, "look": LOOK})
    page.goto(f"{served.address}/app?{query}", timeout=PATIENCE)
    return settled(page, served.home, seconds=PATIENCE / 1000)


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
