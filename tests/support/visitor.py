"""A visitor of the served page without a browser."""

from __future__ import annotations

import asyncio
import json
import re
from time import perf_counter
from typing import Any

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import websocket_connect

PROBE_SECONDS = 0.05
# In the last message with content of a page.
NAVIGATION = "cl-nav-data"
# What a browser says when it has drawn the page for the first time.
DRAWN = {
    "events": [
        {
            "kind": "MessageSent",
            "msg_type": "bokeh_event",
            "msg_data": {
                "type": "event",
                "name": "document_ready",
                "values": {"type": "map", "entries": []},
            },
        }
    ]
}


class Visitor:
    """A browser's connection to its session, without the browser."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._answered, self._filled = asyncio.Event(), asyncio.Event()
        self._reader = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    async def open(cls, address: str) -> Visitor:
        """Ask for the page, then connect to its session as the page would."""
        page = (await AsyncHTTPClient().fetch(address, request_timeout=120)).body
        token = re.search(rb'"token": ?"([^"]+)"', page)[1].decode()
        request = HTTPRequest(
            address.partition("?")[0].replace("http", "ws").rstrip("/") + "/ws",
            headers={"Origin": address.partition("?")[0].rstrip("/")},
            connect_timeout=120,
            request_timeout=120,
        )
        socket = await websocket_connect(
            request, subprotocols=["bokeh", token], max_message_size=2**28
        )
        socket.protocol.set_nodelay(True)  # as browsers do
        await socket.read_message()  # it is ready for messages
        return cls(socket)

    async def _read(self) -> None:
        while (message := await self._socket.read_message()) is not None:
            if not isinstance(message, str):
                continue
            if '"SERVER-INFO-REPLY"' in message:
                self._answered.set()
            if NAVIGATION in message:
                self._filled.set()

    async def draw(self) -> None:
        """Fetch the frame of the page, and report that it is drawn."""
        for kind, content in (("PULL-DOC-REQ", {}), ("PATCH-DOC", DRAWN)):
            for part in ({"msgid": "1", "msgtype": kind}, {}, content):
                await self._socket.write_message(json.dumps(part))

    async def load(self) -> None:
        """Draw the frame of the page, and wait until it is filled."""
        await self.draw()
        await self._filled.wait()

    async def ping(self) -> float:
        """Return seconds from a question to its answer."""
        self._answered.clear()
        start = perf_counter()
        for part in ({"msgid": "1", "msgtype": "SERVER-INFO-REQ"}, {}, {}):
            await self._socket.write_message(json.dumps(part))
        await self._answered.wait()
        return perf_counter() - start

    async def pings(self) -> None:
        """Ask every 50 ms until it is enough; seconds to each answer in `answers`."""
        self.answers: list[float] = []
        self.answered_enough = False
        while not self.answered_enough:
            self.answers.append(await self.ping())
            await asyncio.sleep(PROBE_SECONDS)

    def close(self) -> None:
        """Leave."""
        self._reader.cancel()
        self._socket.close()
