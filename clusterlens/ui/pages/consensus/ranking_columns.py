"""Columns of the ranking: their values for each model, and their format.

A column is one function marked by `@column`; columns appear in the order of this file.
Its parameters are results by name: the values of results in `GIVEN`, and for any other
node or field of the analysis the `Result`, which may not be ready.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.formatting import count, percent, whole
from clusterlens.compute.ranking.ranking import Ranking
from clusterlens.ui.components.settings import plain_settings
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.consensus.ranked_rows import Kind
from clusterlens.ui.results.answers import Answers
from clusterlens.ui.results.links import links_broken
from clusterlens.ui.widgets.words import (
    brief,
    drop_shared_settings,
    fixed,
    span,
    split_at_difference,
)

# Results that are ready whenever the ranking is drawn.
GIVEN = {"ranking", "rows", "ensemble", "copies", "answers"}
_NUMBER_OF_CLUSTERS = re.compile(r" k=\d+(?= |$)")
# One entry for each row; a kind with several values has a list for each, by name.
Values = list[Any] | dict[str, list[Any]]


@dataclass(frozen=True)
class Column:
    """Column of the ranking.

    Parameters
    ----------
    key : str
        Name of its function, and a class of its cells.
    values : callable
        The function.
    head : str or callable
        Its title, or a function that makes the title from results by name. The title of
        an interval includes both ends.
    kind : str
        Format of its cells.
    width, narrow : str
        Its width in the grid, and on narrow pages; "" hides it there.
    term : str
        The experts' term.
    bars : {"distances", "fits"} or None
        The bars beside which it is shown; None for both.
    robustness : bool
        Whether it shows the ranks of a robustness check.
    """

    key: str
    values: Callable[..., Values]
    head: str | Callable[..., Any]
    kind: Kind
    width: str
    narrow: str
    term: str
    bars: Literal["distances", "fits"] | None
    robustness: bool

    def described(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """Return its format."""
        head = _called(self.head, known) if callable(self.head) else self.head
        plain = ("key", "kind", "term", "width", "narrow")
        return {"head": head, **{name: getattr(self, name) for name in plain}}

    def written(self, known: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Return its values of all rows by name."""
        values = _called(self.values, known)
        return values if isinstance(values, dict) else {"text": values}


def _inputs(function: Any) -> tuple[str, ...]:
    """Return the names of the results that a column or a head needs."""
    return tuple(inspect.signature(function).parameters) if callable(function) else ()


def _called(function: Callable[..., Any], known: Mapping[str, Any]) -> Any:
    """Call with the results that its parameters name."""
    return function(**{name: known[name] for name in _inputs(function)})


def column(
    head: str | Callable[..., Any],
    *,
    kind: Kind = "number",
    width: str = "30px",
    narrow: str | None = None,
    term: str = "",
    bars: Literal["distances", "fits"] | None = None,
    robustness: bool = False,
) -> Callable[[Callable[..., Values]], Column]:
    """Mark a function as a column with the fields of `Column`.

    The width on narrow pages is the same by default.
    """
    narrow = width if narrow is None else narrow
    return lambda values: Column(
        values.__name__, values, head, kind, width, narrow, term, bars, robustness
    )


def _px(width: int) -> str:
    """Return a width that follows the text size."""
    return f"calc({width}px * var(--cl-scale, 1))"


def word(ranking: Ranking) -> str:
    """Return "distance", or "likeness" if a higher score is better."""
    return "likeness" if ranking.greater_is_better else "distance"


def _without(ranking: Ranking) -> tuple[str, str, str]:
    """Return a title with the first and the last rank below it."""
    return "without a family", "1", whole(ranking.ensemble.n_partitions)


@column("#", width="24px", narrow="20px")
def rank(ranking: Ranking, rows: np.ndarray) -> Values:
    """Return the ranks among all models."""
    return ranking.ranks[rows].tolist()


