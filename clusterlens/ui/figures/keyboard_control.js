const STEPS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1],
  ArrowDown: [0, 1]};
const PIXELS = 8;
export function render({model}) {
  const box = document.createElement('div');
  const cursor = document.createElement('div');
  const said = document.createElement('div');
  box.tabIndex = 0;
  box.setAttribute('role', 'application');
  box.setAttribute('aria-roledescription', 'figure');
  said.setAttribute('aria-live', 'polite');
  said.className = 'said';
  cursor.className = 'cursor';
  const at = [0.5, 0.5];  // of the width from the left, of the height from the top
  const place = () => {
    cursor.style.left = `${100 * at[0]}%`;
    cursor.style.top = `${100 * at[1]}%`;
  };
  const pan = (step) => model.send_msg({pan: step});
  const move = (step) => {
    const size = [box.clientWidth, box.clientHeight];
    const next = at.map((part, axis) => part + step[axis] * PIXELS / size[axis]);
    if (!model.still && next.some((part) => part < 0 || part > 1)) pan(step);
    next.forEach((part, axis) => { at[axis] = Math.min(1, Math.max(0, part)); });
    place();
  };
  box.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const {key, shiftKey} = event;
    if (STEPS[key]) (shiftKey && !model.still ? pan : move)(STEPS[key]);
    else if (key === 'Enter') model.send_msg({click: at});
    else if (model.still) return;
    else if (key === '+' || key === '=') model.send_msg({zoom: 1, at});
    else if (key === '-') model.send_msg({zoom: -1, at});
    else if (key === '0' || key === 'Home') model.send_msg({reset: true});
    else return;
    event.preventDefault();
  });
  // The label names it where it gets the focus; later words are told while it has it.
  const tell = () => {
    box.setAttribute('aria-label', `${model.words} ${model.how}`);
    if (box.matches(':focus')) said.textContent = model.words;
  };
  box.addEventListener('blur', () => { said.textContent = ''; });
  model.on('words', tell);
  tell(); place();
  box.append(cursor, said);
  return box;
}
