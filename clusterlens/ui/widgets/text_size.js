const NAME = 'cl-large';
export function render({model}) {
  const root = document.documentElement;
  const set = () => {
    const scale = model.large ? model.scale : 1;
    root.style.setProperty('--cl-scale', scale);
    root.style.fontSize = `${100 * scale}%`;
    if (model.large) localStorage.setItem(NAME, 'yes');
    else localStorage.removeItem(NAME);
  };
  model.on('large', set);
  if (localStorage.getItem(NAME)) model.large = true;
  set();
  return document.createElement('span');
}
