"""Tests of unknown host names: no page, no token, no connection."""

import http.client
import json
import re
from contextlib import asynccontextmanager, closing
from urllib.parse import urlsplit

import pytest
from bokeh.util.token import generate_jwt_token, generate_session_id
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from clusterlens.ui.server import hosts
from tests.support.pages import Served
from tests.support.visitor import DRAWN
from tests.ui.loop import run
from tests.ui.test_cli import console

SENTENCE = b"Nothing is served under the name"


def asked(address: str, path: str, host: str, **headers: str) -> tuple[int, bytes]:
    """Send a request for a host of its own; return status and body."""
    place = urlsplit(address).netloc
    with closing(http.client.HTTPConnection(place, timeout=120)) as connection:
        connection.request("GET", path, headers={"Host": host, **headers})
        answer = connection.getresponse()
        return answer.status, answer.read()


def made_up(address: str) -> str:
    """Return a forged token that claims a good host."""
    payload = {"headers": {"Host": urlsplit(address).netloc}, "cookies": {}}
    return generate_jwt_token(generate_session_id(), extra_payload=payload)


def given(address: str, host: str, path: str = "/") -> str:
    """Return the token of a page of the server."""
    _, page = asked(address, path, host)
    return re.search(rb'"token": ?"([^"]+)"', page)[1].decode()


@asynccontextmanager
async def connected(address: str, path: str, host: str, token: str):
    """Yield the websocket of a page of a host."""
    url = f"ws://{urlsplit(address).netloc}{path}"
    headers = {
        "Host": host,
        "Origin": f"http://{host}",
        "Sec-Fetch-Site": "same-origin",
    }
    socket = await websocket_connect(
        HTTPRequest(url, headers=headers),
        subprotocols=["bokeh", token],
        max_message_size=2**28,
    )
    try:
        greeting = [await socket.read_message() for _ in range(3)]
        assert "ACK" in greeting[0]
        yield socket
    finally:
        socket.close()
        while await socket.read_message() is not None:
            pass


async def send(socket, kind: str, content: dict[str, object]) -> None:
    """Send a message as a page does."""
    for part in ({"msgid": "1", "msgtype": kind}, {}, content):
        await socket.write_message(json.dumps(part))


async def shown(*place: str) -> list[object]:
    """Connect as a page of a host; return the contents of its session."""
    async with connected(*place) as socket:
        await send(socket, "PULL-DOC-REQ", {})
        header, _, content = [await socket.read_message() for _ in range(3)]
        assert "PULL-DOC-REPLY" in header
        return json.loads(content)["doc"]["roots"]


async def wait_for_words(words: str, *place: str) -> None:
    """Connect as a page that is drawn, and wait until words come."""
    async with connected(*place) as socket:
        await send(socket, "PATCH-DOC", DRAWN)
        while True:
            message = await socket.read_message()
            if isinstance(message, str) and words in message:
                return


def test_the_command_answers_under_no_unknown_name(tmp_path):
    with console("--origin", "Lens.example.org", folder=tmp_path) as (_, address):
        port = urlsplit(address).port
        known = (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}")
        for host in (*known, "lens.example.org"):
            status, page = asked(address, "/", host)
            assert (status, b"token" in page) == (200, True), host
        unknown = ("evil.example", f"evil.example:{port}", "localhost:1", "10.0.0.1")
        sly = (f"localhost.evil.example:{port}", f"localhost:{port}.evil.example", " ")
        for host in (*unknown, *sly):
            status, page = asked(address, "/", host)
            assert (status, page[: len(SENTENCE)]) == (421, SENTENCE), host
            assert b"token" not in page
        for path in (
            *("/liveness", "/metadata", "/favicon.ico", "/static/js/bokeh.min.js"),
            *("/autoload.js?bokeh-autoload-element=1", "/no/such", "/manual/"),
        ):
            assert asked(address, path, f"evil.example:{port}")[0] == 421, path
        with pytest.raises(HTTPClientError, match="421"):
            run(shown(address, "/ws", f"evil.example:{port}", made_up(address)))
        foreign = {
            **{"Upgrade": "websocket", "Connection": "Upgrade"},
            **{"Sec-WebSocket-Key": "x3JJHMbDL1EzLkh9GBhXDw=="},
            **{"Sec-WebSocket-Version": "13", "Origin": "http://evil.example"},
        }
        assert asked(address, "/ws", known[0], **foreign)[0] == 403
        assert run(shown(address, "/ws", known[1], given(address, known[1])))


def test_a_server_that_warms_itself_up_does_so(server):
    assert "Error running" not in server.log.read_text()


def test_panel_serve_shows_no_page_under_an_unknown_name(server):
    port = urlsplit(server.address).port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        assert b"token" in asked(server.address, "/app", host)[1]
    for host in ("evil.example", f"localhost.evil.example:{port}"):
        _, page = asked(server.address, "/app", host)
        assert SENTENCE in page
        assert b"token" not in page
        made = made_up(server.address)
        assert run(shown(server.address, "/app/ws", host, made)) == []
    made = made_up(server.address)
    assert run(shown(server.address, "/app/ws", f"127.0.0.1:{port}", made))


@pytest.mark.parametrize(
    "query", ["look=" + "%5B" * 5000, "look=a?b=c", "analysis=" + "x" * 20_000]
)
def test_an_address_that_no_link_has_is_told(server, query):
    host = urlsplit(server.address).netloc
    token = given(server.address, host, f"/app?{query}")
    place = server.address, "/app/ws", host, token
    run(wait_for_words("The link is not followed", *place))


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve", "app.py", "--allow-websocket-origin", "lens.example.org"],
        ["serve", "--allow-websocket-origin=lens.example.org", "app.py"],
    ],
)
def test_names_are_those_that_panel_was_told(monkeypatch, arguments):
    monkeypatch.setattr(hosts.sys, "argv", ["panel", *arguments])
    assert hosts._leads_here("Lens.example.org", "lens.example.org")
    assert not hosts._leads_here("evil.example", "evil.example")
    monkeypatch.setenv("BOKEH_ALLOW_WS_ORIGIN", "other.example.org")
    assert not hosts._leads_here("lens.example.org", "lens.example.org")
    assert hosts._leads_here("other.example.org", "other.example.org")


def test_the_interface_listened_on_is_a_name_unless_it_is_all():
    assert "[fd00::1]:80" in hosts.local_hosts("fd00::1", 80)
    assert "10.1.2.3:80" in hosts.local_hosts("10.1.2.3", 80)
    assert len(hosts.local_hosts("0.0.0.0", 80)) == 3


def test_a_server_of_several_processes_refuses_its_pages_and_asks_nobody(tmp_path):
    served = Served(tmp_path)
    try:
        served.start("--num-procs", "2")
        _, page = asked(served.address, "/app", urlsplit(served.address).netloc)
    finally:
        served.kill()
    assert b"Start it again without --num-procs" in page
    assert b"<script" not in page
    assert b"token" not in page
