"""Limits on requests of strangers, and on pages that may embed this one.

Sessions are signed, so a token or session id that this server did not make is refused
before it is unpacked. A websocket message is checked before Bokeh decodes it, because a
few megabytes can describe gigabytes.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import secrets
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

from bokeh.util.token import generate_jwt_token, generate_session_id
from panel.io.server import AutoloadJsHandler, DocHandler, WSHandler
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders
from tornado.iostream import IOStream
from tornado.web import ErrorHandler, HTTPError, OutputTransform

MAX_TEXT_BYTES = 20_000_000  # pieces of an upload take 7 MB as base64
MAX_VALUES = 4_000_000  # a selection of a million samples takes one each
MAX_CONTAINERS = 200_000
MAX_BUFFER_BYTES = 100_000_000
MAX_NEW_MODELS = 50  # some 6 ms each
# Numbers have a bounded size. A text type pads each value to a length that it names.
_TYPES_OF_ARRAYS = {"bool", "object", "float32", "float64"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
# Compressed values in a shorter text are harmless (expansion at most 1,032 times).
_SHORT = 64_000
_LOG_CHARACTERS = 1_000
_ARGUMENT_CHARACTERS = 200
_MOST_FILES = 65_536
# An answer to a request takes several rounds of the event loop, which fit in this.
_PAUSE_SECONDS = 0.01
# The root, and libraries that give their logger a handler when they are imported.
_LOGGERS = "", "bokeh", "panel"
# Largest number of equal messages in the log per minute.
_REPEATS = 10
# Placeholder of the token in the markup that all pages share.
_TOKEN = "token-of-this-page"
_LOG = logging.getLogger(__name__)
_TOO_BIG = 1009  # close code of RFC 6455


def signed_sessions() -> dict[str, Any]:
    """Return server settings that prevent forged sessions."""
    return {"sign_sessions": True, "secret_key": secrets.token_urlsafe(32).encode()}


def harden(server: Any, empty_page: Callable[[Any, str], str]) -> None:
    """Limit the work that a stranger can cause, and the pages that may embed this one.

    Parameters
    ----------
    server : bokeh.server.server.Server
        Server that has not started.
    empty_page : callable
        Returns the markup of a page for resources of Bokeh and a token.
    """
    application = server._tornado  # no public name
    for rule in application.wildcard_router.rules:
        if rule.target is WSHandler:
            rule.target = LimitedSocket
            rule.target_kwargs = {**rule.target_kwargs, "page_lock": asyncio.Lock()}
        elif rule.target is DocHandler:
            rule.target = EmptyPage
            markup = cache(lambda: empty_page(application.resources(), _TOKEN))
            rule.target_kwargs = {**rule.target_kwargs, "markup": markup}
        elif rule.target is AutoloadJsHandler:
            # It gives a session to a page of any origin.
            rule.target, rule.target_kwargs = ErrorHandler, {"status_code": 404}
    application.add_transform(_SameOriginOnly)


class LimitedServer(HTTPServer):
    """HTTP server that reserves half of the process's open files for the store.

    At the limit of connections, a connection without a complete request is closed in
    favour of a new one.
    """

    def initialize(self, *args: Any, **kwargs: Any) -> None:
        """Begin without connections; arguments as of `HTTPServer`."""
        super().initialize(*args, **kwargs)
        self._open: set[IOStream] = set()
        # Connections without a complete request, the oldest first.
        self._waiting: dict[IOStream, None] = {}

    def handle_stream(self, stream: IOStream, address: Any) -> None:
        """Accept a connection, if there is room for it."""
        most = most_files() // 2
        if len(self._open) >= most:
            self._open = {one for one in self._open if not one.closed()}
        if len(self._open) >= most:
            _LOG.warning("There are %d connections, as many as may be.", most)
            oldest = next(iter(self._waiting), stream)
            self._forget(oldest)
            oldest.close()
        if not stream.closed():
            self._open.add(stream)
            super().handle_stream(stream, address)

    def start_request(self, server_conn: Any, request_conn: Any) -> Any:
        """Note that a connection waits until its request is complete."""
        stream = server_conn.stream
        self._waiting[stream] = None
        delegate = super().start_request(server_conn, request_conn)
        return _Request(delegate, lambda: self._waiting.pop(stream, None))

    def on_close(self, server_conn: Any) -> None:
        """Drop a connection, unless it continues as a websocket."""
        if server_conn.stream.closed():
            self._forget(server_conn.stream)
        super().on_close(server_conn)

    def _forget(self, stream: IOStream) -> None:
        self._open.discard(stream)
        self._waiting.pop(stream, None)


class _Request:
    """Delegate of a request that also calls `come` when the request is complete."""

    def __init__(self, delegate: Any, come: Callable[[], object]) -> None:
        self._delegate, self._come = delegate, come

    def __getattr__(self, name: str) -> Any:
        return getattr(self._delegate, name)

    def finish(self) -> None:
        self._come()
        self._delegate.finish()


class EmptyPage(DocHandler):
    """Handler that sends the page without a session, which is made on connection."""

    def initialize(self, *args: Any, markup: Callable[[], str], **kwargs: Any) -> None:
        """Store the maker of the markup; other arguments as of `DocHandler`."""
        super().initialize(*args, **kwargs)
        self._markup = markup

    async def get(self, *args: Any, **kwargs: Any) -> None:
        """Send the page with the token of a session of its own."""
        names = "bokeh-token", "bokeh-session-id"
        if any(name in self.request.arguments for name in names) or (
            "Bokeh-Session-Id" in self.request.headers
        ):
            raise HTTPError(403, reason="Session ids and tokens are not taken")
        server = self.application
        signed = {"secret_key": server.secret_key, "signed": server.sign_sessions}
        token = generate_jwt_token(
            generate_session_id(**signed),
            **signed,
            expiration=server.session_token_expiration,
            extra_payload={"arguments": self.request.arguments},
        )
        self.set_header("Cache-Control", "no-store")
        self.finish(self._markup().replace(_TOKEN, token))

    def head(self, *args: Any, **kwargs: Any) -> None:
        """Answer a page that asks whether the server is there."""
        self.set_header("Cache-Control", "no-store")
        self.finish()


class LimitedSocket(WSHandler):
    """Websocket of Bokeh that refuses messages which are costly to decode."""

    def initialize(self, *args: Any, page_lock: asyncio.Lock, **kwargs: Any) -> None:
        """Begin without a message; other arguments as of `WSHandler`."""
        super().initialize(*args, **kwargs)
        self._buffer_bytes, self._page_lock = 0, page_lock

    async def open(self, *args: Any, **kwargs: Any) -> None:
        """Connect in turn, because the page is made now.

        Other requests are answered between two pages. A visitor who has left gets none.
        """
        stream = self.ws_connection.stream
        stream.set_close_callback(self.on_connection_close)
        async with self._page_lock:
            await asyncio.sleep(_PAUSE_SECONDS)
            stream.set_close_callback(None)
            if self.ws_connection is not None:
                super().open(*args, **kwargs)
                # Bokeh makes the page in a callback.
                await asyncio.sleep(_PAUSE_SECONDS)

    async def on_message(self, fragment: str | bytes) -> None:
        """Pass on one fragment of a message, or close the connection."""
        if isinstance(fragment, bytes):
            self._buffer_bytes += len(fragment)
            problem = (
                "its buffers are too large"
                if self._buffer_bytes > MAX_BUFFER_BYTES
                else ""
            )
        else:
            if '"msgtype"' in fragment[:1_000]:  # a header: a new message begins
                self._buffer_bytes = 0
            problem = problem_of(fragment)
        if problem:
            _LOG.warning("Message refused: %s.", problem)
            self.close(_TOO_BIG, f"Message refused: {problem}.")
            return
        await super().on_message(fragment)


def problem_of(text: str) -> str:
    """Return why a text fragment would be too costly to decode, or an empty string.

    Compressed bytes inside a text are refused: browsers send bytes as buffers.
    """
    if len(text) > MAX_TEXT_BYTES:
        return "its text is too long"
    if text.count("[") + text.count("{") > MAX_CONTAINERS:
        return "it has too many lists and objects"
    if text.count(",") > MAX_VALUES:
        return "it has too many values"
    new_models = itertools.count(1)

    def check(value: dict[str, Any]) -> None:
        kind = value.get("type")
        is_text = isinstance(value.get("data"), str)
        if kind == "bytes" and is_text and len(text) > _SHORT:
            raise ValueError("it has compressed bytes inside its text")
        if kind == "ndarray" and value.get("dtype") not in _TYPES_OF_ARRAYS:
            raise ValueError("it has an array of an unknown type")
        if kind == "object" and next(new_models) > MAX_NEW_MODELS:
            raise ValueError("it makes too many models")

    try:
        json.loads(text, object_hook=check)
    except (ValueError, RecursionError, TypeError) as error:
        return str(error).split(":")[0][:60]
    return ""


class _SameOriginOnly(OutputTransform):
    """Headers that prevent pages of other origins from embedding this one."""

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        headers["X-Frame-Options"] = "SAMEORIGIN"
        headers["Content-Security-Policy"] = "frame-ancestors 'self'"
        headers["X-Content-Type-Options"] = "nosniff"
        headers["Referrer-Policy"] = "same-origin"
        return super().transform_first_chunk(status_code, headers, chunk, finishing)


def most_files() -> int:
    """Return how many files and connections this process may have open."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY:
            return soft
    return _MOST_FILES


