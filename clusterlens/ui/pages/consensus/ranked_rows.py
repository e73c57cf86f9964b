"""The rows of a ranking: one per distinct partition, the first on top.

Rows are made once and only what differs is written, so that a new order of hundreds of
models is on screen at once; those out of sight are not laid out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import param
from panel.custom import JSComponent

from clusterlens.ui.kit.components import go_on
from clusterlens.ui.kit.style import TEXT_CSS, scaled

HEADS = {
    "rank": "#",
    "model": "model",
    "k": "k",
    "distance": "distance",
    "range": "without a family",
    "majority": "if most agree",
    "first": "1",
    "last": "",
}
# What experts call the columns.
TERMS = {
    "distance": "score",
    "range": "ranks without any one family of models: leave-one-family-out",
    "majority": "rank if more than half of the models must agree: majority threshold",
}
ROW_CSS = scaled("""
.ranking { height: 100%; display: flex; flex-direction: column; font-size: 13px; }
.rows, .heads { overflow-y: auto; scrollbar-gutter: stable; scrollbar-width: thin; }
.heads { overflow: hidden; flex: none; }
.rows { flex: 1 1 0; min-height: 0; position: relative; }
.row { display: grid; align-items: center; height: 26px; gap: 0 5px; cursor: pointer;
  grid-template-columns: 24px minmax(0, 1fr) 20px
    calc(var(--bar, 46px) * var(--cl-scale, 1))
    calc(var(--said, 46px) * var(--cl-scale, 1)) calc(30px * var(--cl-scale, 1));
  padding: 0 2px; content-visibility: auto; border-bottom: 1px solid
  color-mix(in srgb, currentColor 16%, transparent);
  font-variant-numeric: tabular-nums; }
/* A share needs less room than a range. */
.fits { --bar: 36px; --said: 36px; }
@media (max-width: 1150px) { .row { grid-template-columns: 20px minmax(0, 1fr) 20px
    calc(var(--bar, 46px) * var(--cl-scale, 1))
    calc(var(--said, 38px) * var(--cl-scale, 1))
    calc(30px * var(--cl-scale, 1)); gap: 0 3px; } }
.row.head { cursor: default; font-size: 11px; line-height: 1.15; height: auto;
  align-items: end; padding-bottom: 3px; }
.row.head > * { opacity: .75; }
.axis { display: flex; justify-content: space-between; font-size: 10px;
  border-bottom: 1px solid currentColor; margin-right: 3px; }
