"""Models of a run as squares by family, coloured by their outcome."""

from __future__ import annotations

from typing import Any

import param
from panel.custom import JSComponent

from clusterlens.ui.state.partial_run import STATES
from clusterlens.ui.widgets.style import TEXT_CSS

TITLES = dict(
    zip(
        STATES,
        ("waiting", "running", "done", "warned", "dropped", "failed"),
        strict=True,
    )
)
"""What became of a model, by its letter."""

GRID_CSS = """
:host { position: relative; }
.family { display: grid; grid-template-columns: 92px 1fr 46px; gap: 2px 6px;
  align-items: start; font-size: 12px; margin: 3px 0; }
.family > .squares { display: flex; flex-wrap: wrap; gap: 3px; }
.family > span:last-child { text-align: right; opacity: .7;
  font-variant-numeric: tabular-nums; }
i { width: 11px; height: 11px; border-radius: 2px; box-sizing: border-box;
  border: 1px solid color-mix(in srgb, currentColor 38%, transparent);
  font: 700 9px/9px Arial, sans-serif; text-align: center; }
i::after { color: #fff; }
i.r { border: 2px solid #0b7d7d; background: #9fd3d1; }
i.d { background: #0b7d7d; border-color: #0b7d7d; }
i.y { border-color: #0b7d7d;
  background: linear-gradient(135deg, #0b7d7d 50%, #e0a030 50%); }
i.x { background: #8b98a5; border-color: #8b98a5; }
i.x::after { content: "–"; }
i.f { background: #c4500f; border-color: #c4500f; }
i.f::after { content: "×"; }
.legend { display: flex; flex-wrap: wrap; gap: 3px 12px; font-size: 12px;
  margin: 2px 0 6px; opacity: .85; }
.legend span { display: inline-flex; gap: 5px; align-items: center; }
.tip { position: absolute; z-index: 9; max-width: 240px; padding: 5px 9px; color: #fff;
  border-radius: 5px; background: #14181d; font-size: 12px; pointer-events: none; }
"""


class ModelGrid(JSComponent):
    """One square per model, by family; only colours change during a run."""

    models = param.List(default=[], doc="Name and family of each model.")
    titles = param.Dict(default=TITLES, doc="Names of the states, by letter.")
    states = param.String("", doc="The letter of each model.")
    texts = param.List(default=[], doc="Time and notes of each model, plain text.")

    def __init__(self, **params: Any) -> None:
        params.setdefault("margin", 0)
        super().__init__(stylesheets=[TEXT_CSS, GRID_CSS], **params)

    _esm = """
export function render({model}) {
  const box = document.createElement('div');
  const tip = document.createElement('div');
  tip.className = 'tip'; tip.hidden = true;
  let squares = [], counts = [];
  const make = (tag, css, text) => {
    const e = document.createElement(tag);
    e.className = css || ''; e.textContent = text || '';
    return e;
  };
  const title = (at) => model.titles[model.states[at]] || '';
  const ended = (at) => !'wr'.includes(model.states[at]);
  let described = null;
  const describe = () => {
    tip.hidden = described === null;
    if (tip.hidden) return;
    const text = model.texts[described] ? ', ' + model.texts[described] : '';
    tip.replaceChildren(make('b', '', model.models[described][0]), make('br'),
      title(described) + text);
  };
  const paint = () => {
    squares.forEach((square, at) => {
      square.className = model.states[at] || 'w';
      square.setAttribute('aria-label', model.models[at][0] + ': ' + title(at));
    });
    for (const [place, list] of counts)
      place.textContent = list.filter(ended).length + '/' + list.length;
    describe();
  };
  const build = () => {
    box.replaceChildren(); squares = []; counts = []; described = null;
    const legend = make('div', 'legend');
    for (const [letter, name] of Object.entries(model.titles)) {
      const entry = make('span');
      entry.append(make('i', letter), name);
      legend.append(entry);
    }
    box.append(legend);
    const families = new Map();
    model.models.forEach(([name, family], at) => {
      if (!families.has(family)) families.set(family, []);
      families.get(family).push(at);
    });
    for (const [family, list] of families) {
      const row = make('div', 'family'), place = make('span');
      const holder = make('div', 'squares');
      for (const at of list) {
        const square = squares[at] = make('i', 'w');
        square.dataset.at = at; square.tabIndex = at ? -1 : 0;
        square.setAttribute('role', 'img');
        holder.append(square);
      }
      row.append(make('span', '', family), holder, place);
      counts.push([place, list]);
      box.append(row);
    }
    box.append(tip);
    paint();
  };
  const show = (event) => {
    const at = event.target.dataset?.at;
    described = at === undefined ? null : Number(at);
    describe();
    if (described === null) return;
    const here = event.target.getBoundingClientRect();
    const frame = box.getBoundingClientRect();
    tip.style.top = (here.bottom - frame.top + 6) + 'px';
    tip.style.left = Math.max(0, Math.min(here.left - frame.left, frame.width - 250))
      + 'px';
  };
  const hide = () => { described = null; describe(); };
  // Tab enters the squares once, where it left them; arrow keys lead on.
  const enter = ({target}) => {
    if (!squares.includes(target)) return;
    for (const square of squares) square.tabIndex = square === target ? 0 : -1;
  };
  const lead = (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step) return;
    const shown = [...box.querySelectorAll('i[data-at]')];
    shown[shown.indexOf(event.target) + step]?.focus();
    event.preventDefault();
  };
  box.dataset.roving = 'line';
  box.addEventListener('keydown', lead);
  box.addEventListener('mouseover', show);
  box.addEventListener('focusin', enter);
  box.addEventListener('focusin', show);
  box.addEventListener('mouseleave', hide);
  box.addEventListener('focusout', hide);
  model.on('models', build);
  model.on('states', paint);
  model.on('texts', describe);
  build();
  return box;
}"""