def raise_file_limit() -> None:
    """Raise the limit of open files and connections as far as the system allows."""
    with suppress(ImportError, ValueError, OSError):  # no such limits on Windows
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else hard
        if soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def shorten_logs() -> None:
    """Drop repeated messages, and data of clients, from the log of this process."""
    logging.basicConfig(level=logging.WARNING)
    for name in _LOGGERS:
        for handler in logging.getLogger(name).handlers:
            handler.addFilter(leave_out_data)
            handler.addFilter(LeaveOutRepeats())


def leave_out_data(record: logging.LogRecord) -> bool:
    """Replace long arguments of a log record by their length, and cut the record."""
    if isinstance(record.args, tuple):
        record.args = tuple(map(_brief, record.args))
    record.msg, record.args = _cut(record.getMessage()), None
    if record.exc_info:
        kind, error, trace = record.exc_info
        lines = traceback.format_exception(kind, error, trace, limit=-8)
        record.exc_text = "".join(lines[:-1]) + _cut(lines[-1].rstrip())
    return True


class LeaveOutRepeats(logging.Filter):
    """Filter that limits equal messages per minute, because a disk may fill up."""

    def __init__(self) -> None:
        super().__init__()
        self._minute, self._counts = 0.0, Counter[int]()

    def filter(self, record: logging.LogRecord) -> bool:
        """Count a record; return whether it is logged."""
        minute = record.created // 60
        if minute != self._minute:
            self._minute, self._counts = minute, Counter()
        message = record.getMessage()
        self._counts[hash(message)] += 1
        if self._counts[hash(message)] == _REPEATS:
            record.msg, record.args = f"{message} (no more of it this minute)", None
        return self._counts[hash(message)] <= _REPEATS


def _brief(argument: Any) -> Any:
    if isinstance(argument, (int, float)):
        return argument
    text = argument if isinstance(argument, (str, bytes)) else str(argument)
    if len(text) <= _ARGUMENT_CHARACTERS:
        return argument
    return f"<{len(text)} characters left out>"


def _cut(text: str) -> str:
    if len(text) <= _LOG_CHARACTERS:
        return text
    return (
        f"{text[:_LOG_CHARACTERS]} <{len(text) - _LOG_CHARACTERS} characters left out>"
    )
