"""Tests of hardening: forged requests are refused unread; logs contain no data."""

import asyncio
import base64
import gzip
import io
import json
import logging
import re
import urllib.request
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import panel as pn
import pytest
from bokeh.util.token import generate_jwt_token, generate_session_id
from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import websocket_connect

from clusterlens.ui import cli, serving
from clusterlens.ui.server import hardening
from clusterlens.ui.server.hardening import LimitedSocket, leave_out_data, problem_of
from clusterlens.ui.server.server import Server
from tests.ui.loop import run
from tests.ui.test_cli import console
from tests.ui.test_hosts import asked, given, made_up, shown


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with console(folder=tmp_path_factory.mktemp("served")) as (_, address):
        yield address


def test_a_session_that_the_server_did_not_sign_is_refused(address):
    host = urlsplit(address).netloc
    unsigned, other = generate_session_id(), generate_session_id(b"key", signed=True)
    for session in (unsigned, other, "chosen"):
        assert asked(address, f"/?bokeh-session-id={session}", host)[0] == 403
        header = {"Bokeh-Session-Id": session}
        assert asked(address, "/", host, **header)[0] == 403
    bomb = {"headers": {"Host": host}, "arguments": "[]" * 1_000_000}
    for signed in (False, True):
        token = generate_jwt_token(
            other, b"key", signed=signed, extra_payload=bomb, expiration=1000
        )
        assert asked(address, f"/?bokeh-token={token}", host)[0] == 403
        assert run(answers(address, token)) is None


async def answers(address: str, token: str, *fragments: str | bytes) -> int | None:
    """Send fragments; return the close code, or None if the session is refused."""
    host = urlsplit(address).netloc
    url = f"ws://{host}/ws"
    headers = {"Host": host, "Origin": f"http://{host}"}
    socket = await websocket_connect(
        HTTPRequest(url, headers=headers),
        subprotocols=["bokeh", token],
        max_message_size=2**28,
    )
    try:
        if await socket.read_message() is None:
            return None
        for fragment in fragments:
            await socket.write_message(fragment, binary=isinstance(fragment, bytes))
        while await socket.read_message() is not None:
            pass
        return socket.close_code
    finally:
        socket.close()


def test_a_token_of_the_server_connects_and_one_made_up_does_not(address):
    host = urlsplit(address).netloc
    assert run(shown(address, "/ws", host, given(address, urlsplit(address).netloc)))
    assert run(answers(address, made_up(address))) is None


def test_no_other_origin_may_embed_the_page(address):
    with urllib.request.urlopen(address) as answer:
        assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"
        assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'self'"
    host = urlsplit(address).netloc
    path = "/autoload.js?bokeh-autoload-element=1"
    status, page = asked(address, path, host)
    assert (status, b"token" in page) == (404, False)


def test_a_page_may_ask_whether_the_server_is_there(address):
    request = urllib.request.Request(address, method="HEAD")
    with urllib.request.urlopen(request, timeout=120) as answer:
        assert answer.status == 200
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.read() == b""


def compressed(size: int) -> str:
    data = base64.b64encode(gzip.compress(bytes(size))).decode()
    return json.dumps({"events": [{"new": {"type": "bytes", "data": data}}]})


def array(dtype: object) -> str:
    return json.dumps({"type": "ndarray", "array": [1], "dtype": dtype, "shape": [1]})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"msgtype": "PATCH-DOC"}', ""),
        (json.dumps({"data": "a" * 7_000_000}), ""),
        (json.dumps({"indices": list(range(1_000_000))}), ""),
        (json.dumps({"type": "bytes", "data": {"id": "1"}, "x": "y" * 70_000}), ""),
        (compressed(100_000_000), "it has compressed bytes inside its text"),
        (
            compressed(100_000_000).replace('"type"', '"\\u0074ype"'),
            "it has compressed",
        ),
        ("[" + "[]," * 300_000 + "[]]", "it has too many lists and objects"),
        ("[" * 150_000, "maximum recursion depth exceeded"),
        ("[" + "1," * 5_000_000 + "1]", "it has too many values"),
        ('"' + "x" * 21_000_000 + '"', "its text is too long"),
        ("{" + "x" * 70_000, "Expecting property name"),
        (array("float64"), ""),
        (array("object"), ""),
        (array("S99999999"), "it has an array of an unknown type"),
        (array(None), "it has an array of an unknown type"),
        (array([]), "unhashable type"),
        (json.dumps([{"type": "object", "name": "Range1d"}] * 50), ""),
        (json.dumps([{"type": "object", "name": "Figure"}] * 51), "it makes too many"),
    ],
    ids=range(18),
)
def test_a_message_that_is_costly_to_decode_is_refused(text, problem):
    found = problem_of(text)
    assert found.startswith(problem)
    assert bool(found) == bool(problem)


