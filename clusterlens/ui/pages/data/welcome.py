"""Introduction in one sentence and three steps."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.components.card import Card
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import TEXT_CSS, scaled
from clusterlens.ui.widgets.toolkit import link, safe

WELCOME = """<div class='welcome'><p class='say' role='heading' aria-level='2'>
ClusterLens runs many clusterings of one table, shows what they agree on, and ranks
every model by its distance to that consensus.</p><ol>
<li><b>Load a table</b><span>column roles are guessed, with reasons</span></li>
<li><b>Run a pool</b><span>dozens of clusterings, cost stated first</span></li>
<li><b>Read the consensus</b><span>where models agree, where not</span></li>
</ol></div>"""
WELCOME_CSS = scaled("""
.welcome { display: flex; gap: 30px; justify-content: space-between; }
.welcome .say { font-size: 16px; line-height: 1.3; margin: 0; max-width: 640px; }
.welcome ol { display: flex; gap: 12px; margin: 0; padding: 0; list-style: none;
  counter-reset: step; font-size: 12px; }
.welcome li { position: relative; padding-left: 32px; width: 168px;
  counter-increment: step;
  color: color-mix(in srgb, currentColor var(--cl-mixed, 75%), transparent); }
.welcome li b { display: block; }
.welcome li::before { content: counter(step); position: absolute; left: 0; top: 8px;
  width: 21px; line-height: 21px; text-align: center; border-radius: 50%;
  border: 1px solid color-mix(in srgb, currentColor 45%, transparent); }
@media (max-width: 1150px) { .welcome li { width: 110px; }
  .welcome li span { display: none; } }
""")


class Welcome(Card):
    """Introduction, with a button back to the loaded table."""

    needs = ("table?",)

    def build(self) -> Any:
        self._text = Text(does=self._back, css_classes=["cl-welcome"])
        self._text.stylesheets = [TEXT_CSS, WELCOME_CSS]
        return self._text

    def show(self, table: Dataset | None) -> None:
        """Offer the way back if a table is loaded."""
        back = link(f"← Back to <bdi>{safe(table.name)}</bdi>", "back") if table else ""
        self._text.body = f"{WELCOME}{back}"

    def _back(self, what: str) -> None:
        self.session.view_state.starting = False
