"""Card of the pool: blocks of families, rows of clusterers, chips of values."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

from clusterlens.compute.formatting import count as counted
from clusterlens.compute.formatting import whole
from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.compute.pool.presets import POOLS
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.settings import HIDDEN, WORDS, named, plain_value
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.jobs.lanes import explain
from clusterlens.ui.pages.pool.nodes import Count
from clusterlens.ui.server.memory.pools import LONGEST_NAME
from clusterlens.ui.state.drafts import (
    LONGEST_TEXT,
    SHARES,
    Entries,
    Entry,
    PoolDraft,
    Rejected,
    add_clusterer,
    add_values,
    needs_clusters,
    read_entries,
    remove_value,
    switch,
    write_entries,
    write_value,
)
from clusterlens.ui.widgets.form import Form
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, link, pmu, pn, safe
from clusterlens.ui.widgets.words import NOISE_WORDS

SHARE_WORDS = {
    "samples": "of rows",
    "pair distances": "of all pairs are nearer",
    "neighbour distances": "of rows have 5 neighbours nearer",
}
FAMILIES = tuple(dict.fromkeys(entry.family for entry in CLUSTERERS.values()))
ROW = (
    "display:grid;grid-template-columns:8.5em 13em minmax(0,1fr) 4.4em 3.5em;"
    "gap:0 10px;align-items:start;padding:3px 0"
)
RULE = "border-top:1px solid color-mix(in srgb, currentColor 16%, transparent)"


class PoolGrid(Card):
    """Preset, seed and clusterers, edited as chips or as text.

    A pool can be saved under a name; it is then a preset.
    """

    needs = ("dataset", "pool_entries")
    also = ("view.pool_draft", "view.pool_as_text", "pool_counts", "pool_values")
    empty = (
        f"<p>No table is prepared yet. {link('Load one on the Data page', 'data')}.</p>"
    )

    def build(self) -> Any:
        self._known: tuple[Dataset | None, Mapping[str, float]] = (None, {})
        self._lock, self._offers_names = asyncio.Lock(), False
        self._preset = self._make_preset()
        self._k = self._field("Clusters", "n_clusters", "cl-fixed-k", start=2)
        self._seed = self._field("Seed", "random_state", "cl-seed", start=0)
        distinct = self.control(
            pmu.Checkbox(
                label="Count identical partitions once",
                size="small",
                margin=(6, 0, 0, 6),
                css_classes=["cl-distinct"],
            ),
            lambda: self._draft.distinct_only,
            lambda value: self._change(distinct_only=value),
        )
        self._noise = self.control(
            pmu.Select(
                label="Noise (label -1)",
                options={words: means for means, words in NOISE_WORDS.items()},
                value="cluster",
                size="small",
                width=215,
                margin=(8, 0, 0, 6),
                css_classes=["cl-noise"],
            ),
            lambda: self._draft.noise,
            lambda value: self._change(noise=value),
        )
        self._state = Form(does=self._do, css_classes=["cl-pool-state"])
        self._form = Form(
            does=self._do,
            css_classes=["cl-grids"],
            scrolls=True,
            sizing_mode="stretch_both",
        )
        self._text = pmu.TextAreaInput(
            label="The pool as JSON: a list stands for one model per entry",
            sizing_mode="stretch_both",
            rows=18,
            auto_grow=False,
            max_length=LONGEST_TEXT,
            margin=(6, 0),
            css_classes=["cl-pool-text"],
        )
        self._apply = pmu.Button(
            label="Take this pool",
            variant="outlined",
            on_click=self._take_text,
            css_classes=["cl-pool-apply"],
        )
        self._wrong = Text(css_classes=["cl-pool-wrong"])
        self._as_text = pn.Column(
            self._text,
            self._wrong,
            self._apply,
            visible=False,
            margin=0,
            sizing_mode="stretch_both",
        )
        return card(
            "Pool",
            pn.Row(
                self._preset,
                self._k,
                self._seed,
                self._noise,
                distinct,
                margin=0,
                sizing_mode="stretch_width",
                styles={"flex": "none", "flex-wrap": "wrap"},
            ),
            self._state,
            self._form,
            self._as_text,
            note=self.status,
            css="cl-pool",
        )

    def _make_preset(self) -> Any:
        return self.control(
            pmu.Select(
                label="Preset",
                options=list(POOLS),
                value="default",
                size="small",
                width=170,
                margin=(8, 8, 0, 0),
                css_classes=["cl-preset"],
            ),
            lambda: self._draft.preset,
            self._choose,
        )

    def _choose(self, name: str) -> Awaitable[None]:
        """Replace the draft by a preset or by a saved pool."""
        if name in POOLS:
            self._change(preset=name, own=None, entries=None)
            return self._attempt(self._offer_names)
        return self._attempt(self._take, name)

    async def _attempt(self, deed: Callable[..., Awaitable[None]], *given: str) -> None:
        """Change or read the saved pools; report a failure.

        Calls run one after another, because the store is accessed on another thread.
        """
        async with self._lock:
            try:
                try:
                    await deed(*given)
                finally:
                    await self._offer_names()
            except (ValueError, OSError) as error:
                text = f"Pools of your own: {explain(error)}"
                self.session.jobs.notify("warning", text)

    async def _offer_names(self) -> None:
        names = await self.session.server.in_thread(self.session.own_pools.names)
        if self._draft.own is not None and self._draft.preset not in names:
            names.append(self._draft.preset)  # deleted on another page
        self.offer(self._preset, options=[*POOLS, *names])

    async def _take(self, name: str) -> None:
        own = await self.session.server.in_thread(self.session.own_pools.read, name)
        self._change(preset=name, own=own, entries=None)

    async def _save(self, name: str) -> None:
        pools, entries = self.session.own_pools, self._entries
        name = await self.session.server.in_thread(pools.save, name, entries)
        await self._offer_names()
        await self._take(name)

    async def _rename(self, name: str) -> None:
        pools, before = self.session.own_pools, self._draft.preset
        name = await self.session.server.in_thread(pools.rename, before, name)
        await self._offer_names()
        self._change(preset=name)

    async def _delete(self, _: str) -> None:
        await self.session.server.in_thread(
            self.session.own_pools.delete, self._draft.preset
        )
        self._change(preset="default", own=None, entries=None)

    def _field(self, label: str, name: str, css: str, *, start: int) -> Any:
        def write(value: int | None) -> None:
            if value is not None:
                anew = {"entries": None} if name == "n_clusters" else {}
                self._change(**{name: value}, **anew)

        return self.control(
            pmu.IntInput(
                label=label,
                value=getattr(PoolDraft(), name),
                start=start,
                end=2**32 - 1,
                size="small",
                width=100,
                margin=(8, 8, 0, 0),
                # Screen readers get no names for these buttons; arrow keys step, too.
                sx={"& .MuiIconButton-root": {"display": "none"}},
                css_classes=[css],
            ),
            lambda: getattr(self._draft, name),
            write,
        )

    @property
    def _draft(self) -> PoolDraft:
        return self.session.view_state.pool_draft

    @property
    def _entries(self) -> Entries:
        return self.session.derived.get("pool_entries").value or ()

    def _change(self, **changes: Any) -> None:
        draft = replace(self._draft, **{"rejected": None, **changes})
        self.session.view_state.pool_draft = draft

    def _do(self, request: str) -> None:
        """Handle a button or a field of the form."""
        verb, _, argument = request.partition(" ")
        deeds: dict[str, Callable[[str], None]] = {
            "switch": lambda at: self._change(entries=switch(self._entries, int(at))),
            "add": lambda name: self._change(
                entries=add_clusterer(self._entries, name)
            ),
            "remove": self._remove,
            "enter": self._enter,
            "preset": lambda _: self._change(entries=None),
            "save": lambda name: self.begin(self._attempt(self._save, name)),
            "rename": lambda name: self.begin(self._attempt(self._rename, name)),
            "delete": lambda name: self.begin(self._attempt(self._delete, name)),
            "text": lambda _: self._show_text(True),
            "chips": lambda _: self._show_text(False),
        }
        deeds[verb](argument)

    def _remove(self, where: str) -> None:
        at, setting, index = where.split(" ")
        self._change(entries=remove_value(self._entries, int(at), setting, int(index)))

    def _enter(self, typed: str) -> None:
        """Add the typed values, or keep the text with the reason for its rejection."""
        at, setting, text = typed.split(" ", 2)
        try:
            self._change(entries=add_values(self._entries, int(at), setting, text))
        except ValueError as error:
            self._change(rejected=Rejected(int(at), setting, text, str(error)))

    def _show_text(self, shown: bool) -> None:
        self._text.value = write_entries(self._entries)
        self._wrong.body = ""
        self.session.view_state.pool_as_text = shown

    def _take_text(self, event: Any) -> None:
        try:
            self._change(entries=read_entries(self._text.value_input))
        except ValueError as error:
            self._wrong.body = f"<p class='warn' role='alert'>{safe(error)}</p>"
        else:
            self.session.view_state.pool_as_text = False

    def prepare(self, results: Mapping[str, Result]) -> None:
        """Show only the controls that apply."""
        self._k.visible = needs_clusters(self._draft.preset)
        as_text, ready = (
            self.session.view_state.pool_as_text,
            results["pool_entries"].ready,
        )
        self._form.visible = ready and not as_text
        self._as_text.visible = ready and as_text
        self._state.visible = ready

    def show(
        self,
        dataset: Dataset,
        pool_entries: Entries,
        pool_draft: Result,
        pool_as_text: Result,
        pool_counts: Result,
        pool_values: Result,
    ) -> None:
        """Write the blocks."""
        if not self._offers_names:
            self._offers_names = True
            self.begin(self._attempt(self._offer_names))
        self._state.body = _state(pool_draft.value, pool_as_text.value)
        page = _Blocks(
            pool_entries,
            pool_counts.value or [],
            self._numbers(dataset, pool_values),
            pool_draft.value.rejected,
            len(dataset.X),
        )
        self._form.body = page.write()

    def _numbers(self, dataset: Dataset, found: Result) -> Mapping[str, float]:
        """Return the values of shares in these data; until ready, earlier ones."""
        if found.ready:
            self._known = dataset, found.value
        known_of, numbers = self._known
        return numbers if known_of is dataset else {}


def _state(draft: PoolDraft, as_text: bool) -> str:
    changed = draft.entries is not None
    back = link(f"Back to {safe(draft.preset)}", "preset") if changed else ""
    other = (
        link("Edit with chips", "chips") if as_text else link("Edit as text", "text")
    )
    return (
        "<p class='muted'>One model per value, × for every combination; type 2-20 for "
        f"a range.&ensp;{'Changed.&ensp;' if changed else ''}{back}&ensp;{other}"
        f"</p><p class='muted cl-own-pools'>{_own_pools(draft)}</p>"
    )


def _own_pools(draft: PoolDraft) -> str:
    """Write the controls that save the pool under a name, rename and delete it."""

    def name_field(verb: str, label: str) -> str:
        return (
            f"<input class='word' placeholder='name' data-enter='{verb}' "
            f"aria-label='{label}' maxlength='{LONGEST_NAME}'>"
        )

    own = ""
    if draft.own is not None:
        name = safe(draft.preset)
        own = (
            f"&ensp;Rename {name} to {name_field('rename', 'another name')}&ensp;"
            f"{link(f'Delete {name}', 'delete')}"
        )
    return f"Keep this pool as {name_field('save', 'name of this pool')}{own}"


def _finds(clusterer: str) -> str:
    """Return a description of the groups that a clusterer finds, as safe text."""
    return safe(CLUSTERERS[clusterer].meaning)


class _Blocks:
    """Markup of one state of the pool."""

    def __init__(
        self,
        entries: Entries,
        counts: list[Count],
        values: Mapping[str, float],
        rejected: Rejected | None,
        n_samples: int,
    ) -> None:
        self.entries, self.values, self.rejected = entries, values, rejected
        self.n_samples = n_samples
        self.counts = counts if len(counts) == len(entries) else None

    def write(self) -> str:
        family = [CLUSTERERS[entry.clusterer].family for entry in self.entries]
        order = sorted(
            range(len(family)),
            key=lambda k: FAMILIES.index(family[k]) if family[k] in FAMILIES else 99,
        )
        blocks = {name: list(rows) for name, rows in groupby(order, family.__getitem__)}
        names = dict.fromkeys([*blocks, *FAMILIES])
        head = (
            f"<div style='{ROW}'><span class='muted'>family</span>"
            "<span class='muted'>clusterer</span><span class='muted'>settings</span>"
            "<span class='number muted'>row limit</span>"
            "<span class='number muted'>models</span></div>"
        )
        return head + "".join(self._block(name, blocks.get(name, [])) for name in names)

    def _block(self, family: str, rows: list[int]) -> str:
        models = sum(self._models(k) for k in rows)
        known = counted(models, "model") if self.counts else "…"
        title = f"<div><b>{safe(family)}</b><p class='muted'>{known}</p></div>"
        lines = [self._row(k) for k in rows]
        used = {self.entries[k].clusterer for k in rows}
        offers = [
            link(
                f"+ {safe(name)}",
                f"add {safe(name)}",
                kind="dashed",
                name=f"add {safe(name)}: {_finds(name)}",
            )
            for name, entry in CLUSTERERS.items()
            if entry.family == family and name not in used
        ]
        if offers:
            lines.append(
                f"<div></div><div style='grid-column:span 4' data-roving='line' "
                f"role='group' aria-label='more of the family {safe(family)}, by arrow "
                f"keys'>{''.join(offers)}</div>"
            )
        body = "".join(
            f"<div style='{ROW}'>{title if k == 0 else '<div></div>'}"
            f"{line.removeprefix('<div></div>')}</div>"
            for k, line in enumerate(lines)
        )
        return f"<div style='{RULE}' class='cl-family'>{body}</div>"

    def _models(self, at: int) -> int:
        return self.counts[at].models if self.counts and self.entries[at].on else 0

    def _row(self, at: int) -> str:
        entry = self.entries[at]
        name = safe(entry.clusterer)
        toggle = (
            f'<button class="switch" role="switch" data-do="switch {at}" '
            f'aria-checked="{str(entry.on).lower()}" aria-label="{name}"></button>'
        )
        beyond = entry.limit is not None and self.n_samples > entry.limit
        off = "" if entry.on else "off"
        note = self._note(at, entry, beyond)
        limit = "none" if entry.limit is None else whole(entry.limit)
        models = str(self._models(at)) if self.counts else "…"
        return (
            f"<div style='display:flex;gap:8px;align-items:center'>{toggle}"
            f"<span class='{off}' title='{_finds(entry.clusterer)}'>{name}</span></div>"
            f"<div><div class='{off}' data-roving='line' role='group' aria-label='"
            f"settings of {name}, by arrow keys'>{self._settings(at, entry)}</div>"
            f"{note}</div>"
            f"<div class='number {'warn' if beyond else 'muted'}'>{limit}</div>"
            f"<div class='number {off}'><b>{models}</b></div>"
        )

    def _note(self, at: int, entry: Entry, beyond: bool) -> str:
        parts = []
        if self.rejected and self.rejected.entry == at:
            parts.append(
                f"<p class='wrong' role='alert'>{safe(self.rejected.text)}: "
                f"{safe(self.rejected.reason)}</p>"
            )
        if self.counts and self.counts[at].error:
            parts.append(
                f"<p class='wrong' role='alert'>{safe(self.counts[at].error)}</p>"
            )
        if beyond and entry.limit is not None:
            does = "left out" if not entry.on else "slow at this size"
            again = "" if entry.on else link("Run it all the same", f"switch {at}")
            parts.append(
                f"<p class='warn'>{does}: presets run it up to {whole(entry.limit)} "
                f"samples, this table has {whole(self.n_samples)}. {again}</p>"
            )
        return "".join(parts)

    def _settings(self, at: int, entry: Entry) -> str:
        shown = [name for name in entry.settings if name not in HIDDEN]
        if not shown:
            return "<span class='muted'>sets itself</span>"
        return " <span class='muted'>×</span> ".join(
            f"<span>{self._setting(at, entry, name)}</span>" for name in shown
        )

    def _setting(self, at: int, entry: Entry, name: str) -> str:
        before, after = (
            f"<span class='muted'>{safe(word)}</span> " if word else ""
            for word in WORDS.get(name, (name, ""))
        )
        value = entry.settings[name]
        if name == "copies":
            return f"{before}{self._chip(value)}{self._field(at, name)}{after}"
        chips = "".join(
            self._chip(one, f"remove {at} {safe(name)} {k}")
            for k, one in enumerate(value)
        )
        after = self._meaning(name, value) or after
        return f"{before}{chips}{self._field(at, name)}{after}"

    def _chip(self, value: Any, does: str = "") -> str:
        typed = safe(write_value(value))
        take_out = (
            f'<button data-do="{does}" aria-label="take {typed} out">×</button>'
            if does
            else ""
        )
        text = safe(plain_value(value))
        return f"<span class='chip' title='{typed}'>{text}{take_out}</span>"

    def _field(self, at: int, name: str) -> str:
        wrong, text = "", ""
        if self.rejected and (self.rejected.entry, self.rejected.setting) == (at, name):
            wrong, text = "wrong", self.rejected.text
        label = f"add to {named(name)} of {self.entries[at].clusterer}"
        return (
            f'<input class="field {wrong}" placeholder="+" value="{safe(text)}" '
            f'data-enter="enter {at} {safe(name)}" aria-label="{safe(label)}"> '
        )

    def _meaning(self, name: str, values: list[Any]) -> str:
        """Write the meaning of shares, and the numbers that they stand for."""
        shares = [value for value in values if isinstance(value, Mapping)]
        if not shares:
            return ""
        numbers = [self.values.get(json.dumps(value)) for value in shares]
        known = [f"{x:.4g}" for x in numbers if isinstance(x, (int, float))]
        come_to = f" = {', '.join(known[:8])} here" if known else ""
        if len(known) > 8:
            come_to = f" = {known[0]} to {known[-1]} here"
        of = SHARE_WORDS[shares[0].get("of", SHARES.get(name, "samples"))]
        if "root" in shares[0]:
            of = "of the number of rows"
        return f"<span class='muted'>{of}{come_to}</span>"
