"""The event loop runs the calls of its default executor, and those of Bokeh."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from bokeh.application import Application
from bokeh.application.handlers import FunctionHandler
from bokeh.client import pull_session
from bokeh.core.serialization import Serializer
from bokeh.models import Div
from bokeh.server.server import Server

from clusterlens.ui.server.one_thread import keep_on, write_on_loop
from tests.ui.loop import run


def kept(*calls):
    """Return the thread of the loop and the values of calls by `asyncio.to_thread`."""

    async def main():
        keep_on(asyncio.get_running_loop())
        here = threading.get_ident()
        return here, [await asyncio.to_thread(call) for call in calls]

    return run(main())


def test_calls_are_made_on_the_loop_one_after_the_other():
    here, (one, two) = kept(threading.get_ident, threading.get_ident)
    assert one == two == here


def test_a_call_is_made_before_anything_else_of_the_loop():
    async def main():
        keep_on(asyncio.get_running_loop())
        order = []
        asyncio.get_running_loop().call_soon(order.append, "later")
        asyncio.get_running_loop().run_in_executor(None, order.append, "at once")
        await asyncio.sleep(0)
        return order

    assert run(main()) == ["at once", "later"]


def test_an_error_reaches_whoever_waits():
    with pytest.raises(ZeroDivisionError):
        kept(lambda: 1 / 0)


class Noting:
    """A value that notes the threads that write it."""

    def __init__(self):
        self.threads = []


def write(noting, serializer):
    noting.threads.append(threading.get_ident())
    return 0


def test_bokeh_makes_and_writes_a_page_and_calls_back_on_the_loop():
    noting = Noting()
    Serializer.register(Noting, write)

    def make(doc):
        noting.threads.append(threading.get_ident())
        write_on_loop(doc.session_context)
        doc.add_root(Div(tags=[noting]))

    async def main():
        keep_on(asyncio.get_running_loop())
        server = Server({"/": Application(FunctionHandler(make))}, port=0)
        server.start()
        url = f"http://localhost:{server.port}/"
        with ThreadPoolExecutor(1) as client:
            pulled = asyncio.get_running_loop().run_in_executor(
                client, lambda: pull_session(url=url).close()
            )
            await pulled
        (session,) = server.get_sessions()
        noting.threads.append(await session.with_document_locked(threading.get_ident))
        server.stop(wait=False)
        return threading.get_ident()

    assert noting.threads == [run(main())] * 3
