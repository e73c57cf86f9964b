"""Addresses, tokens, websocket frames and pieces of files, changed on purpose.

A link to a page shows the same page again, no session begins with a token that the
server did not make, and no upload keeps more bytes than it announced. No request may
take more than the limits of `benchmarks.hostile_limits`.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from bokeh.protocol import Protocol
from bokeh.protocol.receiver import Receiver
from bokeh.util.token import generate_jwt_token, generate_session_id
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import WebSocketClosedError, websocket_connect

from benchmarks.hostile_limits import SECONDS, Cost, Outcome
from clusterlens.ui.cli import SERVER_SETTINGS, make_server
from clusterlens.ui.composition import AppViewState
from clusterlens.ui.server.hardening import problem_of
from clusterlens.ui.server.uploads import TABLE, Upload
from clusterlens.ui.state.address import (
    from_query,
    plain_view_state,
    restore_view_state,
)

Strike = Callable[[random.Random], Outcome]
# Pieces of text and numbers that break careless readers.
AWKWARD = ["", "\x00", "null", "NaN", "-1", "9" * 400, "[" * 5000, '{"a":' * 500, "..."]
AWKWARD += ["<img src=x onerror=alert(1)>", "\ud800", "%", "＝1", "x" * 9_000]
# Longer headers than 65,536 bytes are refused before a token is read.
LONGEST_TOKEN = 60_000


def _measured(kind: str, work: Callable[[], str]) -> Outcome:
    """Return the outcome of work that returns why it refused, or an empty string."""
    cost = Cost()
    why = work()
    return cost.judge(kind, "refused" if why else "opened", why)


def _mutate(text: str, rng: random.Random) -> tuple[str, str]:
    """Change a text at some places; return the kind of change and the new text."""
    kind = rng.choice(["cut", "doubled", "inserted", "replaced", "swapped"])
    for _ in range(rng.choice([1, 1, 2, 8])):
        at, to = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        text = {
            "cut": text[:at] + text[to:],
            "doubled": text[:to] + text[at:],
            "inserted": text[:at] + rng.choice(AWKWARD) + text[at:],
            "replaced": text[:at] + rng.choice(AWKWARD) + text[to:],
            "swapped": text[to:] + text[at:to] + text[:at],
        }[kind]
    return kind, text


def attack_addresses(folder: Path) -> Strike:
    """Strike with addresses of pages."""
    values = [None, True, 0, -1, 2**63, 1e308, 0.5, [], {}, [1, 2, 3, 4], ["a"]]

    def strike(rng: random.Random) -> Outcome:
        names = rng.sample(sorted(AppViewState.linked()), rng.randrange(6)) + [
            "page",
            "x",
        ]
        view_state = {name: rng.choice([*values, *AWKWARD]) for name in names}
        view_state["page"] = rng.choice(["cns", "lessons", "data", *AWKWARD])
        written = json.dumps(view_state)
        kind, changed = rng.choice([_mutate(written, rng), ("values", written)])
        safe = changed.encode(errors="replace").decode()
        query = urlencode({"look": safe, "analysis": rng.choice(AWKWARD[:6])})
        if rng.random() < 0.3:
            kind, query = _mutate(query, rng)
        return _measured(kind, lambda: _follow(query))

    return strike


def _follow(query: str) -> str:
    given = dict(parse_qsl(query, errors="replace"))
    try:
        _, plain = from_query(given)
    except ValueError as error:
        return str(error)
    view_state = AppViewState()
    restore_view_state(view_state, plain)
    again = AppViewState()
    restore_view_state(again, json.loads(json.dumps(plain_view_state(view_state))))
    if plain_view_state(again) != plain_view_state(view_state):
        raise AssertionError("a link to the page shows another page")
    return ""


def attack_pieces(folder: Path) -> Strike:
    """Strike with uploads in pieces."""

    def strike(rng: random.Random) -> Outcome:
        data = rng.randbytes(rng.choice([0, 1, 2, 3, 4, 1_000, 100_000]))
        size = rng.choice([len(data)] * 5 + [0, -1, len(data) + 1, 2**40, 2**63])
        step = rng.choice([1_000_000, 3_000, 999, 1])
        cuts = range(0, min(len(data), 50 * step), step)
        pieces: list[Any] = [
            base64.b64encode(data[at : at + step]).decode() for at in cuts
        ]
        kind = rng.choice(["sound", "text", "order", "lacking", "no text"])
        if pieces and kind != "sound":
            at = rng.randrange(len(pieces))
            if kind == "text":
                pieces[at] = _mutate(pieces[at], rng)[1]
            elif kind == "order":
                rng.shuffle(pieces)
            elif kind == "lacking":
                del pieces[at]
            else:
                pieces[at] = rng.choice([None, "", "=", "====", "é", "A"])
        return _measured(kind, lambda: _upload(size, pieces))

    return strike


def _upload(size: int, pieces: list[Any]) -> str:
    upload = Upload("table.csv", size, 0, TABLE)
    for piece in pieces:
        upload.take(piece)
    kept = sum(map(len, upload._pieces))
    if kept > max(size, 0):
        raise AssertionError(f"{kept} bytes of {size} were kept")
    return upload._refused or ("" if upload._missing <= 0 else "it is not whole")


def attack_frames(folder: Path) -> Strike:
    """Strike with fragments of websocket messages."""
    runner = asyncio.Runner()
    event = {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": {}}
    patch = json.dumps({"events": [event]})
    header = {"msgid": "1", "msgtype": "PATCH-DOC", "num_buffers": 1}

    def strike(rng: random.Random) -> Outcome:
        kinds = ["PATCH-DOC", "PULL-DOC-REQ", "SERVER-INFO-REQ", "ACK", "X", None, {}]
        parts: list[str | bytes] = [
            json.dumps({**header, "msgtype": rng.choice(kinds[:3] * 3 + kinds)}),
            "{}",
            patch,
            '{"id": "b1"}',
            rng.randbytes(rng.choice([0, 9, 10_000])),
        ]
        kind = rng.choice(["text", "order", "lacking", "doubled", "bytes", "number"])
        at = rng.randrange(len(parts) - 1)
        if kind == "text":
            parts[at] = _mutate(str(parts[at]), rng)[1]
        elif kind == "order":
            rng.shuffle(parts)
        elif kind == "lacking":
            del parts[at]
        elif kind == "doubled":
            parts[at:at] = parts * rng.choice([1, 50])
        elif kind == "bytes":
            parts[at] = str(parts[at]).encode()
        else:
            number = rng.choice([-1, 2**31, 10**30, 1e308, "1", None, [1]])
            parts[0] = json.dumps({**header, "num_buffers": number})
        return _measured(kind, lambda: runner.run(_receive(parts)))

    return strike


async def _receive(parts: list[str | bytes]) -> str:
    receiver = Receiver(Protocol())
    for part in parts:
        if isinstance(part, str) and (problem := problem_of(part)):
            return problem
        try:
            await receiver.consume(part)
        except Exception as error:  # Bokeh closes the connection
            return f"{type(error).__name__}: {error!s:.80}"
    return ""


def attack_tokens(folder: Path) -> Strike:
    """Strike a server with tokens that it did not make."""
    runner = asyncio.Runner()
    server = runner.run(_serve())
    place = f"127.0.0.1:{server.port}"
    signed = {"secret_key": server._tornado.secret_key, "signed": True}
    runner.run(
        _connect(place, generate_jwt_token(generate_session_id(**signed), **signed))
    )

    def strike(rng: random.Random) -> Outcome:
        token = generate_jwt_token(generate_session_id(**signed), **signed)
        kind = rng.choice(["changed", "key", "unsigned", "bomb", "noise"])
        if kind == "changed":
            kind, forged = _mutate(token, rng)
        elif kind == "key":
            other = {"secret_key": rng.randbytes(32), "signed": True}
            forged = generate_jwt_token(generate_session_id(**other), **other)
        elif kind == "unsigned":
            forged = generate_jwt_token(generate_session_id(), signed=False)
        elif kind == "bomb":
            packed = zlib.compress(bytes(10**7))
            forged = base64.urlsafe_b64encode(packed).decode().strip("=") + token[-44:]
        else:
            forged = base64.urlsafe_b64encode(rng.randbytes(rng.randrange(45_000)))
            forged = forged.decode()
        forged = quote(forged[:LONGEST_TOKEN], safe="-_.=", errors="replace")
        before = len(server.get_sessions())
        outcome = _measured(kind, lambda: runner.run(_connect(place, forged)))
        if forged != token and len(server.get_sessions()) > before:
            return kind, "ran", "a session began with a forged token"
        return outcome

    return strike


async def _serve() -> Any:
    SERVER_SETTINGS["check_unused_sessions_milliseconds"] = 1_000
    server = make_server(0, "127.0.0.1")
    server.start()
    return server


async def _connect(place: str, token: str) -> str:
    request = HTTPRequest(f"ws://{place}/ws", headers={"Origin": f"http://{place}"})
    try:
        socket = await _soon(websocket_connect(request, subprotocols=["bokeh", token]))
        answer = await _soon(socket.read_message())
        socket.close()
    except (HTTPClientError, WebSocketClosedError, ValueError) as error:
        return f"{type(error).__name__}: {error!s:.80}"
    return "" if answer and "ACK" in answer else "closed without an answer"


async def _soon(awaited: Awaitable[Any]) -> Any:
    return await asyncio.wait_for(awaited, SECONDS)
