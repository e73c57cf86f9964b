"""Rows of a ranking: one per distinct partition, the best on top.

Rows are made once and only changed cells are written, so that a new order of hundreds
of models appears at once. Rows out of view are not laid out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import param
from panel.custom import JSComponent

from clusterlens.ui.widgets.scripted import go_on
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

    _esm = """
const make = (tag, css) => {
  const e = document.createElement(tag);
  e.className = css || '';
  return e;
};
const plain = (cell) => ({text}) => { cell.textContent = text; };
// How a cell of each kind is made, and what writes the values of a row into it.
const KINDS = {
  number: plain,
  text: plain,
  name: (cell) => {
    const parts = ['since', 'lead', 'tail', 'times'];
    const at = parts.map((part) => cell.appendChild(make('span', part)));
    return (values, title) => {
      const {since} = values;
      parts.forEach((part, i) => { at[i].textContent = values[part]; });
      at[0].textContent = since ? (since > 0 ? '▲' : '▼') + Math.abs(since) : '';
      at[0].classList.toggle('down', since < 0);
      cell.classList.toggle('moved', since !== null);
      cell.title = title;
    };
  },
  bar: (cell) => {
    const bars = ['score', 'charge'].map((part) => [part, cell.appendChild(make('i'))]);
    const broken = cell.appendChild(make('b')), tick = cell.appendChild(make('u'));
    return (values, title) => {
      for (const [part, bar] of bars) bar.style.width = `${100 * values[part]}%`;
      broken.textContent = values.broken;
      tick.hidden = values.tick === null;
      tick.style.left = `calc(${100 * values.tick}% - 1px)`;
      cell.title = title;
    };
  },
  interval: (cell) => {
    const said = cell.appendChild(document.createTextNode(''));
    const [span, dot] = [0, 1].map(() => cell.appendChild(make('i')));
    return ({text, low, high, now}) => {
      const placed = low !== null;
      said.data = placed ? '' : text;
      cell.title = placed ? `rank ${text}` : '';
      span.hidden = dot.hidden = !placed;
      if (!placed) return;
      span.style.left = `${92 * low}%`;
      span.style.width = `calc(${92 * (high - low)}% + 5px)`;
      dot.style.left = `${92 * now}%`;
    };
  },
};
const newRow = () => {
  const row = make('div', 'row ranked');
  row.setAttribute('role', 'row');
  return {row};
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
  let table, titled = '', arranged = '';
  const cellOf = (row, {key, kind, narrow}, role) => {
    const css = `${key} ${kind}${narrow ? '' : ' wide'}`;
    const cell = row.appendChild(make('span', css));
    cell.setAttribute('role', role);
    return cell;
  };
  const title = () => {
    const {columns} = table, told = JSON.stringify(columns);
    if (titled === told) return;
    titled = told;
    // Of other columns every row is of other cells.
    arranged = columns.map(({key, kind}) => `${key} ${kind}`).join();
    for (const [track, name] of [['width', '--wide'], ['narrow', '--narrow']])
      root.style.setProperty(name, columns.map((one) => one[track]).join(' '));
    head.replaceChildren();
    for (const column of columns) {
      const cell = cellOf(head, column, 'columnheader');
      cell.title = column.term;
      const [text, ...ends] = [column.head].flat();
      cell.textContent = text;
      if (!ends.length) continue;
      const axis = cell.appendChild(make('div', 'axis'));
      for (const end of ends) axis.appendChild(make('span')).textContent = end;
    }
  };
  const write = (at, k) => {
    const {columns, titles, values} = table;
    if (at.arranged !== arranged) {
      at.row.replaceChildren();
      at.cells = columns.map((one) => KINDS[one.kind](cellOf(at.row, one, 'gridcell')));
      at.arranged = arranged;
      at.told = '';
    }
    const row = columns.map(({key}) => Object.fromEntries(
      Object.entries(values[key]).map(([name, list]) => [name, list[k]])));
    const told = JSON.stringify([titles[k], row]);
    if (at.told === told) return;
    at.told = told;
    at.cells.forEach((put, i) => put(row[i], titles[k]));
  };
  const mark = () => made.forEach(({row}, k) => {
    const front = k === model.selected;
    row.classList.toggle('front', front);
    row.setAttribute('aria-selected', front);
  });
  const show = () => requestAnimationFrame(() => {
    const row = made[model.selected]?.row;
    if (!row) return;
    const top = row.offsetTop;
    const bottom = row.offsetTop + row.offsetHeight - box.clientHeight;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (bottom > box.scrollTop) box.scrollTop = bottom;
  });
  // To ask the page for what is in sight lays it out, so it is kept from when it is.
  let rest, inSight = [0, 40];
  const see = () => {
    const height = made[0]?.row.offsetHeight;
    if (!height) return;
    const first = Math.floor(box.scrollTop / height);
    inSight = [first, first + Math.ceil(box.clientHeight / height) + 1];
  };
  box.addEventListener('scroll', see);
  new ResizeObserver(see).observe(box);
  const draw = () => {
    table = JSON.parse(model.table);
    title();
    const n = table.titles.length;
    while (made.length > n) made.pop().row.remove();
    while (made.length < n) {
      made.push(newRow());
      box.append(made[made.length - 1].row);
    }
    // What is in sight first; the rest once that is on screen.
    const [first, last] = inSight;
    made.slice(first, last).forEach((at, k) => write(at, first + k));
    mark();
    clearTimeout(rest);
    rest = setTimeout(() => made.forEach(write), 50);
  };
  box.addEventListener('click', (event) => {
    const k = made.findIndex(({row}) => row.contains(event.target));
    if (k >= 0) model.send_msg(k);
  });
  box.addEventListener('keydown', (event) => {
    const k = {Home: 0, End: made.length - 1}[event.key];
    if (k === undefined || !made.length) return;
    model.send_msg(k);
    event.preventDefault();
  });
  model.on('table', draw);
  model.on('selected', () => { mark(); show(); });
  draw();
  return root;
}"""

    def __init__(self, chosen: Callable[[int], Any], **params: Any) -> None:
        params.setdefault("margin", 0)
        super().__init__(stylesheets=[TEXT_CSS, ROW_CSS], **params)
        self._chosen = chosen

    def _handle_msg(self, data: Any) -> Any:
        return go_on(self._chosen(int(data)))
