// Markup in the browser: what tells clicks, leads along buttons, and writes texts.

// Lets what is clicked tell its purpose. What is written anew between the press of a
// button and its release is no click to a browser; it is one here.
const tellClicks = (box, model) => {
  const told = (event) => event.target.closest('[data-do]');
  let pressed = null;
  box.addEventListener('click', (event) => {
    const target = told(event);
    if (target) model.send_msg(target.dataset.do);
  });
  box.addEventListener('pointerdown', (event) => { pressed = told(event); });
  box.addEventListener('pointerup', (event) => {
    const target = told(event);
    if (pressed?.isConnected === false && pressed.dataset.do === target?.dataset.do)
      target.click();
  });
};

// Lets arrow keys lead from one to the next of buttons and fields that Tab enters once,
// where it left them: those of a row, in the order of reading (`data-roving="line"`), or
// those of a table and scattered ones (`data-roving="map"`), where up and down lead, too.
// In a field with something in it they are the field's own.
const STEPS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1],
  ArrowDown: [0, 1]};
const BESIDE = 1e6; // pixels, farther than anything ahead
const stopsOf = (place) => [...place.querySelectorAll('button, [role=button], input')];
const enterAt = (stops, at) => stops.forEach((one) => {
  one.tabIndex = one === at ? 0 : -1;
});
const enterEach = (box) => box.querySelectorAll('[data-roving]').forEach((place) => {
  const stops = stopsOf(place);
  enterAt(stops, stops.find((one) => one.getAttribute('tabindex') === '0') ?? stops[0]);
});
const leadAlong = (box) => {
  box.addEventListener('keydown', leadOn);
  box.addEventListener('focusin', ({target}) => {
    const place = target.closest('[data-roving]');
    if (place) enterAt(stopsOf(place), target);
  });
};
const leadOn = (event) => {
  const part = event.target, place = part.closest('[data-roving]');
  if (!place) return;
  const isField = part.tagName === 'INPUT';
  if (event.key === 'Enter' && part.tagName !== 'BUTTON' && !isField) part.click();
  const step = STEPS[event.key];
  if (!step || (isField && part.value)) return;
  if (place.dataset.roving === 'line') {
    const stops = stopsOf(place), next = stops[stops.indexOf(part) + step[0]];
    if (step[0] && next) next.focus();
    if (step[0]) event.preventDefault();
    return;
  }
  const middle = (one) => {
    const {left, right, top, bottom} = one.getBoundingClientRect();
    return [(left + right) / 2, (top + bottom) / 2];
  };
  const here = middle(part);
  // What is rather beside than ahead comes last: buttons of unequal width in a column.
  const far = (one) => {
    const [x, y] = middle(one).map((at, axis) => at - here[axis]);
    const along = x * step[0] + y * step[1], across = Math.abs(x * step[1] + y * step[0]);
    return along < 1 ? Infinity : along + 2 * across + (across > along ? BESIDE : 0);
  };
  const others = stopsOf(place)
    .map((one) => [far(one), one]).filter(([length]) => length < Infinity);
  if (others.length) others.reduce((a, b) => (b[0] < a[0] ? b : a))[1].focus();
  event.preventDefault();
};

// The control that has the place of one that took itself out of its row or table.
const placesOf = (box) => [...box.querySelectorAll('[data-roving]')];
const placeOf = (box, active) => {
  const place = active?.closest('[data-roving]'), nth = placesOf(box).indexOf(place);
  const within = nth < 0 ? -1 : stopsOf(place).indexOf(active);
  return () => {
    const beside = within < 0 ? [] : stopsOf(placesOf(box)[nth] ?? box);
    return beside[Math.min(within, beside.length - 1)];
  };
};
// The control of the same purpose; a row of the same purpose may be around it.
const sameAs = (box, active, does) => {
  const all = does ? [...box.querySelectorAll(`[data-do="${CSS.escape(does)}"]`)] : [];
  return all.find((one) => one.tagName === active.tagName);
};
// The heading of a text has the focus, or all of it, without being a stop of Tab.
const focusAll = (box) => {
  const part = box.querySelector('h2, h3') ?? box;
  if (!part.hasAttribute('tabindex')) part.tabIndex = -1;
  part.focus();
};

