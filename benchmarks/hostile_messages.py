"""Messages of a browser, made by a grammar: what a page takes from whoever has it.

Each strike is a patch of the document of a whole page. It goes through the check of the
server, then through Bokeh, as in `clusterlens`; what Bokeh raises closes a connection
there. It must keep within the limits of `benchmarks.hostile_limits`.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import panel as pn
from bokeh.document import Document
from bokeh.protocol import Protocol
from bokeh.protocol.receiver import Receiver
from panel.io.state import set_curdoc

from benchmarks.hostile_limits import Cost
from clusterlens.ui.server.hardening import problem_of
from clusterlens.ui.server.server import Server
from clusterlens.ui.session import Session
from clusterlens.ui.shell import Shell

# After so many messages a page is made anew.
STRIKES = 200
PLAIN = [
    None,
    True,
    0,
    -1,
    2**31,
    2**63,
    -(10**30),
    1e308,
    0.5,
    "",
    "x",
    "data",
    "\x00",
]
PLAIN += ["p1001", "<img src=x onerror=alert(1)>", "../../x", "x" * 100_000, "9" * 5000]


def attack_messages(folder: Path) -> Callable[[random.Random], tuple[str, str, str]]:
    """Strike with patches of a page."""
    runner, page = asyncio.Runner(), _Page()

    def strike(rng: random.Random) -> tuple[str, str, str]:
        return runner.run(page.strike(rng))

    return strike


class _Page:
    """A page that is made anew after some messages."""

    def __init__(self) -> None:
        self.server, self.left = Server(), 0

    async def strike(self, rng: random.Random) -> tuple[str, str, str]:
        """Give one message to the page; return its kind and what came of it."""
        if self.left == 0:
            self.left, self.document = STRIKES, Document()
            with set_curdoc(self.document):
                pn.extension("tabulator")
                Shell(Session(self.server)).view.server_doc(self.document)
        self.left -= 1
        event = _event(rng, self.document)
        events = [event] * rng.choice([1, 1, 1, 2, 500])
        text = json.dumps({"events": events})
        if rng.random() < 0.1:
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(["[", "{", '"', "\\", "", "9" * 400]) * 99
        cost = Cost()
        kind, outcome, why = event["kind"], "opened", ""
        if problem := problem_of(text):
            outcome, why = "refused", problem
        else:
            try:
                await self._take(text)
            except Exception as error:
                outcome, why = "refused", f"{type(error).__name__}: {error!s:.80}"
        await asyncio.sleep(0)
        return cost.judge(kind, outcome, why)

    async def _take(self, text: str) -> None:
        receiver = Receiver(Protocol())
        header = json.dumps({"msgid": "1", "msgtype": "PATCH-DOC"})
        for part in (header, "{}", text):
            message = await receiver.consume(part)
        with set_curdoc(self.document):
            message.apply_to_document(self.document)


def _event(rng: random.Random, document: Document) -> dict[str, Any]:
    """Return one change of a document, sound or not."""
    models = list(document.models)
    model = rng.choice(models)
    reference = {"id": rng.choice([model.id] * 9 + ["p0", None, [], "x" * 9999])}
    names = [*model.properties(), "data", "id", "_callbacks", "document", "x.y"]
    kind = rng.choice(["ModelChanged", "MessageSent", "ColumnDataChanged", "Other"])
    if kind == "MessageSent":
        entries = [[key, _value(rng)] for key in _keys(rng)]
        data = {"type": "map", "entries": entries}
        values = [["model", reference], ["data", rng.choice([data, _value(rng)])]]
        name = rng.choice(
            ["data_event", "esm_event", "dom_event", "document_ready", "x"]
        )
        content = {"type": "map", "entries": values[: rng.choice([2, 2, 2, 1, 0])]}
        event = {"type": "event", "name": name, "values": content}
        return {"kind": kind, "msg_type": "bokeh_event", "msg_data": event}
    if kind == "ModelChanged":
        return {
            "kind": kind,
            "model": reference,
            "attr": rng.choice(names),
            "new": _value(rng),
        }
    if kind == "ColumnDataChanged":
        return {"kind": kind, "model": reference, "attr": "data", "data": _value(rng)}
    kinds = ["RootAdded", "RootRemoved", "TitleChanged", "ColumnsPatched", "x", None]
    chosen = str(rng.choice(kinds))
    return {"kind": chosen, "model": reference, "title": _value(rng), "patches": {}}


def _keys(rng: random.Random) -> list[Any]:
    known = ["name", "size", "others", "piece", "rows_of", "does", "key", "id", "x"]
    return rng.sample(known, rng.randrange(5)) + rng.choice([[], [], [None], [1]])


def _new_model(rng: random.Random) -> dict[str, Any]:
    name = rng.choice(["Figure", "ColumnDataSource", "x", None])
    return {"type": "object", "name": name, "id": rng.choice(["new", "p1001", None])}


def _value(rng: random.Random, depth: int = 0) -> Any:
    """Return a value as Bokeh writes it, sound or not."""
    if depth > 3 or rng.random() < 0.4:
        return rng.choice(PLAIN)
    inner = [_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    size = rng.choice([0, 8, 1000, 10**6])
    packed = base64.b64encode(gzip.compress(bytes(size))).decode()
    array = {
        "type": "ndarray",
        "array": rng.choice([{"type": "bytes", "data": packed}, rng.choice(PLAIN)]),
        "dtype": rng.choice(["float64", "uint8", "object", "O", "S99999999", None]),
        "shape": rng.choice([[1], [size // 8], [2**40], [-1], [2**31, 2**31], "x"]),
        "order": rng.choice(["little", "big", None]),
    }
    return rng.choice(
        [
            inner,
            {"type": "map", "entries": [[rng.choice(PLAIN), one] for one in inner]},
            {"type": "map", "entries": inner},
            {"type": "set", "entries": inner},
            {"type": "number", "value": rng.choice(["nan", "+inf", "x", None])},
            [_new_model(rng)] * rng.choice([1, 1, 1, 2_000]),
            {"type": "slice", "start": 0, "stop": 2**62, "step": rng.choice([0, 1])},
            {"type": rng.choice(["typed_array", "symbol", "date", "x", 1]), "array": 1},
            {"id": rng.choice(["p1001", "p0", None])},
            array,
        ]
    )
