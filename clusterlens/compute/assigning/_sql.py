"""Names and values in SQL, quoted so that data are never read as commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

_MOST_PLAIN = 1e15  # whole numbers from here on are written with an exponent


def identifier(name: str) -> str:
    """Return a name of a table or column in quotes."""
    return '"' + str(name).replace('"', '""') + '"'


def literal(value: Any) -> str:
    """Return a number, truth value, date or text as SQL."""
    if isinstance(value, bool | np.bool_):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        number = float(value)
        short = number.is_integer() and abs(number) < _MOST_PLAIN
        return str(int(number)) if short else repr(number)
    if isinstance(value, pd.Timestamp):
        kind = "TIMESTAMP" if value.tzinfo is None else "TIMESTAMPTZ"
        return f"{kind} '{value.isoformat(sep=' ')}'"
    return "'" + str(value).replace("'", "''") + "'"


def real(value: float) -> str:
    """Return a number of double precision; without an exponent it is a decimal."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def among(expression: str, values: Sequence[Any]) -> str:
    """Return the SQL condition that a column has one of some values."""
    return f"{expression} IN ({', '.join(map(literal, values))})"


def struct(parts: Mapping[str, str], indent: str) -> str:
    """Return expressions as one value with named parts, one per line."""
    lines = [f"{indent}  {literal(name)}: {part}" for name, part in parts.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def check_table(table: Any) -> str:
    """Return the quoted name of a table."""
    if not isinstance(table, str) or not table:
        raise ValueError(f"table is {table!r}; give the name of a table.")
    return identifier(table)
