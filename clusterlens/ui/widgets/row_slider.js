export function render({model}) {
  const box = document.createElement('div');
  box.style.cssText = 'position:relative;height:100%;width:24px';
  const input = document.createElement('input');
  input.type = 'range';
  input.setAttribute('aria-label', model.label);
  const fit = () => {
    const half = `calc(${50 / (model.end - model.start + 1)}% - 8px)`;
    input.style.cssText = 'position:absolute;left:2px;margin:0;width:16px;' +
      'writing-mode:vertical-lr;accent-color:#0b8a8a;cursor:pointer;' +
      'color-scheme:var(--cl-scheme);' +
      `top:${half};bottom:${half};height:calc(100% - 2 * ${half})`;
    input.min = model.start;
    input.max = model.end;
    show();
  };
  // Whatever is written to a slider while it is dragged ends the drag.
  const show = () => {
    if (Number(input.value) !== model.value) input.value = model.value;
  };
  input.addEventListener('input', () => { model.value = Number(input.value); });
  model.on('value', show);
  model.on(['start', 'end'], fit);
  fit();
  box.append(input);
  return box;
}
