"""Rows of a ranking: one per distinct partition, the best on top.

Rows are made once and only changed cells are written, so that a new order of hundreds
of models appears at once. Rows out of view are not laid out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import param
from panel.custom import JSComponent

from clusterlens.ui.widgets.scripted import go_on, read_script
from clusterlens.ui.widgets.style import TEXT_CSS, scaled

ROW_CSS = scaled("""
.ranking { height: 100%; display: flex; flex-direction: column; font-size: 14px; }
.rows, .heads { overflow-y: auto; scrollbar-gutter: stable; scrollbar-width: thin; }
.heads { overflow: hidden; flex: none; }
.rows { flex: 1 1 0; min-height: 0; position: relative; }
.row { display: grid; align-items: center; height: 26px; gap: 0 3px; cursor: pointer;
  grid-template-columns: var(--wide); padding: 0 2px; content-visibility: auto;
  border-bottom: 1px solid color-mix(in srgb, currentColor 16%, transparent);
  font-variant-numeric: tabular-nums; }
@media (max-width: 1150px) {
  .row { grid-template-columns: var(--narrow); }
  .row > .wide { display: none; }
}
.row.head { cursor: default; font-size: 12px; line-height: 1.15; height: auto;
  align-items: end; padding-bottom: 3px; }
.row.head > * { opacity: .75; }
.axis { display: flex; justify-content: space-between; font-size: 12px;
  border-bottom: 1px solid currentColor; margin-right: 3px; }
.row > .number { text-align: right; }
.row > .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.ranked > .name { display: flex; gap: 0 4px; }
.name > .lead, .name > .tail { flex: 0 1 auto; min-width: 0; overflow: hidden;
  text-overflow: ellipsis; white-space: pre; }
/* What two names share gives way first, what tells them apart last. */
.name > .lead { flex-shrink: 100000; min-width: 1.6em; }
.name > .lead:has(+ .tail:empty) { flex-shrink: 1; }
.name > .lead:empty, .name > .tail:empty, .name > .times:empty { display: none; }
.name > .times { flex: none; opacity: .7; font-size: 12px; }
.row:not(.head):hover { background: color-mix(in srgb, #0b8a8a 9%, transparent); }
.row.front, .row.front:hover {
  background: color-mix(in srgb, #0b8a8a 18%, transparent) !important; }
.since { display: none; flex: none; font-size: 12px; font-weight: 700;
  width: calc(25px * var(--cl-scale, 1));
  color: #0b8a8a; }
.since.down { color: #b0620c; }
.moved .since { display: inline-block; }
.ranked > .bar { position: relative; display: flex; gap: 1px; height: 9px;
  background: color-mix(in srgb, currentColor 9%, transparent); }
.ranked > .bar { margin-left: 2px; }
.bar > i { background: #0b7d7d; }
.bar > i + i { background: #c2570c; }
.bar > b { position: absolute; right: 0; top: -3px; font-weight: 400;
  font-size: 12px; line-height: 15px; padding: 0 4px; border-radius: 8px;
  background: #fbe3d3; color: #8a3b05; }
.bar > b:empty { display: none; }
.bar > u { position: absolute; top: -2px; width: 2px; height: 13px;
  background: currentColor; }
.ranked > .interval, .ranked > .text { height: 17px; line-height: 17px;
  white-space: nowrap; }
.ranked > .interval { position: relative; }
.interval > i { position: absolute; top: 6px; height: 5px; border-radius: 3px;
  background: #0b7d7d88; }
.interval > i + i { width: 5px; background: currentColor; }
""")


# How the cells of a column are drawn. Numbers are aligned to the right. A name has a
# `lead`, which shrinks first, a `tail`, `times`, and the ranks won `since`. A bar has
# lengths from 0 to 1 (`score`, `charge`, and a `tick`) and a number of `broken` links.
# An interval has places from 0 to 1 (`low`, `high`, `now`) or else a `text`. None is
# not drawn.
Kind = Literal["number", "text", "name", "bar", "interval"]


class RankedRows(JSComponent):
    """List of models in the order of a score; a click reports the number of its row."""

    # One text, because each value of a list would be inspected twice in transit, and
    # because several parameters could arrive separately, with values in the wrong
    # columns.
    table = param.String(
        '{"columns": [], "titles": [], "values": {}}',
        doc="JSON: of each column its key, kind, head (with both ends of an interval), "
        "term, width and, on narrow pages, narrow (none leaves it out there); of each "
        "row its full text; of each key the values of all rows by name.",
    )
    selected = param.Integer(None, allow_None=True, doc="Number of the row marked.")

    _esm = read_script(__file__, "ranked_rows.js")

    def __init__(self, chosen: Callable[[int], Any], **params: Any) -> None:
        params.setdefault("margin", 0)
        super().__init__(stylesheets=[TEXT_CSS, ROW_CSS], **params)
        self._chosen = chosen

    def _handle_msg(self, data: Any) -> Any:
        return go_on(self._chosen(int(data)))
