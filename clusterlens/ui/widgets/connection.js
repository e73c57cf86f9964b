const RETRY = 1000;
// On the page times are written alike in all languages, like 16:38.
const time = (date) => date.toTimeString().slice(0, 5);
const element = (name, text, css) => {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = css || '';
  return made;
};
export function render({model, view}) {
  let removed = false, box = null, failed = 0;
  const freeze = (frozen) => {
    for (const part of document.body.children) if (part !== box) part.inert = frozen;
  };
  // A page that is back with its session is drawn anew, and this with it.
  for (const past of document.querySelectorAll('.cl-lost, .cl-opening')) past.remove();
  freeze(false);
  const say = () => {
    const told = model.saved.replace('{time}', time(new Date(1000 * model.saved_at)));
    const lines = [told, model.unsaved].filter(Boolean);
    const banner = document.createElement('div');
    box = element('div', '', 'cl-lost');
    banner.setAttribute('role', 'alert');
    banner.append(element('b', `Connection lost at ${time(new Date())}`),
      ...lines.map((line) => element('p', line)),
      element('p', 'Trying to reconnect…', 'muted'));
    box.append(banner);
    document.body.append(box);
    freeze(true);
  };
  const renew = () => {
    if (removed || !box) return;
    if (model.is_kept) return location.reload();
    removed = true;
    const load = element('button', 'Load the page anew');
    load.addEventListener('click', () => location.reload());
    box.querySelector('.muted').replaceWith(
      element('p', 'The server is back, but has nothing of this page any more.'), load);
  };
  const come_back = async (event) => {
    while (!removed && !await window.isServerThere())
      await new Promise((again) => setTimeout(again, RETRY));
    if (removed) return;
    box.querySelector('.muted').textContent =
      'The server answers again. Bringing the page back…';
    // A server that answers and does not take the page back has no place for it.
    if (++failed > 2) return renew();
    event.connection.deref().args_string = 'again';
    event.reconnect();
  };
  view.model.document.on_event('connection_lost', (_, event) => {
    if (removed) return;
    if (!box) say();
    setTimeout(() => come_back(event), failed * RETRY);
  });
  window.addEventListener('cl-gone', renew);
  model.on('remove', () => {
    removed = true;
    window.removeEventListener('cl-gone', renew);
  });
  return document.createElement('span');
}
