"""Facts of columns that are read in parts, from which roles are guessed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from clusterlens.compute.table._cells import type_text
from clusterlens.compute.table._names import is_id_name
from clusterlens.compute.table._roles import ColumnFacts
from clusterlens.compute.table.column_streams import (
    MOST_DISTINCT,
    ColumnStream,
    NumberStream,
    WordStream,
)


def streamed_facts(
    stream: ColumnStream, kind: pa.DataType, typed: pd.Series | None
) -> ColumnFacts:
    """Return the facts from which the role of a column is guessed."""
    known: dict[str, Any] = {"n_rows": stream.n_rows, "n_missing": stream.n_missing}
    if isinstance(stream, NumberStream):
        return _number_facts(stream, kind, known)
    if not isinstance(stream, WordStream):
        return ColumnFacts(
            pd.Series([None, None], dtype=object),
            kind="date"
            if pa.types.is_date(kind) or pa.types.is_timestamp(kind)
            else "other",
            n_distinct=-1,
            **known,
        )
    if stream.counts is None or typed is None:
        words = pd.Series(["many words"] * 2, dtype="str")
        return ColumnFacts(
            words, n_distinct=MOST_DISTINCT + 1, number_share=0.0, **known
        )
    counts = np.fromiter(stream.counts.values(), int)
    known["n_missing"] += int(counts[typed.isna().to_numpy()].sum())
    facts = ColumnFacts(twice(typed), **known)
    numbers = facts.numbers[: len(typed)] if facts.kind == "text" else np.empty(0)
    if len(numbers) and not pd.api.types.is_bool_dtype(typed.dtype):
        present = max(facts.n_rows - facts.n_missing, 1)
        share = float(counts[~np.isnan(numbers)].sum() / present)
        vars(facts)["number_share"] = share
    if facts.kind == "number":
        span = float(typed.max()) - float(typed.min()) + 1
        counts_rows = facts.whole and span == facts.n_distinct == facts.n_rows
        vars(facts)["rising_share"] = float(counts_rows)
    return facts


def twice(values: pd.Series) -> pd.Series:
    """Return a column that has each of some different values twice."""
    return pd.concat([values, values], ignore_index=True)


def type_words(name: str, stream: WordStream) -> pd.Series:
    """Type the different words of a column as all of its cells together."""
    words = list(stream.counts or ())
    if words and isinstance(words[0], bool):
        return pd.Series(words, [str(w).lower() for w in words], dtype="boolean")
    text = pa.array(words, pa.large_string())
    typed, _ = type_text(text, is_identifier=is_id_name(name))
    return typed.set_axis(pd.Index(words, dtype="str"))


def _number_facts(
    stream: NumberStream, kind: pa.DataType, known: dict[str, Any]
) -> ColumnFacts:
    """Return the facts of a column of numbers."""
    n_rows = max(stream.n_rows - 1, 1)
    rising = stream.n_rising / n_rows
    values = stream.distinct.values
    n_distinct = MOST_DISTINCT + 1 if values is None else len(values)
    known |= {
        "n_distinct": stream.n_rows if rising == 1 else n_distinct,
        "whole": stream.whole,
        "rising_share": rising,
        "too_long": pa.types.is_integer(kind)
        and max(stream.high, -stream.low) >= 2**53,
    }
    ends = pd.Series([stream.low, stream.high], dtype=np.float64)
    return ColumnFacts(ends, **known)