def test_a_refused_message_closes_the_connection(address):
    header = json.dumps({"msgid": "1", "msgtype": "PATCH-DOC", "num_buffers": 3})
    for content in (compressed(100_000_000), "[" + "[]," * 300_000 + "[]]"):
        token = given(address, urlsplit(address).netloc)
        assert run(answers(address, token, header, "{}", content)) == 1009
    patch = json.dumps({"events": []})
    buffer = bytes(40_000_000)
    pieces = [part for i in range(3) for part in (json.dumps({"id": str(i)}), buffer)]
    token = given(address, urlsplit(address).netloc)
    assert run(answers(address, token, header, "{}", patch, *pieces)) == 1009


def record(message: str, *arguments: object, error: Exception | None = None) -> str:
    trace = (type(error), error, None) if error else None
    made = logging.LogRecord("x", 30, "", 1, message, arguments, trace)
    assert leave_out_data(made)
    return logging.Formatter().format(made)


def test_logs_leave_out_data():
    secret = "secret" * 100
    assert record("%r: %r", "short", 3) == "'short': 3"
    for data in (secret, secret.encode(), [secret], ValueError(secret)):
        assert "secretsecret" not in record("failed: %r", data)
    assert len(record("x" * 100_000)) < 1_100
    assert len(record("failed", error=ValueError(secret * 1_000))) < 1_200


def test_the_limits_let_an_upload_through():
    piece = base64.b64encode(bytes(5_000_000)).decode()
    assert problem_of(json.dumps({"piece": piece})) == ""
    assert 2 * len(piece) < hardening.MAX_TEXT_BYTES


def test_a_message_that_repeats_is_logged_a_few_times_a_minute():
    handler = hardening.LeaveOutRepeats()

    def passed(second: float, message: str) -> str | None:
        made = logging.LogRecord("x", 30, "", 1, message, (), None)
        made.created = second
        return made.getMessage() if handler.filter(made) else None

    lines = [passed(61, "too many open files") for _ in range(100)]
    assert lines[:9] == ["too many open files"] * 9
    assert lines[9] == "too many open files (no more of it this minute)"
    assert set(lines[10:]) == {None}
    assert passed(62, "another") == "another"
    assert passed(125, "too many open files") == "too many open files"


def test_the_log_of_a_server_leaves_out_what_repeats(monkeypatch):
    written, root = io.StringIO(), logging.getLogger()
    monkeypatch.setattr(root, "handlers", [logging.StreamHandler(written)])
    monkeypatch.setattr(logging.getLogger("panel"), "handlers", [])
    hardening.shorten_logs()
    for _ in range(100):
        root.error("%s open files: %s", "too many", "secret" * 100)
    lines = written.getvalue().splitlines()
    assert len(lines) in (10, 20)  # a new minute may begin meanwhile
    assert "no more of it" in lines[9]
    assert "secretsecret" not in written.getvalue()


def test_the_log_of_the_command_leaves_out_what_a_message_holds(tmp_path):
    header = json.dumps({"msgid": "1", "msgtype": "PATCH-DOC"})
    event = {"kind": "ModelChanged", "model": "secret" * 100}
    with console(folder=tmp_path) as (process, address):
        token = given(address, urlsplit(address).netloc)
        patches = [header, "{}", json.dumps({"events": [event]})] * 15
        end = compressed(100_000_000)  # refused once all before it were handled
        assert run(answers(address, token, *patches, header, "{}", end)) == 1009
        process.terminate()
        log = process.communicate(timeout=60)[1]
    assert "error handling message" in log
    assert "secretsecret" not in log


def test_a_connection_that_sends_no_request_is_closed(monkeypatch, tmp_path):
    brief = cli.SERVER_SETTINGS["http_server_kwargs"] | {"idle_connection_timeout": 0.2}
    settings = cli.SERVER_SETTINGS | {"http_server_kwargs": brief}
    monkeypatch.setattr(cli, "SERVER_SETTINGS", settings)

    async def main():
        server = cli.make_server(0, "127.0.0.1")
        server.start()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"GET / HTTP/1.1\r\nHost: 127")
            assert await reader.read() == b""
            writer.close()
        finally:
            server.stop()

    run(main())


