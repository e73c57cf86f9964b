"""Input files changed on purpose, and files made by a grammar.

Each strike reads a file in this process, without the limits of a reader process, so
that the result holds for scripts, too. It must end with a table or a DataError, within
the limits of `benchmarks.hostile_limits`.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import clusterlens as cl
from benchmarks import hostile_formats as formats
from benchmarks.hostile_limits import Cost
from clusterlens.ui.server.memory.archive import check_analysis
from clusterlens.ui.state.links import links_from_text

Strike = Callable[[random.Random], tuple[str, str, str]]
_IDS = [f"r{k}" for k in range(40)]
_NUMBERS = ["0", "1", "2", "-1", "9", "4e9", "1048577", str(2**31), str(2**40)]
_NUMBERS += [str(2**62), str(2**64), "9" * 5000, "1e999", "", "nan", "'", " "]
_TEXTS = ["a", "", " ", "x" * 40_000, "'", '"', "\\", "\\'", "?", "{", "}", "%", ","]
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def _frame(rng: random.Random, n: int = 40) -> pd.DataFrame:
    draw = np.random.default_rng(rng.randrange(2**32))
    words = draw.choice(["ann", "bob", "c d", "ä"], n)
    columns = {"id": _IDS[:n], "x": draw.normal(size=n), "k": draw.integers(3, size=n)}
    return pd.DataFrame({**columns, "word": words, "day": pd.Timestamp("2024-02-03")})


def _csv(rng: random.Random) -> bytes:
    text = _frame(rng).to_csv(index=False, sep=rng.choice(",;\t"))
    return text.encode(rng.choice(["utf-8", "utf-16", "cp1252"]))


def _parquet(rng: random.Random) -> bytes:
    out, frame = io.BytesIO(), _frame(rng)
    table = pa.Table.from_pandas(frame.assign(code=frame["word"].astype("category")))
    lists = pa.array([[1, 2], None] * (len(frame) // 2))
    pq.write_table(table.append_column("list", lists), out, row_group_size=15)
    return out.getvalue()


def _npy(rng: random.Random) -> bytes:
    out = io.BytesIO()
    np.save(out, np.arange(60.0).reshape(20, 3).astype(rng.choice(["f8", ">i4", "U3"])))
    return out.getvalue()


def _npz(rng: random.Random) -> bytes:
    out = io.BytesIO()
    write = rng.choice([np.savez, np.savez_compressed])
    write(out, X=np.arange(60.0).reshape(20, 3), y=np.arange(20))
    return out.getvalue()


def _xlsx(rng: random.Random) -> bytes:
    out = io.BytesIO()
    with pd.ExcelWriter(out, engine="openpyxl") as book:
        _frame(rng, 12).to_excel(book, sheet_name="one", index=False)
        _frame(rng, 12).to_excel(book, sheet_name="two", index=False)
    return out.getvalue()


def _workbook(rng: random.Random) -> bytes:
    """Return a workbook by a grammar, with sizes, places and tags in any order."""
    number, text = partial(rng.choice, _NUMBERS), partial(rng.choice, _TEXTS)

    def cell() -> str:
        odd = f"{rng.choice('AZ')}{number()}", "XFD1048576"
        place = f' r="{rng.choice(odd)}"' if rng.random() < 0.05 else ""
        kinds = ["", *(f' t="{t}"' for t in ("s", "n", "b", "e", "inlineStr", "x"))]
        kind = rng.choice(kinds)
        value = rng.choice([f"<v>{number()}</v>", "<v/>", f"<is><t>{text()}</t></is>"])
        formula = rng.choice(["", "", "<f>A1</f>", f'<f t="shared" si="{number()}"/>'])
        return f'<c{place}{kind} s="{number()}">{formula}{value}</c>'

    def row() -> str:
        place = f' r="{number()}"' if rng.random() < 0.1 else ""
        return f"<row{place}>{''.join(cell() for _ in range(rng.randrange(5)))}</row>"

    tags = ["<row>", "<c>", "<c ", "<v>", "<f>", "<a:row>", "</row>", "<c/>", "<x/>"]
    opened = rng.choice(tags) if rng.random() < 0.3 else ""
    rows = "".join(row() for _ in range(rng.randrange(8)))
    rows += opened * rng.choice([1, 30_000])
    around = f'<dimension ref="A1:{rng.choice(["B2", "XFD1048576", number()])}"/>'
    merged = f'<mergeCells count="{number()}"><mergeCell ref="A1:B2"/></mergeCells>'
    texts = "".join(f"<si><t>{text()}</t></si>" for _ in range(rng.randrange(4)))
    texts += rng.choice(["", "", "", "<si>" * 20_000, "<si/>", "<si><t>" + "y" * 10**6])
    fonts = f'<cellXfs count="{number()}"><xf numFmtId="{number()}"/></cellXfs>'
    parts = {
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN}">{around}<sheetData>'
        f"{rows}</sheetData>{merged}</worksheet>",
        "xl/sharedStrings.xml": f'<sst xmlns="{_MAIN}" count="{number()}" uniqueCount="'
        f'{number()}">{texts}</sst>',
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}">{fonts}</styleSheet>',
    }
    out, source = io.BytesIO(), zipfile.ZipFile(io.BytesIO(_xlsx(rng)))
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted({*source.namelist(), *parts}):
            given = name in parts and rng.random() < 0.5
            archive.writestr(name, parts[name] if given else _part(source, name))
    return out.getvalue()


def _part(source: zipfile.ZipFile, name: str) -> bytes:
    return source.read(name) if name in source.namelist() else b"<sst/>"


def _arff(rng: random.Random) -> bytes:
    """Return ARFF by a grammar, valid or not."""
    text = partial(rng.choice, [*_TEXTS, *_NUMBERS])
    kinds = ["real", "string", "{a,b}", "{'x y',b}", "date", "", "{", text()]
    n = rng.choice([1, 3, 3, 3000])
    names = [rng.choice([f"a{j}", f"'a {j}'"]) for j in range(n)]
    lines = ["@relation r", *(f"@attribute {a} {rng.choice(kinds)}" for a in names)]
    lines += [f"@attribute {text()} {text() * rng.choice([1, 20])}"] * (
        rng.random() < 0.2
    )
    lines.append(rng.choice(["@data", "@data", "@DATA", ""]))
    for _ in range(rng.choice([1, 5, 20_000])):
        sparse = (
            f"{{{rng.choice(['0', str(n - 1), text()])} {rng.choice(['1', text()])}}}"
        )
        if len(lines) > 4000:
            lines += [sparse if len(sparse) < 20 else "{}"] * 15_000
            break
        dense = ",".join(
            rng.choice(["1", "a", "?", text()[:9]]) for _ in range(min(n, 9))
        )
        lines.append(rng.choice([sparse, dense, "%" + text(), ""]))
    return "\n".join(lines).encode()


def _json(rng: random.Random) -> bytes:
    """Return JSON of links by a grammar, valid or not."""
    ids = [*_IDS[:4], 1, 1.5, None, True, [], {}, "x" * 9999, "'r1", "\ud800"]

    def pair() -> Any:
        return [rng.choice(ids) for _ in range(rng.choice([2, 2, 2, 3, 0, 9]))]

    lists = {
        rng.choice(["must_link", "cannot_link", "unsure", "odd"]): rng.choice(
            [[pair() for _ in range(rng.randrange(6))], pair(), {}, 1]
        )
        for _ in range(rng.randrange(4))
    }
    text = json.dumps(lists)
    many = rng.choice(["[],", "[[", "{}", '"",', '{"a":', "1,", '"\\"'])
    return (text + rng.choice(["", "", many * 300_000])).encode()


def _links(rng: random.Random) -> bytes:
    lines = ["kind,row_a,row_b,by"]
    kinds = ["must-link", "cannot-link", "unsure"]
    lines += [
        f"{rng.choice(kinds)},{rng.choice(_IDS)},{rng.choice(_IDS)},me"
        for _ in range(9)
    ]
    return "\n".join(lines).encode()


def _segmentation(rng: random.Random) -> bytes:
    frame = _frame(random.Random(rng.randrange(3))).drop(columns="day")
    ds = cl.prepare(cl.load_table(frame, row_id="id"))
    return _saved(cl.Segmentation(ds, np.arange(40) % 3))


def _saved(segmentation: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        segmentation.save(Path(folder) / "one.lens")
        return (Path(folder) / "one.lens").read_bytes()


def _packed(rng: random.Random) -> str:
    """Return JSON of up to 180 MB that takes a thousandth of that in an archive."""
    piece = rng.choice(["[],", "{},", '"",', "1,", '{"a":1},', "[", "a", " "])
    size = rng.choice([10**6, 10**7, 10**8, 180_000_000])
    text = piece * (size // len(piece))
    return f'["{text}"]' if piece == "a" else f"[{text}0]"


def _packed_analysis(rng: random.Random) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("analysis.json", _packed(rng))
    return out.getvalue()


def _packed_segmentation(rng: random.Random) -> bytes:
    """Return a segmentation with large JSON, or millions of rows that are equal."""
    source, out = zipfile.ZipFile(io.BytesIO(_segmentation(rng))), io.BytesIO()
    parts = {name: _part(source, name) for name in source.namelist()}
    name = rng.choice(sorted(parts))
    if name.endswith(".json"):
        parts[name] = _packed(rng).encode()
    else:
        table = pq.read_table(io.BytesIO(parts[name]))
        rows, n = io.BytesIO(), rng.choice([10**5, 10**6, 12_000_000])
        first = {c: np.repeat(table[c].to_numpy()[:1], n) for c in table.column_names}
        pq.write_table(pa.table(first), rows, compression="zstd")
        parts[name] = rows.getvalue()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return out.getvalue()


def _damaged(data: bytes, rng: random.Random) -> bytes:
    """Change, cut, repeat or insert bytes; for an archive, inside one of its parts."""
    if data[:2] == b"PK" and rng.random() < 0.7:
        out, source = io.BytesIO(), zipfile.ZipFile(io.BytesIO(data))
        chosen = rng.choice(source.namelist())
        with zipfile.ZipFile(out, "w") as archive:
            for name in source.namelist():
                part = source.read(name)
                archive.writestr(name, _bytes(part, rng) if name == chosen else part)
        return out.getvalue()
    return _bytes(data, rng)


def _bytes(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    change = rng.choice(["flip", "cut", "repeat", "insert"])
    if change == "cut":
        return data[:at]
    if change == "repeat":
        return data[:at] + data[at : at + 30] * rng.choice([2, 5000]) + data[at:]
    if change == "insert":
        piece = rng.choice([*_NUMBERS, *_TEXTS, "\0", "[", "<", "\r", ";"]).encode()
        return (
            data[:at]
            + piece * rng.choice([1, 3, 20_000 // max(1, len(piece))])
            + data[at:]
        )
    copy = bytearray(data)
    for _ in range(rng.choice([1, 3, 20])):
        if copy:
            copy[rng.randrange(len(copy))] ^= rng.randrange(1, 256)
    return bytes(copy)


def _open_segmentation(data: bytes, folder: Path) -> Any:
    (folder / "given.lens").write_bytes(data)
    found = cl.load_segmentation(folder / "given.lens")
    table = _frame(random.Random(0))
    found.assign(table)
    return found.drift(table).to_frame()


def _open_analysis(data: bytes, folder: Path) -> Any:
    return check_analysis(io.BytesIO(data), 2_000_000_000)


def _read_partitions(data: bytes, folder: Path) -> Any:
    return cl.load_partitions(data)


def _read_memberships(data: bytes, folder: Path) -> Any:
    return cl.load_memberships(data, _IDS)


def _read_table(data: bytes, folder: Path) -> Any:
    return cl.prepare(cl.load_table(data))


def _read_links(data: bytes, folder: Path) -> Any:
    return links_from_text(data.decode(errors="replace"), pd.Index(_IDS))


def _of_frame(
    make: Callable[[pd.DataFrame, random.Random], bytes],
) -> Callable[[random.Random], bytes]:
    """Return a maker of files that each hold a table of their own."""
    return lambda rng: make(_frame(rng), rng)


# Kinds that are read by other functions, which take no gzip.
_OWN_ARCHIVES = ("links", "json grammar", "segmentation", "packed segmentation")
_OWN_ARCHIVES += ("packed analysis",)
# Kinds of files: the maker, whether a grammar alone makes it, and the readers.
_READ_AS_TABLE = (_read_table, _read_partitions, _read_memberships)
KINDS: dict[str, tuple[Callable[[random.Random], bytes], bool, tuple[Any, ...]]] = {
    "csv": (_csv, False, _READ_AS_TABLE),
    "parquet": (_parquet, False, _READ_AS_TABLE),
    "npy": (_npy, False, _READ_AS_TABLE),
    "npz": (_npz, False, _READ_AS_TABLE),
    "xlsx": (_xlsx, False, _READ_AS_TABLE),
    "workbook grammar": (_workbook, True, _READ_AS_TABLE),
    "arff grammar": (_arff, True, _READ_AS_TABLE),
    "orange": (_of_frame(formats.orange), False, _READ_AS_TABLE),
    "matrix market": (_of_frame(formats.matrix_market), False, _READ_AS_TABLE),
    "r table": (_of_frame(formats.r_table), False, _READ_AS_TABLE),
    "ods": (_of_frame(formats.open_document), False, _READ_AS_TABLE),
    "arrow": (_of_frame(formats.arrow_file), False, _READ_AS_TABLE),
    "drawn grammar": (formats.drawn, True, _READ_AS_TABLE),
    "links": (_links, False, (_read_links,)),
    "json grammar": (_json, True, (_read_links,)),
    "segmentation": (_segmentation, False, (_open_segmentation,)),
    "packed segmentation": (_packed_segmentation, True, (_open_segmentation,)),
    "packed analysis": (_packed_analysis, True, (_open_analysis,)),
}


def attack_files(kind: str, folder: Path) -> Strike:
    """Return the strike with files of one kind."""
    make, is_grammar, readers = KINDS[kind]

    def strike(rng: random.Random) -> tuple[str, str, str]:
        data = make(rng)
        if not is_grammar or rng.random() < 0.2:
            data = _damaged(data, rng)
        if kind not in _OWN_ARCHIVES and rng.random() < 0.2:
            data = gzip.compress(data)
        read = rng.choice(readers)
        cost, outcome, why = Cost(), "opened", ""
        try:
            read(data, folder)
        except ValueError as error:
            if not str(error):
                raise
            outcome, why = "refused", str(error)
        return cost.judge(kind, outcome, why)

    return strike
