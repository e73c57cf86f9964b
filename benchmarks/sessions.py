"""How quickly a page answers while others are open and a pool runs on all cores.

    python -m benchmarks.sessions [--sessions 30] [--rows 10000] [--pings 400]

Opens sessions that each look at a run of iris, then one that runs the default pool on
`rows` samples of ten features. While it runs, the sessions send a question in turn and
wait for its answer; a clock on the server's event loop notes how late it is. Prints
the quantiles of both, and the memory of the server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np
import psutil
from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import websocket_connect

TICK_SECONDS = 0.005
POOL = "default"


def main() -> None:
    """Measure, or serve the pages that are measured."""
    parser = argparse.ArgumentParser(description="Answers while a pool runs.")
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--pings", type=int, default=400)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.rows)
    else:
        asyncio.run(measure(given.sessions, given.rows, given.pings))


async def measure(n_sessions: int, rows: int, n_pings: int) -> None:
    """Open the sessions, run the pool, and print how long answers took."""
    with server(rows) as (address, process):
        opened = []
        for _ in range(n_sessions):
            opened.append(await Visitor.open(address))
            await until(address, "rest")
        size = process.memory_info().rss / 2**20 / n_sessions
        print(f"{n_sessions} sessions open, {size:.0f} MB each, the server's included")
        quiet = [await opened[k % n_sessions].ping() for k in range(n_pings // 4)]
        say("answers, nothing running", quiet)
        runner = await Visitor.open(f"{address}?pool=1")
        await until(address, "running")
        await ask(address, "reset")
        busy: list[float] = []
        while len(busy) < n_pings and await ask(address, "running") == "1":
            busy.append(await opened[len(busy) % n_sessions].ping())
            await asyncio.sleep(0.02)
        say(f"answers, default pool on {rows:,} samples", busy)
        late = np.array((await ask(address, "late")).split(), float)
        say("lateness of the event loop", late.tolist())
        print(f"longest block: {1000 * late.max():.0f} ms, budget 300 ms")
        print(f"p95 of answers: {1000 * np.quantile(busy, 0.95):.0f} ms, budget 100 ms")
        for visitor in (*opened, runner):
            visitor.close()


class Visitor:
    """A browser's connection to its session, without the browser."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._answered = asyncio.Event()
        self._reader = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    async def open(cls, address: str) -> Visitor:
        """Ask for the page, then connect to its session as the page would."""
        page = (await AsyncHTTPClient().fetch(address, request_timeout=120)).body
        token = re.search(rb'"token": ?"([^"]+)"', page)[1].decode()
        request = HTTPRequest(
            address.partition("?")[0].replace("http", "ws").rstrip("/") + "/ws",
            headers={"Origin": address.partition("?")[0].rstrip("/")},
        )
        socket = await websocket_connect(
            request, subprotocols=["bokeh", token], max_message_size=2**28
        )
        socket.protocol.set_nodelay(True)  # as browsers do
        return cls(socket)

    async def _read(self) -> None:
        while (message := await self._socket.read_message()) is not None:
            if isinstance(message, str) and '"SERVER-INFO-REPLY"' in message:
                self._answered.set()

    async def ping(self) -> float:
        """Seconds from a question to its answer."""
        self._answered.clear()
        start = perf_counter()
        for part in ({"msgid": "1", "msgtype": "SERVER-INFO-REQ"}, {}, {}):
            await self._socket.write_message(json.dumps(part))
        await self._answered.wait()
        return perf_counter() - start

    def close(self) -> None:
        """Leave."""
        self._reader.cancel()
        self._socket.close()


def say(what: str, seconds: list[float]) -> None:
    """Print quantiles in milliseconds."""
    low, high, longest = 1000 * np.quantile(seconds, [0.5, 0.95, 1])
    print(
        f"{what:44} {len(seconds):6} times: median {low:6.1f} ms, p95 {high:6.1f} ms, "
        f"longest {longest:6.1f} ms"
    )


async def ask(address: str, what: str) -> str:
    """Ask the server for what it noted."""
    found = await AsyncHTTPClient().fetch(f"{address}/noted/{what}", request_timeout=60)
    return found.body.decode()


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
                urllib.request.urlopen(f"{address}/noted/late", timeout=60).close()
                break
            sleep(0.2)
        yield address, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def serve(port: int, rows: int) -> None:
    """Serve pages that load and run by themselves, and what the clock noted."""
    import pandas as pd
    import panel as pn
    from sklearn.datasets import make_blobs
    from tornado.web import RequestHandler

    from clusterlens.compute.pool.specs import pool_grids
    from clusterlens.ui.session import Session
    from clusterlens.ui.shell import Shell

    sessions: list[Session] = []
    late: list[float] = [0.0]
    X, _ = make_blobs(rows, 10, centers=12, random_state=0)
    table = pd.DataFrame(X).to_csv(index=False).encode()

    async def see(session: Session) -> None:
        await session.act("load example", name="iris")
        await session.act("run pool", pool=pool_grids("quick", 150)[0])
        session.look.page = "consensus"

    async def run(session: Session) -> None:
        key = session.keep_file(table)
        await session.act("load file", name="blobs.csv", sha256=key)
        await session.act("run pool", pool=pool_grids(POOL, rows)[0])

    def page() -> None:
        pn.extension("tabulator", "filedropper")
        session = Session()
        sessions.append(session)
        Shell(session).view.servable()
        begin = run if "pool" in pn.state.session_args else see
        asyncio.get_running_loop().create_task(begin(session))

    class Noted(RequestHandler):
        def get(self, what: str) -> None:
            if what == "rest":
                done = all(s.jobs.at_rest and s.analysis.run for s in sessions)
                self.write("1" if done else "0")
            elif what == "running":
                self.write("1" if sessions and sessions[-1].jobs.busy else "0")
            elif what == "reset":
                late[:] = [0.0]
            else:
                self.write(" ".join(f"{x:.6f}" for x in late))

    async def clock() -> None:
        while True:
            start = perf_counter()
            await asyncio.sleep(TICK_SECONDS)
            late.append(max(0.0, perf_counter() - start - TICK_SECONDS))

    made = pn.serve(
        {"/": page},
        port=port,
        address="127.0.0.1",
        show=False,
        start=False,
        websocket_origin=[f"127.0.0.1:{port}"],
        extra_patterns=[(r"/noted/(\w+)", Noted)],
        unused_session_lifetime=600_000,
    )
    made.io_loop.add_callback(clock)
    made.start()
    made.io_loop.start()


if __name__ == "__main__":
    os.chdir(Path(__file__).parents[1])
    main()
