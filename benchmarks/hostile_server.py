"""Attack a running server with requests, connections and what lies in its folder.

    python -m benchmarks.hostile_server [ATTACK ...] [--port 5412] [--files 300]

Starts `clusterlens` for each attack of `ATTACKS`, with few files that it may open and
with odd files in its store, and asks it every 50 ms whether it is alive. Prints what
the attack met, the processor time and the memory that the server took for it, the
longest wait of others (of a busy machine, too), the bytes of its log, and how long it
took to end at SIGTERM while the attack went on.
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
from tornado.websocket import websocket_connect

ALIVE_SECONDS = 0.05
HEADER = json.dumps({"msgid": "1", "msgtype": "PATCH-DOC", "num_buffers": 1})
# What an attack holds open goes on while the server is told to end.
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


async def message(address: str, held: Held, *, fragments: list[Any]) -> str:
    """Send one message of the right form."""
    page = (await AsyncHTTPClient().fetch(address, request_timeout=120)).body
    token = re.search(rb'"token": ?"([^"]+)"', page)[1].decode()
    request = HTTPRequest(
        address.replace("http", "ws") + "/ws", headers={"Origin": address}
    )
    socket = await websocket_connect(
        request, subprotocols=["bokeh", token], max_message_size=2**30
    )
    held.append(socket)
    await socket.read_message()
    for fragment in fragments:
        await socket.write_message(fragment, binary=isinstance(fragment, bytes))
    with suppress(TimeoutError):
        async with asyncio.timeout(20):
            while await socket.read_message() is not None:
                pass
    return f"closed with {socket.close_code}"


async def bare_gets(address: str, held: Held, n: int = 100) -> str:
    """Ask for pages and never connect."""
    found = await asyncio.gather(*(status(address) for _ in range(n)))
    return f"{found.count(200)} pages"


async def one_page(address: str, held: Held) -> str:
    """Ask for a page."""
    return f"a page: {await status(address)}"


async def packed_bytes(address: str, held: Held) -> str:
    """Send 1 GB as a text of 1.3 MB."""
    return await message(address, held, fragments=_patch(_packed(10**9)))


def _packed(n_bytes: int) -> str:
    data = base64.b64encode(gzip.compress(bytes(n_bytes))).decode()
    return json.dumps({"events": [{"new": {"type": "bytes", "data": data}}]})


def _patch(content: str) -> list[Any]:
    return [HEADER, "{}", content]


ATTACKS: dict[str, Attack] = {
    "half-open connections": half_open,
    "made-up tokens": made_up_token,
    "packed bytes of 1 GB": packed_bytes,
    "30 MB of brackets": partial(message, fragments=_patch("[" * 30_000_000)),
    "million lists": partial(message, fragments=_patch("[" + "[]," * 10**6 + "1]")),
    "pages never connected to": bare_gets,
    "odd files in the store": one_page,
}


async def status(url: str) -> int:
    """Return the status of a page."""
    client = AsyncHTTPClient(max_clients=1000)
    found = await client.fetch(url, raise_error=False, request_timeout=60)
    return found.code


async def strike(name: str, port: int, files: int) -> None:
    """Start a server, attack it, end it, and print how it went."""
    address, folder = f"http://127.0.0.1:{port}", Path(tempfile.mkdtemp())
    contents = folder / "contents"
    contents.mkdir()
    (contents / "loop").symlink_to("loop")
    os.mkfifo(contents / ("0" * 64))
    os.truncate(os.open(contents / ("1" * 64), os.O_CREAT | os.O_WRONLY), 50 * 10**9)
    command = [sys.executable, "-m", "clusterlens", "--no-browser", "--port", str(port)]
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
        await status(address)
        process, waits, highest = psutil.Process(server.pid), [], [0]
        before, begun = process.memory_info().rss, process.cpu_times()

        async def watch() -> None:
            while True:
                begun = time.perf_counter()
                await status(f"{address}/liveness")
                waits.append(time.perf_counter() - begun)
                highest[0] = max(highest[0], process.memory_info().rss)
                await asyncio.sleep(ALIVE_SECONDS)

        watcher, held = asyncio.ensure_future(watch()), []
        met = await ATTACKS[name](address, held)
        await asyncio.sleep(1)
        watcher.cancel()
        worked = sum(process.cpu_times()[:2]) - sum(begun[:2])
        begun = time.monotonic()
        server.send_signal(signal.SIGTERM)
        await asyncio.to_thread(server.wait, 60)
        print(
            f"{name}: {met}; {worked:.1f} s of processor, longest wait "
            f"{max(waits):.2f} s, {(highest[0] - before) / 1e6:.0f} MB more, log of "
            f"{(folder / 'log').stat().st_size} bytes, ended in "
            f"{time.monotonic() - begun:.1f} s",
            flush=True,
        )
    finally:
        server.kill()
        server.wait()


def _wait(url: str) -> None:
    while True:
        with suppress(OSError):
            urllib.request.urlopen(url, timeout=60).close()
            return
        time.sleep(0.2)


def main() -> None:
    """Attack as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("attacks", nargs="*", default=[*ATTACKS], metavar="attack")
    parser.add_argument("--port", type=int, default=5412)
    parser.add_argument("--files", type=int, default=300)
    given = parser.parse_args()
    for name in given.attacks:
        asyncio.run(strike(name, given.port, given.files))


if __name__ == "__main__":
    main()
