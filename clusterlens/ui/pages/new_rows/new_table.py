"""Card of the new table: drop zone, shares of the clusters then and now, notes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from clusterlens.compute.assigning.assigner import ALPHA
from clusterlens.compute.formatting import count, first_of, percent, whole
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.reading import DECIMAL_NAMES, ENCODING_NAMES
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.file_part import offer_parts, part_select
from clusterlens.ui.figures.canvas import CANVAS_CSS, Canvas
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.new_rows.nodes import Placed, Share, ThenAndNow, cluster_of
from clusterlens.ui.server.uploads import NEW_TABLE, FileTaker
from clusterlens.ui.widgets.palette import NOISE_COLOUR, cluster_colour
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, link, pn, reading, safe, select

CSS = """
.share { display: grid; grid-template-columns: minmax(0, 1fr) 110px; gap: 0 8px;
  align-items: center; }
.share > p { grid-column: 1 / 3; margin: 1px 0 0; overflow-wrap: anywhere; }
.share .number { text-align: right; font-variant-numeric: tabular-nums; }
.share .number p { margin: 0; line-height: 14px; white-space: nowrap; }
.canvas { height: 28px; min-height: 28px; }
.axis .canvas { height: 20px; min-height: 20px; overflow: visible; }
.zone, .failed { margin-top: 6px; }
.zone { border: 1px dashed #0b8a8a; border-radius: 6px; padding: 14px;
  text-align: center; background: color-mix(in srgb, #0b8a8a 6%, transparent); }
"""
# Kinds of actions that load a new table, or continue with it.
_TAKING = ("load file", "take new table", "refit")


class NewTable(Card):
    """Bars of the shares; a drop zone before there is a table."""

    needs = ("kept_partition", "new_table?", "view.read_otherwise")
    also = ("placed", "assigned", "segmentation", "new_part", "new_parts")

    def build(self) -> Any:
        self._browse = FileTaker(
            self.session.receive,
            rows_of=NEW_TABLE,
            css_classes=["cl-new-table"],
            width=110,
        )
        self._part = self.control(
            part_select("cl-new-part"),
            lambda: "".join(self.session.analysis.new_part[1:]),
            self._read_part,
        )
        self._text = Text(
            does=self._do,
            css_classes=["cl-assigned"],
            stylesheets=[CANVAS_CSS, CSS],
            scrolls=True,
            styles={"flex": "1 1 0", "min-height": "0"},
        )
        self._writing = {
            name: self.control(
                select(
                    label,
                    {"found out": "", **{title: one for one, title in names.items()}},
                    css=f"cl-new-{name}",
                    width=130,
                    margin=(8, 0, 0, 0),
                    visible=False,
                ),
                partial(self._chosen, name),
                partial(self._write, name),
            )
            for name, label, names in (
                ("decimal", "Decimal mark", DECIMAL_NAMES),
                ("encoding", "Encoding", ENCODING_NAMES),
            )
        }
        self._about = Text(does=self._open, styles={"flex": "none"})
        self._reading = Text(does=self._cancel, styles={"flex": "none"})
        self.session.jobs.param.watch(self._tell, ["shown"])
        return card(
            "New table",
            self._about,
            pn.Row(
                *self._writing.values(),
                margin=0,
                styles={"flex": "none", "flex-wrap": "wrap", "gap": "10px 8px"},
            ),
            self._reading,
            self._text,
            note=self.status,
            buttons=[pn.Spacer(), self._part, self._browse],
            css="cl-new-table-card",
        )

    def show(
        self,
        kept_partition: Any,
        new_table: Dataset | None,
        read_otherwise: bool,
        placed: Result,
        assigned: Result,
        segmentation: Result,
        new_part: Result,
        new_parts: Result,
    ) -> None:
        """Draw the shares, or the reason why there are none."""
        part, parts = new_part.value or (), new_parts.value or ()
        failed = any(one.state == "failed" for one in (segmentation, assigned, placed))
        is_text = part[:1] == ("separator",)
        is_chosen = any(map(self._chosen, self._writing))
        # A text with recognised columns was most likely read correctly.
        offered = failed or read_otherwise or is_chosen
        offer_parts(self, self._part, part, parts, offered=offered or not is_text)
        for control in self._writing.values():
            self.offer(control, visible=offered and is_text)
        self._about.body = _about(new_table, is_text and not offered)
        if new_table is None:
            self._text.body = _invitation(segmentation)
        elif placed.ready:
            self._text.body = _shares(placed.value)
        else:
            self._text.body = _not_placed(
                (segmentation, assigned, placed),
                self._part.label if self._part.visible else "",
            )

    async def _read_part(self, part: str) -> None:
        """Read another part of the same file, or with another separator."""
        await self.session.act("take new table", **{**self._file(), "part": part})

    async def _write(self, name: str, value: str) -> None:
        """Read the same file with the given format."""
        await self.session.act(
            "take new table", **{**self._file(), name: value or None}
        )

    def _file(self) -> Mapping[str, Any]:
        """Return the options of the file of the new table; empty if there is none."""
        done = self.session.history.done
        taken = (s.values for s in reversed(done) if s.kind == "take new table")
        return next(taken, {})

    def _chosen(self, name: str) -> str:
        return str(self._file().get(name) or "")

    def _open(self, what: str) -> None:
        """Show the controls of the file's format."""
        self.session.view_state.read_otherwise = True

    def _do(self, what: str) -> None:
        if what == "retry":
            for name in ("segmentation", "new_cells", "assigned", "placed"):
                self.session.derived.ask(name)

    def _cancel(self, what: str) -> None:
        self.session.jobs.cancel()

    def _tell(self, event: Any) -> None:
        """Show the progress of the new table."""
        shown = event.new
        takes = shown is not None and shown.kind in _TAKING
        self._reading.body = reading(shown) if takes else ""


def _about(table: Dataset | None, may_be_else: bool) -> str:
    if table is None:
        return ""
    rows, columns = table.table.shape
    more = f" · {link('read otherwise', 'open')}" if may_be_else else ""
    return (
        "<p class='muted' title='Read and scaled as the old ones; kept with the "
        f"analysis.'>{safe(table.name)} · {count(rows, 'row')} · "
        f"{count(columns, 'column')}{more}</p>"
    )


def _invitation(segmentation: Result) -> str:
    columns = ""
    if segmentation.ready:
        names = safe(first_of(segmentation.value.columns, 12))
        columns = f"<p class='muted'>It needs the columns {names}.</p>"
    return (
        "<div class='zone'><p><b>Drop a table here</b>, anywhere on the page, or "
        f"browse.</p>{columns}<p class='muted'>Columns by name in any order, rows as "
        "raw as those of the first table; more columns do no harm.</p></div>"
    )


def _not_placed(results: tuple[Result, ...], choice: str) -> str:
    """Write that rows are being assigned, or the reason why they are not."""
    failed = [result for result in results if result.state == "failed"]
    if failed:
        another = f"choose another of <b>{safe(choice)}</b> above, " if choice else ""
        return (
            "<div class='failed' role='alert'><p><b>This table cannot be placed.</b> "
            f"{safe(failed[0].failure)}</p><p>Browse for another table, "
            f"{another}or undo to go back to the one before.</p></div>"
        )
    if any(result.state == "declined" for result in results):
        return f"<p class='muted'>Cancelled. {link('Go on', 'retry')}</p>"
    return "<div class='skeleton'></div>"


def _shares(found: Placed) -> str:
    """Write both shares of each cluster, the rows that belong nowhere, and notes."""
    shares = [s for one in found.clusters for s in (one.then, one.now)]
    top = max(share.high for share in (*shares, found.nowhere))
    step = _step(top)
    top = min(step * math.ceil(top / step + 0.1), 1.0)
    bars = "".join(_bars(one, top) for one in found.clusters)
    notes = "".join(f"<li>{safe(note)}</li>" for note in found.notes)
    steps = f"<h3>What was done to the rows</h3><ul>{notes}</ul>" if notes else ""
    return (
        "<p><b>Shares then and now</b> <span class='muted'>pale: held-out rows of the "
        "first table as they are assigned; full: the new rows; lines: 95% intervals"
        f"</span></p>{bars}{_nowhere(found.nowhere, top)}{_axis(top)}"
        f"{steps}"
    )


def _bars(one: ThenAndNow, top: float) -> str:
    colour = cluster_colour(cluster_of(one.label))
    return _row(
        safe(one.name),
        f"{one.name}: {percent(one.then.value)} then, {percent(one.now.value)} now",
        ((one.then, colour, 0.4), (one.now, colour, 1.0)),
        top,
    )


def _nowhere(now: Share, top: float) -> str:
    name = (
        "<b>Nowhere</b> <span class='muted' title='of rows like the old ones, by "
        f"construction'>at most {percent(ALPHA)} expected</span>"
    )
    words = f"nowhere: {percent(now.value)} of the new rows"
    return _row(name, words, ((now, NOISE_COLOUR, 1.0),), top, expected=ALPHA)


def _row(
    name: str,
    words: str,
    bars: tuple[tuple[Share, str, float], ...],
    top: float,
    expected: float | None = None,
) -> str:
    """Write one name with its bars and numbers."""
    canvas = Canvas((0, top), (0, len(bars)), words, padding=(0, 1, 8, 1))
    numbers = []
    for k, (share, colour, opacity) in enumerate(bars):
        low, high = len(bars) - 1 - k + 0.08, len(bars) - k - 0.08
        canvas.box((0, share.value), (low, high), colour, opacity=opacity)
        middle = (low + high) / 2
        canvas.line([(share.low, middle), (share.high, middle)])
        for end in (share.low, share.high):
            canvas.line([(end, middle - 0.2), (end, middle + 0.2)])
        bold = "b" if k == len(bars) - 1 else "span"
        numbers.append(
            f"<p><span class='muted'>{whole(share.rows)}</span> <{bold}>"
            f"{percent(share.value)}</{bold}></p>"
        )
    if expected is not None:
        canvas.line([(expected, 0), (expected, len(bars))], dash="3 3")
    return (
        f"<div class='share'><p>{name}</p>{canvas.markup()}"
        f"<div class='number'>{''.join(numbers)}</div></div>"
    )


def _axis(top: float) -> str:
    canvas = Canvas((0, top), (0, 1), "share in percent", padding=(0, 0, 8, 0))
    for k in range(round(top / _step(top)) + 1):
        x = k * _step(top)
        place = "middle" if k else "start"
        canvas.text(x, 0.5, percent(x), place=place, muted=True)
    return f"<div class='share axis'>{canvas.markup()}<div></div></div>"


def _step(top: float) -> float:
    """Return the distance of the ticks of an axis."""
    return 0.2 if top > 0.5 else 0.1
