"""Kill the served page again and again, while a browser works on it.

`panel serve app.py` and its worker processes are killed with SIGKILL while a script
clicks pairs on the map, links them by a key, undoes, redoes and runs pools: by turns at
a random moment after the page has come up, while a pool runs, and within milliseconds
of the first byte of a write. A step counts as acknowledged when the chip in the header
says "saved" and the list of links on screen is the stored one. Then the server starts
again, and the page must show the content of the store. A server may be told to end with
SIGTERM instead, and then must end within `ENDS_WITHIN_SECONDS`.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from clusterlens.ui.server.memory.store import FILE
from tests.support.pages import (
    Served,
    begin_linking,
    browser_page,
    drop_pair,
    places_at_rest,
    sample_places,
    wait_for_pictures,
)
from tests.support.stored_page import (
    SETTLE_SECONDS,
    Held,
    begin,
    held,
    is_sound,
    open_page,
    settled,
)

MOMENTS = ("at any moment", "while a pool runs", "in a write")
LATEST_SECONDS = 20  # for a write to begin
WRITE_SECONDS = 0.004  # that a write takes, about
ENDS_WITHIN_SECONDS = 5  # when it is told to

# Ends a server and returns the seconds that it took.
Stop = Callable[[Served], float]


def kill(served: Served) -> float:
    """End the server by SIGKILL."""
    served.kill()
    return 0


def tell(served: Served) -> float:
    """Tell the server to end."""
    start = time.monotonic()
    served.end()
    return time.monotonic() - start


def kill_pages(
    folder: Path, kills: int, seconds: float, rng: random.Random, stop: Stop
) -> Counter[str]:
    """Stop so many times; the moments take turns."""
    found, served = Counter[str](), Served(folder)
    try:
        with browser_page() as page:
            base = begin(served.home)
            served.start()
            assert open_page(page, served, base.id), "the page does not open"
            for k in range(kills):
                start, moment = time.monotonic(), MOMENTS[k % len(MOMENTS)]
                one = kill_page(page, served, base, moment, seconds, rng, stop)
                found += one
                words = ", ".join(key for key, n in one.items() if n)
                print(f"{k + 1}: {words}, {time.monotonic() - start:.0f} s", flush=True)
    finally:
        served.kill()
    return found


def kill_page(
    page: Any,
    served: Served,
    base: Held,
    moment: str,
    seconds: float,
    rng: random.Random,
    stop: Stop,
) -> Counter[str]:
    """Work on the page, stop the server, start it again, and compare."""
    wait_for_pictures(page, ".cl-map")
    begin_linking(page)
    places_at_rest(page)
    known, doing = settled(page, served.home), "resting"
    assert known is not None, "what the page shows is not what the store holds"
    took: list[float] = []
    if moment == "while a pool runs":
        doing = run_pool(page, rng.uniform(0, seconds))
        took.append(stop(served))
        moment = moment if doing == "run pool" else "at any moment"
    else:
        dead = threading.Event()
        killer = threading.Thread(
            target=stop_later,
            args=(
                *(served, dead, rng.uniform(0, seconds), moment == "in a write"),
                *(stop, took),
            ),
        )
        killer.start()
        while not dead.is_set():
            doing = work(page, known.cursor > base.cursor, rng)
            known = settled(page, served.home, dead) or known
        killer.join()
        assert took, "the server did not end"
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
            "ended late": int(took[0] > ENDS_WITHIN_SECONDS),
            "milliseconds to end": round(1000 * took[0]),
        }
    )


def stop_later(
    served: Served,
    dead: threading.Event,
    seconds: float,
    in_a_write: bool,
    stop: Stop,
    took: list[float],
) -> None:
    """Stop after some seconds, or within milliseconds of the next write after them."""
    time.sleep(seconds)
    if in_a_write:
        before, end = written(served.home), time.monotonic() + LATEST_SECONDS
        while written(served.home) == before and time.monotonic() < end:
            time.sleep(0.0002)
        time.sleep(random.uniform(0, WRITE_SECONDS))
    dead.set()
    took.append(stop(served))


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
