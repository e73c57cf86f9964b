"""Inspector of a new row: its cluster, the reasons, its neighbours."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute.assigning.assigner import ALPHA
from clusterlens.compute.assigning.segmentation import Segmentation
from clusterlens.compute.formatting import percent
from clusterlens.ui.components.card import Card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.new_rows.nodes import NOISE, cluster_of, margin_words
from clusterlens.ui.pages.new_rows.row_nodes import NewRow, Standing
from clusterlens.ui.widgets.palette import cluster_colour
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import breakable, card, link, mark, safe
from clusterlens.ui.widgets.words import fixed, number

SHOWN_FOR, SHOWN_AGAINST, SHOWN_CHANGES = 4, 2, 4
CSS = """
table { table-layout: fixed; }
td, th { overflow-wrap: anywhere; padding: 3px 2px; }
td.number { white-space: nowrap; }
td.level { overflow-wrap: anywhere; white-space: normal; }
@media (max-width: 1150px) { table { font-size: .857em; } }
.why th:nth-child(1), .why th:nth-child(2) { width: 25%; }
.why th:nth-child(5) { width: 11%; }
.takes th:nth-child(1) { width: 25%; } .takes th:nth-child(4) { width: 31%; }
.takes td:nth-child(3) { padding-left: 8px; }
.takes td:nth-child(4), .takes th:nth-child(4) { padding-left: 8px; }
.near th:nth-child(1) { width: 42%; }
"""


class NewRowCard(Card):
    """The clicked row, by default the first of the list."""

    needs = ("new_row", "segmentation", "listed_rows")
    also = ("new_changes",)
    empty = "<p class='muted'>Load a new table to inspect its rows.</p>"
    tells_failure = False

    def build(self) -> Any:
        self._text = Text(
            does=self._do,
            css_classes=["cl-new-row-text"],
            stylesheets=[CSS],
            scrolls=True,
            styles={"flex": "1 1 0", "min-height": "0"},
        )
        self._order = np.empty(0, np.intp)
        self._at = 0
        return card("Row", self._text, note=self.status, css="cl-new-row")

    def show(
        self,
        new_row: NewRow,
        segmentation: Segmentation,
        listed_rows: np.ndarray,
        new_changes: Result,
    ) -> None:
        """Write the facts about the row."""
        self._order, self._at = listed_rows, new_row.position
        steps = (
            f"{link('↑', 'previous', kind='pill', name='the row before in the list')}"
            f"{link('↓', 'next', kind='pill', name='the next row in the list')}"
        )
        head = (
            f"<p class='between'><b>Row {safe(new_row.row_id)}</b>"
            f"<span>{steps}</span></p>"
        )
        text = "<p>It is not placed: it has gaps that are not filled.</p>"
        if (standing := new_row.standing) is not None:
            above = (_cluster, _belongs, _why)
            text = "".join(part(standing, segmentation) for part in above)
            text += _takes(new_changes, segmentation) + _near(standing, segmentation)
        self._text.body = head + text

    def _do(self, what: str) -> None:
        """Select the previous or the next row of the list."""
        at = np.flatnonzero(self._order == self._at)
        step = {"next": 1, "previous": -1}.get(what, 0)
        if not len(self._order):
            return
        place = min(max(int(at[0]) + step, 0), len(self._order) - 1) if len(at) else 0
        self.session.view_state.new_row = int(self._order[place])


def _named(label: int, segmentation: Segmentation) -> str:
    return mark(cluster_colour(cluster_of(label)), safe(segmentation.names[label]))


def _cluster(row: Standing, segmentation: Segmentation) -> str:
    """Write its cluster, the next one and the margin."""
    beside = ""
    if row.other is not None:
        beside = f"<p>next: {_named(row.other, segmentation)}</p>"
    often = f"{min(50 * (1 + row.margin), 99.9):.1f}% of the time"
    means = (
        "meaningless for a row that belongs nowhere"
        if row.far
        else "such rows get the right cluster "
        f"{often if row.margin > 0 else 'half of the time or less often'}"
    )
    return (
        f"<p style='font-size:16px'><b>{_named(row.label, segmentation)}</b></p>"
        f"{beside}<p class='muted'>margin {margin_words(row.margin)}: {means}</p>"
    )


def _belongs(row: Standing, segmentation: Segmentation) -> str:
    """Write how unusual it is in its cluster, and the bound."""
    near = row.company
    if row.label == NOISE:
        why = "The old rows nearest to it are mostly noise, too."
        if segmentation.assigner.rule == "density":
            why = "It lies among old rows of noise, or beyond where all clusters end."
        return f"<p><b>Noise: no cluster reaches it.</b> {why}</p>"
    if math.isnan(near.bound):
        return "<p>Its cluster has too few rows to decide which row is too far.</p>"
    what = (
        "from the five nearest rows of its cluster"
        if len(segmentation.assigner.rows)
        else "scales of its cluster from the centre"
    )
    verdict = "Belongs nowhere" if row.far else "Belongs"
    return (
        f"<p><b>{verdict}:</b> {fixed(near.oddness)} {what}; beyond "
        f"{fixed(near.bound)} are at most {percent(ALPHA)} of rows like the old "
        "ones.</p>"
    )


def _why(row: Standing, segmentation: Segmentation) -> str:
    """List the columns that speak for its cluster over the next, and against it."""
    if row.pulls is None or row.other is None:
        return ""
    pulls = row.pulls
    speaks_for = pulls[pulls["pull"] > 0].head(SHOWN_FOR)
    against = pulls[pulls["pull"] < 0].tail(SHOWN_AGAINST).iloc[::-1]
    largest = float(pulls["pull"].abs().max() or 1.0)
    own, other = cluster_of(row.label), cluster_of(row.other)
    rows = "".join(
        _pull(one, cluster_colour(k), largest)
        for table, k in ((speaks_for, own), (against, other))
        for one in table.itertuples()
    )
    names = [safe(segmentation.names[k]) for k in (row.label, row.other)]
    return (
        "<h3>Why <small>and the means of both clusters</small></h3>"
        "<table class='why'><tr><th>column</th><th class='number'>here</th>"
        f"<th class='number' title='{names[0]}'>own</th><th class='number' "
        f"title='{names[1]}'>next</th><th title='How much more likely the value is in "
        "the one than in the other, each column by itself; in the colour of the "
        f"cluster it speaks for'>for</th></tr>{rows}</table>"
    )


def _pull(one: Any, colour: str, largest: float) -> str:
    if one.level:
        own, other = percent(one.own), percent(one.other)
    else:
        own, other = _value(one.own), _value(one.other)
    level = " level" if one.level else ""
    width = 100 * abs(one.pull) / largest
    ratio = math.exp(min(abs(one.pull), 50.0))
    words = f"{one.column} = {_value(one.value)}: {number(ratio)} times likelier"
    return (
        f"<tr title='{safe(words)}'><td>{breakable(one.column)}</td>"
        f"<td class='number{level}'><b>{safe(_value(one.value))}</b></td>"
        f"<td class='number' title='{safe(own)}'>{safe(own)}</td>"
        f"<td class='number' title='{safe(other)}'>{safe(other)}</td>"
        f"<td><div class='track' style='min-width:20px'><div style='width:{width:.0f}%;"
        f"background:{colour}'></div></div></td></tr>"
    )


def _takes(changes: Result, segmentation: Segmentation) -> str:
    """List the smallest changes of single columns that change the cluster."""
    if not changes.ready or changes.value is None:
        return ""
    found = changes.value.dropna(subset="cluster").head(SHOWN_CHANGES)
    head = "<h3>What it would take <small>to be elsewhere"
    if not len(found):
        return (
            f"{head}</small></h3><p class='cl-new-changes'>No single column does it "
            "within the values of the old table.</p>"
        )
    rows = "".join(_change(one, segmentation) for one in found.itertuples())
    return (
        f"{head}, one of these alone</small></h3><table class='takes cl-new-changes'>"
        "<tr><th>column</th><th class='number'>is</th><th class='number'>to"
        f"</th><th>then</th></tr>{rows}</table>"
    )


def _change(one: Any, segmentation: Segmentation) -> str:
    is_, other = _apart(one.value, one[3])
    cross, words = "", f"{one.column}: {is_} to {other}"
    if one.nowhere is True:
        cross, words = "<b>✕</b> ", f"{words}; it would belong nowhere then"
    kind = "number" if isinstance(one.value, Real) else "number level"
    return (
        f"<tr title='{safe(words)}'><td>{breakable(one.column)}</td>"
        f"<td class='{kind}'>{safe(is_)}</td><td class='{kind}'><b>{safe(other)}</b>"
        f"</td><td>{cross}{_named(int(one.cluster), segmentation)}</td></tr>"
    )


def _apart(value: Any, other: Any) -> tuple[str, str]:
    """Format two values with enough digits to distinguish them."""
    texts = _value(value), _value(other)
    if texts[0] == texts[1] and value != other and isinstance(value, Real):
        for digits in range(4, 18):
            texts = f"{value:.{digits}g}", f"{other:.{digits}g}"
            if texts[0] != texts[1]:
                break
    return texts


def _value(value: Any) -> str:
    return f"{value:%Y-%m-%d}" if isinstance(value, pd.Timestamp) else number(value)


def _near(row: Standing, segmentation: Segmentation) -> str:
    """List the nearest prototypes, or the centres."""
    near = row.company
    of_rows = len(near.rows) > 0
    ids = row.near_ids if of_rows else ("centre",) * len(near.clusters)
    rows = "".join(
        f"<tr><td>{_named(int(label), segmentation)}</td><td>{safe(one)}</td>"
        f"<td class='number'>{fixed(float(distance))}</td></tr>"
        for label, one, distance in zip(near.clusters, ids, near.distances, strict=True)
    )
    assigner = segmentation.assigner
    how = "the nearest centre decides"
    if assigner.rule != "centres":
        n = assigner.n_neighbors
        how = "the nearest decides" if n == 1 else f"the nearest {n} decide"
        if assigner.rule == "density":
            how = f"the density of the nearest {n} decides"
    title = "Nearest prototypes" if of_rows else "Centres"
    return (
        f"<h3>{title} <small>{how}</small></h3><table class='near'><tr><th>cluster</th>"
        f"<th>row</th><th class='number'>distance</th></tr>{rows}</table>"
    )