.row > .rank, .row > .k, .row > .majority { text-align: right; }
.row > .model { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.ranked > .model { display: flex; gap: 0 4px; }
.model > .lead, .model > .tail { flex: 0 1 auto; min-width: 0; overflow: hidden;
  text-overflow: ellipsis; white-space: pre; }
/* What two names share gives way first, what tells them apart last. */
.model > .lead { flex-shrink: 100000; min-width: 1.6em; }
.model > .lead:has(+ .tail:empty) { flex-shrink: 1; }
.model > .lead:empty, .model > .tail:empty, .model > .times:empty { display: none; }
.model > .times { flex: none; opacity: .7; font-size: 11px; }
.row:not(.head):hover { background: color-mix(in srgb, #0b8a8a 9%, transparent); }
.row.front, .row.front:hover {
  background: color-mix(in srgb, #0b8a8a 18%, transparent) !important; }
.since { display: none; flex: none; font-size: 12px; font-weight: 600;
  width: calc(25px * var(--cl-scale, 1));
  color: #0b8a8a; }
.since.down { color: #b0620c; }
.moved .since { display: inline-block; }
.distance { position: relative; display: flex; gap: 1px; height: 9px;
  background: color-mix(in srgb, currentColor 9%, transparent); }
.distance > i { background: #0b7d7d; }
.distance > i + i { background: #c2570c; }
.distance > b { position: absolute; right: 0; top: -3px; font: 10px/15px Arial,
  sans-serif; padding: 0 4px; border-radius: 8px; background: #fbe3d3;
  color: #8a3b05; }
.distance > b:empty { display: none; }
.distance > u { position: absolute; top: -2px; width: 2px; height: 13px;
  background: currentColor; }
.range { position: relative; height: 17px; line-height: 17px; white-space: nowrap; }
.range > i { position: absolute; top: 6px; height: 5px; border-radius: 3px;
  background: #0b7d7d88; }
.range > i + i { width: 5px; background: currentColor; }
""")


class RankedRows(JSComponent):
    """A list of models in the order of a score; a click says the number of its row."""

    heads = param.Dict(default=HEADS, doc="Titles of the columns; ends of the ranks.")
    terms = param.Dict(default=TERMS, doc="Titles of the columns for experts.")
    # As text, since each value of a list would be looked at twice on its way.
    rows = param.String(
        "[]",
        doc="JSON, of each row: rank, both parts of the name, times, k, bar, charge, "
        "broken, since, range, low, high, now, majority, full text and tick; the "
        "lengths from 0 to 1.",
    )
    selected = param.Integer(None, allow_None=True, doc="Number of the row marked.")

    _esm = """
const PARTS = ['rank', 'model', 'k', 'distance', 'range', 'majority'];
const make = (tag, css) => {
  const e = document.createElement(tag);
  e.className = css || '';
  return e;
};
const newRow = () => {
  const row = make('div', 'row ranked'), at = {row, told: ''};
  row.setAttribute('role', 'row');
  for (const part of PARTS) {
    at[part] = row.appendChild(make('span', part));
    at[part].setAttribute('role', 'gridcell');
  }
  at.since = at.model.appendChild(make('span', 'since'));
  for (const part of ['lead', 'tail', 'times'])
    at[part] = at.model.appendChild(make('span', part));
  for (const bar of ['score', 'charge']) at[bar] = at.distance.appendChild(make('i'));
  at.broken = at.distance.appendChild(make('b'));
  at.tick = at.distance.appendChild(make('u'));
  at.text = at.range.appendChild(document.createTextNode(''));
  for (const mark of ['span', 'dot']) at[mark] = at.range.appendChild(make('i'));
  return at;
};
const write = (at, values) => {
  const told = JSON.stringify(values);
  if (at.told === told) return;
  at.told = told;
  const [rank, [lead, tail], times, k, score, charge, broken, since, range, low, high,
    now, majority, full, tick] = values;
  at.rank.textContent = rank;
  at.lead.textContent = lead;
  at.tail.textContent = tail;
  at.times.textContent = times;
  at.k.textContent = k;
  at.model.title = at.distance.title = full;
  at.since.textContent = since ? (since > 0 ? '▲' : '▼') + Math.abs(since) : '';
  at.since.classList.toggle('down', since < 0);
  at.row.classList.toggle('moved', since !== null);
  at.score.style.width = `${100 * score}%`;
  at.charge.style.width = `${100 * charge}%`;
  at.broken.textContent = broken;
  at.tick.hidden = tick === null;
  at.tick.style.left = `calc(${100 * tick}% - 1px)`;
  at.majority.textContent = majority;
  const placed = low !== null;
  at.text.data = placed ? '' : range;
  at.range.title = placed ? `rank ${range}` : '';
  at.span.hidden = at.dot.hidden = !placed;
  if (!placed) return;
  at.span.style.left = `${92 * low}%`;
  at.span.style.width = `calc(${92 * (high - low)}% + 5px)`;
  at.dot.style.left = `${92 * now}%`;
};
export function render({model}) {
  const root = make('div', 'ranking'), heads = root.appendChild(make('div', 'heads'));
  const head = heads.appendChild(make('div', 'row head'));
  const box = root.appendChild(make('div', 'rows')), made = [];
  root.setAttribute('role', 'grid');
  root.setAttribute('aria-label', 'Ranking of the models');
  box.setAttribute('role', 'rowgroup');
  // Whoever has no pointer scrolls with the keys.
  box.tabIndex = 0;
  head.setAttribute('role', 'row');
  const at = {};
  for (const part of PARTS) {
    const cell = head.appendChild(make('span', part));
    cell.setAttribute('role', 'columnheader');
    // The look of a cell is not that of its head.
    if (part === 'distance' || part === 'range') cell.className = '';
    cell.title = model.terms[part] || '';
    at[part] = cell;
  }
  const title = () => {
    root.classList.toggle('fits', !model.heads.first);
    for (const part of PARTS) at[part].textContent = model.heads[part];
    // Ranks from first to last, as they are placed below.
    if (!model.heads.first) return;
    const axis = at.range.appendChild(make('div', 'axis'));
    for (const end of ['first', 'last'])
      axis.appendChild(make('span')).textContent = model.heads[end];
  };
  const mark = () => made.forEach(({row}, k) => {
    const front = k === model.selected;
    row.classList.toggle('front', front);
    row.setAttribute('aria-selected', front);
  });
  const show = () => {
    const row = made[model.selected]?.row;
    if (!row) return;
    const top = row.offsetTop;
    const bottom = row.offsetTop + row.offsetHeight - box.clientHeight;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (bottom > box.scrollTop) box.scrollTop = bottom;
  };
  let rest;
  const draw = () => {
    const rows = JSON.parse(model.rows);
    while (made.length > rows.length) made.pop().row.remove();
    while (made.length < rows.length) {
      made.push(newRow());
      box.append(made[made.length - 1].row);
    }
    // What is in sight first; the rest once that is on screen.
    const height = made[0]?.row.offsetHeight || 1;
    const first = Math.floor(box.scrollTop / height);
    const last = first + Math.ceil(box.clientHeight / height);
    rows.slice(first, last + 1).forEach((values, k) => write(made[first + k], values));
    mark();
    clearTimeout(rest);
    rest = setTimeout(() => rows.forEach((values, k) => write(made[k], values)), 50);
  };
  box.addEventListener('click', (event) => {
    const k = made.findIndex(({row}) => row.contains(event.target));
    if (k >= 0) model.send_msg(k);
  });
  model.on('heads', title);
  model.on('rows', draw);
  model.on('selected', () => { mark(); show(); });
  title();
  draw();
  return root;
}"""

    def __init__(self, chosen: Callable[[int], Any], **params: Any) -> None:
        params.setdefault("margin", 0)
        super().__init__(stylesheets=[TEXT_CSS, ROW_CSS], **params)
        self._chosen = chosen

    def _handle_msg(self, data: Any) -> Any:
        return go_on(self._chosen(int(data)))
