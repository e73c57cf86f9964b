"""Response time of a page while others are opened and used, and memory left by them.

    python -m benchmarks.sessions [--sessions 30] [--rows 10000]
    python -m benchmarks.sessions closed [--sessions 50] [--at-once 5]
    python -m benchmarks.sessions left [--sessions 400] [--console]

Opens sessions that each look at a run of iris. A session among them, the probe, sends a
question every 50 ms and waits for its answer while other sessions open the page, view
every page for the first time, load an example, and run the default pool on `rows`
samples of ten features. Prints the quantiles of the answers in each phase, the length
of the longest step of the server's event loop (processor time of its thread, not
lengthened by other work on the machine), and the time from each click to its result.

`closed` opens sessions with a run each, closes them, and prints the memory of the
server before and after: all of them together, three times, or some at once until all
have been opened and closed.

`left` opens pages of `panel serve app.py`, or of `clusterlens` with `--console`, and
closes them one after the other, then asks for as many without ever connecting. It
prints the memory of the server, and its processor time once no page is open.

With PYTHONMALLOC=malloc, which docs/deploy.md advises for a group, memory that is free
goes back to the system.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import urllib.request
import weakref
from array import array
from collections.abc import Iterable
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep, thread_time
from typing import Any

import numpy as np
import psutil
from tornado.httpclient import AsyncHTTPClient

from tests.support.pages import Served
from tests.support.visitor import Visitor

PARTS = ("used", "closed", "left")
# After these the memory of pages that were left is measured, and for so long the work.
LEFT_SECONDS, IDLE_SECONDS = 120.0, 30.0
# Sessions that do something at the same time.
AT_ONCE = 2
USED = 4
POOL = "default"
# A server rests that used less of a processor in so many seconds.
REST_SECONDS, REST_SHARE = 8.0, 0.02


def main() -> None:
    """Measure, or serve the pages that are measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="?", default="used", choices=PARTS)
    parser.add_argument("--sessions", type=int)
    parser.add_argument("--at-once", type=int)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--console", action="store_true", help="of `clusterlens`")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.rows)
    elif given.part == "used":
        asyncio.run(use(given.sessions or 30, given.rows))
    elif given.part == "left":
        asyncio.run(leave(given.sessions or 400, given.console))
    else:
        asyncio.run(close(given.sessions or 50, given.at_once))


async def use(n_sessions: int, rows: int) -> None:
    """Open the sessions, use some, and print how long answers to another one took."""
    with server(rows) as (address, process):
        opened = await open_all(address, n_sessions)
        size = process.memory_info().rss / 2**20 / n_sessions
        print(f"{n_sessions} sessions open, {size:.0f} MB each, the server's included")

        async def pause() -> None:
            await asyncio.sleep(5)

        async def open_more() -> None:
            for _ in range(USED):
                opened.append(await Visitor.open(address))
                await opened[-1].load()

        pages = (await ask(address, "pages")).split()
        users = range(1, 1 + USED)
        phases = {
            "nothing happens": pause,
            "pages are opened": open_more,
            "pages are shown first": lambda: by_turns(
                address, users, [f"look/{page}" for page in pages]
            ),
            "pages are shown again": lambda: by_turns(
                address, users, [f"look/{page}" for page in pages]
            ),
            "examples are loaded": lambda: by_turns(
                address, range(n_sessions, n_sessions + USED), ["load/wine"]
            ),
            f"a pool runs on {rows:,} rows": lambda: by_turns(
                address, range(n_sessions, n_sessions + 1), ["run/pool"]
            ),
        }
        answers: list[float] = []
        for what, phase in phases.items():
            await ask(address, "reset")
            probe = asyncio.create_task(opened[0].pings())
            seconds = await phase()
            opened[0].answered_enough = True
            await probe
            steps = 1000 * np.array((await ask(address, "steps")).split(), float)
            print_quantiles(what, opened[0].answers)
            answers += opened[0].answers
            print(
                f"{'':28} event loop: longest step {steps.max():.0f} ms of work, "
                f"{np.count_nonzero(steps > 100)} above 100 ms"
            )
            if seconds:
                print_quantiles("    from the click on", seconds)
        print_quantiles("all answers", answers)
        for visitor in opened:
            visitor.close()


async def by_turns(address: str, users: Iterable[int], asked: list[str]) -> list[float]:
    """Let users ask for one thing after the other, some at once; seconds of each."""
    seconds: list[float] = []
    free = asyncio.Semaphore(AT_ONCE)

    async def go_through(user: int) -> None:
        async with free:
            for what in asked:
                start = perf_counter()
                await ask(address, f"{what}/{user}")
                seconds.append(perf_counter() - start)
                await asyncio.sleep(0.2)

    await asyncio.gather(*map(go_through, users))
    return seconds


