"""Changes of a page are all sent, whenever they come."""

import asyncio

import pytest
from bokeh.document import Document
from panel.io import document

from clusterlens.ui.server.sending import send_everything
from tests.ui.loop import run


class Connection:
    """A connection whose socket takes messages one after the other."""

    def __init__(self):
        self.protocol = self._socket = self
        self.sent = []

    def create(self, kind, events):
        return events

    def take(self, connection, events=None, msg=None):
        written = asyncio.get_running_loop().create_future()
        self.sent.append((msg, written))
        return [written]


@pytest.mark.parametrize("turns", range(6))
def test_what_comes_while_the_last_write_ends_is_sent(monkeypatch, turns):
    send_everything()
    connection = Connection()
    monkeypatch.setattr(document, "dispatch_django", connection.take)

    async def change(doc, what):
        document.schedule_write_events(doc, [connection], [what])
        await asyncio.sleep(0)

    async def changes():
        doc = Document()
        await change(doc, "first")
        connection.sent[0][1].set_result(None)
        for _ in range(turns):
            await asyncio.sleep(0)
        await change(doc, "second")
        async with asyncio.timeout(5):
            while len(connection.sent) < 2:
                await asyncio.sleep(0)
        for _, written in connection.sent[1:]:
            written.set_result(None)
        while doc in document._WRITE_BLOCK:
            await asyncio.sleep(0)
        assert doc not in document._WRITE_MSGS

    run(changes())
    assert [msg for msg, _ in connection.sent] == [["first"], ["second"]]
