"""The end of the process: save, then wait for no thread.

Threads cannot be ended, and Python waits for the work of all of them.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import threading
from collections.abc import Iterable
from typing import Any

from bokeh.application.application import ServerContext
from bokeh.application.handlers import Handler
from bokeh.document import Document

from clusterlens.ui.server.server import Server

# Time for threads to end after everything has been saved.
PATIENCE_SECONDS = 1.0


class _End(Handler):
    """Part of an application that ends the process with its server."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self._server = server

    def modify_document(self, doc: Document) -> None:
        """Leave the document as the page made it."""

    def on_server_unloaded(self, server_context: ServerContext) -> None:
        """End the work of the sessions, and the process."""
        end_process(self._server, server_context.sessions)


def end_with_application(server: Server, document: Document | None) -> None:
    """End the process when the server of an application stops.

    Parameters
    ----------
    server : Server
        Owner of the resources that all sessions share.
    document : Document or None
        Page of the application; nothing happens without one that is served.
    """
    context: Any = document and document.session_context
    if not context or context.server_context is None:
        return
    application = context.server_context.application_context.application
    if not any(isinstance(part, _End) for part in application.handlers):
        application.add(_End(server))


def end_process(server: Server, sessions: Iterable[Any]) -> None:
    """End the work of sessions, save and close their server, and end the process soon.

    Parameters
    ----------
    server : Server
        Owner of the resources that all sessions share.
    sessions : iterable of ServerSession
        Sessions that are open.
    """
    for session in sessions:
        # A copy, because a callback may remove itself or others.
        for callback in list(session.document.session_destroyed_callbacks):
            callback(session.document.session_context)
    atexit.unregister(server.close)
    server.close()
    end = threading.Timer(PATIENCE_SECONDS, _end_now)
    end.daemon = True
    end.start()


def _end_now() -> None:
    for worker in multiprocessing.active_children():
        worker.kill()
    os._exit(0)