async def close(n_sessions: int, at_once: int | None) -> None:
    """Open sessions with a run each, close them, and print the memory of the server."""
    rounds = (
        [n_sessions] * 3 if at_once is None else [at_once] * (n_sessions // at_once)
    )
    with server(150) as (address, process):
        first = await open_all(address, 1)
        await wait_until_idle(process)

        def say_memory(when: str) -> None:
            print(f"{when:28} {process.memory_info().rss / 2**20:6.0f} MB")

        say_memory("one session")
        for k, n_more in enumerate(rounds):
            opened = await open_all(address, n_more)
            say_memory(f"{n_more} more")
            await ask(address, "reset")
            for visitor in opened:
                visitor.close()
            await until(address, "closed")
            await asyncio.sleep(3)
            steps = 1000 * np.array((await ask(address, "steps")).split(), float)
            say_memory(f"closed for the {k + 1}. time")
            print(f"longest step of the event loop meanwhile: {steps.max():.0f} ms")
        first[0].close()


async def open_and_close(address: str) -> None:
    """Open a page in a browser that draws it, and close it."""
    visitor = await Visitor.open(address)
    await visitor.load()
    visitor.close()


class Console(Served):
    """`clusterlens` over a store, on one port of the loopback interface."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        port = self.address.rpartition(":")[2]
        self._command = [sys.executable, "-m", "clusterlens", "--no-browser"]
        self._command += ["--port", port]


async def leave(n_pages: int, console: bool) -> None:
    """Open pages and leave them; print their cost then and after all have ended."""
    with TemporaryDirectory() as folder:
        served = Console(Path(folder)) if console else Served(Path(folder))
        try:
            served.start(*[] if console else ["--warm"])
            address = served.address + ("/" if console else "/app")
            await leave_pages(n_pages, address, psutil.Process(served.pid))
        finally:
            served.kill()


async def leave_pages(n_pages: int, address: str, process: psutil.Process) -> None:
    """Open pages of a server and leave them, twice, then ask for pages alone."""
    # The first page imports what all share, and compiles or loads the kernels.
    await open_and_close(address)
    await asyncio.sleep(LEFT_SECONDS)
    await wait_until_idle(process)
    before = process.memory_info().rss

    def say_cost(when: str) -> None:
        more = (process.memory_info().rss - before) / 2**20
        print(f"{when:50} {more:6.0f} MB more", flush=True)

    async def ask_alone() -> None:
        await AsyncHTTPClient().fetch(address, request_timeout=120)

    for what, visit in (
        ("opened", lambda: open_and_close(address)),
        ("opened again", lambda: open_and_close(address)),
        ("asked for", ask_alone),
    ):
        begun = sum(process.cpu_times()[:2])
        for _ in range(n_pages):
            await visit()
        each = 1000 * (sum(process.cpu_times()[:2]) - begun) / n_pages
        say_cost(f"{n_pages} {what}, {each:.0f} ms of processor each")
        await asyncio.sleep(LEFT_SECONDS)
        begun = sum(process.cpu_times()[:2])
        await asyncio.sleep(IDLE_SECONDS)
        used = sum(process.cpu_times()[:2]) - begun
        say_cost(f"later; {used:.2f} s of processor in {IDLE_SECONDS:.0f} s")


async def open_all(address: str, n_sessions: int) -> list[Visitor]:
    """Open sessions one after the other, each with its run of iris on screen."""
    opened = []
    for _ in range(n_sessions):
        opened.append(await Visitor.open(address))
        await opened[-1].load()
        await ask(address, "see/iris/-1")
    return opened


def print_quantiles(what: str, seconds: list[float]) -> None:
    """Print quantiles in milliseconds."""
    low, high, longest = 1000 * np.quantile(seconds, [0.5, 0.95, 1])
    print(
        f"{what:28} {len(seconds):6} times: median {low:6.1f} ms, p95 {high:6.1f} ms, "
        f"longest {longest:6.1f} ms"
    )


async def ask(address: str, what: str) -> str:
    """Ask the server for its notes, or to act in a session."""
    client = AsyncHTTPClient(max_clients=100)
    found = await client.fetch(f"{address}/ask/{what}", request_timeout=600)
    return found.body.decode()


async def wait_until_idle(process: psutil.Process) -> None:
    """Return when a server and its processes do nothing; all is ready then."""
    while True:
        all_of_it = [process, *process.children(recursive=True)]
        used = -_processor(all_of_it)
        await asyncio.sleep(REST_SECONDS)
        if used + _processor(all_of_it) < REST_SHARE * REST_SECONDS:
            return


def _processor(processes: list[psutil.Process]) -> float:
    total = 0.0
    for one in processes:
        with suppress(psutil.NoSuchProcess):
            total += sum(one.cpu_times()[:2])
    return total


async def until(address: str, what: str) -> None:
    """Return when the server says that something is so."""
    while await ask(address, what) != "1":
        await asyncio.sleep(0.05)


@contextmanager
def server(rows: int) -> Any:
    """Yield the address of a server in another process, and the process."""
    command = [sys.executable, "-m", "benchmarks.sessions", "--serve", "5317"]
    process = subprocess.Popen([*command, "--rows", str(rows)])
    address = "http://127.0.0.1:5317"
    try:
        while True:
            with suppress(OSError):
                urllib.request.urlopen(f"{address}/ask/pages", timeout=60).close()
                break
            sleep(0.2)
        yield address, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def serve(port: int, rows: int) -> None:
    """Serve pages, and report their actions and the work of the event loop."""
    import pandas as pd
    import panel as pn
    from panel.io.state import set_curdoc
    from sklearn.datasets import make_blobs
    from tornado.web import RequestHandler

    from clusterlens.compute.pool.specs import pool_grids
    from clusterlens.ui.composition import new_session
    from clusterlens.ui.opening import empty_page
    from clusterlens.ui.patches import send_everything
    from clusterlens.ui.server.hardening import harden
    from clusterlens.ui.server.server import Server
    from clusterlens.ui.shell import Shell
    from clusterlens.ui.state.pages import PAGES

    # Without remains of closed sessions, which would hold memory of their own.
    shown: dict[int, tuple[Any, Any]] = {}
    server, opened = Server(), count()
    X, _ = make_blobs(rows, 10, centers=12, random_state=0)
    table = pd.DataFrame(X).to_csv(index=False).encode()
    steps = note_steps()

    async def see(shell: Shell, example: str) -> None:
        await shell.session.act("load example", name=example)
        await shell.session.act("run pool", pool=pool_grids("quick", 150)[0])
        await open_page(shell, "consensus")

    async def open_page(shell: Shell, page: str) -> None:
        shell.session.view_state.page = page
        while not (shell.pages[page].made and shell.session.jobs.at_rest):
            await asyncio.sleep(0.01)

    async def load(shell: Shell, example: str) -> None:
        await shell.session.act("load example", name=example)

    async def run(shell: Shell, what: str) -> None:
        session = shell.session
        key = session.keep_file(table)
        await session.act("load file", name="blobs.csv", sha256=key)
        await session.act("run pool", pool=pool_grids(POOL, rows)[0])

    def page() -> None:
        pn.extension("tabulator")
        send_everything()
        shell = Shell(new_session(server))
        shell.view.servable()
        pn.state.onload(shell.begin)
        pn.state.on_session_destroyed(lambda context: shell.close())
        user = next(opened)
        gone = weakref.ref(shell, lambda _: shown.pop(user))
        shown[user] = gone, weakref.ref(pn.state.curdoc)

    class Asked(RequestHandler):
        async def get(self, what: str) -> None:
            if what == "pages":
                self.write(" ".join(key for key, *_ in PAGES))
            elif what == "reset":
                del steps[1:]
            elif what == "steps":
                self.write(" ".join(f"{x:.6f}" for x in steps))
            elif what == "closed":
                self.write("1" if len(shown) == 1 else "0")
            else:
                name, value, user = what.split("/")
                shell, document = (ref() for ref in [*shown.values()][int(user)])
                does = {"see": see, "look": open_page, "load": load, "run": run}[name]
                with set_curdoc(document):
                    await does(shell, value)

    made = pn.serve(
        {"/": page},
        port=port,
        address="127.0.0.1",
        show=False,
        start=False,
        websocket_origin=[f"127.0.0.1:{port}"],
        extra_patterns=[(r"/ask/(.+)", Asked)],
    )
    harden(made, empty_page)
    made.start()
    made.io_loop.start()


def note_steps() -> array[float]:
    """Note the processor time of each step of the event loop, from now on."""
    steps = array("d", [0.0])
    take = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        start = thread_time()
        take(handle)
        steps.append(thread_time() - start)

    asyncio.Handle._run = timed  # type: ignore[method-assign]
    return steps


if __name__ == "__main__":
    os.chdir(Path(__file__).parents[1])
    main()
