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
}
