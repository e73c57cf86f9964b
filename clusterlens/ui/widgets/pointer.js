const find = (root, name) => {
  for (const part of root.querySelectorAll(`.${name}`))
    if (part.getClientRects().length) return part;
  for (const part of root.querySelectorAll('*')) {
    const found = part.shadowRoot && find(part.shadowRoot, name);
    if (found) return found;
  }
  return null;
};
// What clips or scrolls a part.
const clipsOf = (part) => {
  const found = [];
  for (let at = part.parentNode; at; at = at.parentNode ?? at.host)
    if (at.matches && getComputedStyle(at).overflowX !== 'visible') found.push(at);
  return found;
};
// Whether an outline around a part would be cut off.
const isAtEdge = (part) => {
  const inner = part.getBoundingClientRect();
  return clipsOf(part).some((at) => {
    const outer = at.getBoundingClientRect();
    const gaps = [inner.left - outer.left, inner.top - outer.top,
      outer.right - inner.right, outer.bottom - inner.bottom];
    return gaps.some((gap) => gap < 4);
  });
};
// Of a part that is higher than its place, the top is shown.
const scrollTo = (part) => {
  const isHigh = clipsOf(part).some((at) => at.clientHeight < part.offsetHeight);
  part.scrollIntoView({block: isHigh ? 'start' : 'nearest', inline: 'nearest'});
};
export function render({model}) {
  let shown = null, timer = 0, looks = 0;
  const clear = () => {
    clearInterval(timer);
    if (shown) shown.style.outline = shown.style.outlineOffset = '';
    shown = null;
  };
  // The part may be drawn long after the wish to point at it, or be drawn anew.
  const point = () => {
    if (!shown?.isConnected) {
      shown = find(document, model.target);
      if (!shown) return;
      shown.style.outline = '2px solid #e07b00';
      shown.style.outlineOffset =
        shown.matches('.cl-card') ? '-3px' : isAtEdge(shown) ? '-2px' : '2px';
      looks = 5;
    }
    // What arrives above it pushes it out of sight at first.
    if (looks-- > 0) scrollTo(shown);
  };
  const move = () => {
    clear();
    if (!model.target) return;
    timer = setInterval(point, 400);
    point();
  };
  model.on('target', move);
  model.on('remove', clear);
  move();
  return document.createElement('span');
}
