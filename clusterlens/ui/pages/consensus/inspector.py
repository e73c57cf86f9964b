"""Inspector: explains the clicked model, sample, selection or pair."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.components.card import Card
from clusterlens.ui.components.deferred import DeferredCard
from clusterlens.ui.pages.consensus.links_tab import LinksTab
from clusterlens.ui.pages.consensus.model_tab import ModelTab
from clusterlens.ui.pages.consensus.sample_tab import SampleTab
from clusterlens.ui.pages.consensus.selection_tab import SelectionTab
from clusterlens.ui.session import Session
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import COLUMN
from clusterlens.ui.widgets.toolkit import about, box, pn

TABS = {
    "model": ("Model", ModelTab),
    "sample": ("Sample", SampleTab),
    "selection": ("Selection", SelectionTab),
    "links": ("Links", LinksTab),
}
# On a narrower page the inspector is a strip that opens a drawer below the headline. If
# it describes samples of the map, it lies below the map, at its width, so that they
# stay visible.
NARROW = "(max-width: 1062px)"
_OUTER = f"""
@container {NARROW} {{ :host {{ position: relative; overflow: visible !important; }} }}
"""
_DRAWER = f"""
:host {{ padding: 0 12px 8px; }}
@container {NARROW} {{
  :host {{ position: absolute !important; right: 44px; bottom: 0;
    top: calc(110px + (var(--cl-scale, 1) - 1) * 250px); height: auto !important;
    width: 318px !important; min-width: 318px !important; z-index: 20;
    display: none !important;
    box-shadow: 0 4px 24px rgba(0, 0, 0, .35); }}
  :host(.cl-drawer-open) {{ display: flex !important; }}
  :host(.cl-below-map) {{ top: auto; height: 48% !important; max-width: none !important;
    width: calc(100cqw - 400px - (var(--cl-scale, 1) - 1) * 250px) !important; }}
}}
"""
_BAR = """
.top { display: flex; align-items: center; } .tabs { flex: 1; }
.top > button.about { margin-left: 16px; }
"""
_STRIP = f"""
:host {{ display: none !important; }}
@container {NARROW} {{ :host {{ display: block !important; }} }}
"""


class Inspector(Card):
    """Tabs for the selected model, sample, selection and links."""

    needs = ("view.tab", "view.drawer", "view.streak")
    also = ("links", "view.brush", "view.inspected?")

    def __init__(self, session: Session) -> None:
        self.tabs: dict[str, DeferredCard] = {}
        self._is_visible = False
        super().__init__(session)

    def build(self) -> Any:
        self.tabs = {
            key: DeferredCard(self.session, tab) for key, (_, tab) in TABS.items()
        }
        self._bar = Text(does=self._choose, styles={"flex": "none"}, stylesheets=[_BAR])
        self._strip = Text(
            does=self._choose, stylesheets=[_STRIP], css_classes=["cl-inspector-strip"]
        )
        places = pn.Column(
            *(tab.view for tab in self.tabs.values()),
            sizing_mode="stretch_both",
            margin=0,
            styles={**COLUMN, "flex": "1 1 0"},
        )
        self._drawer = box(self._bar, places, css="cl-inspector", stylesheets=[_DRAWER])
        return pn.Column(
            self._drawer,
            self._strip,
            sizing_mode="stretch_both",
            margin=0,
            styles={**COLUMN, "height": "100%"},
            stylesheets=[_OUTER],
        )

    def set_visible(self, visible: bool) -> None:
        """Let only the tab in front watch its results."""
        self._is_visible = visible
        super().set_visible(visible)
        self._show_tab()

    def show(self, tab: str, drawer: bool, streak: bool, **found: Any) -> None:
        """Bring the selected tab to the front."""
        links = len(found["links"].value or ())
        names = {key: title for key, (title, _) in TABS.items()}
        if links:
            names["links"] += f" {links}"
        explanation = about("cl-inspector", "the inspector")
        self._bar.body = (
            f"<div class='top'>{_tabs(names, tab, 'tabs')}{explanation}</div>"
        )
        self._strip.body = _tabs(names, tab, "strip")
        classes = ["cl-inspector", "cl-card"]
        is_below = streak or tab in ("sample", "selection")
        classes += ["cl-drawer-open"] * drawer + ["cl-below-map"] * is_below
        if self._drawer.css_classes != classes:
            self._drawer.css_classes = classes
        self._show_tab()

    def _show_tab(self) -> None:
        front = self.session.view_state.tab
        for key, tab in self.tabs.items():
            tab.set_visible(self._is_visible and key == front)

    def _choose(self, tab: str) -> None:
        view_state = self.session.view_state
        again = view_state.tab == tab and view_state.drawer
        view_state.param.update(tab=tab, drawer=not again)


def _tabs(names: dict[str, str], front: str, kind: str) -> str:
    """Write the tabs as markup, the one in front marked."""
    buttons = "".join(
        f'<button role="tab" aria-selected="{str(key == front).lower()}" '
        f'class="tab {"front" if key == front else ""} cl-tab-{key}" '
        f'data-do="{key}">{name}</button>'
        for key, name in names.items()
    )
    return f'<div class="{kind}" role="tablist">{buttons}</div>'
