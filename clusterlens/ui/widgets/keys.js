const OPEN = ['listbox', 'option', 'menu', 'menuitem', 'dialog'];
const STEERED = ['combobox', 'slider', 'radio', 'application'];
const STEERS = /^(space|enter|home|end|page.*|arrow.*)$/;
const NO_TEXT = /^(checkbox|radio|button|submit|range)$/;
const PRESSABLE = /^(BUTTON|A|SUMMARY)$/;
const OPENS = ['enter', 'space', 'arrowdown', 'arrowup'];
export function render({model}) {
  const has = (part, roles) => roles.includes(part.getAttribute?.('role'));
  const writes = (part) => part.isContentEditable || part.tagName === 'TEXTAREA'
    || has(part, ['textbox', 'spinbutton'])
    || (part.tagName === 'INPUT' && !NO_TEXT.test(part.type));
  const steers = (part) => has(part, STEERED) || /^(radio|range)$/.test(part.type);
  // What has the focus takes the keys that it answers to, and no others: a select that
  // was just used keeps the focus. The browser closes what was opened over the page.
  const takes = (event, key, name) => event.composedPath().some((part) =>
    writes(part) || has(part, OPEN) || (steers(part) && STEERS.test(key))
    || (key === 'escape'
      && part.querySelector?.(':popover-open:not([popover=manual])'))
    || (part.dataset?.roving === 'map' && /^arrow/.test(key))
    || ('roving' in (part.dataset ?? {}) && /^arrow(left|right)$/.test(key))
    || (part.tagName === 'SELECT' && name === key));
  // The button of the page that is shown has the focus since it led there.
  const pressable = (event) => event.composedPath().some((e) =>
    (PRESSABLE.test(e.tagName) && !e.ariaCurrent)
    || e.getAttribute?.('role') === 'button');
  const filled = (root) => {
    for (const part of root.querySelectorAll('*')) {
      const found = part.matches('.MuiButton-contained:enabled, button.main') ? part
        : part.shadowRoot && filled(part.shadowRoot);
      if (found?.getClientRects().length) return found;
    }
  };
  const onKey = (event) => {
    if (event.isComposing || event.defaultPrevented) return;
    const key = event.key === ' ' ? 'space' : event.key.toLowerCase();
    const name = (event.ctrlKey || event.metaKey ? 'ctrl+' : '')
      + (event.altKey ? 'alt+' : '')
      + (event.shiftKey && /^[a-z]$/.test(key) ? 'shift+' : '') + key;
    // The selects of the widget set open by clicks only.
    const [target] = event.composedPath();
    const isClosed = target.matches?.('[role=combobox][aria-expanded=false]');
    if (isClosed && OPENS.includes(name)) {
      event.preventDefault();
      event.stopPropagation();
      target.click();
      // Its release would choose the option that has the focus by then.
      window.addEventListener('keyup', (up) => up.stopPropagation(),
        {capture: true, once: true});
      return;
    }
    const isStep = name === model.step;
    if (!(isStep || model.wanted.includes(name)) || takes(event, key, name)) return;
    if (isStep) {
      filled(document)?.focus({focusVisible: true});
      event.preventDefault();
      return;
    }
    if (['space', 'enter'].includes(name) && pressable(event)) return;
    // Enter is for what has the focus. A select that is drawn anew, or opens, has lost
    // it for a moment; what is pressed then is for it, not for the page.
    const hasFocus = event.composedPath()[0].tabIndex >= 0;
    if (name === 'enter' && !hasFocus) return;
    event.preventDefault();
    model.send_msg(name);
  };
  window.addEventListener('keydown', onKey, true);
  model.on('remove', () => window.removeEventListener('keydown', onKey, true));
  return document.createElement('span');
}
