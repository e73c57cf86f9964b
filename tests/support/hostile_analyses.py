"""Files of analyses changed on purpose, and the use of what is taken in of them."""

from __future__ import annotations

import ast
import asyncio
import hashlib
import io
import json
import math
import random
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import clusterlens as cl
from clusterlens.ui.components.findings import NEEDED, gather
from clusterlens.ui.composition import new_session
from clusterlens.ui.exports.document import write_report
from clusterlens.ui.exports.replay import replay
from clusterlens.ui.exports.script import write_card
from clusterlens.ui.jobs.arrays import arrays_from_bytes, arrays_to_bytes
from clusterlens.ui.server.memory.archive import (
    export_analysis,
)
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.session import Session
from clusterlens.ui.state.literals import ScriptError

PATIENCE = 60
# Placeholder in a log for a value with nesting deeper than any other.
_DEEP = "@deep@"
# Sections of the report that are pictures.
_PICTURES = frozenset({"map", "matrix"})


async def make_analysis(folder: Path) -> bytes:
    """Return the file of an analysis with most that one can hold.

    Parameters
    ----------
    folder : Path
        A store is made there.
    """
    session = new_session(Server(Store(folder)))
    rng = random.Random(0)
    lines = ["row,x,y,kind"]
    lines += [
        f"r{k},{rng.gauss(k % 3, 0.3):.3f},{rng.gauss(k % 2, 0.3):.3f},k{k % 3}"
        for k in range(36)
    ]
    key = session.keep_file("\n".join(lines).encode())
    await session.act("load file", name="rows.csv", sha256=key)
    roles = {"kind": "label", "row": "row id"}
    await session.act("prepare", scale="robust", roles=roles, weights={"x": 2.0})
    k_means = {"clusterer": "k-means", "n_clusters": [2, 3, 4], "copies": 2}
    mixtures = {"clusterer": "Gaussian mixture", "n_components": [2, 3]}
    await session.act("run pool", pool=[k_means, mixtures], random_state=3)
    ours = ["row,ours", *(f"r{k},{k % 2}" for k in range(36))]
    key = session.keep_file("\n".join(ours).encode())
    await session.act("import partitions", name="ours.csv", sha256=key, mixed=True)
    soft = ["row,a,b", *(f"r{k},{k % 2},1" for k in range(36))]
    key = session.keep_file("\n".join(soft).encode())
    await session.act("add memberships", name="soft.csv", sha256=key, normalize=True)
    await session.act("weigh models", by="families")
    await session.act("add link", kind="must", a="r1", b="r4")
    await session.act("add link", kind="cannot", a="r1", b="r2")
    partition = {"kind": "model", "model": 1}
    await session.act("name cluster", partition=partition, cluster=0, name="left")
    numbers = [[0, 0], [1, 1], [2, 2]]
    made = {"kind": "model", "model": 2}
    await session.act("choose result", partition=made, numbers=numbers, on="Consensus")
    await session.act("keep segmentation", name="kept")
    group = {"kind": "group", "rows": ["r1", "r5"]}
    await session.act("keep partition", partition=group, name="a group")
    await session.act("rename run", id="r1", name="first")
    await session.act("write note", text="a note")
    await session.act("save pair", u="model a", v="model b")
    await session.act("set CNS", n_neighbors=5, alpha=0.9, n_clusters=3)
    await session.act("set threshold", threshold=4)
    await session.act("set link weight", weight=0.5)
    await session.memory.settled()
    session.view_state.param.update(page="report", model=2)
    data = export_analysis(session.memory.store, session.memory.analysis)
    session.close()
    session.memory.store.close()
    return data


async def use_analysis(store: Store, name: str, *, runs: bool = False) -> str:
    """Open an analysis, put it on screen, and write all its exports.

    Parameters
    ----------
    store : Store
        Store with the analysis.
    name : str
        Its id.
    runs : bool
        Whether its script is run and its pictures are drawn, too, which takes long.

    Returns
    -------
    why : str
        Forbidden content of a script, empty if there is none.
    """
    session = new_session(Server(store))
    try:
        if not await session.open(name):
            raise AssertionError(
                f"it was taken in and does not open: {session.jobs.notices}"
            )
        session.derived.watch(NEEDED, lambda results: None)
        while not session.jobs.at_rest:
            await asyncio.sleep(0.01)
        errors = (session.derived.get(name).error for name in NEEDED)
        for error in filter(None, errors):
            if not isinstance(error, (ValueError, MemoryError)):
                raise error
        messages = [notice.text for notice in session.jobs.notices]
        if any("failed unexpectedly" in text for text in messages):
            raise AssertionError(f"it opened and failed: {messages}")
        steps = session.history.done
        scripts = [_card(steps)]
        found = gather(session)
        if found is not None:
            with suppress(ValueError):  # a pool that cannot be planned, say
                scripts.append(found.script())
                if runs:
                    _replay(scripts[-1], found, session)
            write_report(found if runs else replace(found, without=_PICTURES))
        export_analysis(store, name)
    finally:
        session.close()
    return next((why for script in scripts if (why := forbidden(script))), "")