HALF = [
    b"",
    b"GET / HTTP/1.1\r\n",
    b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\nabc",
    b"GET /liveness HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",  # and no further request
]


@pytest.mark.parametrize("sent", HALF)
def test_visitors_are_answered_though_others_hold_all_connections(sent, monkeypatch):
    monkeypatch.setattr(hardening, "most_files", lambda: 10)

    async def main():
        server = cli.make_server(0, "127.0.0.1")
        server.start()
        place = "127.0.0.1", server.port
        held = [await asyncio.open_connection(*place) for _ in range(30)]
        try:
            for _, writer in held:
                writer.write(sent)
            for _ in range(3):
                reader, writer = await asyncio.open_connection(*place)
                writer.write(
                    b"GET /liveness HTTP/1.1\r\nHost: localhost:%d\r\n\r\n" % place[1]
                )
                assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
                held.append((reader, writer))
            for reader, _ in held[:20]:  # those that waited longest are closed
                await reader.read()
        finally:
            for _, writer in held:
                writer.close()
            server.stop()

    run(main())


@asynccontextmanager
async def empty_pages(monkeypatch):
    """Yield a server of empty sessions, and the arguments of each session."""
    made, shared = [], Server()
    monkeypatch.setattr(cli, "the_server", lambda: shared)
    monkeypatch.setattr(
        serving, "serve_page", lambda *_: made.append(pn.state.session_args)
    )
    server = cli.make_server(0, "127.0.0.1")
    server.start()
    try:
        yield server, made
    finally:
        server.stop()
        shared.close()


async def token_of(server, query: str = "") -> str:
    """Request a page; return its token."""
    url = f"http://127.0.0.1:{server.port}/{query}"
    page = (await AsyncHTTPClient().fetch(url)).body
    assert b"being prepared" in page
    return re.search(rb'"token":"([^"]+)"', page)[1].decode()


def test_a_page_without_a_connection_has_no_session(monkeypatch):
    async def main():
        async with empty_pages(monkeypatch) as (server, made):
            tokens = {await token_of(server, f"?page={i}") for i in range(3)}
            assert len(tokens) == 3
            assert server.get_sessions() == made == []
            token = await token_of(server, "?page=4")
            assert await greeting(server, token)
            assert len(server.get_sessions()) == 1
            assert made == [{"page": [b"4"]}]

    run(main())


async def greeting(server, token: str) -> str:
    """Connect as a page does; return the header of the first message."""
    place = f"127.0.0.1:{server.port}"
    request = HTTPRequest(f"ws://{place}/ws", headers={"Origin": f"http://{place}"})
    socket = await websocket_connect(request, subprotocols=["bokeh", token])
    try:
        return await socket.read_message()
    finally:
        socket.close()


def test_no_session_is_made_for_who_left_while_others_were_made(monkeypatch):
    async def main():
        left = asyncio.Event()
        async with empty_pages(monkeypatch) as (server, made):
            monkeypatch.setattr(LimitedSocket, "on_close", lambda self: left.set())
            rules = server._tornado.wildcard_router.rules
            (page_lock,) = (
                one.target_kwargs["page_lock"]
                for one in rules
                if one.target is LimitedSocket
            )
            async with page_lock:
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                writer.write(
                    b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
                    b"Origin: http://127.0.0.1:%d\r\n"
                    b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
                    b"Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\n"
                    b"Sec-WebSocket-Version: 13\r\n"
                    b"Sec-WebSocket-Protocol: bokeh, %s\r\n\r\n"
                    % (server.port, server.port, (await token_of(server)).encode())
                )
                assert (
                    await reader.readline() == b"HTTP/1.1 101 Switching Protocols\r\n"
                )
                stays = asyncio.ensure_future(greeting(server, await token_of(server)))
                writer.close()
                await left.wait()
                assert made == []
            assert "ACK" in await stays
            assert len(made) == 1

    run(main())


def test_the_limit_of_open_files_is_raised_to_what_the_system_allows():
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(before[0], 256), before[1]))
        hardening.raise_file_limit()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert soft == hard or soft == 65_536
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
