"""Hosts: the names under which the page is served; under all others it says so.

A page from elsewhere may let its own name lead to this machine (DNS rebinding); to the
browser ours is then a part of it, and Tornado takes a websocket from the origin that it
is for. So every request is checked by the host that it is for.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from bokeh.server.util import check_allowlist
from bokeh.settings import settings
from panel.config import config
from panel.io.state import state
from tornado.httputil import HTTPServerRequest
from tornado.process import task_id
from tornado.routing import Matcher
from tornado.web import RequestHandler

EVERYWHERE = ("0.0.0.0", "::", "")
_REFUSED = Path(__file__).with_name("refused.html")
_ONE_PROCESS = Path(__file__).with_name("one_process.html")


def local_hosts(address: str, port: int) -> list[str]:
    """Return the names that always lead to a server on this machine."""
    named = () if address in EVERYWHERE else (address,)
    hosts = dict.fromkeys(("localhost", "127.0.0.1", "::1", *named))
    return [f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host in hosts]


def guard(server: Any, names: Iterable[str]) -> None:
    """Let a server refuse whatever is for none of its websocket origins or names."""
    application = server._tornado  # which has no public name
    known = application.websocket_origins
    known.update(names)
    application.add_handlers(".*", [(_Unknown(known), _Refusal)])


class _Unknown(Matcher):
    """Matches requests for a host that is not known."""

    def __init__(self, known: Collection[str]) -> None:
        self._known = known

    def match(self, request: HTTPServerRequest) -> dict[str, Any] | None:
        known = settings.allowed_ws_origin() or self._known
        return None if check_allowlist(request.host.lower(), known) else {}


class _Refusal(RequestHandler):
    """Says that nothing is served under this name, whatever was asked for."""

    def prepare(self) -> None:
        self.set_status(421)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.set_header("X-Content-Type-Options", "nosniff")
        name = self.request.host[:100]
        self.finish(
            f"Nothing is served under the name {name}. If it shall be a name of this "
            f"server, start it again with: clusterlens --origin {name}\n"
        )


def refuses_page() -> bool:
    """Refuse the page of this session in one of several processes of a server.

    They share no sessions. A browser whose connection meets another process than its
    page asks a foreign host for scripts. Refuse it also under an unknown name.

    For a page of `panel serve`, whose server cannot be guarded. Known are localhost and
    addresses without a name, which nobody else can lead here, and what the server was
    told by `--allow-websocket-origin` or BOKEH_ALLOW_WS_ORIGIN.
    """
    context = state.curdoc.session_context if state.curdoc else None
    # Of the request itself: its headers, as the session has them, anybody can make up.
    request = getattr(context, "request", None)
    # What a server asks itself for, to warm up (`--warm`), has no name.
    host = getattr(request, "host", None)
    is_known = host is None or _leads_here(host, request.host_name)
    if is_known and task_id() is None:
        return False
    config.auth_template = _REFUSED if task_id() is None else _ONE_PROCESS
    config.authorize_callback = lambda user: False
    return True


def _leads_here(host: str, name: str) -> bool:
    try:
        ip_address(name.strip("[]"))
        return True
    except ValueError:
        return name == "localhost" or check_allowlist(host.lower(), _told())


def _told() -> list[str]:
    """The names that `panel serve` was told."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--allow-websocket-origin", action="append", default=[])
    given, _ = parser.parse_known_args(sys.argv[1:])
    return settings.allowed_ws_origin() or given.allow_websocket_origin