def _card(steps: Any) -> str:
    """Return the lines that pages copy as Python, or nothing if that fails."""
    run = str(steps[-1].analysis.run_id) if steps else ""
    with suppress(ScriptError):
        return write_card(
            steps, lambda lines: [lines.dataset(run), lines.ensemble(run)]
        )
    return ""


def _replay(script: str, found: Any, session: Session) -> None:
    deadline = time.monotonic() + PATIENCE / 2
    with suppress(ValueError, cl.Cancelled):
        replay(
            script,
            found.steps,
            session.files,
            found.ranking,
            found.export_partition.clusters,
            lambda: time.monotonic() > deadline,
            limited=True,
        )


# Allowed content of a script beside literals.
_NAMES = {"analyse", "result", "main", "print", "open", "str", "set"}
_METHODS = {
    "index",
    "tolist",
    "cut",
    "isin",
    "astype",
    "select",
    "with_weights",
    "concat",
    "take_samples",
    "get_indexer",
    "to_frame",
    "head",
    "to_string",
    "write",
}
_STATEMENTS = (
    ast.Module,
    ast.Import,
    ast.FunctionDef,
    ast.Return,
    ast.Assign,
    ast.Expr,
    ast.With,
    ast.If,
)


def forbidden(script: str) -> str:
    """Return the content of a script beside calls of the library and plain values.

    Parameters
    ----------
    script : str
        Text of the script as in a file.

    Returns
    -------
    what : str
        Empty if there is no such content.
    """
    # From bytes, as Python reads a file: a comment may say how it is encoded.
    for node in ast.walk(ast.parse(script.encode())):
        is_import = isinstance(node, ast.Import)
        if is_import and [one.name for one in node.names] != ["clusterlens"]:
            return ast.unparse(node)
        if isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS):
            return ast.unparse(node)
        if isinstance(node, ast.Call) and not _is_allowed(node.func):
            return ast.unparse(node)
    return ""


def _is_allowed(called: ast.expr) -> bool:
    if isinstance(called, ast.Name):
        return called.id in _NAMES
    if not isinstance(called, ast.Attribute):
        return False
    of_library = isinstance(called.value, ast.Name) and called.value.id == "cl"
    return called.attr in (cl.__all__ if of_library else _METHODS)


def mutate_analysis(data: bytes, rng: random.Random, marker: Path) -> tuple[str, bytes]:
    """Change a file of an analysis; return the kind of change and the new file.

    Parameters
    ----------
    data : bytes
        The file.
    rng : Random
        Random numbers that choose the change.
    marker : Path
        A file that code in the mutant makes.
    """
    kind = rng.choices(["log", "content", "bytes"], [6, 3, 1])[0]
    if kind == "bytes":
        return kind, _damage(data, rng)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    values = hostile_values(marker)
    if kind == "log":
        log = json.loads(members["analysis.json"])
        for _ in range(rng.choice([1, 1, 2, 5])):
            _mutate(log, rng, values)
        members["analysis.json"] = _json(log)
    else:
        name = rng.choice([name for name in members if name != "analysis.json"])
        changed = _mutate_content(members.pop(name), rng, values)
        old, new = name.rpartition("/")[2], hashlib.sha256(changed).hexdigest()
        members[name.replace(old, new)] = changed
        log_text = members["analysis.json"]
        members["analysis.json"] = log_text.replace(old.encode(), new.encode())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return kind, out.getvalue()


def hostile_values(marker: Path) -> list[Any]:
    """Return misplaced values, and texts that would be code without quotes."""
    code = f"__import__('pathlib').Path({str(marker)!r}).touch()"
    bare = [
        code,
        f"'); {code} #",
        f'"); {code} #',
        f"\\'); {code} #",
        f"\n{code}\n#",
        f"\r{code}\r#",
        f"\x0c\n{code}",
        f"\u2028{code}\u2028",
        f'"""\n{code}\n"""',
        f"'''\n{code}\n'''",
        f"x={code}, y",
        f"{{{code}}}",
        "coding: utf-7",
        f"coding=utf-7 +AAo-{code}+AAo-",
        f"+ACcAKQA7- {code} +ACM-",
    ]
    texts = ["", "\x00", "\ud800", "a" * 100_000, "../../x", "0" * 64, "r1", "%n{0}"]
    markup = ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>"]
    numbers = [0, -1, 1, 1.5, 2**31, 2**63, 2**64, -(10**30), 10**400, 1e308]
    odd = [None, True, False, math.nan, math.inf, [], {}, [[[]]], {"a": {"b": [1]}}]
    return [*bare, *texts, *markup, *numbers, *odd, _DEEP, {code: code}, [code] * 3]