@column("model", kind="name", width="minmax(0, 1fr)")
def model(
    ensemble: Ensemble, rows: np.ndarray, copies: np.ndarray, rank_gains: Result
) -> Values:
    """Return names, numbers of equal models, missing votes, and ranks won by links."""
    names = split_at_difference(
        drop_shared_settings([short(ensemble.names[t]) for t in rows])
    )
    won = rank_gains.value
    return {
        "lead": [lead for lead, _ in names],
        "tail": [tail for _, tail in names],
        "times": [
            " ".join([f"×{n}"] * (n > 1) + ["○"] * (not votes))
            for n, votes in zip(
                _times(rows, copies), _vote(ensemble, rows, copies), strict=True
            )
        ],
        "since": [None] * len(rows) if won is None else _brief(won[rows].astype(float)),
    }


@column("k", width="18px")
def k(ensemble: Ensemble, rows: np.ndarray) -> Values:
    """Return the numbers of clusters."""
    return ensemble.n_clusters[rows].tolist()


@column(word, kind="bar", width=_px(46), term="score", bars="distances")
def distance(ranking: Ranking, rows: np.ndarray, constraints: Result) -> Values:
    """Return the scores, and the charges for broken links."""
    alone = ranking.unconstrained[rows]
    score, charge = _bars(alone, ranking.values[rows], ranking.greater_is_better)
    broken = _or_nothing(_broken(ranking, rows, constraints)[0])
    none = [None] * len(rows)
    return {"score": score, "charge": charge, "broken": broken, "tick": none}


@column("fits your answers", kind="bar", width=_px(28), bars="fits")
def fit(answers: Answers, rows: np.ndarray) -> Values:
    """Return the probabilities with the answers and before them."""
    return {
        "score": _brief(answers.fits[rows]),
        "charge": [0.0] * len(rows),
        "broken": [""] * len(rows),
        "tick": _brief(answers.before[rows]),
    }


@column(
    _without,
    kind="interval",
    width=_px(46),
    narrow=_px(44),
    term="ranks without any one family of models: leave-one-family-out",
    bars="distances",
    robustness=True,
)
def without_family(ranking: Ranking, rows: np.ndarray, robustness: Result) -> Values:
    """Return the ranks without any one family, on a logarithmic axis."""
    low: list[float | None] = [None] * len(rows)
    high, ranges = low, [_unknown(robustness)] * len(rows)
    n = ranking.ensemble.n_partitions
    if robustness.ready:
        ends = robustness.value.lowest[rows], robustness.value.highest[rows]
        low, high = (_on_axis(end, n) for end in ends)
        ranges = [span(*pair) for pair in zip(*ends, strict=True)]
    now = _on_axis(ranking.ranks[rows], n)
    return {"text": ranges, "low": low, "high": high, "now": now}


@column("", kind="text", width=_px(36), bars="fits")
def share(answers: Answers, rows: np.ndarray) -> Values:
    """Return the probabilities with the answers, in words."""
    return [percent(p) if p > 0.01 else "<1%" for p in answers.fits[rows]]


@column(
    "if most agree",
    width=_px(30),
    term="rank if more than half of the models must agree: majority threshold",
    bars="distances",
    robustness=True,
)
def majority(rows: np.ndarray, robustness: Result) -> Values:
    """Return the ranks at a majority threshold."""
    if not robustness.ready:
        return [_unknown(robustness)] * len(rows)
    return robustness.value.ranks_majority[rows].astype(str).tolist()


@column("not kept", width=_px(26), bars="fits")
def not_kept(ranking: Ranking, rows: np.ndarray, constraints: Result) -> Values:
    """Return how many answers each model contradicts."""
    return _or_nothing(_broken(ranking, rows, constraints)[0])


COLUMNS = tuple(one for one in list(vars().values()) if isinstance(one, Column))


