const PIECE = 3_000_000;  // coded and sent in about ten milliseconds
const OVERLAY = `position:fixed;inset:12px;z-index:2000;pointer-events:none;
  align-items:center;justify-content:center;font-size:24px;border-radius:12px;
  border:3px dashed #0b8a8a;background:rgba(11,138,138,.2);color:#fff;
  text-shadow:0 0 3px #000,0 0 10px #000`;
const ZONE = `display:flex;align-items:center;justify-content:center;gap:12px;
  padding:12px;border:1.5px dashed #0b8a8a;border-radius:6px;font-size:14px;
  background:color-mix(in srgb,#0b8a8a 6%,transparent)`;
const BUTTON = `all:unset;cursor:pointer;padding:7px 18px;border-radius:6px;
  background:#0b6e6e;color:#fff;font-weight:700;font-size:14px`;
const OUTLINED = `background:none;color:inherit;padding:6px 12px;
  border:1px solid #0b8a8a`;

export function render({model}) {
  let tell = null;
  model.on('msg:custom', (answer) => tell?.(answer));
  const code = (blob) => new Promise((done) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result.slice(reader.result.indexOf(',') + 1));
    reader.onerror = () => done(null);
    reader.readAsDataURL(blob);
  });
  const ask = (message) => new Promise((done) => {
    tell = done;
    model.send_msg(message);
  });
  const take = async ([file, ...others]) => {
    if (!file || tell) return;
    const name = file.name || model.pasted;
    let answer = await ask({name, size: file.size, others: others.length,
      rows_of: model.rows_of});
    for (let at = 0; answer === 'next' && at < file.size; at += PIECE)
      answer = await ask({piece: await code(file.slice(at, at + PIECE))});
    tell = null;
  };
  return model.everywhere ? wherever(model, take) : chosen(model, take);
}

function chosen(model, take) {
  const box = document.createElement('div');
  box.className = 'takes-files';
  if (model.zone) box.style.cssText = ZONE;
  const input = document.createElement('input');
  input.type = 'file';
  input.hidden = true;
  const button = document.createElement('button');
  button.textContent = model.label;
  button.style.cssText = BUTTON + (model.outlined ? `;${OUTLINED}` : '');
  button.onclick = () => input.click();
  button.onfocus = () => button.style.outline =
    button.matches(':focus-visible') ? '2px solid #0b8a8a' : '';
  button.onblur = () => button.style.outline = '';
  button.style.outlineOffset = '2px';
  input.onchange = () => { take([...input.files]); input.value = ''; };
  const over = (event) => {
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    if (event.type === 'drop') take([...event.dataTransfer.files]);
  };
  box.ondragover = box.ondrop = over;
  box.append(model.zone, button, input);
  return box;
}

function wherever(model, take) {
  const overlay = document.createElement('div');
  overlay.style.cssText = OVERLAY;
  overlay.style.display = 'none';
  document.body.append(overlay);
  // Other parts that take files have a place of their own, and tell nobody else.
  const taker = '.takes-files, label:has(> input[type=file])';
  const ours = (event) => event.dataTransfer?.types.includes('Files')
    && !event.composedPath().some((e) => e.matches?.(taker));
  const show = (shown) => {
    overlay.textContent = `Drop the table: ${model.rows_of === 'table'
      ? 'it opens in this window' : 'its rows are placed'}`;
    overlay.style.display = shown ? 'flex' : 'none';
  };
  const over = (event) => {
    if (ours(event)) event.preventDefault();
    show(ours(event));
  };
  const leave = (event) => { if (!event.relatedTarget) show(false); };
  const drop = (event) => {
    show(false);
    if (!ours(event)) return;
    event.preventDefault();
    take([...event.dataTransfer.files]);
  };
  const typing = (event) => event.composedPath().some((e) => e.isContentEditable
    || /^(TEXTAREA|INPUT)$/.test(e.tagName));
  // Spreadsheets put a picture of the cells beside their text.
  const paste = (event) => {
    if (typing(event)) return;
    const text = event.clipboardData.getData('text/plain');
    const file = /\n./.test(text) ? new Blob([text]) : event.clipboardData.files[0];
    if (!file) return;
    event.preventDefault();
    take([file]);
  };
  const listeners = {dragover: over, dragleave: leave, drop, paste};
  for (const [name, heard] of Object.entries(listeners))
    window.addEventListener(name, heard, true);
  model.on('remove', () => {
    overlay.remove();
    for (const [name, heard] of Object.entries(listeners))
      window.removeEventListener(name, heard, true);
  });
  return document.createElement('span');
}
