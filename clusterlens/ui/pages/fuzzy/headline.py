"""Headline: the two compared partitions and their agreement, in a line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from clusterlens.compute.fuzzy.concordance import NDC
from clusterlens.compute.fuzzy.importing import load_memberships
from clusterlens.ui.actions.lines import Lines
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.copying import copy_as_python
from clusterlens.ui.exports.script import write_card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.reading import read_in_process
from clusterlens.ui.pages.fuzzy.nodes import HIDDEN, MODELS, PRECISIONS, Choices, Pair
from clusterlens.ui.server.uploads import FileTaker, Upload
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import badge, card, link, pmu, pn, safe, select
from clusterlens.ui.widgets.words import error, fixed

# Below the selects if names would be cut beside it.
SUMMARY_CSS = """
:host { flex: 1 1 220px; }
@media (max-width: 1150px) {
  :host { flex: 1 1 60%; }
  div { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 16px; }
}
"""

_TOY = link("the toy example of the paper", "toy", css="cl-toy")
_NO_RUN = (
    f"<p><b>No soft partitions to compare.</b> {link('Run a pool', 'pool')}, upload "
    f"memberships, or look at {_TOY}.</p>"
)
_NO_TABLE = (
    "<p><b>No soft partitions to compare.</b> Upload two files of memberships, "
    f"{link('load a table on Data', 'data')}, or look at {_TOY}.</p>"
)
_ONE_MORE = (
    "<p><b>One file of memberships is there.</b> Upload the one to compare it with, "
    f"{link('load a table on Data', 'data')}, or look at {_TOY}.</p>"
)


class FuzzyHeadline(Card):
    """Two selects, swap, upload, the toy example, saved pairs, NDC."""

    needs = ("fuzzy_pair", "fuzzy_ndc", "fuzzy_hidden")
    also = ("fuzzy_choices", "fuzzy_pairs", "ensemble?", "samples?", "memberships")
    empty = (
        "<p><b>No soft partitions to compare.</b> "
        f"{link('Add fuzzy c-means and a mixture to the run', 'soft', css='cl-soft')}, "
        f"{link('add CNS', 'cns')}, upload memberships, or look at {_TOY}.</p>"
    )

    def build(self) -> Any:
        view_state = self.session.view_state
        self._selects = {
            which: self.control(
                select(
                    which.upper(),
                    [],
                    css=f"cl-fuzzy-{which}",
                    sizing_mode="stretch_width",
                    styles={"flex": "3 1 120px", "max-width": "268px"},
                ),
                partial(self._key, which),
                partial(setattr, view_state, f"fuzzy_{which}"),
            )
            for which in "uv"
        }
        self._swap = pmu.IconButton(
            icon="swap_horiz",
            description="Swap U and V",
            margin=0,
            on_click=lambda event: self._exchange(),
            css_classes=["cl-fuzzy-swap"],
        )
        self._precision = self.bound(
            "fuzzy_precision",
            select("Aim at", PRECISIONS, css="cl-fuzzy-precision", width=116),
        )
        self._upload = FileTaker(
            self._take_file,
            label="Upload memberships…",
            outlined=True,
            css_classes=["cl-fuzzy-file"],
        )
        self._refused: tuple[str, bytes] | None = None
        self._divide = Text(
            does=self._divide_rows, visible=False, css_classes=["cl-fuzzy-divide"]
        )
        self._text = Text(
            does=self._do, css_classes=["cl-fuzzy-summary"], stylesheets=[SUMMARY_CSS]
        )
        row = pn.Row(
            self._selects["u"],
            self._swap,
            self._selects["v"],
            self._precision,
            self._text,
            self._upload,
            margin=0,
            sizing_mode="stretch_width",
            styles={
                "display": "flex",
                "gap": "8px",
                "align-items": "center",
                "flex-wrap": "wrap",
            },
        )
        return card(
            "",
            row,
            # Below the row, because an empty status hides everything below itself.
            self.status,
            note=self._divide,
            css="cl-fuzzy-headline",
            fills=False,
        )

    def _status_text(self, needed: Mapping[str, Result]) -> str:
        """Name the first missing input."""
        analysis = self.session.analysis
        has_table = (analysis.samples or analysis.dataset) is not None
        missing = ""
        if not has_table:
            missing = self._missing(_ONE_MORE if analysis.memberships else _NO_TABLE)
        if not missing and analysis.ensemble is None:
            missing = _NO_RUN
        if missing and needed["fuzzy_pair"].state == "empty":
            return f"<div class='empty'>{missing}</div>"
        return super()._status_text(needed)

    def _key(self, which: str) -> str | None:
        pair = self.session.derived.get("fuzzy_pair")
        return getattr(pair.value, which) if pair.ready else None

    def _exchange(self) -> None:
        pair = self.session.derived.get("fuzzy_pair")
        if pair.ready:
            u, v = pair.value.u, pair.value.v
            self.session.view_state.param.update(fuzzy_u=v, fuzzy_v=u)

    def prepare(self, results: Mapping[str, Result]) -> None:
        """Offer the partitions that can be compared."""
        found: Choices | None = results["fuzzy_choices"].value
        offers = {one.title: one.key for one in found.listed} if found else {}
        for which, widget in self._selects.items():
            self.offer(widget, options=offers, value=self._key(which))
            widget.visible = bool(offers)
        self._swap.visible = self._precision.visible = results["fuzzy_pair"].ready
        if not results["fuzzy_ndc"].ready:
            self._text.body = ""

    def show(
        self,
        fuzzy_pair: Pair,
        fuzzy_ndc: NDC,
        fuzzy_hidden: bool,
        fuzzy_choices: Result,
        fuzzy_pairs: Result,
        **more: Result,
    ) -> None:
        """Write NDC and the commands on the pair."""
        toy = self.session.view_state.fuzzy_case == "toy"
        found: Choices = fuzzy_choices.value
        self._text.body = (
            f"<p style='font-size:1.143em'>NDC <b>"
            f"{HIDDEN if fuzzy_hidden else fixed(float(fuzzy_ndc), 3)}</b> "
            f"<span class='muted'>{error(fuzzy_ndc.standard_error)}, unadjusted"
            f"</span> {_exactness(fuzzy_ndc)}</p><p>"
            f"{copy_as_python(lambda: self._script(found, fuzzy_pair))} · "
            + (
                link("back to the table", "table", css="cl-toy")
                if toy
                else link("toy example", "toy", css="cl-toy")
            )
            + f"{self._saved(found, fuzzy_pair, fuzzy_pairs.value or ())}</p>"
        )

    def _saved(self, found: Choices, pair: Pair, saved: Any) -> str:
        """Offer to save the pair, and list the saved pairs."""
        if self.session.view_state.fuzzy_case == "toy":
            return ""
        now = (pair.u, pair.v)
        text = " · " + (
            link("forget this pair", "drop")
            if now in saved
            else link("save this pair", "save", css="cl-save-pair")
        )
        known = {one.key: one.title for one in found.listed}
        for at, (u, v) in enumerate(saved):
            if (u, v) != now and u in known and v in known:
                names = f"{safe(known[u])} | {safe(known[v])}"
                text += f" · {link(names, f'pair {at}')}"
        return text

    def _script(self, found: Choices, pair: Pair) -> str:
        view_state, analysis = self.session.view_state, self.session.analysis
        u, v = (found.titled(key).code for key in (pair.u, pair.v))
        heads = [re.split(r"\W", code)[0] for code in (u, v)]

        def wanted(lines: Lines) -> list[str]:
            if view_state.fuzzy_case == "toy":
                return []
            names = {
                "ensemble": lines.ensemble(str(analysis.run_id)),
                "uploads": lines.name("uploads"),
            }
            used = [name for word, name in names.items() if word in heads]
            if (analysis.samples or analysis.dataset) is None:
                return used
            return [lines.samples(analysis), *used]

        return write_card(
            self.session.history.done,
            wanted,
            f"U = {u}",
            f"V = {v}",
            "print(float(cl.ndc(U, V)))",
            f"for model in {MODELS!r}:",
            '    for fixed in (None, "u", "v"):',
            f"        found = cl.adjusted_ndc(U, V, model, fixed, "
            f"precision={view_state.fuzzy_precision})",
            "        print(model, fixed, found.value, found.standard_error)",
        )

    async def _do(self, what: str) -> None:
        verb, _, at = what.partition(" ")
        view_state, session = self.session.view_state, self.session
        pair = session.derived.get("fuzzy_pair")
        if verb in ("toy", "table") and verb != view_state.fuzzy_case:
            # The other case has other partitions; its sides are restored with it.
            u, v = view_state.fuzzy_set_aside
            view_state.param.update(
                fuzzy_case=verb,
                fuzzy_set_aside=(view_state.fuzzy_u, view_state.fuzzy_v),
                fuzzy_u=u,
                fuzzy_v=v,
                fuzzy_sort="",
            )
        elif verb == "pair":
            u, v = session.analysis.fuzzy_pairs[int(at)]
            view_state.param.update(fuzzy_u=u, fuzzy_v=v)
        elif verb in ("save", "drop") and pair.ready:
            session.act_now(f"{verb} pair", **vars(pair.value))

    async def _retry(self, what: str) -> None:
        if what == "toy":
            await self._do("toy")
        elif what == "soft":
            await add_soft_models(self.session)
        else:
            super()._retry(what)

    async def _take_file(self, upload: Upload) -> None:
        """Read uploaded memberships; a notice reports any error."""
        content = await self.session.arrival(upload)
        if content is not None:
            await self._read(upload.name, content)

    async def _read(self, name: str, content: bytes, **options: Any) -> None:
        """Add memberships as U; offer to divide refused rows by their sums."""
        before = self.session.derived.get("fuzzy_pair").value
        if self.session.view_state.fuzzy_case == "toy":
            before = None  # a pair of the toy case, not of the table
        key = await self.session.server.in_thread(self.session.keep_file, content)
        done = await self.session.act(
            "add memberships", name=name, sha256=key, **options
        )
        self._refused = None if done else (name, content)
        samples = self.session.analysis.samples or self.session.analysis.dataset
        row_ids = None if samples is None else samples.row_ids
        self._divide.visible = not done and await self.session.server.in_thread(
            _divides, Job(name, self.session.server), name, content, row_ids
        )
        self._divide.body = (
            f"<p>“{safe(name)}” was refused. If its rows are meant to be shares: "
            f"{link('divide every row by its sum', 'divide')} (recorded in the log)."
            "</p>"
        )
        if done:
            self._compare(f"upload {name}", before)

    def _compare(self, key: str, before: Pair | None) -> None:
        """Show an upload as U, or as V beside another one; name the replaced side."""
        session = self.session
        sides = vars(
            before or Pair(session.view_state.fuzzy_u, session.view_state.fuzzy_v)
        )
        second = sides["u"].startswith("upload ") and sides["u"] != key
        which, other = ("v", "u") if second else ("u", "v")
        kept = sides[other]
        shown = {f"fuzzy_{which}": key, f"fuzzy_{other}": "" if kept == key else kept}
        session.view_state.param.update(fuzzy_case="table", **shown)
        pair, found = (session.derived.get(f"fuzzy_{it}") for it in ("pair", "choices"))
        if not (pair.ready and found.ready) or before is None:
            return
        new, beside, was = (
            f"“{found.value.titled(one).title}”"
            for one in (
                getattr(pair.value, which),
                getattr(pair.value, other),
                getattr(before, which),
            )
        )
        instead = "" if getattr(before, which) == key else f", in place of {was}"
        session.jobs.notify(
            "info",
            f"{which.upper()} is now {new}{instead}; {other.upper()} is {beside}.",
        )

    async def _divide_rows(self, what: str) -> None:
        if self._refused is not None:
            await self._read(*self._refused, normalize=True)


def _divides(job: Job, name: str, content: bytes, row_ids: Any) -> bool:
    """Return whether a file is refused only because of the sums of its rows."""
    try:
        read_in_process(job, name, content, load_memberships, row_ids, normalize=True)
    except ValueError:
        return False
    return True


async def add_soft_models(session: Any) -> None:
    """Add fuzzy c-means and a mixture with as many clusters as the leader."""
    ranking, ensemble = session.derived.get("ranking"), session.analysis.ensemble
    if ensemble is None:
        session.view_state.page = "pool"
        return
    count = 3
    if ranking.ready:
        count = max(2, int(ensemble.n_clusters[ranking.value.order[0]]))
    pool = [
        {"clusterer": "fuzzy c-means", "n_clusters": count},
        {"clusterer": "Gaussian mixture", "n_components": count},
    ]
    await session.act("add models", pool=pool)


def _exactness(found: NDC) -> str:
    if found.standard_error == 0:
        return badge("all pairs")
    return badge("from drawn pairs", kind="estimate")
