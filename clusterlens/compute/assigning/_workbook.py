"""A typing tool as a workbook with formulas for the cluster of every row of answers.

Texts of the table are written as texts, even if they look like formulas, and EXACT
compares them: other lookups of spreadsheets ignore case and use * and ? as wildcards.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute._validation import DataError, FloatArray
from clusterlens.compute.assigning._questions import Question
from clusterlens.compute.formatting import count, whole

_MOST_ROWS = 1_048_575  # of a sheet, below its header
_LONGEST = 32_767  # characters of a cell
_MOST_DIGITS = 10**15  # larger whole numbers are not exact in a cell
_FIRST_DAY = pd.Timestamp(1899, 12, 30)  # day 0 of a spreadsheet
_LEAST_DATE = pd.Timestamp(1900, 3, 1)  # before it spreadsheets disagree by a day


def write_workbook(
    path: str | os.PathLike[str],
    clusters: Sequence[Any],
    constants: FloatArray,
    questions: Sequence[Question],
    values: FloatArray,
    row_ids: pd.Index,
) -> None:
    """Write the workbook: answers (n, q) with formulas, then their weights."""
    openpyxl = _openpyxl()
    if len(values) > _MOST_ROWS:
        raise DataError(
            f"table has {count(len(values), 'row')} and a sheet takes "
            f"{whole(_MOST_ROWS)}; give fewer rows, or use to_sql."
        )
    is_number = [question.source.is_number for question in questions]
    order = np.argsort(np.logical_not(is_number), kind="stable")
    numbers = [question for question in questions if question.source.is_number]
    levels = [question for question in questions if not question.source.is_number]
    # A sheet cannot be left half-written, so everything that may be refused comes
    # first.
    columns = [
        _written(question, x)
        for question, x in zip([*numbers, *levels], values[:, order].T, strict=True)
    ]
    keys = [_keys(question) for question in levels]
    for name in [
        *clusters,
        *(question.source.name for question in questions),
        *row_ids,
    ]:
        _text_of(_plain(name))
    book = openpyxl.Workbook(write_only=True)
    answers, weights, lookup = (
        book.create_sheet(name) for name in ("Answers", "Weights", "Levels")
    )
    _write_answers(answers, clusters, numbers, levels, columns, row_ids)
    _write_weights(weights, clusters, constants, numbers)
    _write_levels(lookup, clusters, levels, keys)
    book.save(path)


def _write_answers(
    sheet: Any,
    clusters: Sequence[Any],
    numbers: Sequence[Question],
    levels: Sequence[Question],
    columns: Sequence[Sequence[Any]],
    row_ids: pd.Index,
) -> None:
    """Write one line per row: answers by column, number known, scores, cluster."""
    sheet.freeze_panes = "B2"
    names = [question.source.name for question in [*numbers, *levels]]
    heads = ["row", *names, "answers"]
    heads += [f"score {cluster}" for cluster in clusters] + ["cluster"]
    sheet.append([_cell(sheet, head) for head in heads])
    formulas = list(_formulas(len(numbers), levels, len(clusters)))
    for i, row_id in enumerate(row_ids):
        cells = [_cell(sheet, _plain(row_id))]
        cells += [_cell(sheet, column[i]) for column in columns]
        sheet.append([*cells, *(formula.format(row=i + 2) for formula in formulas)])


def _formulas(
    n_numbers: int, levels: Sequence[Question], n_clusters: int
) -> Iterator[str]:
    """Yield the formulas of a line, for any row: known answers, scores, cluster."""
    numbers = f"B{{row}}:{letter(1 + n_numbers)}{{row}}"
    ends = np.cumsum([1, *(len(question.weights) for question in levels)]).tolist()
    places = [letter(2 + n_numbers + i) for i in range(len(levels))]
    matches = [
        f"EXACT({place}{{row}},Levels!$B${low + 1}:$B${high})"
        for place, (low, high) in zip(places, pairwise(ends), strict=True)
    ]
    known = [f"COUNT({numbers})"] * bool(n_numbers)
    yield "=" + "+".join([*known, *(f"SUMPRODUCT({match}*1)" for match in matches)])
    last = letter(2 + n_numbers)
    for k in range(n_clusters):
        parts = [f"=Weights!$B${k + 3}"]
        if n_numbers:
            weights = f"Weights!$C${k + 3}:${last}${k + 3}"
            apart = f"ISNUMBER({numbers})*1,Weights!$C$2:${last}$2"
            parts += [f"SUMPRODUCT({numbers},{weights})-SUMPRODUCT({apart},{weights})"]
        column = letter(3 + k)
        parts += [
            f"SUMPRODUCT({match}*Levels!${column}${low + 1}:${column}${high})"
            for match, (low, high) in zip(matches, pairwise(ends), strict=True)
        ]
        yield "+".join(parts)
    at = 2 + n_numbers + len(levels)
    scores = f"{letter(at + 1)}{{row}}:{letter(at + n_clusters)}{{row}}"
    names = f"Weights!$A$3:$A${n_clusters + 2}"
    largest = f"INDEX({names},MATCH(MAX({scores}),{scores},0))"
    yield f'=IF({letter(at)}{{row}}=0,"",{largest})'


def _write_weights(
    sheet: Any,
    clusters: Sequence[Any],
    constants: FloatArray,
    numbers: Sequence[Question],
) -> None:
    """Write a line per cluster: its constant, and weights of centred numbers."""
    heads = ["cluster", "constant", *(question.source.name for question in numbers)]
    sheet.append([_cell(sheet, head) for head in heads])
    sheet.append(["centre", None, *(_serial(question) for question in numbers)])
    for k, cluster in enumerate(clusters):
        weights = [float(question.weights[0, k]) for question in numbers]
        name = _cell(sheet, _plain(cluster))
        sheet.append([name, float(constants[k]), *weights])


def _write_levels(
    sheet: Any,
    clusters: Sequence[Any],
    levels: Sequence[Question],
    keys: Sequence[Sequence[Any]],
) -> None:
    """Write a line per level: its column, the level, and its weights."""
    heads = ["column", "level", *map(str, clusters)]
    sheet.append([_cell(sheet, head) for head in heads])
    for question, own in zip(levels, keys, strict=True):
        for key, weights in zip(own, question.weights.tolist(), strict=True):
            name = _cell(sheet, question.source.name)
            sheet.append([name, _cell(sheet, key), *weights])


def _written(question: Question, values: FloatArray) -> list[Any]:
    """Return answers (n,) as the values of cells, None if there is none."""
    known = ~np.isnan(values)
    if not question.source.is_number:
        keys = _keys(question)
        codes = np.where(known, values, 0).astype(np.intp)
        return [keys[c] if k else None for c, k in zip(codes, known, strict=True)]
    if question.source.column.first_day is None:
        return [x if k else None for x, k in zip(values.tolist(), known, strict=True)]
    return [
        _date(question, x) if k else None for x, k in zip(values, known, strict=True)
    ]


def _date(question: Question, days: float) -> datetime:
    """Return the date of an answer, without its zone."""
    date = pd.Timestamp(question.source.shown(days)).tz_localize(None)
    if date < _LEAST_DATE:
        raise DataError(
            f"Column {question.source.name!r} has the date {date:%Y-%m-%d}; a "
            "spreadsheet has none before March 1900: use to_sql, or leave the row out."
        )
    return date.to_pydatetime()


def _serial(question: Question) -> float:
    """Return the centre of a question as the number that a cell holds."""
    if question.source.column.first_day is None:
        return question.centre
    date = pd.Timestamp(question.centre_shown).tz_localize(None)
    return float((date - _FIRST_DAY) / pd.Timedelta(days=1))


def _keys(question: Question) -> list[Any]:
    """Return the levels of a question as the values of cells, all different."""
    keys = [_text_of(_plain(level)) for level in question.source.column.levels]
    texts = [str(key) for key in keys]
    if len(set(texts)) < len(texts) or "" in texts:
        raise DataError(
            f"Column {question.source.name!r} has levels that a spreadsheet cannot "
            "tell apart; rename them, or use to_sql."
        )
    return keys


def _plain(value: Any) -> Any:
    """Return a number or truth value unchanged, anything else as text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | float):
        return value
    exact = isinstance(value, int) and abs(value) < _MOST_DIGITS
    return value if exact else str(value)


def _text_of(value: Any) -> Any:
    """Return a value, with texts in a form that a cell can hold."""
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    if not isinstance(value, str):
        return value
    if len(value) > _LONGEST:
        raise DataError(
            f"The text {value[:20]!r}… has {whole(len(value))} characters, and a cell "
            f"takes {whole(_LONGEST)}; shorten it, or use to_sql."
        )
    return ILLEGAL_CHARACTERS_RE.sub("\ufffd", value)


def _cell(sheet: Any, value: Any) -> Any:
    """Return a cell of a sheet; text stays text, even if it looks like a formula."""
    from openpyxl.cell import WriteOnlyCell

    if not isinstance(value, str):
        return value
    cell = WriteOnlyCell(sheet, value=_text_of(value))
    cell.data_type = "s"
    cell.quotePrefix = True
    return cell


def letter(number: int) -> str:
    """Return the name of a column of a sheet, A for 1."""
    from openpyxl.utils import get_column_letter

    return get_column_letter(number)


def _openpyxl() -> Any:
    """Return openpyxl; if it is missing, the error tells how to install it."""
    try:
        import openpyxl
    except ImportError:
        raise ImportError(
            "openpyxl is not installed; install clusterlens[excel], or use to_sql."
        ) from None
    return openpyxl
