"""Widget set, theme, palette and escaping: the one place that knows them."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmu

ACCENT = "#0b6e6e"
ACCENT_DARK = "#3db8b3"
THEME = {
    "light": {
        "palette": {
            "primary": {"main": ACCENT},
            "background": {"default": "#f5f8fa", "paper": "#ffffff"},
        },
        "typography": {"fontFamily": "Arial, 'Liberation Sans', sans-serif"},
        "shape": {"borderRadius": 6},
    },
    "dark": {
        "palette": {
            "primary": {"main": ACCENT_DARK},
            "background": {"default": "#10141a", "paper": "#1c2026"},
        },
        "typography": {"fontFamily": "Arial, 'Liberation Sans', sans-serif"},
        "shape": {"borderRadius": 6},
    },
}

# Inside the shadow root of each text pane; colours follow the theme by inheritance.
TEXT_CSS = """
:host { font-size: 14px; line-height: 1.35; }
h2 { font-size: 15px; font-weight: 700; margin: 0; }
h2 small { font-weight: 400; }
p { margin: 2px 0; }
.muted { color: color-mix(in srgb, currentColor 68%, transparent); font-size: 12px; }
.warn { color: #b87000; }
.chip { display: inline-block; padding: 3px 12px; border-radius: 12px;
  margin-right: 6px; background: rgba(255, 255, 255, .2); font-size: 13px; }
.badge { display: inline-block; padding: 1px 9px; border-radius: 10px; font-size: 12px;
  font-weight: 700; background: color-mix(in srgb, #0b8a8a 14%, transparent);
  color: color-mix(in srgb, #0b8a8a 70%, currentColor); }
.badge.estimate { background: color-mix(in srgb, #e0a030 22%, transparent);
  color: inherit; }
.dot { display: inline-block; width: 10px; height: 10px; border-radius: 50%;
  margin-right: 6px; flex: none; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
td, th { padding: 3px 6px; text-align: left; border-bottom: 1px solid
  color-mix(in srgb, currentColor 16%, transparent); vertical-align: top; }
th { font-weight: 400; color: color-mix(in srgb, currentColor 68%, transparent); }
td.number, th.number { text-align: right; }
.name { white-space: nowrap; }
ul { margin: 4px 0; padding-left: 18px; }
kbd { border: 1px solid color-mix(in srgb, currentColor 30%, transparent);
  border-radius: 4px; padding: 0 4px; font-size: 12px; }
"""

# Inside the shadow root of each table, over the rules of the widget set.
TABLE_CSS = """
.pnx-tabulator.tabulator { font-size: 13px !important; }
.pnx-tabulator.tabulator, .pnx-tabulator .tabulator-table,
.pnx-tabulator .tabulator-header, .pnx-tabulator .tabulator-col,
.pnx-tabulator .tabulator-footer { background: transparent !important; }
.pnx-tabulator .tabulator-header .tabulator-col { opacity: .75; }
.pnx-tabulator .tabulator-header .tabulator-col .tabulator-col-title {
  font-weight: 400; }
.pnx-tabulator .tabulator-header .tabulator-col .tabulator-col-content {
  padding: 4px 6px !important; }
.pnx-tabulator .tabulator-row { min-height: 27px !important;
  height: 27px !important; }
.pnx-tabulator .tabulator-row .tabulator-cell { padding: 4px 6px !important;
  height: 27px !important; font-variant-numeric: tabular-nums; }
.pnx-tabulator .tabulator-row, .pnx-tabulator .tabulator-row.tabulator-row-even {
  background: transparent !important; color: inherit !important; }
.pnx-tabulator .tabulator-row.tabulator-selectable:hover {
  background: color-mix(in srgb, #0b8a8a 9%, transparent) !important; }
.pnx-tabulator .tabulator-row.tabulator-selected,
.pnx-tabulator .tabulator-row.tabulator-selected:hover {
  background: color-mix(in srgb, #0b8a8a 18%, transparent) !important;
  color: inherit !important; }
.pnx-tabulator .tabulator-cell[tabulator-field="bar"] > div > div {
  height: 9px !important; margin-top: 5px; border-radius: 4px; }
.pnx-tabulator .tabulator-footer .tabulator-footer-contents { padding: 2px !important; }
.pnx-tabulator .tabulator-footer .tabulator-page { padding: 2px 8px !important;
  font-size: 12px; }
"""

# Lets the cards of a line have one height.
FILL_CSS = """
:host { align-self: stretch !important; height: auto !important; }
:host > div { height: 100%; }
"""

CARD_STYLE = {
    "border": "1px solid",
    "borderColor": "divider",
    "padding": "8px 12px",
    "boxShadow": "none",
    "height": "100%",
    "boxSizing": "border-box",
    "backgroundImage": "none",
}


# Buttons on the line of a title, no higher than it.
SMALL_BUTTON = {"padding": "0 6px", "minHeight": 0, "lineHeight": 1.5}


def safe(text: Any) -> str:
    """Escape a data-borne string for the slots that render markup."""
    return html.escape(str(text))


def markup(body: Any = "", **params: Any) -> pn.pane.HTML:
    """Return a text pane; data-borne strings in body must have gone through safe."""
    params.setdefault("margin", 0)
    return pn.pane.HTML(body, stylesheets=[TEXT_CSS], **params)


def badge(text: str, *, kind: str = "") -> str:
    """Return markup of a small label; text must be safe."""
    return f'<span class="badge {kind}">{text}</span>'


def mark(colour: str, name: str) -> str:
    """Return markup of a name behind a dot of its colour; both must be safe."""
    return f'<span class="dot" style="background:{colour}"></span>{name}'


def card(
    title: str,
    note: Any,
    *content: Any,
    css: str,
    flex: str = "1 1 100%",
    buttons: Sequence[Any] = (),
    **params: Any,
) -> pmu.Paper:
    """Return a titled panel: a noun, one sentence on how to read it, the content.

    `flex` (grow, shrink, basis) says how panels in a `flow` share a line; `buttons`
    stand at the end of the line of the title.
    """
    heading = markup(f"<h2>{safe(title)}</h2>", sizing_mode="stretch_width")
    if buttons:
        heading = pmu.Row(heading, *buttons, margin=0, sizing_mode="stretch_width")
    reading = note if isinstance(note, pn.viewable.Viewable) else markup(note)
    return pmu.Paper(
        heading,
        reading,
        *content,
        css_classes=[css, "cl-card"],
        sx=CARD_STYLE,
        margin=4,
        styles={"flex": flex, "min-width": "0"},
        stylesheets=[FILL_CSS],
        **params,
    )


def table(frame: Any, *, css: str, **options: Any) -> pn.widgets.Tabulator:
    """Return a dense table; columns sort only where the options allow it."""
    options.setdefault("disabled", True)
    return pn.widgets.Tabulator(
        frame,
        show_index=False,
        theme="simple",
        stylesheets=[TABLE_CSS],
        configuration={"columnDefaults": {"headerSort": False}},
        sizing_mode="stretch_width",
        css_classes=[css],
        margin=(4, 0),
        **options,
    )


def flow(*cards: Any, **params: Any) -> pmu.FlexBox:
    """Put cards beside each other, as many as fit."""
    return pmu.FlexBox(
        *cards, margin=0, align_items="stretch", sizing_mode="stretch_width", **params
    )


def span(low: float, high: float) -> str:
    """Write a range of ranks; a dash where there is none."""
    if np.isnan(low):
        return "–"
    return f"{low:.0f}" if low == high else f"{low:.0f}–{high:.0f}"
