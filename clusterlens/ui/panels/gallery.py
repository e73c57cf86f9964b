"""The examples: what each looks like and what it teaches; a click opens it."""

from __future__ import annotations

from functools import partial
from typing import Any

from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.examples import EXAMPLES
from clusterlens.ui.kit import TEXT_CSS, Text, pn, safe
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
button.example { all: unset; cursor: pointer; box-sizing: border-box; padding: 8px 10px;
  border-radius: 6px; font-size: 12.5px; line-height: 1.3; display: flex; gap: 3px;
  flex-direction: column; border: 1px solid
  color-mix(in srgb, currentColor 16%, transparent); }
button.example:hover, button.example:focus-visible { border-color: #0b8a8a;
  background: color-mix(in srgb, #0b8a8a 6%, transparent); }
button.example:focus-visible { outline: 2px solid #0b8a8a; }
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

    def _open(self, name: str) -> None:
        pn.state.execute(partial(self.session.act, "load example", name=name))


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
    return (
        f'<button class="example" data-do="{safe(name)}">{picture}'
        f"<b>{safe(entry.title)}</b><span class='muted'>{entry.n:,} × {entry.d}</span>"
        f"<span>{safe(entry.teaches)}</span></button>"
    )