def _json(value: Any) -> bytes:
    """Write JSON, even with nesting too deep for Python to write."""
    deep = "[" * 100_000 + "]" * 100_000
    return json.dumps(value).replace(f'"{_DEEP}"', deep).encode()


def _mutate(root: Any, rng: random.Random, values: list[Any]) -> None:
    """Change one place of nested lists and mappings."""
    inner = root
    while True:
        places = list(_places(inner))
        if not places:
            return
        at = rng.choice(places)
        if isinstance(inner[at], (dict, list)) and inner[at] and rng.random() < 0.8:
            inner = inner[at]
            continue
        break
    other = rng.choice(values)
    change = rng.choice(["replace"] * 6 + ["delete", "add", "rename", "swap", "twice"])
    if change == "delete":
        del inner[at]
    elif change == "swap":
        to = rng.choice(places)
        inner[at], inner[to] = inner[to], inner[at]
    elif isinstance(inner, list) and change in ("add", "twice"):
        inner.insert(at, deepcopy(inner[at] if change == "twice" else other))
    elif isinstance(inner, dict) and change in ("add", "rename"):
        name = str(rng.choice(values))
        inner[name] = inner.pop(at) if change == "rename" else deepcopy(other)
    else:  # half of them by what may stand there, so that it comes further
        alike = [value for value in values if type(value) is type(inner[at])]
        inner[at] = deepcopy(
            rng.choice(alike) if alike and rng.random() < 0.5 else other
        )


def _places(inner: Any) -> Iterator[Any]:
    return iter(range(len(inner)) if isinstance(inner, list) else list(inner))


def _mutate_content(data: bytes, rng: random.Random, values: list[Any]) -> bytes:
    """Change a table, or a result of a run, and keep its hash valid."""
    if data[:4] == b"PAR1":
        return _mutate_table(data, rng, values)
    if data[:2] != b"PK":
        return _damage(data, rng)
    arrays, about = arrays_from_bytes(data)
    if rng.random() < 0.5:
        _mutate(about, rng, values)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as new, zipfile.ZipFile(io.BytesIO(data)) as old:
            for name in old.namelist():
                is_about = name == "about.json"
                new.writestr(name, _json(about) if is_about else old.read(name))
        return out.getvalue()
    name = rng.choice([*arrays])
    array = arrays[name].copy()
    change = rng.choice(["type", "value", "shape", "gone"])
    if change == "gone":
        del arrays[name]
    elif change == "shape":
        arrays[name] = array.reshape(-1)[: rng.randrange(1 + array.size)]
    elif change == "type":
        with np.errstate(invalid="ignore"):
            kind = rng.choice(["f8", "i8", "u8", "U9", "b1", "c16"])
            arrays[name] = array.astype(kind)
    elif array.size:
        wide = array.astype("f8" if array.dtype.kind == "f" else "i8")
        odd = [-1, -5, 2**31, 2**40, 2**62]
        odd += [math.nan, math.inf, 1e308] if wide.dtype.kind == "f" else []
        wide.flat[rng.randrange(array.size)] = rng.choice(odd)
        arrays[name] = wide
        if name == "labels" and "type" in arrays:
            arrays["type"] = wide[:0].reshape(-1)
    return arrays_to_bytes(arrays, about)


def _mutate_table(data: bytes, rng: random.Random, values: list[Any]) -> bytes:
    table = pq.read_table(pa.BufferReader(data))
    metadata = dict(table.schema.metadata)
    about = json.loads(metadata[b"clusterlens.table"])
    _mutate(about, rng, values)
    metadata[b"clusterlens.table"] = _json(about)
    out = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(metadata), out)
    return out.getvalue()


def _damage(data: bytes, rng: random.Random) -> bytes:
    """Change or cut some bytes."""
    copy = bytearray(data)
    if not copy or rng.random() < 0.2:
        return bytes(copy[: rng.randrange(len(copy) + 1)])
    for _ in range(rng.choice([1, 3, 20])):
        copy[rng.randrange(len(copy))] ^= rng.randrange(1, 256)
    return bytes(copy)
