"""Host names of the page; requests for other names are refused.

A foreign page may let its own name lead to this machine (DNS rebinding). The browser
then takes our page for a part of the foreign one, and Tornado accepts a websocket if
its origin equals its host. So the host of every request is checked.
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
    """Let a server refuse requests for hosts outside its origins and names."""
    application = server._tornado  # no public name
    known = application.websocket_origins
    known.update(names)
    application.add_handlers(".*", [(_Unknown(known), _Refusal)])


class _Unknown(Matcher):
    """Matcher of requests for unknown hosts."""

    def __init__(self, known: Collection[str]) -> None:
        self._known = known

    def match(self, request: HTTPServerRequest) -> dict[str, Any] | None:
        known = settings.allowed_ws_origin() or self._known
        return None if check_allowlist(request.host.lower(), known) else {}


class _Refusal(RequestHandler):
    """Handler that refuses every request under an unknown name."""

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
    """Refuse the page of this session if its host or its server is unsuitable.

    A server of several processes is refused, because they share no sessions. If a
    browser's connection reached another process than its page did, the browser would
    request scripts from a foreign host.

    Unknown hosts are refused for pages of `panel serve`, because `guard` cannot be
    applied to its server. Known hosts are localhost, numeric addresses, because nobody
    else can redirect them here, and the hosts given by `--allow-websocket-origin` or
    BOKEH_ALLOW_WS_ORIGIN.
    """
    context = state.curdoc.session_context if state.curdoc else None
    # Taken from the request itself, because clients can forge the session's headers.
    request: Any = getattr(context, "request", None)
    # Requests of the server to itself, to warm up (`--warm`), have no host.
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
        return name == "localhost" or check_allowlist(host.lower(), _names_served())


def _names_served() -> list[str]:
    """Return the names given to `panel serve`."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--allow-websocket-origin", action="append", default=[])
    given, _ = parser.parse_known_args(sys.argv[1:])
    return settings.allowed_ws_origin() or given.allow_websocket_origin
