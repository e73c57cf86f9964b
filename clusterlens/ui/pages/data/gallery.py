"""Gallery of examples; a click opens one and runs its pool."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from clusterlens.compute.formatting import whole
from clusterlens.compute.pool.specs import pool_specs
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.examples import EXAMPLES
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.commands import run_preset
from clusterlens.ui.components.thumbnails import thumbnail
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import TEXT_CSS, scaled
from clusterlens.ui.widgets.toolkit import link, safe

MISLEADS = "Where a consensus misleads"
GROUPS = {
    "Groups to find": ("blobs", "moons", "stretched", "iris", "wine", "breast cancer"),
    MISLEADS: ("rings", "uniform", "hubs", "unequal"),
    "Wide, mixed, large": ("digits", "customers", "large"),
}
# The first example is drawn larger.
FIRST = "blobs"
CSS = scaled("""
.head { display: flex; justify-content: space-between; align-items: baseline;
  flex-wrap: wrap; gap: 0 12px; }
.shares { display: inline-block; width: 84px; height: 9px; margin: 0 4px;
  background: linear-gradient(90deg, #440154, #3b528b, #21918c, #5ec962, #fde725); }
.rows { display: grid; grid-template-columns: repeat(7, minmax(0, 1fr)); gap: 0 8px; }
.group { display: flex; align-items: center; gap: 8px; margin: 5px 0 4px;
  font-size: 12px; }
.group::after { content: ""; flex: 1; border-top: 1px solid
  color-mix(in srgb, currentColor 16%, transparent); }
section { display: grid; grid-template-columns: subgrid; gap: 0 8px; min-width: 0;
  grid-auto-rows: max-content 1fr; }
section > .group { grid-column: 1 / -1; }
.card { display: flex; flex-direction: column; position: relative; border-radius: 6px;
  border: 1px solid color-mix(in srgb, currentColor 16%, transparent);
  overflow: hidden; min-height: 212px; box-sizing: border-box; }
.card.first { grid-column: span 2; }
.card:hover, .card:focus-within { border-color: #0b8a8a;
  box-shadow: 0 0 0 1px #0b8a8a; }
.picture { height: 98px; flex: none; padding: 6px; box-sizing: border-box; background:
  color-mix(in srgb, currentColor 3%, transparent); border-bottom: 1px solid
  color-mix(in srgb, currentColor 12%, transparent); }
.picture img { height: 100%; width: 100%; object-fit: contain; }
.told { padding: 6px 9px 8px; font-size: 12px; line-height: 1.28; }
.told b { font-size: 14px; display: block; }
.told p { margin: 0 0 2px; }
.opens { position: absolute; right: 8px; top: 64px; display: flex; gap: 6px;
  opacity: 0; }
.first .opens { top: auto; bottom: 8px; }
.first .opens, .card:hover .opens, .card:focus-within .opens { opacity: 1; }
.opens button { all: unset; cursor: pointer; padding: 4px 10px; border-radius: 5px;
  font-size: 12px; font-weight: 700; background: #0b6e6e; color: #fff;
  border: 1px solid #0b6e6e; }
.opens button.cl-data-only { background: var(--panel-surface-color, #fff);
  color: color-mix(in srgb, #0b6e6e var(--cl-mixed, 70%), currentColor); }
.opens button:focus-visible { outline-offset: 2px; }
button.example { all: unset; cursor: pointer; position: absolute; inset: 0; }
button.example:focus-visible { outline-offset: -2px; }
@media (max-width: 1200px) { .rows { grid-template-columns: repeat(4, minmax(0, 1fr)); }
  section { grid-column: 1 / -1 !important; grid-auto-rows: max-content; gap: 8px;
    row-gap: 4px; } }
""")


class Gallery(Card):
    """All examples, in groups."""

    needs = ("table?",)

    def build(self) -> Any:
        text = Text(
            f"{HEAD}<div class='rows'>{''.join(_sections())}</div>",
            does=self._open,
            css_classes=["cl-gallery"],
            scrolls=True,
        )
        text.stylesheets = [TEXT_CSS, CSS]
        return text

    def show(self, table: Dataset | None) -> None:
        """Do nothing: the examples are always the same."""

    async def _open(self, what: str) -> None:
        """Load an example; "open iris" also runs the default pool on it."""
        how, _, name = what.partition(" ")
        session = self.session
        view_state = {"starting": False}
        if not await session.act("load example", view_state=view_state, name=name):
            return
        if how == "load":
            return
        if session.analysis.dataset is None or session.view_state.page != "data":
            return
        session.view_state.page = "consensus"
        if not await run_preset(session, "default"):
            session.view_state.page = "pool"


def _groups() -> dict[str, list[str]]:
    """Return the examples by group; ungrouped examples come last."""
    groups = {
        title: [name for name in names if name in EXAMPLES]
        for title, names in GROUPS.items()
    }
    named = [name for names in groups.values() for name in names]
    if others := [name for name in EXAMPLES if name not in named]:
        groups["More"] = others
    return groups


HEAD = """<div class='head'><p><b>Examples</b> <span class='muted'>One click opens
the table and runs its pool. Colours are the clusters of the model that its pool ranks
first.</span></p><p class='muted'>share of models that put two samples together: 0
<span class='shares'></span> 1</p></div>"""


# The number of models is an upper bound: models without clusters show up in the run.
LEFT_OUT = "Upper bound: models that find no clusters are left out, with a note."


def _sections() -> Iterator[str]:
    """Write the groups, each as wide as its cards."""
    for title, names in _groups().items():
        places = len(names) + (FIRST in names)
        cards = "".join(map(_card, names))
        kind = "warn" if title == MISLEADS else "muted"
        yield (
            f"<section style='grid-column:span {min(places, 7)}'>"
            f"<p class='group {kind}'><b>{safe(title)}</b></p>{cards}</section>"
        )


def _card(name: str) -> str:
    entry = EXAMPLES[name]
    source, title = thumbnail(name), safe(entry.title)
    picture = f'<img alt="" src="{source}">' if source else ""
    first = name == FIRST
    words = "Open with its run" if first else "Open"
    start = "<span class='badge'>start here</span>" if first else ""
    opens, data_only = (
        link(
            title_words,
            f"{does} {safe(name)}",
            css=css,
            kind="",
            name=f"{title_words}: {title}",
        )
        for title_words, does, css in (
            (words, "open", "cl-open-run"),
            ("Data only", "load", "cl-data-only cl-load-example"),
        )
    )
    return (
        f"<div class='card cl-example {'first' if first else ''}'>"
        f"<div class='picture'>{picture}</div><div class='told'><b>{title} {start}</b>"
        f"<p class='muted'>{whole(entry.n)} × {entry.d} · <span title='{LEFT_OUT}'>≤ "
        f"{_models(name)} models</span></p>"
        f"<p>{safe(entry.teaches)}</p></div>"
        f'<button class="example" data-do="open {safe(name)}" '
        f'aria-label="Open {title} with its run"></button>'
        f"<div class='opens'>{opens}{data_only}</div></div>"
    )


@cache
def _models(name: str) -> int:
    """Return the number of models of the default pool of an example."""
    entry = EXAMPLES[name]
    return len(pool_specs("default", (entry.n, entry.d)))