def titles(
    ranking: Ranking, rows: np.ndarray, copies: np.ndarray, constraints: Result
) -> list[str]:
    """Write everything known about the ranks of models, for the hover text."""
    ensemble, texts = ranking.ensemble, []
    intervals, ranges = ranking.intervals, ranking.rank_ranges
    broken, counted = _broken(ranking, rows, constraints)
    votes = _vote(ensemble, rows, copies)
    times = _times(rows, copies)
    counts = zip(rows.tolist(), times, votes, broken, counted, strict=True)
    for t, n, has_vote, n_broken, n_links in counts:
        score = f"score {fixed(ranking.values[t], 4)}"
        known = ensemble.names[t], plain_settings(ensemble.specs[t])
        parts = [*filter(None, known), ensemble.families[t], score]
        if n > 1:
            parts.append(f"one of {n} equal models, all of rank {ranking.ranks[t]}")
        if not has_vote:
            parts.append("no vote")
        if n_links:
            parts.append(f"breaks {n_broken} of {count(n_links, 'link')}")
        text = " · ".join(parts)
        if not ranking.exact:
            low, high = (fixed(end, 4) for end in intervals[t])
            text += f" (estimate, {low} to {high}; rank {span(*ranges[t])})"
        texts.append(text)
    return texts


_FUNCTIONS = (titles, *(of for one in COLUMNS for of in (one.values, one.head)))
# The other results, in alphabetical order.
RESULTS = tuple(sorted({name for of in _FUNCTIONS for name in _inputs(of)} - GIVEN))


def written(
    bars: str, known: Mapping[str, Any], *, short: bool = False
) -> dict[str, Any]:
    """Return the columns beside bars of a kind, for `RankedRows`.

    Parameters
    ----------
    bars : {"distances", "fits"}
        Kind of the bars.
    known : dict of str to any
        Results by name, as inputs of columns.
    short : bool, default False
        Whether to leave out ranks of robustness checks.
    """
    columns = [
        one
        for one in COLUMNS
        if one.bars in (None, bars) and not (short and one.robustness)
    ]
    return {
        "columns": [one.described(known) for one in columns],
        "titles": _called(titles, known),
        "values": {one.key: one.written(known) for one in columns},
    }


def short(name: str) -> str:
    """Shorten a name for a list; the hover text has all of it."""
    return brief(_NUMBER_OF_CLUSTERS.sub("", name))


def _times(rows: np.ndarray, copies: np.ndarray) -> list[int]:
    """Count the models that each row stands for."""
    return np.bincount(copies)[copies[rows]].tolist()


def _vote(ensemble: Ensemble, rows: np.ndarray, copies: np.ndarray) -> list[bool]:
    """Return whether any model of each row has a vote."""
    return (np.bincount(copies, ensemble.votes)[copies[rows]] > 0).tolist()


def _broken(
    ranking: Ranking, rows: np.ndarray, constraints: Result
) -> tuple[list[int], list[int]]:
    """Count the links that each row breaks, and the links counted for it."""
    if constraints.value is None:
        return [0] * len(rows), [0] * len(rows)
    broken, counted = (of[rows] for of in links_broken(ranking, constraints.value))
    return broken.tolist(), counted.tolist()


def _or_nothing(numbers: list[int]) -> list[str]:
    """Format numbers, with 0 as an empty text."""
    return [str(n or "") for n in numbers]


def _unknown(robustness: Result) -> str:
    """Return a placeholder for ranks that are missing or not ready."""
    return "–" if robustness.state in ("failed", "declined") else "…"


def _on_axis(ranks: np.ndarray, n_models: int) -> list[float | None]:
    """Place ranks between 0 and 1."""
    return _brief(np.log(np.asarray(ranks, float)) / max(np.log(n_models), 1e-9))


def _brief(numbers: np.ndarray) -> list[float | None]:
    """Round numbers; missing values become None, because JSON has no NaN."""
    return [round(x, 5) if math.isfinite(x) else None for x in numbers.tolist()]


def _bars(
    alone: np.ndarray, values: np.ndarray, greater_is_better: bool
) -> tuple[list[float | None], list[float | None]]:
    """Scale scores and the charges for broken links to lengths in [0, 1]."""
    charge = np.abs(values - alone)
    floor = min(0.0, float(np.nanmin(alone))) if greater_is_better else 0.0
    lengths = alone - floor
    top = float(np.nanmax(lengths + charge))
    if not top > 0:
        lengths, charge, top = np.zeros(len(alone)), np.zeros(len(alone)), 1.0
    return _brief(lengths / top), _brief(charge / top)
