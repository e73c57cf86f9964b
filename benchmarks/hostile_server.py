"""Attack a running server with requests, connections, messages, files and its folder.

    python -m benchmarks.hostile_server [ATTACK ...] [--port 5412] [--files 300]

Starts a server for each attack of `ATTACKS`, with few files that it may open and with
odd files in its store, while another page, of a process of its own, asks for an answer
every 50 ms. Prints the responses to the attack, the processor time of the server, how
long the other page waited (also for a busy machine), the processor time of the longest
step of the event loop (which others do not lengthen), the memory that the server and
its processes took, the bytes of the log, and how long it took to end at SIGTERM while
the attack went on.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import gzip
import json
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from bokeh.util.token import generate_jwt_token, generate_session_id
from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import WebSocketClosedError, websocket_connect

from benchmarks.hostile_inputs import FILES
from benchmarks.sessions import note_steps, wait_until_idle
from clusterlens.ui.cli import main as main_of_command
from tests.support.visitor import DRAWN, Visitor

ALIVE_SECONDS = 0.05
# Id of the first part of a page that takes files.
TAKER = r'"id":"(p\d+)","attributes":{"name":"FileTaker"'
# Signs that a file was read or refused, with the sign of its size (x).
ENDED = r"limit|cannot|needs|refused|stopped|ended|\\u00d7"
# Seconds of the second attack of a kind before the server gets the signal to end.
INTERRUPTED_SECONDS = 1.0
# Objects held open by an attack while the server ends.
Held = list[Any]
Attack = Callable[[str, Held], Awaitable[str]]


async def half_open(address: str, held: Held, n: int = 330) -> str:
    """Begin requests and end none."""
    for _ in range(n):
        place = address.removeprefix("http://").split(":")
        held.append(await asyncio.open_connection(place[0], int(place[1])))
        held[-1][1].write(b"GET / HTTP/1.1\r\nHost: x\r\n")
    return f"{n} connections; a page: {await status(address)}"


async def made_up_token(address: str, held: Held) -> str:
    """Ask with tokens that unpack to much, and a session id of our own."""
    bomb = {"headers": {}, "arguments": "[]" * 1_000_000}
    token = generate_jwt_token(
        generate_session_id(), extra_payload=bomb, expiration=1000
    )
    found = [await status(f"{address}/?bokeh-token={token}")]
    found.append(await status(f"{address}/?bokeh-session-id=chosen"))
    return f"token and session id: {found}"


async def connect(address: str) -> Any:
    """Open a page; return its websocket after the greeting."""
    page = (await AsyncHTTPClient().fetch(address, request_timeout=120)).body
    token = re.search(rb'"token": ?"([^"]+)"', page)[1].decode()
    request = HTTPRequest(
        address.replace("http", "ws") + "/ws",
        headers={"Origin": address},
        connect_timeout=120,
        request_timeout=120,
    )
    socket = await websocket_connect(
        request, subprotocols=["bokeh", token], max_message_size=2**30
    )
    for _ in range(3):
        await socket.read_message()
    return socket


async def send(socket: Any, kind: str, *contents: str | bytes) -> None:
    """Send a message of a kind."""
    header = {"msgid": "1", "msgtype": kind, "num_buffers": len(contents) - 1}
    for part in (json.dumps(header), "{}", *contents):
        await socket.write_message(part, binary=isinstance(part, bytes))


async def message(address: str, held: Held, *, content: str) -> str:
    """Send one message of the right form."""
    socket = await connect(address)
    held.append(socket)
    await send(socket, "PATCH-DOC", content)
    with suppress(TimeoutError):
        async with asyncio.timeout(20):
            while await socket.read_message() is not None:
                pass
    return f"closed with {socket.close_code}"


async def failing_patches(address: str, held: Held, n: int = 400) -> str:
    """Send patches of 400 kB that fail."""
    socket = await connect(address)
    held.append(socket)
    text = json.dumps({"events": [{"kind": "ModelChanged", "model": "x" * 400_000}]})
    for _ in range(n):
        with suppress(WebSocketClosedError):
            await send(socket, "PATCH-DOC", text)
    return f"{n} patches"


async def upload(address: str, held: Held, *, name: str) -> str:
    """Drop a file on the page; return its first message that is not progress."""
    socket, taker = await with_taker(address)
    held.append(socket)
    content = FILES[name]()
    await tell(socket, taker, name=name, size=len(content), others=0)
    await tell(socket, taker, piece=base64.b64encode(content).decode())
    found = re.compile(rf'{name}(?:[^"\\]|\\u....){{0,120}}')
    async with asyncio.timeout(120):
        while (text := await socket.read_message()) is not None:
            for words in found.findall(text) if isinstance(text, str) else ():
                if re.search(ENDED, words):
                    return json.loads(f'"{words}"')
    return f"closed with {socket.close_code}"


async def with_taker(address: str) -> tuple[Any, str]:
    """Open a page; return its websocket and the id of its `FileTaker`."""
    socket = await connect(address)
    await send(socket, "PULL-DOC-REQ", "{}")
    await send(socket, "PATCH-DOC", json.dumps(DRAWN))
    async with asyncio.timeout(120):
        while True:
            text = await socket.read_message()
            found = isinstance(text, str) and re.search(TAKER, text)
            if found:
                return socket, found[1]


async def tell(socket: Any, model: str, **values: Any) -> None:
    """Send a message to a component, as its script does."""
    data = {"type": "map", "entries": [*values.items()]}
    entries = [["model", {"id": model}], ["data", data]]
    event = {
        "type": "event",
        "name": "data_event",
        "values": {"type": "map", "entries": entries},
    }
    sent = {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": event}
    await send(socket, "PATCH-DOC", json.dumps({"events": [sent]}))


async def announced(address: str, held: Held, n: int = 12) -> str:
    """Announce files, send 60 MB of each, end none, and leave."""
    socket, taker = await with_taker(address)
    piece = base64.b64encode(bytes(3_000_000)).decode()
    for k in range(n):
        await tell(socket, taker, name=f"{k}.csv", size=10**9, others=0)
        for _ in range(20):
            await tell(socket, taker, piece=piece)
    socket.close()
    return f"{n} files announced"


async def crowd(address: str, held: Held, n: int = 40) -> str:
    """Open many pages at one time."""

    async def seconds() -> float:
        begun = time.perf_counter()
        socket, _ = await with_taker(address)
        held.append(socket)
        return time.perf_counter() - begun

    found = sorted(await asyncio.gather(*(seconds() for _ in range(n))))
    return f"{n} pages after {found[0]:.1f} to {found[-1]:.1f} s"


async def bare_gets(address: str, held: Held, n: int = 100) -> str:
    """Request pages without connecting."""
    found = await asyncio.gather(*(status(address) for _ in range(n)))
    return f"{found.count(200)} pages"


async def one_page(address: str, held: Held) -> str:
    """Ask for a page."""
    return f"a page: {await status(address)}"


async def packed_bytes(address: str, held: Held) -> str:
    """Send 1 GB as a text of 1.3 MB."""
    return await message(address, held, content=_packed(10**9))


def _packed(n_bytes: int) -> str:
    data = base64.b64encode(gzip.compress(bytes(n_bytes))).decode()
    return json.dumps({"events": [{"new": {"type": "bytes", "data": data}}]})


ATTACKS: dict[str, Attack] = {
    "half-open connections": half_open,
    "made-up tokens": made_up_token,
    "packed bytes of 1 GB": packed_bytes,
    "30 MB of brackets": partial(message, content="[" * 30_000_000),
    "million lists": partial(message, content="[" + "[]," * 10**6 + "1]"),
    "pages never connected to": bare_gets,
    "40 pages at one time": crowd,
    "odd files in the store": one_page,
    "patches that fail": failing_patches,
    "12 files announced": announced,
    **{name: partial(upload, name=name) for name in FILES},
}


async def status(url: str) -> int:
    """Return the status of a page."""
    client = AsyncHTTPClient(max_clients=1000)
    found = await client.fetch(url, raise_error=False, request_timeout=60)
    return found.code


async def strike(name: str, port: int, files: int) -> None:
    """Start a server, attack it, end it, and print the results."""
    address, folder = f"http://127.0.0.1:{port}", Path(tempfile.mkdtemp())
    contents = folder / "contents"
    contents.mkdir()
    (contents / "loop").symlink_to("loop")
    os.mkfifo(contents / ("0" * 64))
    os.truncate(os.open(contents / ("1" * 64), os.O_CREAT | os.O_WRONLY), 50 * 10**9)
    command = [sys.executable, "-m", "benchmarks.hostile_server", "--port", str(port)]
    command += ["--serve", str(folder / "steps")]
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(
            command,
            env={**os.environ, "CLUSTERLENS_HOME": str(folder)},
            stdout=log,
            stderr=log,
            preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_NOFILE, (files, files)
            ),
        )
    try:
        await asyncio.to_thread(_wait, f"{address}/liveness")
        other = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.hostile_server", "--visit", address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        await asyncio.to_thread(other.stdout.readline)  # it has the page
        process = psutil.Process(server.pid)
        await wait_until_idle(process)
        server.send_signal(signal.SIGUSR1)  # it notes its steps from now on
        before, begun = _memory(process), process.cpu_times()
        highest, held = [before], []

        async def watch() -> None:
            while True:
                highest.append(_memory(process))
                await asyncio.sleep(ALIVE_SECONDS)

        watcher = asyncio.ensure_future(watch())
        print(file=other.stdin, flush=True)
        met = await ATTACKS[name](address, held)
        await asyncio.sleep(1)
        watcher.cancel()
        answers = json.loads((await asyncio.to_thread(other.communicate, "\n"))[0])
        worked = sum(process.cpu_times()[:2]) - sum(begun[:2])
        again = asyncio.ensure_future(ATTACKS[name](address, held))
        await asyncio.sleep(INTERRUPTED_SECONDS)
        ended = time.monotonic()
        server.send_signal(signal.SIGTERM)
        await asyncio.to_thread(server.wait, 60)
        ended = time.monotonic() - ended
        again.cancel()
        await asyncio.gather(again, return_exceptions=True)
        log_bytes = (folder / "log").stat().st_size
        print(
            f"{name}: {met}; {worked:.1f} s of processor, another visitor waited "
            f"{statistics.median(answers):.2f} s, at most "
            f"{max(answers):.2f}; the longest step of the event loop worked "
            f"{(folder / 'steps').read_text()} s; "
            f"{(max(highest) - before) / 1e6:.0f} MB more, log of {log_bytes} bytes, "
            f"ended in {ended:.1f} s with {server.returncode}",
            flush=True,
        )
    finally:
        server.kill()
        server.wait()


async def visit(address: str) -> None:
    """Open a page, ask between two lines of the standard input, and print the waits."""
    visitor = await Visitor.open(f"{address}/")
    await visitor.load()
    print(flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    pings = asyncio.ensure_future(visitor.pings())
    await asyncio.to_thread(sys.stdin.readline)
    pings.cancel()
    print(json.dumps(visitor.answers))


def serve(port: int, longest: Path) -> None:
    """Serve as `clusterlens` does; write the longest step of the event loop."""
    steps = note_steps()
    signal.signal(signal.SIGUSR1, lambda *_: steps.__delitem__(slice(1, None)))
    main_of_command(["--no-browser", "--port", str(port)])
    longest.write_text(f"{max(steps):.2f}")


def _memory(process: psutil.Process) -> int:
    """Return the bytes of memory of a server and its processes."""
    total = process.memory_info().rss
    for child in process.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            total += child.memory_info().rss
    return total


def _wait(url: str) -> None:
    while True:
        with suppress(OSError):
            urllib.request.urlopen(url, timeout=60).close()
            return
        time.sleep(0.2)


def main() -> None:
    """Run the attacks given on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("attacks", nargs="*", default=[*ATTACKS], metavar="attack")
    parser.add_argument("--port", type=int, default=5412)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--visit", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.port, given.serve)
        return
    if given.visit:
        asyncio.run(visit(given.visit))
        return
    for name in given.attacks:
        asyncio.run(strike(name, given.port, given.files))


if __name__ == "__main__":
    main()
