"""Form: a `Text` with switches and fields."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import TEXT_CSS, scaled

FORM_CSS = scaled("""
.chip { padding: 1px 9px; margin: 1px 4px 1px 0; border-radius: 11px; font-size: 12px;
  position: relative; background: color-mix(in srgb, currentColor 9%, transparent); }
.chip button { all: unset; cursor: pointer; position: absolute; right: -3px; top: -4px;
  width: 15px; height: 15px; line-height: 14px; text-align: center; border-radius: 50%;
  font-size: 12px; opacity: 0; background: #5c6670; color: #fff; }
.chip:hover button, .chip button:focus-visible { opacity: 1; }
input.field { width: 20px; box-sizing: border-box; font: inherit; font-size: 12px;
  color: inherit; text-align: center; padding: 0 2px; height: 21px; border-radius: 11px;
  background: transparent; border: 1px dashed
  color-mix(in srgb, currentColor 45%, transparent); }
input.field:focus, input.field:not(:placeholder-shown) { width: 84px;
  border: 1px solid #0b8a8a; }
input.field.wrong { border: 2px solid #c62828; width: 84px; }
button.switch { all: unset; cursor: pointer; position: relative; width: 30px;
  height: 17px; border-radius: 9px; flex: none; background:
  color-mix(in srgb, currentColor 24%, transparent); }
button.switch::after { content: ""; position: absolute; left: 2px; top: 2px;
  width: 13px; height: 13px; border-radius: 50%; background: #fff; }
button.switch[aria-checked=true] { background: #0b7d7d; }
button.switch[aria-checked=true]::after { left: 15px; }
button.switch:focus-visible { outline-offset: 2px; }
button.dashed { all: unset; cursor: pointer; padding: 0 9px; margin: 1px 4px 1px 0;
  border-radius: 11px; font-size: 12px; border: 1px dashed
  color-mix(in srgb, currentColor 40%, transparent); }
button.dashed:hover, button.dashed:focus-visible { border-color: #0b8a8a; }
.wrong { color: color-mix(in srgb, #e53935 var(--cl-mixed, 75%), currentColor); }
.off { opacity: .5; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
input.exact { appearance: textfield; float: right;
  width: calc(92px * var(--cl-scale, 1)); box-sizing: border-box; font: inherit;
  font-weight: 700; color: inherit; text-align: right; padding: 0 4px; height: 22px;
  background: transparent; border-radius: 4px; border: 1px solid
  color-mix(in srgb, currentColor 30%, transparent); }
input.exact.whole { width: 60px; }
.set { display: flex; align-items: center; gap: 4px; justify-content: space-between; }
.set input { flex: none; }
input.word { width: 110px; box-sizing: border-box; font: inherit; color: inherit;
  padding: 0 4px; height: 20px; background: transparent; border-radius: 4px;
  border: 1px solid color-mix(in srgb, currentColor 30%, transparent); }
input.exact::-webkit-inner-spin-button { appearance: none; }
@media (max-width: 1150px), (max-height: 800px) { .meaning { display: none; } }
""")


class Form(Text):
    """Markup with fields: a field with `data-enter` reports its typed text.

    It reports the value of `data-enter`, a space, and the text; the field then shows
    the value in force again. Esc discards the typed text. A field with `data-leave`
    reports it if it is left unchanged by Esc or Enter. Typed text and the cursor
    survive new markup.
    """

    def __init__(self, body: str = "", **params: Any) -> None:
        super().__init__(body, **params)
        self.stylesheets = [TEXT_CSS, FORM_CSS]
