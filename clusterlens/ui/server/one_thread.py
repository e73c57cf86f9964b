"""One thread: the event loop runs all that Bokeh calls, in every version.

Since 3.10 Bokeh makes pages and runs callbacks in the default executor of its event
loop. The state of a session belongs to the event loop, and long work has threads of its
own (`Jobs`, `Server.in_thread`), so this executor runs each call at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class CallAtOnce(ThreadPoolExecutor):
    """An executor without threads: it runs each call in `submit`."""

    def submit(
        self, call: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """Run a call and return its finished future."""
        done: Future[Any] = Future()
        try:
            done.set_result(call(*args, **kwargs))
        except BaseException as error:
            done.set_exception(error)
        return done


def keep_on(loop: asyncio.AbstractEventLoop) -> None:
    """Run the calls of the default executor on the event loop itself."""
    loop.set_default_executor(CallAtOnce())


def write_on_loop(context: Any) -> None:
    """Write the messages of all sessions of an application on the event loop.

    Bokeh 3.10 writes them on threads. A model counts as sent as soon as a message with
    it is written; another message may then refer to it and reach the browser first,
    which drops a change of a model that it does not know.

    Parameters
    ----------
    context : SessionContext
        Context of a document of the application; it may have no session yet.
    """
    application = context.server_context.application_context
    application._executor = None  # then sessions use the default one of the loop
