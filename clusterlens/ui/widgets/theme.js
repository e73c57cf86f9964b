const NAME = 'cl-theme';
export function render({model, view}) {
  const page = view.model.document.roots().find((root) => 'dark_theme' in root.data);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let following = false;
  // For what the browser draws by itself.
  const draw = () => document.documentElement.style.setProperty(
    '--cl-scheme', page.data.dark_theme ? 'dark' : 'light');
  const follow = () => {
    const chosen = localStorage.getItem(NAME);
    following = true;
    page.data.dark_theme = chosen ? chosen === 'dark' : dark.matches;
    following = false;
    draw();
  };
  const keep = () => {
    if (!following) localStorage.setItem(NAME, page.data.dark_theme ? 'dark' : 'light');
    draw();
  };
  follow();
  page.data.properties.dark_theme.change.connect(keep);
  dark.addEventListener('change', follow);
  model.on('remove', () => {
    page.data.properties.dark_theme.change.disconnect(keep);
    dark.removeEventListener('change', follow);
  });
  return document.createElement('span');
}
