"""The examples: what each looks like and teaches; a click opens it with its run."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.pool.specs import pool_grids
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.examples import EXAMPLES
from clusterlens.ui.kit import TEXT_CSS, Text, link, safe
from clusterlens.ui.panels.panel import Panel
from clusterlens.ui.thumbnails import thumbnail

GROUPS = {
    "Groups to find": ("blobs", "moons", "stretched", "iris", "wine", "breast cancer"),
    "Where a consensus misleads": ("rings", "uniform", "hubs", "unequal"),
    "Wide, mixed, large": ("digits", "customers", "large"),
}
CSS = """
.group { margin: 6px 0 4px; font-size: 13px; }
.examples { display: grid; gap: 8px;
  grid-template-columns: repeat(auto-fill, minmax(190px, 1fr)); }
.card { display: flex; flex-direction: column; border-radius: 6px; border: 1px solid
  color-mix(in srgb, currentColor 16%, transparent); padding: 8px 10px; }
.card:hover, .card:focus-within { border-color: #0b8a8a;
  background: color-mix(in srgb, #0b8a8a 6%, transparent); }
button.example { all: unset; cursor: pointer; flex: 1 1 auto; font-size: 12.5px;
  line-height: 1.3; display: flex; gap: 3px; flex-direction: column; }
button.example:focus-visible { outline: 2px solid #0b8a8a; outline-offset: 3px; }
.card button.link { align-self: flex-start; margin-top: 4px; font-size: 12px; }
button.example img { height: 72px; width: 100%; object-fit: contain;
  object-position: left; }
button.example b { font-size: 13.5px; }
"""


class Gallery(Panel):
    """All examples, in groups."""

    needs = ("table?",)

    def build(self) -> Any:
        text = Text(
            "".join(_group(title, names) for title, names in _groups().items()),
            does=self._open,
            css_classes=["cl-gallery"],
            scrolls=True,
            sizing_mode="stretch_both",
        )
        text.stylesheets = [TEXT_CSS, CSS]
        return text

    def show(self, table: Dataset | None) -> None:
        """The examples are always the same."""

    async def _open(self, what: str) -> None:
        """Load an example; "open iris" runs the default pool on it as well."""
        how, _, name = what.partition(" ")
        session = self.session
        if not await session.act("load example", name=name) or how == "load":
            return
        dataset = session.analysis.dataset
        if dataset is None or session.look.page != "data":
            return
        session.look.page = "consensus"
        pool = pool_grids("default", len(dataset.X))[0]
        if not await session.act("run pool", pool=pool):
            session.look.page = "pool"


def _groups() -> dict[str, list[str]]:
    """The examples by group; those that no group names come last."""
    groups = {
        title: [name for name in names if name in EXAMPLES]
        for title, names in GROUPS.items()
    }
    named = [name for names in groups.values() for name in names]
    if others := [name for name in EXAMPLES if name not in named]:
        groups["More"] = others
    return groups


def _group(title: str, names: list[str]) -> str:
    cards = "".join(_card(name) for name in names)
    return (
        f"<p class='group'><b>{safe(title)}</b></p><div class='examples'>{cards}</div>"
    )


def _card(name: str) -> str:
    entry = EXAMPLES[name]
    source = thumbnail(name)
    picture = f'<img alt="" src="{source}">' if source else ""
    data_only = link("data only", f"load {safe(name)}", css="cl-data-only")
    return (
        f'<div class="card"><button class="example" data-do="open {safe(name)}">'
        f"{picture}<b>{safe(entry.title)}</b>"
        f"<span class='muted'>{entry.n:,} × {entry.d}</span>"
        f"<span>{safe(entry.teaches)}</span></button>{data_only}</div>"
    )
