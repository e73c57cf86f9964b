"""The first pool of a fresh installation, from the click to the consensus.

    python -m benchmarks.first_pool [--busy N] [--cached] [--rest SECONDS]

Starts a server as installed, with an empty store and an empty folder of kernels, drops
a table of 1,000 x 11 as soon as the page is loaded, and runs the default pool as soon
as it is offered. Prints the time after the click when each stage named by the bar at
the bottom of the page began, when the answer and all pictures were shown (budget 15 s),
and the processor time used by the server and its child processes until then. `--busy`
keeps so many loops busy beside it, `--cached` begins with all kernels and a known pace,
and `--rest` waits before the table is dropped.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pandas as pd
import psutil
from sklearn.datasets import make_blobs

from benchmarks.start import LONG, serve
from tests.support.pages import FIND, PICTURED, browser_page, wait_for_content

BUDGET = 15
ROWS, FEATURES = 1_000, 11
PICTURES = [".cl-map", ".cl-consensus-matrix", ".cl-binarised-matrix"]
# Seconds until each stage began. It looks where the words are, four times a second: to
# search all of the page for them took six seconds of the processor.
WATCH = f"""(classes) => {{ {FIND}
  const pictured = {PICTURED}, found = {{}};
  const words = (css) => {{
    if (!found[css]?.isConnected) found[css] = find(document, css);
    const inside = (e) => e.tagName === 'STYLE' ? '' :
      [...e.childNodes, ...(e.shadowRoot?.childNodes ?? [])]
        .map((one) => one.nodeType === 3 ? one.data : inside(one)).join('');
    return found[css] ? inside(found[css]) : '';
  }};
  const start = performance.now(), stages = {{}};
  return new Promise((done) => {{
    const timer = setInterval(() => {{
      const late = (performance.now() - start) / 1000;
      if (!words('.cl-headline').includes('if a majority must agree')) {{
        const stage = words('.cl-job').split('·')[0].trim();
        if (stage) stages[stage] ??= late;
        return;
      }}
      stages['the ranking stands'] ??= late;
      if (!pictured(classes)) return;
      clearInterval(timer);
      done({{...stages, 'all pictures': late}});
    }}, 250);
  }});
}}"""


def main() -> None:
    """Measure once and print."""
    parser = argparse.ArgumentParser(description="The first pool of an installation.")
    parser.add_argument("--busy", type=int, default=0, help="loops beside it")
    parser.add_argument("--cached", action="store_true", help="kernels are there")
    parser.add_argument("--rest", type=float, default=0.0, help="seconds to wait")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        page = stack.enter_context(browser_page())
        if given.cached:
            measure(page, folder, pause=90.0, printed=False)
        for _ in range(given.busy):
            stack.enter_context(busy_loop())
        measure(page, folder, pause=given.rest)


def measure(page: Any, folder: Path, *, pause: float, printed: bool = True) -> None:
    """Start a server, run a pool on it, and say how long each step took."""
    tell = print if printed else (lambda *_: None)
    path = write_table(folder)
    start = perf_counter()
    with serve(folder) as (address, process):
        page.goto(address, timeout=LONG)
        wait_for_content(page)
        page.locator(".cl-file").first.wait_for(timeout=LONG)
        tell(f"{perf_counter() - start:6.1f} s  server start to page usable")
        sleep(pause)
        start = perf_counter()
        page.locator(".cl-file input[type=file]").set_input_files(path)
        page.get_by_role("button", name="Next: choose a pool").click(timeout=LONG)
        page.get_by_role("button", name="Run the pool").click(timeout=LONG)
        tell(f"{perf_counter() - start:6.1f} s  file dropped to Run clicked")
        stages = page.evaluate(WATCH, PICTURES)
        late = stages.pop("all pictures")
        for stage, begun in stages.items():
            tell(f"{begun:6.1f} s    {stage}")
        budget = f"budget {BUDGET} s, ratio {late / BUDGET:.2f}"
        tell(f"{late:6.1f} s  consensus on screen, from the click ({budget})")
        tell(f"{processor_seconds(process.pid):6.1f} s  of the processor")


def write_table(folder: Path) -> Path:
    """Write groups with 1,000 rows and 11 columns."""
    X, _ = make_blobs(ROWS, FEATURES, centers=6, cluster_std=3.0, random_state=0)
    path = folder / "blobs.csv"
    pd.DataFrame(np.round(X, 4)).add_prefix("x").to_csv(path, index=False)
    return path


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process and of those it began, alive or ended."""
    process = psutil.Process(pid)
    family = [process, *process.children(recursive=True)]
    return sum(sum(part.cpu_times()[:4]) for part in family if part.is_running())


@contextmanager
def busy_loop() -> Iterator[None]:
    """Keep a core busy."""
    loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        loop.kill()
        loop.wait()


if __name__ == "__main__":
    main()
