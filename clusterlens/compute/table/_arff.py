"""ARFF, the format of Weka: attributes with types, then rows, dense or sparse.

`scipy.io.arff` reads neither strings nor sparse rows, so the few rules are here.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from clusterlens.compute._validation import DataError
from clusterlens.compute.table._binary import (
    OBJECT_BYTES,
    Content,
    Parsed,
    check_bytes,
    check_cells,
    check_shape,
)
from clusterlens.compute.table._encoding import to_utf8

# Possessive quantifiers never backtrack, so time is linear.
_HEAD = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s++|%[^\r\n]*+)*+@relation\b", re.I)
_QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_ATTRIBUTE = re.compile(rf"@attribute\s++({_QUOTED}|\S++)\s++(.++)", re.I)
_SPARSE = re.compile(rf"\s*+(\d++)\s++((?:{_QUOTED})(?=\s*+(?:,|$))|[^,]++)\s*+(?:,|$)")
# Placeholder for a cell of a sparse row that is not named, while columns are built.
_DEFAULT_BYTES = 32


@dataclass(frozen=True)
class Attribute:
    """A column: its name and, if it is nominal, its levels."""

    name: str
    kind: str
    levels: tuple[str, ...] = ()


def is_arff(data: bytes) -> bool:
    """Check whether text begins with a relation, after comments."""
    return _HEAD.match(data) is not None


def read_arff(content: Content) -> Parsed:
    """Read the rows of a relation; nominal attributes become categories."""
    n_lines = content.data.count(b"\n") + content.data.count(b"\r")
    check_shape(n_lines, 0, content, "line")
    check_bytes(n_lines * OBJECT_BYTES, content)
    text, encoding_note = to_utf8(content.data, content.source, content.encoding)
    lines = text.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n")
    attributes, start = _attributes(lines, content.source)
    names = pd.Index([a.name for a in attributes], dtype=object)
    if not names.is_unique:
        raise DataError(
            f"{content.source} declares the attribute "
            f"{names[names.duplicated()][0]!r} more than once; give each a name of its "
            "own."
        )
    n_dense = sum(not line.lstrip().startswith(("{", "%")) for line in lines[start:])
    check_cells(n_dense, len(attributes), content, OBJECT_BYTES)
    check_cells(len(lines) - start, len(attributes), content, _DEFAULT_BYTES)
    quote = "'" if any("'" in line for line in lines[start:]) else '"'
    rows = []
    for number, line in enumerate(lines[start:], start=start + 1):
        if not line.strip() or line.lstrip().startswith("%"):
            continue
        where = f"{content.source}: line {number}"
        if line.lstrip().startswith("{"):
            rows.append(_sparse_row(line, attributes, where))
        else:
            rows.append(_dense_row(line, attributes, quote, where))
    if not rows:
        raise DataError(f"{content.source} has a header but no rows; give one or more.")
    columns = [
        _column(a, [row[j] for row in rows], content.source)
        for j, a in enumerate(attributes)
    ]
    frame = pd.concat(columns, axis=1)
    frame.columns = names
    return Parsed(frame, ["Read as ARFF.", encoding_note])


def _attributes(lines: list[str], source: str) -> tuple[list[Attribute], int]:
    """Return the declared columns and the number of lines up to the data."""
    found: list[Attribute] = []
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        if stripped.lower().startswith("@data"):
            if not found:
                raise DataError(f"{source} declares no attribute; give one per column.")
            return found, number
        if stripped.lower().startswith("@attribute"):
            match = _ATTRIBUTE.fullmatch(stripped)
            if match is None:
                raise DataError(
                    f"{source}: line {number} is no attribute with a name and a type; "
                    "correct it."
                )
            try:
                found.append(_attribute(*match.groups()))
            except csv.Error as error:
                raise DataError(
                    f"{source}: line {number} cannot be split ({error}); correct its "
                    "quotes."
                ) from None
    raise DataError(
        f"{source} has no line @data; the file is incomplete, copy it again."
    )


def _attribute(name: str, kind: str) -> Attribute:
    """Read a declaration: the levels in braces, or a word for the type."""
    if not kind.startswith("{"):
        return Attribute(_unquoted(name), kind.split()[0].lower())
    inside = kind[1 : kind.rindex("}")] if "}" in kind else kind[1:]
    levels = next(_cells([inside], "'" if "'" in inside else '"'), [])
    # A file may use both kinds of quotes.
    unquoted = tuple(_unquoted(level.strip()) for level in levels)
    return Attribute(_unquoted(name), "nominal", unquoted)


def _unquoted(text: str) -> str:
    """Remove the quotes around a name or value, and escapes of quotes."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    return re.sub(r"\\(.)", r"\1", text)


def _cells(lines: list[str], quote: str) -> Iterator[list[str]]:
    """Split lines at commas outside of quotes."""
    return csv.reader(
        lines, quotechar=quote, escapechar="\\", skipinitialspace=True, strict=True
    )


def _dense_row(
    line: str, attributes: list[Attribute], quote: str, where: str
) -> list[str | None]:
    """Split a row of one cell per attribute; a question mark is a missing value."""
    separator = "," if "," in line or len(attributes) == 1 else None
    try:
        cells = (
            next(_cells([line], quote)) if separator else line.split()  # tabs or blanks
        )
    except csv.Error as error:
        raise DataError(
            f"{where} cannot be split ({error}); correct its quotes."
        ) from None
    if len(cells) != len(attributes):
        raise DataError(
            f"{where} has {len(cells)} cells for {len(attributes)} attributes; correct "
            "the line."
        )
    # A file may use both kinds of quotes.
    return [None if cell.strip() == "?" else _unquoted(cell.strip()) for cell in cells]


def _sparse_row(line: str, attributes: list[Attribute], where: str) -> list[str | None]:
    """Split a row of pairs of position and value; positions without a pair are zero.

    Zero is 0 for numbers and the first level for nominal attributes.
    """
    row: list[str | None] = [a.levels[0] if a.levels else "0" for a in attributes]
    inside = line.strip().removeprefix("{").removesuffix("}").strip()
    at = 0
    while at < len(inside):
        pair = _SPARSE.match(inside, at)
        if pair is None or int(pair.group(1)) >= len(row):
            raise DataError(
                f"{where} has {inside[at : at + 20]!r} where the position and value of "
                f"one of {len(row)} attributes should be; correct it."
            )
        value = pair.group(2).strip()
        row[int(pair.group(1))] = None if value == "?" else _unquoted(value)
        at = pair.end()
    return row


def _column(attribute: Attribute, cells: list[str | None], source: str) -> pd.Series:
    """Return a column (n,): categories for levels, else text to be typed later."""
    values = pd.Series(cells, dtype="str")
    if attribute.kind != "nominal":
        return values
    strange = values[~values.isin(attribute.levels) & values.notna()]
    if len(strange):
        raise DataError(
            f"{source}: attribute {attribute.name!r} has the value "
            f"{strange.iloc[0]!r} in row {strange.index[0] + 1} of the data, which is "
            "not among its levels; add it to them, or correct the cell."
        )
    present = set(values.dropna())
    used = [level for level in dict.fromkeys(attribute.levels) if level in present]
    return values.astype(pd.CategoricalDtype(used))
