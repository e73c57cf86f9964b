"""Card of the drift: changes of the columns, and rows that belong nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clusterlens.compute._validation import UNLABELLED
from clusterlens.compute.assigning.migrating import Migration
from clusterlens.compute.assigning.segmentation import Segmentation
from clusterlens.compute.formatting import count, percent, whole
from clusterlens.ui.components.card import Card
from clusterlens.ui.pages.new_rows.drift_nodes import FEWEST_ROWS, Drifted
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import badge, breakable, card, safe
from clusterlens.ui.widgets.words import fixed

SHOWN_COLUMNS = 60
SHOWN_MOVES = 3
# Smallest end of the scale of the bars.
_LEAST_TOP = 0.25
CSS = """
table { table-layout: fixed; }
th:nth-child(1) { width: 30%; } th:nth-child(4) { width: 14%; }
th:nth-child(5) { width: 56px; }
td, th { padding: 3px 2px; }
td:nth-child(4), th:nth-child(4) { padding-left: 8px; }
.badge { padding: 1px 6px; margin: 0; }
td { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
/* What is told of a column stands behind its name, whole; a level may be a sentence. */
td:first-child { white-space: normal; overflow-wrap: anywhere; }
td:first-child > * { display: -webkit-box; -webkit-box-orient: vertical;
  -webkit-line-clamp: 4; overflow: hidden; }
.track i { position: absolute; top: 0; bottom: 0; width: 0;
  border-left: 2px solid currentColor; }
"""


class DriftCard(Card):
    """A row per column, the most changed first."""

    needs = ("segmentation", "drifted")
    empty = "<p class='muted'>Load a new table to see which columns moved.</p>"
    tells_failure = False

    def build(self) -> Any:
        self._text = Text(
            css_classes=["cl-drift-columns"],
            stylesheets=[CSS],
            scrolls=True,
            styles={"flex": "1 1 0", "min-height": "0"},
        )
        return card("What moved", self._text, note=self.status, css="cl-drift")

    def show(self, segmentation: Segmentation, drifted: Drifted) -> None:
        """Write the rows nowhere, the rows that return, and the columns."""
        back = drifted.returned
        returning = _returned(back, segmentation.names) if back is not None else ""
        self._text.body = _nowhere(drifted) + returning + _columns(drifted)


def _nowhere(found: Drifted) -> str:
    """Compare the rows that belong nowhere with the expected number."""
    drift = found.drift
    if drift.nowhere != drift.nowhere:
        text = "No cluster has enough rows to decide which rows belong nowhere."
    else:
        text = (
            f"<b>{percent(drift.nowhere)}</b> belong nowhere, "
            f"{percent(drift.nowhere_expected)} expected "
            f"(p\u00a0{_p(drift.nowhere_p)})."
        )
    few = ""
    if found.n_rows < FEWEST_ROWS:
        few = f" {count(found.n_rows, 'row')}: too few to show that all is as it was."
    moved = len(drift.moved)
    column_words = f"{count(moved, 'column')} moved" if moved else "No column moved"
    return (
        f"<p>{text} {column_words}, of {len(drift.columns)}; shares of the clusters, "
        "rows that belong nowhere counted with the nearest, taken together: "
        f"p\u00a0{_p(drift.shares_p)}.{few}</p>"
    )


def _returned(found: Migration, names: Mapping[int, str]) -> str:
    """Write how many rows return, how many stayed, and where most others went."""
    n = found.n_returned
    moves: Any = found.counts.stack()
    moves = moves[[then != now for then, now in moves.index]]
    most = moves[moves > 0].nlargest(SHOWN_MOVES)
    names = {**names, UNLABELLED: "nowhere"}
    went = "; ".join(
        f"{whole(rows)} from {safe(names[then])} to {safe(names[now])}"
        for (then, now), rows in most.items()
    )
    others = whole(n - found.n_stayed - int(most.sum()))
    more = f"; {others} in other ways" if others != "0" else ""
    return (
        f"<p class='cl-returned'><b>{count(n, 'row returns', 'rows return')}</b> by "
        f"{'its' if n == 1 else 'their'} id, {percent(found.n_stayed / n)} to the "
        f"cluster they were in{f'; {went}{more}' if went else ''}. "
        f"{whole(found.n_gone)} are gone, {whole(found.n_new)} new.</p>"
    )


def _columns(found: Drifted) -> str:
    columns = found.drift.columns
    top = max(float(columns["psi"].max()), _LEAST_TOP)
    shown: Iterable[Any] = columns.head(SHOWN_COLUMNS).itertuples()
    rows = "".join(_column(row, found.columns[row.column], top) for row in shown)
    more = len(columns) - SHOWN_COLUMNS
    note = f"<p class='muted'>{count(more, 'column')} more, less changed.</p>"
    return (
        "<table><tr><th>column</th><th class='number'>then</th><th class='number'>now"
        "</th><th title='Population stability index: how far the distribution moved. "
        "The line is what an unchanged column has in tables of this size.'>"
        "change (PSI)</th><th class='number' title='Chi-squared test, corrected for "
        f"the number of columns (Holm)'>p</th></tr>{rows}</table>"
        f"{note if more > 0 else ''}"
    )


def _column(row: Any, change: tuple[str, str, str], top: float) -> str:
    """Write one column as markup, with its bar and the expected value."""
    what, then, now = change
    name = row.column if what in ("mean", "") else f"{row.column} {what}"
    colour = "#c2570c" if row.moved else "#78909c"
    words = (
        f"{name}: PSI {fixed(row.psi)}, {fixed(row.expected)} expected of an unchanged "
        f"column"
    )
    bar = (
        f"<div class='track' title='{safe(words)}'><div style='width:"
        f"{100 * min(row.psi / top, 1):.1f}%;background:{colour}'></div>"
        f"<i style='left:{100 * min(row.expected / top, 1):.1f}%'></i></div>"
    )
    shown = (
        f"<b>{breakable(name)}</b>" if row.moved else f"<span>{breakable(name)}</span>"
    )
    p = badge("moved", kind="estimate") if row.moved else _p(row.p)
    return (
        f"<tr title='{safe(words)}'><td>{shown}</td>"
        f"<td class='number'>{safe(then)}</td><td class='number'>{safe(now)}</td>"
        f"<td>{bar}</td><td class='number'>{p}</td></tr>"
    )


def _p(p: float) -> str:
    """Format a p-value."""
    return "&lt;\u00a00.001" if p < 0.001 else fixed(p, 3 if p < 0.1 else 2)
