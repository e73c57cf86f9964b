export function render({model}) {
  const place = (query) => {
    const given = new URLSearchParams(query);
    let page = 'data';
    try { page = JSON.parse(given.get('look') || '{}').page || page; } catch { }
    return {page, analysis: given.get('analysis')};
  };
  // What an address of before says is not yet on the page that has come up.
  let here = null;
  const write = () => {
    if (!model.text) return;
    const next = place(model.text), to = location.pathname + model.text;
    const turned = here && here.analysis === next.analysis && here.page !== next.page;
    here = next;
    history[turned ? 'pushState' : 'replaceState']({}, '', to);
  };
  const onPop = () => {
    const there = place(location.search);
    if (!here || there.analysis !== here.analysis) location.reload();
    else if (there.page !== here.page) { here = there; model.send_msg(there.page); }
  };
  model.on('text', write);
  window.addEventListener('popstate', onPop);
  model.on('remove', () => window.removeEventListener('popstate', onPop));
  return document.createElement('span');
}
