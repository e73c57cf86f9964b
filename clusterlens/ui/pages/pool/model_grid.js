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
}
