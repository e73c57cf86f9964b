"""Theme, style sheets and the styles of boxes that all pages share."""

from __future__ import annotations

import re

ACCENT = "#0b6e6e"
ACCENT_DARK = "#3db8b3"
# Comes with the components, as their icons do, so that texts are equally wide on every
# machine.
FONT = "Roboto, Arial, 'Liberation Sans', sans-serif"
# Focus ring for keyboard users.
RING = {
    "MuiButtonBase": {
        "styleOverrides": {
            "root": {
                "&.Mui-focusVisible": {
                    "outline": "2px solid currentColor",
                    "outlineOffset": "-3px",
                }
            }
        }
    },
    # A fading button would keep the old theme's colour for a moment.
    "MuiButton": {"styleOverrides": {"root": {"transition": "none"}}},
    "MuiOutlinedInput": {
        "styleOverrides": {
            "root": {
                "&:has(:focus-visible)": {
                    "outline": "2px solid #0b8a8a",
                    "outlineOffset": "1px",
                }
            }
        }
    },
    # The label interrupts the line around its field, but must not interrupt the ring.
    "MuiInputLabel": {
        "styleOverrides": {
            "root": {"&.Mui-focused": {"backgroundColor": "var(--panel-surface-color)"}}
        }
    },
    "MuiFormControlLabel": {
        "styleOverrides": {"label": {"fontSize": "calc(14px * var(--cl-scale, 1))"}}
    },
    # A tooltip inside its button would be no wider than the button.
    "MuiTooltip": {"styleOverrides": {"popper": {"width": "max-content"}}},
}
THEME = {
    "light": {
        "palette": {
            "primary": {"main": ACCENT},
            "background": {"default": "#f5f8fa", "paper": "#ffffff"},
        },
        "typography": {"fontFamily": FONT},
        "shape": {"borderRadius": 6},
        "components": RING,
    },
    "dark": {
        "palette": {
            "primary": {"main": ACCENT_DARK},
            "background": {"default": "#10141a", "paper": "#1c2026"},
        },
        "typography": {"fontFamily": FONT},
        "shape": {"borderRadius": 6},
        "components": RING,
    },
}


def scaled(css: str) -> str:
    """Let the text sizes in a style sheet follow the size chosen for the page."""
    size = r"font-size: calc(\1px * var(--cl-scale, 1))"
    return re.sub(r"font-size: ([\d.]+)px", size, css)


