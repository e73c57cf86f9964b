"""Last rows of a table that summarise the rows above: totals, means, deviations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from clusterlens.compute._validation import FloatArray
from clusterlens.compute.formatting import count
from clusterlens.compute.table._cells import may_hold_text, to_numbers, type_columns
from clusterlens.compute.table._header import is_number, is_word

MOST_SUMMARIES = 10  # rows

_FEWEST_ROWS = 2  # that a summary can be of
_RELATIVE = 1e-6
_SAMPLE = 1000  # cells that show how numbers are rounded
_DIGITS = re.compile(
    r"[+-]?[\d.,]*?(?:[.,](?P<decimals>\d++))?(?:[eE](?P<power>[+-]?\d{1,3}))?%?"
)

_Statistic = Callable[[FloatArray], float]


def _deviation(values: FloatArray) -> float:
    return float(np.std(values, ddof=1))


def _sum(values: FloatArray) -> float:
    return float(np.sum(values))


def _mean(values: FloatArray) -> float:
    return float(np.mean(values))


# Words in rows of summaries, and the statistics that the numbers of such a row may be.
_STATISTICS: tuple[tuple[str, tuple[_Statistic, ...]], ...] = (
    (
        "total|totals|sum|sums|grand total|subtotal|overall|all|gesamt|gesamtsumme|"
        "gesamtergebnis|insgesamt|summe|total general|total général|total generale|"
        "somme|totaal|totale|suma|soma|razem|итого|всего|合计|总计",
        (_sum, _mean),
    ),
    (
        "mean|means|average|averages|avg|avg.|ø|mittel|mittelwert|durchschnitt|moyenne|"
        "media|média|promedio|gemiddelde|średnia|среднее|平均",
        (_mean,),
    ),
    ("median|médiane|mediana", (lambda values: float(np.median(values)),)),
    (
        "sd|s.d.|std|std.|stdev|std dev|std. dev|std. dev.|standard deviation|"
        "standardabweichung",
        (_deviation, lambda values: float(np.std(values))),
    ),
    (
        "se|sem|s.e.m.|std error|std. error|standard error",
        (lambda values: _deviation(values) / len(values) ** 0.5,),
    ),
    (
        "cv|%cv|cv%",
        (
            lambda values: _deviation(values) / _mean(values),
            lambda values: 100 * _deviation(values) / _mean(values),
        ),
    ),
    ("var|variance|varianz", (lambda values: float(np.var(values, ddof=1)),)),
    ("min|min.|minimum", (lambda values: float(np.min(values)),)),
    ("max|max.|maximum", (lambda values: float(np.max(values)),)),
    ("n|count|counts|anzahl", (lambda values: float(len(values)),)),
)
_GROUP_TOTALS = (" total", " subtotal", " average", " ergebnis", " mittelwert")
_ALSO_NAMES = frozenset({"max", "min", "n"})  # alone, they may name a sample
_BY_WORD = {word: found for words, found in _STATISTICS for word in words.split("|")}


def without_summaries(
    frame: pd.DataFrame, decimal_comma: bool
) -> tuple[pd.DataFrame, list[str]]:
    """Leave out the last rows that summarise the rows above, and say so.

    The first word of such a row names a summary, and at least half of the numbers
    behind it are that summary of their column, within rounding. A row that only has the
    word stays, with a note, and so do totals of groups within the table.
    """
    groups = _group_notes(frame)
    start = max(0, len(frame) - 2 * MOST_SUMMARIES)
    tail = _texts(frame.iloc[start:])
    labels = {start + k: label for k, label in last_summaries(tail).items()}
    n_above = min(labels, default=0)
    if n_above < _FEWEST_ROWS:
        return frame, groups
    columns = frame.set_axis([f"column {j}" for j in range(frame.shape[1])], axis=1)
    columns = type_columns(columns, decimal_comma=decimal_comma)[0].apply(to_numbers)
    left_out = {
        row: label
        for row, label in labels.items()
        if _is_summary(frame, columns.iloc[[*range(n_above), row]], row)
    }
    if all(_word(label) in _ALSO_NAMES for label in left_out.values()):
        left_out = {}
    notes = groups + [
        summary_note(label) for row, label in labels.items() if row not in left_out
    ]
    if not left_out:
        return frame, notes
    names = ", ".join(map(repr, left_out.values()))
    notes.append(
        f"{count(len(left_out), 'row')} at the end left out, as the numbers summarise "
        f"the rows above: {names}."
    )
    filled = (start + k for k, cells in enumerate(tail) if any(cells))
    last = max((row for row in filled if row < n_above), default=n_above - 1)
    blank = [row for row in range(last + 1, len(frame)) if row not in labels]
    kept = frame.drop(index=frame.index[[*left_out, *blank]])
    return kept.reset_index(drop=True), notes


def _group_notes(frame: pd.DataFrame) -> list[str]:
    """Note rows that are called the total of a group, as outlines of pivot tables."""
    first = frame.iloc[:, 0]
    if not may_hold_text(first.dtype):
        return []
    labels = first.dropna().astype(str).str.strip()
    lower = labels.str.casefold()
    totals = labels[lower.str.endswith(_GROUP_TOTALS) & ~lower.isin([*_BY_WORD])]
    if totals.empty or len(totals) == len(labels):
        return []
    return [
        f"{count(len(totals), 'row')} called {totals.iloc[0]!r} or the like "
        f"{'is' if len(totals) == 1 else 'are'} read as samples; if these are totals "
        "of groups, delete them in the file."
    ]


def last_summaries(tail: Sequence[Sequence[str]]) -> dict[int, str]:
    """Return the rows at the end that are named as summaries, and their names."""
    found: dict[int, str] = {}
    for k in reversed(range(len(tail))):
        label = _label(tail[k])
        if _statistics(label):
            found[k] = label
        elif any(tail[k]):
            break
    return dict(reversed(found.items()))


def summary_note(label: str) -> str:
    """Note a last row that is named as a summary and read as a sample."""
    return (
        f"A row at the end is called {label!r} and is read as a sample; if it "
        "summarises other rows, delete it in the file."
    )


def _label(cells: Sequence[str]) -> str:
    """Return the first word of a row."""
    return next(filter(is_word, cells), "")


def _statistics(label: str) -> tuple[_Statistic, ...]:
    """Return the statistics that a word names."""
    return _BY_WORD.get(_word(label), ())


def _word(label: str) -> str:
    """Return a label without marks around it and capitals."""
    return label.strip(" :*").casefold()


def _texts(rows: pd.DataFrame) -> list[list[str]]:
    """Return cells as text, blank where they are missing."""
    cells = rows.to_numpy(object, na_value="")
    return [[str(cell).strip() for cell in row] for row in cells]


def _is_summary(frame: pd.DataFrame, numbers: pd.DataFrame, row: int) -> bool:
    """Check whether the last row of numbers is the summary that its word names."""
    cells = _texts(frame.iloc[[row]])[0]
    label = _label(cells)
    compared = [
        _is_one_of(
            cells[j],
            numbers[name].to_numpy(),
            frame.iloc[:_SAMPLE, j].dropna().astype(str),
            _statistics(label),
        )
        for j, name in enumerate(numbers)
        if j > cells.index(label) and is_number(cells[j])
    ]
    return 0 < len(compared) <= 2 * sum(compared)


def _is_one_of(
    cell: str,
    numbers: FloatArray,
    written: Iterable[str],
    statistics: Sequence[_Statistic],
) -> bool:
    """Compare the last of the numbers with statistics of those above, as rounded."""
    above = numbers[:-1][np.isfinite(numbers[:-1])]
    if len(above) < _FEWEST_ROWS:
        return False
    step = min(map(_step, written), default=0.0)
    error = step * len(above) ** 0.5 if step < 1 else 0.0  # whole numbers are exact
    with np.errstate(all="ignore"):
        values = np.array([statistic(above) for statistic in statistics])
        allowed = error + 0.51 * _step(cell) + _RELATIVE * abs(values)
        return bool((abs(numbers[-1] - values) <= allowed).any())


def _step(cell: str) -> float:
    """Return the value of the last printed digit of a number."""
    found = _DIGITS.fullmatch(cell.strip())
    if not found:
        return 0.0
    return float(10.0 ** (int(found["power"] or 0) - len(found["decimals"] or "")))
