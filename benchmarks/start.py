"""How soon one can begin: a script, the first page of a server, the next page.

    python -m benchmarks.start [--repeats N]

Medians. A page is usable when all of it is drawn and the place to drop a file is there;
the browser (an installed Chromium or Chrome) runs beforehand. A server is running when
it has made itself ready, after its first page. "First start ever" has an
empty folder of kernels. The processor time of the script, and of the server until its
page was usable, depends less on what else the machine does.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter, sleep

from playwright.sync_api import Browser

from tests.support.pages import open_browser, wait_for_content

SCRIPT = """
import numpy as np, clusterlens as cl
labels = np.random.default_rng(0).integers(0, 5, (20, 1000))
cl.count_agreements(cl.Ensemble(labels))
"""
SETTLING = 5  # seconds, longer than a server waits with making itself ready
LONG = 180_000  # milliseconds that a page may take before the run is given up
Seconds = tuple[float, float]


def main() -> None:
    """Measure all rows and print them beside the budgets."""
    parser = argparse.ArgumentParser(description="How soon one can begin.")
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    print(f"{'seconds':48}{'budget':>7}{'found':>8}{'ratio':>7}{'processor':>11}")
    with tempfile.TemporaryDirectory() as folder, open_browser() as browser:
        kernels = Path(folder, "kernels")
        run_script(kernels)
        row(
            "script: import, first count, kernels cached",
            1,
            repeats,
            run_script,
            kernels,
        )
        compile_all(kernels)
        row(
            "server start to first page, kernels cached",
            5,
            repeats,
            first_page,
            browser,
            kernels,
        )
        row(
            "server start to first page, first start ever",
            8,
            repeats,
            first_page,
            browser,
            None,
        )
        with serve(kernels) as (address, process):
            open_page(browser, address)
            settle(process.pid)
            row(
                "page usable, server running",
                2,
                repeats,
                next_page,
                browser,
                address,
                process.pid,
            )


def row(
    what: str,
    budget: float,
    repeats: int,
    measure: Callable[..., Seconds],
    *given: object,
) -> None:
    """Print the medians of some runs beside the budget."""
    runs = [measure(*given) for _ in range(repeats)]
    found, processor = (median(column) for column in zip(*runs, strict=True))
    print(
        f"{what:48}{budget:7.0f}{found:8.2f}{found / budget:7.2f}{processor:11.2f}",
        flush=True,
    )


def environment(kernels: Path) -> dict[str, str]:
    """Return variables of a process that keeps its kernels and bytecode in a folder."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return kept | {
        "NUMBA_CACHE_DIR": str(kernels),
        "CLUSTERLENS_HOME": str(kernels / "home"),
    }


def run_script(kernels: Path) -> Seconds:
    """Return seconds of a fresh process from its start to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = perf_counter()
    subprocess.run([sys.executable, "-c", SCRIPT], env=environment(kernels), check=True)
    seconds = perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, used


def compile_all(kernels: Path) -> None:
    """Fill a folder with all kernels."""
    code = "import clusterlens; clusterlens.compile_kernels()"
    subprocess.run([sys.executable, "-c", code], env=environment(kernels), check=True)


def first_page(browser: Browser, kernels: Path | None) -> Seconds:
    """Return seconds from the start of a server until its first page is usable."""
    start = perf_counter()
    with (
        tempfile.TemporaryDirectory() as empty,
        serve(kernels or Path(empty)) as (address, process),
    ):
        open_page(browser, address)
        return perf_counter() - start, processor_seconds(process.pid)


def next_page(browser: Browser, address: str, pid: int) -> Seconds:
    """Return seconds until a further page of a running server is usable."""
    start, before = perf_counter(), processor_seconds(pid)
    open_page(browser, address)
    return perf_counter() - start, processor_seconds(pid) - before


@contextmanager
def serve(kernels: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start a server on a free port; yield its address and its process, end it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "clusterlens", "--port=0", "--no-browser"],
        env=environment(kernels),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process.stdout.readline().split()[3], process
    finally:
        process.kill()
        process.wait()


def open_page(browser: Browser, address: str) -> None:
    """Return when the page at an address is usable."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(address, timeout=LONG)
    wait_for_content(page)
    page.locator(".cl-file").first.wait_for(timeout=LONG)
    page.close()


def settle(pid: int) -> None:
    """Return when a server has made itself ready and rests."""
    before = float("-inf")
    while (used := processor_seconds(pid)) - before > 0.05:
        before = used
        sleep(SETTLING)


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process; NaN where it is unknown."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