# Used inside the shadow root of each text; colours follow the theme by inheritance. A
# name written from right to left must not reorder its surroundings. The share of a
# mixed colour names a variable that is never set, because without one Chromium keeps
# the colour of the old theme.
TEXT_CSS = scaled("""
:host { font-size: 14px; line-height: 1.35; }
:focus-visible { outline: 2px solid #0b8a8a !important; }
div:focus-visible { outline-offset: -2px; }
b, span, button, td, th, dd, figcaption { unicode-bidi: plaintext; }
h2 { font-size: 16px; font-weight: 700; margin: 0; white-space: nowrap; }
@media (max-width: 1350px) { h2 { font-size: 12px; } }
@media (max-height: 800px) { .spare, .badge.spare, .how { display: none; } }
@media (max-width: 1150px) { .detail { display: none; } }
h2 small { font-weight: 400; }
p { margin: 2px 0; }
.muted, .how { font-size: 12px;
  color: color-mix(in srgb, currentColor var(--cl-mixed, 68%), transparent); }
:is(.muted, .how) :is(.muted, .how) { color: inherit; }
.warn { color: color-mix(in srgb, #b87000 var(--cl-mixed, 70%), currentColor); }
.said { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%); white-space: nowrap; }
.chip { display: inline-block; padding: 3px 12px; border-radius: 12px;
  margin-right: 6px; background: rgba(0, 0, 0, .2); font-size: 14px; }
@media (max-width: 1150px) { .chip { padding: 3px 8px; margin-right: 2px; } }
button.chip { all: unset; cursor: pointer; padding: 2px 11px; border-radius: 12px;
  font-size: 14px; border: 1px solid rgba(255, 255, 255, .6); }
.chips { position: absolute; inset: -5px 0; display: flex; align-items: center;
  overflow: hidden; }
.chips > .chip { flex: none; white-space: nowrap; }
.chips > .chip:has(> bdi) { display: flex; gap: 4px; flex: 0 1 auto; min-width: 0;
  overflow: hidden; }
.chips > .chip:first-child { flex-shrink: 6; }
.chips bdi { min-width: 1em; }
.chips .chip > span { flex: none; }
/* A size is whole or, on a second line, out of sight. */
@media (max-width: 1150px) {
  .chips > .chip:has(> bdi) { flex-wrap: wrap; gap: 0 4px; height: 1.35em;
    box-sizing: content-box; }
  .chips > .chip:first-child { flex-shrink: 1 !important; } }
button.chip:hover { background: rgba(0, 0, 0, .2); }
button.chip:focus-visible { outline-color: #fff !important; outline-offset: -2px; }
.badge { display: inline-block; padding: 1px 9px; border-radius: 10px; font-size: 12px;
  font-weight: 700; background: color-mix(in srgb, #0b8a8a 14%, transparent);
  color: color-mix(in srgb, #0b8a8a var(--cl-mixed, 70%), currentColor); }
.badge.estimate { background: color-mix(in srgb, #e0a030 22%, transparent);
  color: inherit; }
.stroke { display: inline-block; width: 20px; margin-right: 5px;
  vertical-align: middle; }
.scale-of { display: inline-block; width: 40px; height: 9px; }
@media (max-width: 1150px) { .scale-of { width: 20px; }
  .sides:has(> .cl-scale), .cut.whole { gap: 2px; } }
.dot { display: inline-block; width: 10px; height: 10px; border-radius: 50%;
  margin-right: 6px; flex: none; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
td, th { padding: 3px 6px; text-align: left; border-bottom: 1px solid
  color-mix(in srgb, currentColor 16%, transparent); vertical-align: top; }
th { font-weight: 400;
  color: color-mix(in srgb, currentColor var(--cl-mixed, 68%), transparent); }
td.number, th.number { text-align: right; }
.name { white-space: nowrap; }
ul { margin: 4px 0; padding-left: 18px; }
button.link { all: unset; cursor: pointer; font-weight: 700;
  color: color-mix(in srgb, #0b8a8a var(--cl-mixed, 72%), currentColor); }
button.link:hover, .badge button.link { text-decoration: underline; }
.badge button.link { color: inherit; }
button.link:focus-visible { outline-offset: 1px; }
button.link.copied::after { content: " ✓ copied"; }
.pill { display: inline-block; padding: 2px 10px; border-radius: 12px; font-size: 12px;
  background: color-mix(in srgb, #0b8a8a 12%, transparent); margin-right: 6px; }
button.pill { all: unset; display: inline-block; cursor: pointer; padding: 2px 10px;
  border-radius: 12px; font-size: 12px; margin-right: 6px; border: 1px solid
  color-mix(in srgb, currentColor 30%, transparent); }
button.pill:hover { border-color: #0b8a8a; }
h3 { font-size: 14px; margin: 10px 0 2px; padding-top: 8px; border-top: 1px solid
  color-mix(in srgb, currentColor 16%, transparent); }
h3 small { font-weight: 400; opacity: .7; }
.right { float: right; font-weight: 400; }
.between { display: flex; justify-content: space-between; gap: 6px; }
dl { display: grid; grid-template-columns: auto 1fr; gap: 2px 10px; margin: 4px 0;
  font-size: 12px; }
dt { color: color-mix(in srgb, currentColor var(--cl-mixed, 68%), transparent); }
dd { margin: 0; overflow-wrap: anywhere; }
.track { height: 8px; background: color-mix(in srgb, currentColor 9%, transparent);
  margin-top: 5px; min-width: 60px; position: relative; overflow: hidden; }
.track > div { height: 100%; }
.track.middle::after { content: ""; position: absolute; left: 50%; top: 0; bottom: 0;
  border-left: 1px solid currentColor; }
.band { position: relative; height: 8px; margin-top: 5px; min-width: 60px; }
.band::before { content: ""; position: absolute; left: 0; right: 0; top: 3px;
  height: 2px; background: color-mix(in srgb, currentColor 12%, transparent); }
.band > div { position: absolute; height: 7px; border-radius: 4px; opacity: .6; }
.band > i { position: absolute; width: 7px; height: 7px; margin-left: -3px;
  border-radius: 50%; background: currentColor; }
.scale { position: relative; height: 9px; border-radius: 4px; margin: 4px 0; }
.scale > div { position: absolute; top: -3px; width: 3px; height: 15px;
  background: currentColor; outline: 1px solid rgba(255, 255, 255, .7); }
table.profile { table-layout: fixed; } table.profile td, table.profile th {
  border: 0; padding: 2px 4px; }
table.profile td:nth-child(1), table.profile th:nth-child(1) { width: 33%; }
table.profile td:nth-child(3), table.profile th:nth-child(3),
table.profile td:nth-child(4), table.profile th:nth-child(4) { width: 21%; }
table.profile td.number { font-size: 14px; }
.stack { display: grid; align-items: center; }
.stack > * { grid-area: 1 / 1; min-width: 0; }
.cut { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.cut > button.link { display: inline-block; max-width: 100%; overflow: hidden;
  text-overflow: ellipsis; vertical-align: bottom; }
/* Larger text has room below, where a page then scrolls. */
@container style(--cl-scale: 1.3) { .stack > .whole { flex-wrap: wrap; }
  .cut.whole, .whole > .cut, .title h2 { white-space: normal; } }
.told-apart { display: flex; gap: 0 .3em; min-width: 0; max-width: 100%; }
.told-apart > span { flex: 0 1 auto; min-width: 0; overflow: hidden;
  text-overflow: ellipsis; white-space: pre; }
/* What two names share gives way first, what tells them apart last. */
.told-apart > span:first-child { flex-shrink: 100000; min-width: 1.6em; }
.told-apart > span:first-child:has(+ span:empty) { flex-shrink: 1; }
.told-apart > span:empty { display: none; }
.told-apart.close { gap: 0; }
td.cut { max-width: 110px; } table.rows .cut { max-width: 180px; }
.brief { display: inline-block; max-width: 150px; vertical-align: bottom; }
.entries { display: flex; flex-wrap: wrap; gap: 0 .7em; flex: 1 1 0; min-width: 0; }
.entries > span { display: flex; align-items: center; gap: 0 .3em; min-width: 0;
  white-space: nowrap; }
.entries > span > .dot { margin-right: 2px; }
.sides { display: flex; justify-content: space-between; gap: 6px; }
table.profile th { font-size: 12px; }
@media (max-width: 1350px) { table.profile td { font-size: 12px; } }
.tabs { display: flex; border-bottom: 1px solid
  color-mix(in srgb, currentColor 16%, transparent); margin: 0 -12px 8px; }
.tab { all: unset; cursor: pointer; flex: 1; text-align: center; padding: 10px 2px 8px;
  font-size: 14px; border-bottom: 2px solid transparent; opacity: .75; }
.tab.front { border-color: #0b8a8a; font-weight: 700; opacity: 1;
  color: color-mix(in srgb, #0b8a8a var(--cl-mixed, 75%), currentColor); }
.tab:focus-visible { outline-offset: -3px; }
.strip { display: flex; flex-direction: column; gap: 4px; }
.strip .tab { writing-mode: vertical-rl; padding: 14px 8px; border-bottom: 0;
  border-left: 2px solid transparent; }
.keys { background: var(--panel-surface-color, #fff);
  color: var(--panel-on-surface-color, #14181d); border-radius: 8px; padding: 14px 22px;
  max-height: calc(100vh - 80px); box-sizing: border-box; overflow-y: auto;
  box-shadow: 0 6px 30px rgba(0, 0, 0, .4); margin: 0 auto; display: grid; gap: 0 28px;
  grid-template-columns: minmax(200px, 1fr) minmax(0, 1.6fr); }
.keys .words { max-height: 62vh; overflow-y: auto; }
.keys dl { display: block; font-size: 14px; }
.keys dt { color: inherit; font-weight: 700; margin-top: 6px; }
.notice { box-shadow: 0 3px 14px rgba(0, 0, 0, .25); display: flex;
  overflow-wrap: anywhere; gap: 12px; justify-content: space-between; padding: 4px 12px;
  border-radius: 6px; margin-top: 3px; border-left: 4px solid var(--cl-tone, #0b8a8a);
  background: color-mix(in srgb, var(--cl-tone, #0b8a8a) 12%,
    var(--panel-surface-color, #fff)); color: var(--panel-on-surface-color, #14181d); }
.notice > button, .notice .acts { flex: none; }
.notice .acts { display: flex; gap: 14px; align-items: baseline; }
.notice.error { --cl-tone: #c62828; }
.notice.warning { --cl-tone: #d9822b; }
.failed { border: 1px solid #d9822b; border-radius: 6px; padding: 8px 10px;
  background: color-mix(in srgb, #d9822b 10%, transparent); }
.empty { border: 1px dashed color-mix(in srgb, currentColor 35%, transparent);
  border-radius: 6px; padding: 10px 12px; }
.skeleton { height: 10px; border-radius: 5px; margin: 14px 0; background:
  color-mix(in srgb, currentColor 10%, transparent); animation: pulse 1.4s infinite; }
.skeleton.over { position: absolute; left: 0; right: 0; height: 4px; margin: 0;
  z-index: 5; }
@keyframes pulse { 50% { opacity: .45; } }
@media (prefers-reduced-motion: reduce) { .skeleton { animation: none; } }
.rows-of-k { display: grid; grid-auto-rows: 1fr; height: 100%; min-height: 0; }
.row-of-k { display: grid; grid-template-columns: 26px minmax(0, 1fr); gap: 10px;
  align-items: center; min-height: 0; cursor: pointer; border-radius: 4px;
  font-size: 12px; }
.row-of-k.judged { grid-template-columns: 26px minmax(0, 1.2fr) minmax(0, 1fr)
  62px 62px 30px; }
.row-of-k.head { cursor: default; align-items: end; line-height: 1.15; }
.row-of-k .wide { white-space: nowrap; }
@media (max-width: 1350px) {
  .row-of-k.judged { grid-template-columns: 26px minmax(0, 1.2fr) minmax(0, 1fr) 30px; }
  .row-of-k .wide { display: none; } }
.row-of-k:not(.head):hover { background: color-mix(in srgb, #0b8a8a 7%, transparent); }
.row-of-k.front { background: color-mix(in srgb, #0b8a8a 15%, transparent); }
.row-of-k button { all: unset; cursor: pointer; text-align: right; }
.row-of-k.front button { font-weight: 700; }
.row-of-k .closest { color: #0b8a8a; vertical-align: 1px; }
.rows-of-k > .row-of-k { container-type: size; grid-template-rows: minmax(0, 1fr); }
.parts { display: flex; gap: 1px; height: calc(100% - 3px); max-height: 22px; }
.parts > div { overflow: hidden; border-radius: 2px; font-size: 12px; min-width: 0;
  display: flex; flex-wrap: wrap; justify-content: center; align-content: flex-start;
  font-variant-numeric: tabular-nums; }
/* A number that does not fit beside this goes to a next line, out of sight. */
.parts > div::before { content: ""; height: 100%; width: 1px; }
.parts span { display: flex; align-items: center; height: 100%; }
@container (max-height: 16px) { .parts { height: calc(100% - 1px); }
  .parts > div { line-height: 1; } }
@container (max-height: 10px) {
  .parts > div { font-size: 0; }
  .row-of-k:not(.front, :first-child) > button,
  .row-of-k:first-child:has(+ .front, + * + .front) > button { visibility: hidden; }
  .row-of-k .closest { visibility: visible; }
  .row-of-k:first-child > button { align-self: start; line-height: 1; }
  .row-of-k:last-child > button { align-self: end; line-height: 1; } }
.strip-of-k { position: relative; height: 100%; }
.strip-of-k > i { position: absolute; top: calc(50% - 4px); width: 9px; height: 9px;
  margin-left: -4px; border-radius: 50%; background: #0b8a8a; z-index: 2;
  outline: 1px solid rgba(255, 255, 255, .8); }
.strip-of-k > div { position: absolute; top: calc(50% - 3px); height: 7px;
  border-radius: 3px; min-width: 4px; }
table.heat { border-collapse: separate; border-spacing: 2px; font-size: 12px;
  width: auto; min-width: 100%; }
table.heat td, table.heat th { border: 0; padding: 4px 5px; white-space: nowrap;
  vertical-align: middle; }
@media (max-height: 800px) { table.heat td { padding: 2px 5px; } }
table.heat th { vertical-align: bottom; line-height: 1.15; }
table.heat td.cell { text-align: center; border-radius: 3px; min-width: 38px; }
table.heat th.cell { text-align: center; white-space: normal;
  overflow-wrap: break-word; }
table.heat th.cell span { display: -webkit-box; -webkit-box-orient: vertical;
  -webkit-line-clamp: 3; overflow: hidden; max-width: 104px; margin: 0 auto; }
table.heat td:first-child { max-width: 240px; overflow: hidden;
  text-overflow: ellipsis; }
table.heat tr.front td { background-image: linear-gradient(color-mix(in srgb, #0b8a8a
  13%, transparent), color-mix(in srgb, #0b8a8a 13%, transparent)); }
table.heat tr.front td.cell { background-image: none; }
table.heat tr.front td:first-child { box-shadow: inset 3px 0 #0b8a8a; }
table.heat button { all: unset; cursor: pointer; }
table.heat tr[data-do] { cursor: pointer; }
table.heat td .track { margin-top: 0; display: inline-block; width: 54px;
  min-width: 0; vertical-align: middle; margin-right: 6px; }
table.cross { border-collapse: separate; border-spacing: 2px; font-size: 12px; }
table.cross td, table.cross th { border: 0; padding: 3px 5px; text-align: center;
  vertical-align: middle; }
table.cross td.name, table.cross th.name { text-align: left; max-width: 110px; }
table.cross button { all: unset; cursor: pointer; display: block; width: 100%;
  padding: 3px 0; border-radius: 3px; }
table.cross button.front { outline: 2px solid currentColor; }
.small-multiples { display: grid; gap: 4px 16px; height: 100%;
  grid-template-columns: repeat(auto-fit, minmax(118px, 1fr)); }
.small-multiples figure { margin: 0; min-width: 0; display: flex;
  flex-direction: column; min-height: 120px; }
.small-multiples figcaption { font-size: 12px; line-height: 1.25; }
.small-multiples figcaption > div, .small-multiples figcaption b {
  overflow-wrap: anywhere; min-width: 0; }
.small-multiples svg { flex: 1 1 0; min-height: 0; width: 100%; }
table.rows td, table.rows th { white-space: nowrap; }
.title { display: flex; align-items: center; padding-right: 6px; }
@media (max-width: 1350px) { .title { padding-right: 2px; } }
button.about { all: unset; cursor: pointer; display: inline-block; width: 16px;
  height: 16px; line-height: 16px; margin-left: 7px; border-radius: 50%; flex: none;
  font-size: 12px; text-align: center; font-weight: 700; font-style: italic;
  border: 1px solid color-mix(in srgb, currentColor 45%, transparent);
  color: color-mix(in srgb, currentColor var(--cl-mixed, 68%), transparent); }
@media (max-width: 1350px) { button.about { margin-left: 2px; width: 12px;
  height: 12px; line-height: 12px; } }
button.about:hover { border-color: #0b8a8a; color: inherit; }
button.about:focus-visible { outline-offset: 1px; }
div.about { max-width: 430px; border: 0; border-radius: 8px; padding: 14px 20px;
  background: var(--panel-surface-color, #fff);
  color: var(--panel-on-surface-color, #14181d);
  box-shadow: 0 6px 30px rgba(0, 0, 0, .4);
  white-space: normal; font-weight: 400; font-size: 14px; line-height: 1.45; }
div.about dl { display: block; font-size: 14px; }
div.about dt { font-weight: 700; color: inherit; margin-top: 8px; }
dfn { font-style: normal; text-decoration: underline dotted; cursor: help; }
kbd { border: 1px solid color-mix(in srgb, currentColor 30%, transparent);
  border-radius: 4px; padding: 0 4px; font-size: 12px; }
""")

