"""Components with a script of their own in the browser."""

from __future__ import annotations

import asyncio
import base64
import inspect
from collections.abc import Callable
from typing import Any

import param
from panel.custom import JSComponent
from panel.io import unlocked

from clusterlens.ui.widgets.style import EXCERPT_CSS, TEXT_CSS

# Size of the pieces of a file; one is encoded and sent in about ten milliseconds.
_PIECE_BYTES = 3_000_000


_UNDER_WAY: set[asyncio.Future[Any]] = set()


def go_on(done: Any) -> Any:
    """Let the handler of a message run to its end, if it is asynchronous."""
    if not inspect.isawaitable(done):
        return done
    # Nobody awaits it, and the loop holds only weak references to tasks.
    task = asyncio.ensure_future(done)
    _UNDER_WAY.add(task)
    task.add_done_callback(_UNDER_WAY.discard)
    return task


class Text(JSComponent):
    """Markup that fits the theme; buttons report the text of `data-do`.

    Buttons with `data-copy` put that text on the clipboard. A text that `scrolls` fills
    its place. Data-borne strings in it must have gone through `safe`.
    """

    body = param.String("", doc="Markup.")
    scrolls = param.Boolean(False, doc="Whether it scrolls inside its place.")

    # All components of the class share one script, which a browser loads once.
    _bundle = "text.js"

    def __init__(
        self, body: str = "", *, does: Callable[[str], Any] | None = None, **params: Any
    ) -> None:
        params.setdefault("margin", 0)
        fills = "stretch_both" if params.get("scrolls") else "stretch_width"
        params.setdefault("sizing_mode", fills)
        styles = [TEXT_CSS, *params.pop("stylesheets", ())]
        super().__init__(body=body, stylesheets=styles, **params)
        self._does = does

    def focus(self, css: str = "") -> None:
        """Move the focus to a part of the text, or to all of it, once it is visible."""
        self._send_msg(css)

    def _handle_msg(self, data: Any) -> Any:
        if self._does is None:
            return None
        with unlocked():  # immediate changes are one message
            return go_on(self._does(str(data)))


class Excerpt(Text):
    """Text in a place of fixed height; a button shows all of it if some is cut.

    Other components keep their places, however long the text is. The body has two
    parts: the text of class `lines` is cut at its end, and the parts of class `line`
    stand side by side and shrink if necessary.
    """

    def __init__(
        self, body: str = "", *, does: Callable[[str], Any] | None = None, **params: Any
    ) -> None:
        styles = [EXCERPT_CSS, *params.pop("stylesheets", ())]
        super().__init__(body, does=does, stylesheets=styles, **params)


class RowSlider(JSComponent):
    """Vertical slider with steps at the centres of rows of equal height."""

    _debounce = 0  # a slider must act without delay

    value = param.Integer(2, doc="Number of the row, from start at the top.")
    start = param.Integer(2, doc="Number of the first row.")
    end = param.Integer(10, doc="Number of the last row.")
    label = param.String("", doc="What is set, for screen readers.")

    _esm = """
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
}"""


class _Script(JSComponent):
    """Component that only runs its script and shows nothing in its place."""

    def __init__(self, **params: Any) -> None:
        super().__init__(margin=0, width=1, height=1, sizing_mode="fixed", **params)


class Keys(_Script):
    """Send the pressed key if it is wanted, outside of fields, menus and lists.

    Names are like "m", "ctrl+shift+z", "?", "escape", "space". One more key moves the
    focus to the next step of the page, its first filled button. Enter, Space and the
    arrows open a focused select.
    """

    wanted = param.List(default=[], doc="Names of the keys to take.")
    step = param.String("n", constant=True, doc="Name of the key of the next step.")

    _esm = """
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
}"""

    def __init__(self, pressed: Callable[[str], Any], **params: Any) -> None:
        super().__init__(**params)
        self._pressed = pressed

    def _handle_msg(self, data: Any) -> Any:
        with unlocked():  # immediate changes are one message
            return self._pressed(str(data))


class Download(_Script):
    """Component that sends files to the browser; a thread makes their content."""

    _esm = """
export function render({model}) {
  let pieces = [];
  model.on('msg:custom', (data) => {
    const {name, piece, last} = data;
    pieces.push(Uint8Array.from(atob(piece), (c) => c.charCodeAt(0)));
    if (!last) return;
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob(pieces));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    pieces = [];
  });
  return document.createElement('span');
}"""

    async def send(self, name: str, content: bytes) -> None:
        """Save a file in the browser, in pieces that let other work run in between."""
        ends = range(0, max(1, len(content)), _PIECE_BYTES)
        for start in ends:
            piece = base64.b64encode(content[start : start + _PIECE_BYTES]).decode()
            last = start == ends[-1]
            self._send_msg({"name": name, "piece": piece, "last": last})
            await asyncio.sleep(0)


class Query(_Script):
    """Query arguments in the address of the page, changed in place.

    Panel's own location adds an entry to the browser's history for every change; here
    only another page of the app does. Back and Forward request the page of their entry;
    an entry of another analysis is loaded anew.

    Parameters
    ----------
    asked : callable
        Called with the page requested by Back or Forward.
    """

    text = param.String("", doc="With its question mark; empty leaves it as it is.")

    _esm = """
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
}"""

    def __init__(self, asked: Callable[[str], Any], **params: Any) -> None:
        super().__init__(**params)
        self._asked = asked

    def _handle_msg(self, data: Any) -> Any:
        return self._asked(str(data))


class Connection(_Script):
    """Overlay that reports a lost connection and restores it.

    It comes with the content of the page and removes the sentence about its opening.

    Once the server answers, the page continues its session. If the session has ended,
    the page is loaded anew from its address; if unsaved work would be lost, it asks
    first.

    The texts may contain the time of `saved_at` as {time}.
    """

    saved = param.String("", doc="What of the page is saved.")
    saved_at = param.Number(None, allow_None=True, doc="When, in seconds of time().")
    unsaved = param.String("", doc="What is not saved.")
    is_kept = param.Boolean(True, doc="Whether loading anew takes nothing away.")

    _esm = """
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
      element('p', 'Trying to reconnect\u2026', 'muted'));
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
      'The server answers again. Bringing the page back\u2026';
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
}"""


class Theme(_Script):
    """Component that applies the theme chosen in this browser, dark or light.

    The choice survives a reload. Without one the page follows the system.
    """

    _esm = """
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
}"""


class TextSize(_Script):
    """Component that scales all text on the page; figures keep theirs.

    The choice of larger text survives a reload, in this browser.
    """

    large = param.Boolean(False, doc="Whether text is larger than usual.")
    scale = param.Number(1.3, constant=True, doc="Factor of larger text.")

    _esm = """
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
}"""


class Pointer(_Script):
    """Component that outlines a part of the page and scrolls to it."""

    target = param.String("", doc="CSS class of the part; empty for none.")

    _esm = """
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
}"""
