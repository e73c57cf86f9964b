"""Files of formats that few people use, to be changed on purpose."""

from __future__ import annotations

import csv
import io
import random
import zipfile

import pandas as pd
import pyarrow.feather as feather

_OFFICE = "urn:oasis:names:tc:opendocument:xmlns:"
_MARKS = ["|", "||", "+", "-", "=", ":", "\\|", "&", "\\\\", "│", " ", "\t", "<td>"]
_CELLS = ["a", "1", "2.5", "1,5", "b c", "", "(3 rows)", "…", "...", "[s]", "<int>"]


def orange(frame: pd.DataFrame, rng: random.Random) -> bytes:
    """Return a table of Orange: names, types and roles above the rows."""
    types = {"id": "string", "x": "continuous", "k": "ann bob c\\ d", "word": "d"}
    flags = {"id": "meta", "k": "class", "word": rng.choice(["", "i", "weight=1"])}
    header = [
        list(frame),
        [types.get(name, "time") for name in frame],
        [flags.get(name, "") for name in frame],
    ]
    lines = ["\t".join(cells) for cells in header]
    body = frame.to_csv(sep="\t", index=False, header=False)
    return ("\n".join(lines) + "\n" + body).encode()


def matrix_market(frame: pd.DataFrame, rng: random.Random) -> bytes:
    """Return a sparse or full matrix of numbers in the MatrixMarket format."""
    n, kind = len(frame), rng.choice(["coordinate", "array"])
    field = rng.choice(["real", "integer", "complex", "pattern"])
    symmetry = rng.choice(["general", "symmetric", "skew-symmetric"])
    cells = frame["x"].map("{:.3f}".format)
    if kind == "coordinate":
        sizes = f"{n} {rng.choice([1, 2**31, 2**62])} {n}"
        rows = [f"{i} 1 {x}" for i, x in enumerate(cells, start=1)]
    else:
        sizes, rows = f"{n} 1", list(cells)
    banner = rng.choice(["%%MatrixMarket", "%%matrixmarket", "%MatrixMarket", ""])
    first = f"{banner} matrix {kind} {field} {symmetry}"
    return "\n".join([first, "% made", sizes, *rows, ""]).encode()


def r_table(frame: pd.DataFrame, rng: random.Random) -> bytes:
    """Return a table as `write.table` of R makes it, one name less than cells."""
    frame = frame.set_index("id").drop(columns="day")
    names = ['"' + name + '"' for name in frame]
    body = frame.to_csv(sep=" ", header=False, quoting=csv.QUOTE_NONNUMERIC)
    if rng.random() < 0.3:
        names = list(frame)
        body = frame.replace("c d", "cd").to_csv(sep=" ", header=False)
    return (" ".join(names) + "\n" + body).encode(rng.choice(["utf-8", "latin-1"]))


def open_document(frame: pd.DataFrame, rng: random.Random) -> bytes:
    """Return a spreadsheet in the OpenDocument format."""
    cells = [list(frame), *frame.astype(str).to_numpy().tolist()]
    rows = "".join(
        "<table:table-row>"
        + "".join(
            f"<table:table-cell><text:p>{c}</text:p></table:table-cell>" for c in r
        )
        + "</table:table-row>"
        for r in cells
    )
    content = (
        f'<office:document-content xmlns:office="{_OFFICE}office:1.0" '
        f'xmlns:table="{_OFFICE}table:1.0" xmlns:text="{_OFFICE}text:1.0"><office:body>'
        f'<office:spreadsheet><table:table table:name="one">{rows}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        kind = "application/vnd.oasis.opendocument.spreadsheet"
        if rng.random() < 0.9:
            archive.writestr("mimetype", kind, zipfile.ZIP_STORED)
        archive.writestr("content.xml", content)
        if rng.random() < 0.1:
            archive.writestr("xl/workbook.xml", "<workbook/>")
    return out.getvalue()


def arrow_file(frame: pd.DataFrame, rng: random.Random) -> bytes:
    """Return a table in the format of Arrow files (Feather)."""
    out = io.BytesIO()
    packed = rng.choice(["uncompressed", "lz4", "zstd"])
    feather.write_feather(frame, out, compression=packed)
    return out.getvalue()


def drawn(rng: random.Random) -> bytes:
    """Return a table drawn in text by a grammar, valid or not."""
    mark = rng.choice(_MARKS)
    width = rng.choice([1, 2, 3, 3, 3, 100])
    many = rng.choice([1, 1, 1, 1, 20_000])
    rule = rng.choice(["---", "-", "===", ":-:", "--- ", "═══"])
    cross = rng.choice(["|", "+", " ", "", mark])
    outer = rng.choice(["", "", "|", "||", "+", " "])
    lines = []
    for _ in range(rng.choice([2, 5, 9, 9, 1000])):
        cells = [rng.choice(_CELLS) for _ in range(width)]
        gap = " " * rng.choice([0, 1, 1, 4])
        lines.append(outer + gap + (gap + mark + gap).join(cells) + gap + outer)
    for _ in range(rng.choice([0, 1, 1, 2])):
        drawn_rule = outer[:1] + cross.join([rule] * width) + outer[:1]
        lines.insert(rng.choice([0, 1, 1, 1, len(lines)]), drawn_rule)
    if rng.random() < 0.2:
        odd = rng.choice(
            [*_MARKS, *_CELLS, rule, " -", "- ", "| -", "||a", "- [ RECORD 1"]
        )
        lines.insert(rng.randrange(len(lines) + 1), odd * many)
    if rng.random() < 0.2:
        lines.append(
            rng.choice(["(3 rows)", "(9 rows)", "2 rows selected.", "Notes: x"])
        )
    return "\n".join(lines).encode(rng.choice(["utf-8", "utf-8", "utf-16"]))