# Style of a text of fixed height: three lines, and a line of small parts.
EXCERPT_CSS = """
.told .lines { height: 4.05em; overflow: hidden; display: -webkit-box;
  -webkit-box-orient: vertical; -webkit-line-clamp: 3; }
.told .line { height: 24px; margin-top: 3px; display: flex; align-items: center;
  gap: 6px; }
.told .line > * { flex: 0 100000 auto; margin: 0; min-width: 0; overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; }
/* These are cut last. At a smaller ratio they would lose a part of a pixel, and so a
   letter, with the others. */
.told .line > :is(.pill, .badge, .short), .told .line > :first-child:not(:only-child) {
  flex-shrink: 1; }
/* Larger text has room below, where a page then scrolls. */
@container style(--cl-scale: 1.3) { .told .line { height: auto; flex-wrap: wrap; }
  .told .line > * { white-space: normal; } }
.whole { position: relative; }
.shortened .line { margin-right: 62px; }
.more { display: none !important; }
.shortened > .more { display: block !important; position: absolute; right: 0; bottom: 0;
  font-size: 12px; line-height: 24px; }
div.about .line { margin-top: 6px; }
div.about .line > * { margin-bottom: 4px; }
"""

# Used inside the shadow root of a table, over the rules of the widget set.
TABLE_CSS = scaled("""
:focus-visible { outline: 2px solid #0b8a8a !important; outline-offset: -2px; }
.pnx-tabulator.tabulator { font-size: 14px !important; }
.pnx-tabulator.tabulator, .pnx-tabulator .tabulator-table,
.pnx-tabulator .tabulator-header, .pnx-tabulator .tabulator-col {
  background: transparent !important; }
.pnx-tabulator .tabulator-header .tabulator-col { opacity: .75; }
.pnx-tabulator .tabulator-header .tabulator-col .tabulator-col-title {
  font-weight: 400; }
.pnx-tabulator .tabulator-header .tabulator-col .tabulator-col-content {
  padding: 4px 3px !important; font-size: 12px; }
.pnx-tabulator .tabulator-row { min-height: 27px !important;
  height: 27px !important; }
.pnx-tabulator .tabulator-row .tabulator-cell { padding: 4px 6px !important;
  height: 27px !important; font-variant-numeric: tabular-nums; }
/* Panel's last column is a pixel wide; with room around it, it would scroll. */
.pnx-tabulator .tabulator-row .tabulator-cell.empty { padding: 0 !important; }
.pnx-tabulator .tabulator-row, .pnx-tabulator .tabulator-row.tabulator-row-even {
  background: transparent !important; color: inherit !important; }
.pnx-tabulator .tabulator-row.tabulator-selectable:hover {
  background: color-mix(in srgb, #0b8a8a 9%, transparent) !important; }
.pnx-tabulator .tabulator-row.tabulator-selected,
.pnx-tabulator .tabulator-row.tabulator-selected:hover {
  background: color-mix(in srgb, #0b8a8a 18%, transparent) !important;
  color: inherit !important; }
.tabulator-edit-list.tabulator-popup-container { font-size: 14px;
  background: var(--panel-surface-color); color: var(--panel-on-surface-color);
  border-color: color-mix(in srgb, currentColor 30%, transparent); }
.tabulator-edit-list .tabulator-edit-list-item { color: inherit !important; }
.tabulator-edit-list .tabulator-edit-list-item:hover {
  background: color-mix(in srgb, #0b8a8a 18%, transparent) !important; }
.tabulator-edit-list .tabulator-edit-list-item.active {
  background: #0b6e6e !important; color: #fff !important; }
""")

