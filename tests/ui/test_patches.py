"""Tests of the patch of Panel: it works, and Panel still needs it."""

import asyncio
import importlib.util
import sys

import pytest
from bokeh.document import Document
from panel.io import document

from clusterlens.ui.patches import queues, send_everything
from tests.ui.loop import run

ROUNDS = 200


class Connection:
    """A connection with a socket that takes messages one after another."""

    def __init__(self):
        self.protocol = self._socket = self
        self.sent = []

    def create(self, kind, events):
        return events

    def take(self, connection, events=None, msg=None):
        written = asyncio.get_running_loop().create_future()
        self.sent.append((msg, written))
        return [written]


async def send_two(module, connection, n_iterations):
    """Send a change, and another one so many loop iterations after the first."""
    doc = Document()
    module.schedule_write_events(doc, [connection], ["first"])
    await asyncio.sleep(0)
    connection.sent[0][1].set_result(None)
    for _ in range(n_iterations):
        await asyncio.sleep(0)
    module.schedule_write_events(doc, [connection], ["second"])
    for _ in range(ROUNDS):
        await asyncio.sleep(0)
        for _, written in connection.sent[1:]:
            if not written.done():
                written.set_result(None)
    return doc


@pytest.mark.parametrize("n_iterations", range(6))
def test_what_comes_while_the_last_write_ends_is_sent(monkeypatch, n_iterations):
    send_everything()
    connection = Connection()
    monkeypatch.setattr(document, "dispatch_django", connection.take)

    async def work():
        doc = await send_two(document, connection, n_iterations)
        assert doc not in document._WRITE_BLOCK
        assert doc not in queues()

    run(work())
    assert [msg for msg, _ in connection.sent] == [["first"], ["second"]]


def test_panel_leaves_a_change_behind_without_the_patch(monkeypatch):
    """Fail when a version of Panel sends both: then the patch can be removed."""
    spec = importlib.util.spec_from_file_location("panel.io.alone", document.__file__)
    alone = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, alone)  # for its data classes
    spec.loader.exec_module(alone)
    connections = [Connection() for _ in range(6)]
    for n_iterations, connection in enumerate(connections):
        alone.dispatch_django = connection.take
        run(send_two(alone, connection, n_iterations))
    assert min(len(connection.sent) for connection in connections) == 1