const Text = {
  render({model}) {
    const box = document.createElement('div');
    // What is written anew keeps the focus where it was, for those who use the keyboard,
    // and what was unfolded.
    const folds = () => [...box.querySelectorAll('details')];
    const write = () => {
      const active = box.getRootNode().activeElement, does = active?.dataset?.do;
      const unfolded = folds().map((one) => one.open);
      const within = folds().findIndex((one) => one.firstElementChild === active);
      const beside = placeOf(box, active), isHeading = /^H\d$/.test(active?.tagName);
      box.innerHTML = model.body;
      enterEach(box);
      if (isHeading) focusAll(box);
      folds().forEach((one, at) => { one.open = unfolded[at] ?? one.open; });
      folds()[within]?.firstElementChild.focus();
      if (does) {
        const again = sameAs(box, active, does) ?? beside()
          ?? box.querySelector('button.main:not([aria-disabled])');
        if (again) again.focus();
        else focusAll(box);
      }
      if (model.scrolls) requestAnimationFrame(reach);
    };
    // Whoever has no pointer scrolls with the keys, where there is something to scroll.
    // That is asked when the page is laid out anyway, not once more for each text.
    const reach = () => {
      if (box.scrollHeight > box.clientHeight + 1) box.tabIndex = 0;
      else box.removeAttribute('tabindex');
    };
    const place = () => {
      box.style.cssText = model.scrolls ? 'height:100%;overflow-y:auto' : '';
    };
    // Pages that are not served safely have no clipboard of their own.
    const copy = (text) => {
      if (navigator.clipboard) return navigator.clipboard.writeText(text);
      const area = document.createElement('textarea');
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand('copy');
      area.remove();
    };
    box.addEventListener('click', (event) => {
      const copied = event.target.closest('[data-copy]');
      if (copied) {
        copy(copied.dataset.copy);
        copied.classList.add('copied');
        setTimeout(() => copied.classList.remove('copied'), 1500);
      }
    });
    // What is unfolded may be longer than the room that is left in its card.
    box.addEventListener('click', ({target}) => {
      const fold = target.closest('summary')?.parentElement;
      if (fold) requestAnimationFrame(() => fold.scrollIntoView({block: 'nearest'}));
    });
    tellClicks(box, model);
    leadAlong(box);
    model.on('body', write);
    // A text may be shown only after this message.
    model.on('msg:custom', (does) => {
      const focusSoon = (times) => {
        const part = does ? box.querySelector(`[data-do="${CSS.escape(does)}"]`) : box;
        if (!part?.getClientRects().length) {
          if (times) setTimeout(focusSoon, 50, times - 1);
        } else if (does) part.focus();
        else focusAll(box);
      };
      focusSoon(40);
    });
    place(); write();
    if (model.scrolls) new ResizeObserver(reach).observe(box);
    return box;
  },
};

const Excerpt = {
  render({model}) {
    const [root, box, whole] = [0, 0, 0].map(() => document.createElement('div'));
    const more = document.createElement('button');
    root.className = 'whole';
    box.className = 'told';
    whole.className = 'about';
    whole.popover = 'auto';
    more.className = 'link more';
    more.textContent = 'all of it';
    const cut = () => [...box.querySelectorAll('.lines, .line > *')].some((part) =>
      part.scrollHeight > part.clientHeight + 2
      || part.scrollWidth > part.clientWidth + 1);
    // Asked when the page is laid out anyway, as above.
    const fit = () => root.classList.toggle('shortened', cut());
    const write = () => {
      const active = root.getRootNode().activeElement, does = active?.dataset?.do;
      box.innerHTML = model.body;
      if (whole.matches(':popover-open')) whole.innerHTML = model.body;
      sameAs(box, active, does)?.focus();
      requestAnimationFrame(fit);
    };
    more.addEventListener('click', () => {
      const place = root.getBoundingClientRect();
      whole.innerHTML = model.body;
      whole.style.cssText = `margin:0;left:${place.left - 12}px;top:${place.top - 8}px;` +
        `width:${place.width}px;max-width:none;padding:8px 12px`;
      whole.showPopover();
    });
    whole.addEventListener('toggle', (event) => {
      if (event.newState === 'closed') whole.replaceChildren();
    });
    tellClicks(root, model);
    root.append(box, more, whole);
    // The width of the page decides what is cut, too.
    new ResizeObserver(fit).observe(box);
    model.on('body', write);
    write();
    return root;
  },
};

const Form = {
  render({model}) {
    const box = document.createElement('div');
    const fields = () => [...box.querySelectorAll('[data-enter]')];
    const write = () => {
      const active = box.getRootNode().activeElement;
      const held = active?.dataset?.enter ?? active?.dataset?.do;
      const typing = active?.dataset?.enter && !active.sent ? active.value : null;
      const beside = placeOf(box, active);
      box.innerHTML = model.body;
      enterEach(box);
      if (held == null) return;
      const again = fields().find((e) => e.dataset.enter === held)
        ?? [...box.querySelectorAll('[data-do]')].find((e) => e.dataset.do === held)
        ?? beside();
      if (!again) return;
      if (typing) again.value = typing;
      again.focus();
    };
    box.style.cssText = model.scrolls ? 'height:100%;overflow-y:auto' : '';
    tellClicks(box, model);
    leadAlong(box);
    box.addEventListener('change', (event) => {
      const field = event.target.closest('[data-enter]');
      if (!field || !field.value.trim()) return;
      field.sent = true;
      model.send_msg(field.dataset.enter + ' ' + field.value);
      field.value = field.defaultValue;
    });
    box.addEventListener('input', (event) => { event.target.sent = false; });
    box.addEventListener('keydown', (event) => {
      const field = event.target.closest('[data-enter]');
      if (!field || !['Escape', 'Enter'].includes(event.key)) return;
      if (event.key === 'Escape') field.value = field.defaultValue;
      if (field.value === field.defaultValue && field.dataset.leave)
        model.send_msg(field.dataset.leave);
    });
    model.on('body', write);
    write();
    return box;
  },
};

export default {Text, Excerpt, Form};