# Style of a card; the host element is its box.
CARD_CSS = """
:host { border: 1px solid color-mix(in srgb, currentColor 14%, transparent);
  border-radius: 6px; padding: 8px 12px; box-sizing: border-box; overflow: hidden;
  position: relative; min-width: 0; min-height: 0;
  background: var(--panel-surface-color); color: var(--panel-on-surface-color); }
/* Hide outdated content below a status. */
.cl-gone ~ * { display: none !important; }
/* Inherited, as what stands below lies in boxes that have no picture of their own. */
.cl-unseen ~ * { visibility: hidden !important; }
"""
# Position of the “i” of a card without a title.
CORNER = {"position": "absolute", "right": "5px", "top": "5px", "z-index": "6"}
CORNER_ROOM = ":host { padding-right: 32px; }"
# The label of a slider is only for screen readers if text beside it says the same.
NAME_UNSEEN = {"& .MuiFormLabel-root": {"display": "none"}}
_DENSE_NARROW = {
    "& .MuiInputLabel-root": {"maxWidth": "133%"},
    "& .MuiSelect-select": {"padding": "4px 18px 4px 6px !important"},
    "& .MuiSelect-icon": {"right": "0", "fontSize": "18px"},
}
# A dense field on one line with a title.
DENSE = {
    "& .MuiInputBase-root": {
        "height": "30px",
        "fontSize": "calc(14px * var(--cl-scale, 1))",
    },
    "& .MuiInputLabel-root": {"fontSize": "calc(14px * var(--cl-scale, 1))"},
    "& .MuiInputLabel-root:not(.MuiInputLabel-shrink)": {
        "transform": "translate(12px, 5px)"
    },
    "& .MuiSelect-select": {
        "padding": "4px 26px 4px 9px !important",
        "fontSize": "calc(14px * var(--cl-scale, 1))",
    },
    "@media (max-width: 1350px)": _DENSE_NARROW,
}
# A select that shows its value on two lines.
TWO_LINES = {
    **DENSE,
    "& .MuiInputBase-root": {"height": "calc(40px * var(--cl-scale, 1))"},
    "& .MuiSelect-select": {
        "padding": "4px 24px 0 8px !important",
        "fontSize": "calc(12px * var(--cl-scale, 1))",
        "lineHeight": "1.15",
        "whiteSpace": "normal !important",
    },
    "@media (max-width: 1350px)": {
        **_DENSE_NARROW,
        "& .MuiSelect-select": {"padding": "4px 18px 0 6px !important"},
    },
}
# A title keeps its width, whatever Panel sets; its neighbours shrink.
TITLE_CSS = ":host { min-width: max-content !important; }"
# A box that never grows with its children, which share its height.
COLUMN = {
    "min-height": "0",
    "min-width": "0",
    "overflow": "hidden",
}
# Smallest height of a card that needs more space for large text: 0 at the usual size.
ROOM = "calc((var(--cl-scale, 1) - 1) * 800px)"
# Hides texts on the present state while the connection is lost.
HIDDEN_WITHOUT_CONNECTION = {"visibility": "var(--cl-told)"}
SCROLL = {"overflow-y": "auto", "min-height": "0", "flex": "1 1 0"}
# Style of a page while its cards are being made, with a sentence after two seconds.
COMING = """
:host(.cl-coming) { border-radius: 6px; animation: coming 1.4s infinite;
  background: color-mix(in srgb, currentColor 6%, transparent); }
@keyframes coming { 50% { opacity: .45; } }
:host(.cl-coming)::after { content: "The page is being prepared."; margin: auto;
  visibility: hidden; animation: coming-told 0s 2s forwards; }
@keyframes coming-told { to { visibility: visible; } }
@media (prefers-reduced-motion: reduce) { :host(.cl-coming) { animation: none; } }
"""
