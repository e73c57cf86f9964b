"""Recent analyses: stored on this machine, opened at their last state."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from clusterlens.compute.formatting import count, whole
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.components.card import Card
from clusterlens.ui.server.memory.schema import ABOUT
from clusterlens.ui.server.memory.store import Entry, Store
from clusterlens.ui.state.shapes import as_moment, fits, moment
from clusterlens.ui.widgets.form import Form
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import COLUMN
from clusterlens.ui.widgets.toolkit import card, link, pn, safe
from clusterlens.ui.widgets.words import size_in_bytes

CSS = """
table.recent { font-size: 14px; }
table.recent td { padding: 4px 6px; vertical-align: baseline; }
table.recent td, table.recent th { white-space: nowrap; }
table.recent td.cut { width: 100%; max-width: 0; }
table.recent td.acts { text-align: right; }
table.recent input.word { width: 100%; }
table.recent td.acts button { margin-left: 12px; }
@media (max-width: 1150px) { table.recent td, table.recent th { padding: 4px 3px; }
  table.recent td.acts button { margin-left: 8px; } }
table.recent tr.gone td { opacity: .6; }
table.recent tr.gone td.acts { opacity: 1; }
table.recent tr:hover { background: color-mix(in srgb, #0b8a8a 7%, transparent); }
"""
_SHOWN = 50


class Recent(Card):
    """Analyses of the store, latest first; deleted ones can be restored here."""

    needs = ("table?",)

    def build(self) -> Any:
        self._entries: dict[str, Entry] = {}
        self._deleted: set[str] = set()
        self._renamed: str | None = None
        self._task: asyncio.Task[None] | None = None
        self.text = Form(
            does=self._do,
            css_classes=["cl-recent"],
            scrolls=True,
            sizing_mode="stretch_both",
            styles={"flex": "1 1 0", "min-height": "0"},
        )
        self.text.stylesheets = [*self.text.stylesheets, CSS]
        self._size = Text(does=self._do, css_classes=["cl-store"])
        inside = pn.Column(
            self.text,
            self._size,
            sizing_mode="stretch_both",
            margin=0,
            styles={**COLUMN, "flex": "1 1 0"},
        )
        return card("Recent analyses", inside, css="cl-recent-card")

    def show(self, table: Dataset | None) -> None:
        """Refresh the list, because other pages may have changed the store."""
        if table is None:
            self._refresh()

    def _refresh(self, work: Callable[[Store], Any] | None = None) -> None:
        """Run a function on the store in a thread, then list the analyses."""
        store = self.session.memory.store
        if store is None:
            self.text.body = (
                "<div class='empty'>Analyses are not stored: storage is off, or its "
                "folder cannot be used.</div>"
            )
            return
        self._task = asyncio.get_running_loop().create_task(self._list(store, work))

    async def _list(self, store: Store, work: Callable[[Store], Any] | None) -> None:
        def read() -> tuple[list[Entry], int, list[Path], Any]:
            done = work(store) if work else None
            aside = store.aside()
            return store.entries(deleted=True), store.size(), aside, done

        try:
            entries, size, aside, done = await self.session.server.in_thread(read)
        except Exception as error:
            self.session.jobs.fail("Read the recent analyses", error)
            return
        if isinstance(done, str):
            self.session.jobs.notify("success", done)
        shown = [e for e in entries if not e.deleted or e.id in self._deleted]
        self._entries, self._renamed = {entry.id: entry for entry in shown}, None
        self._write()
        more = f" · {len(shown) - _SHOWN} older" if len(shown) > _SHOWN else ""
        self._size.body = (
            f"<p class='muted'>{size_in_bytes(size)} on this disk{more}. "
            f"{link('Clean up', 'clean')} permanently removes deleted analyses.</p>"
            if shown or size > 1_000_000
            else ""
        ) + "".join(map(_aside, aside))

    def _write(self) -> None:
        shown = list(self._entries.values())[:_SHOWN]
        self.text.body = _table([_row(e, e.id == self._renamed) for e in shown]) or (
            "<div class='empty'><b>Nothing yet: drop a table or open an example.</b> "
            "Each analysis is kept here with its runs, answers and checks, to go on "
            "with after a break.</div>"
        )

    def _do(self, what: str) -> None:
        verb, name, title = (*what.split(" ", 2), "", "")[:3]
        if verb == "clean":
            self._deleted.clear()
            self._refresh(lambda store: f"{size_in_bytes(store.clean())} freed.")
        elif verb == "rename" and title.strip():
            self._refresh(lambda store: store.rename(name, title.strip()))
        elif verb in ("rename", "leave"):
            self._renamed = name or None
            self._write()
        elif name in self._entries:
            {
                "open": self._open,
                "duplicate": self._duplicate,
                "delete": self._delete,
                "restore": self._restore,
            }[verb](name)

    def _open(self, name: str) -> None:
        pn.state.execute(partial(self.session.open, name))

    def _delete(self, name: str) -> None:
        self._deleted.add(name)
        self._refresh(lambda store: store.delete(name))

    def _restore(self, name: str) -> None:
        self._refresh(lambda store: store.restore(name))

    def _duplicate(self, name: str) -> None:
        title = f"{_title(self._entries[name])} (copy)"
        self._refresh(lambda store: store.duplicate(name, title) and None)


def _title(entry: Entry) -> str:
    return entry.about.get("title") or entry.about.get("table") or "no table"


def _table(rows: list[str]) -> str:
    """Write the rows of the analyses as a table; empty if there are none."""
    if not rows:
        return ""
    return (
        "<table class='recent' data-roving='map'><tr><th>analysis</th>"
        "<th class='number'>rows × columns</th><th class='number'>runs</th>"
        "<th>last change</th><th></th></tr>"
        f"{''.join(rows)}</table>"
    )


def _row(entry: Entry, is_renamed: bool) -> str:
    if not fits(ABOUT, entry.about):
        return _damaged(entry)
    about, name = entry.about, safe(entry.id)
    title = _title(entry)
    table = about.get("table", "")
    below = f"<br><span class='muted'>{safe(table)}</span>" if table != title else ""
    if about.get("segmentations"):
        names = safe(", ".join(about["segmentations"]))
        below += f"<br><span class='muted' title='{names}'>for new rows: {names}</span>"
    shown = f"<b>{safe(title)}</b>"
    if entry.deleted:
        acts = link("Undo", f"restore {name}")
        title_cell = f"{shown}<br><span class='muted'>deleted</span>"
    else:
        acts = "".join(
            link(verb.title(), f"{verb} {name}", css=f"cl-{verb}")
            for verb in ("rename", "duplicate", "delete")
        )
        full = f"Open {safe(title)}"
        title_cell = link(shown, f"open {name}", css="cl-open", name=full) + below
    if is_renamed:
        title_cell = (
            f"<input class='word' value='{safe(title)}' data-enter='rename {name}' "
            "data-leave='leave' aria-label='New name'><br>"
            "<span class='muted'>Enter keeps it, Esc leaves it as it was</span>"
        )
    size = f"{whole(about.get('rows', 0))} × {whole(about.get('columns', 0))}"
    gone = "gone" if entry.deleted else ""
    return (
        f"<tr class='{gone}'><td class='cut'>{title_cell}</td>"
        f"<td class='number'>{size}</td><td class='number'>{about.get('runs', 0)}"
        f"</td><td>{safe(_when(entry.changed))}</td><td class='acts'>{acts}</td></tr>"
    )


def _damaged(entry: Entry) -> str:
    """Write the row of an analysis with an unreadable record."""
    verb, act = ("restore", "Undo") if entry.deleted else ("delete", "Delete")
    what = "deleted" if entry.deleted else "damaged: what is left of it can be deleted"
    button = link(act, f"{verb} {safe(entry.id)}", css=f"cl-{verb}")
    return (
        f"<tr class='{'gone' if entry.deleted else ''}'><td class='cut' colspan='4'>"
        f"<b>{safe(entry.id)}</b><br><span class='muted'>{what}</span></td>"
        f"<td class='acts'>{button}</td></tr>"
    )


def _aside(path: Path) -> str:
    """Write the place of a damaged store."""
    return (
        "<p class='muted'>A damaged store was set aside: "
        f"<b style='overflow-wrap:anywhere'>{safe(path)}</b>. What could be read of it "
        "is in this list; as long as it lies there, cleaning up leaves all files that "
        "it may need.</p>"
    )


def _when(changed: str) -> str:
    """Format the time of a change relative to now."""
    if not fits(moment, changed):
        return "unknown"
    at = as_moment(changed)
    seconds = (datetime.now(UTC) - at).total_seconds()
    if seconds < -90:  # the clock of this machine was, or is, wrong
        return at.date().isoformat()
    if seconds < 90:
        return "just now"
    if seconds < 5400:
        return f"{round(seconds / 60)} minutes ago"
    if seconds < 129_600:
        return f"{count(round(seconds / 3600), 'hour')} ago"
    return f"{round(seconds / 86_400)} days ago"
