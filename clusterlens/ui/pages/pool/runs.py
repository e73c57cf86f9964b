"""Runs of the analysis, and the outcome of the selected one."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.formatting import count as counted
from clusterlens.compute.formatting import whole
from clusterlens.ui.components.card import Card
from clusterlens.ui.pages.pool.nodes import Outcome
from clusterlens.ui.state.analysis import Run
from clusterlens.ui.widgets.form import Form
from clusterlens.ui.widgets.toolkit import card, link, safe
from clusterlens.ui.widgets.words import duration

TITLES = {
    "failed": "Failed",
    "dropped": "Dropped, no clustering",
    "warned": "Kept with a warning",
    "left out": "Left out",
    "replaced": "Replaced",
}
CSS = """
p.run { display: flex; flex-wrap: wrap; gap: 0 10px; align-items: baseline; }
p.run > :first-child { flex: 1 1 110px; min-width: 0; }
p.run > .cut > button { max-width: 100%; overflow: hidden; text-overflow: ellipsis; }
p.run .cl-run-preset { flex: 1 0 100%; }
p.run input.word { box-sizing: border-box; }
p.run.read { border-left: 3px solid #0b8a8a; padding-left: 6px; }
"""


class Runs(Card):
    """A line for each run, latest first, with the outcome of the selected one."""

    needs = ("run", "outcome", "runs")
    empty = "<p>No run yet. Its models will be listed here.</p>"

    def build(self) -> Any:
        self._renamed = ""
        self._form = Form(
            does=self._do,
            css_classes=["cl-outcome"],
            scrolls=True,
            sizing_mode="stretch_both",
        )
        self._form.stylesheets = [*self._form.stylesheets, CSS]
        return card("Runs", self._form, note=self.status, css="cl-latest-run")

    def show(self, run: Run, outcome: Outcome, runs: tuple[Run, ...]) -> None:
        """Write the runs; below the selected one, the outcome of its models."""
        self._form.body = "".join(
            _line(one, is_read=one is run, is_renamed=one.id == self._renamed)
            + (_became(outcome, run) if one is run else "")
            for one in reversed(runs)
        )

    def _do(self, what: str) -> None:
        verb, run_id, name = (*what.split(" ", 2), "", "")[:3]
        act = self.session.act_now
        self._renamed = run_id if verb == "rename" else ""
        if verb == "consensus":
            self.session.view_state.page = verb
        elif verb == "name":
            act("rename run", id=run_id, name=name)
        elif verb in ("read", "delete"):
            self.session.view_state.so_far = False
            act(f"{verb} run", id=run_id)
        found = [self.session.derived.get(name) for name in self.needs]
        if all(result.ready for result in found):
            self.show(*(result.value for result in found))


def _line(run: Run, *, is_read: bool, is_renamed: bool) -> str:
    """Write the name of a run, its size and its commands."""
    name = safe(run.name)
    if is_renamed:
        title = (
            f"<input class='word' value='{name}' data-enter='name {run.id}' "
            "data-leave='leave' aria-label='New name'>"
        )
    elif is_read:
        title = f"<b class='cut' title='{name}'>{name}</b>"
    else:
        read = link(name, f"read {run.id}", name=f"Read {name}")
        title = f"<span class='cut'>{read}</span>"
    acts = "".join(
        f"<span>{link(verb, f'{verb.lower()} {run.id}', name=f'{verb} {name}')}</span>"
        for verb in ("Rename", "Delete")
    )
    size = counted(run.ensemble.n_partitions, "model")
    kind = "run read" if is_read else "run"
    preset = f"<span class='muted cl-run-preset'>{safe(run.preset_words)}</span>"
    return (
        f"<p class='{kind}'>{title}<span class='muted'>{size}</span>{acts}"
        f"{preset if run.preset else ''}</p>"
    )


def _became(outcome: Outcome, run: Run) -> str:
    """Write the counts, then the notes by kind, each with its full text."""
    same = outcome.kept - outcome.distinct
    alike = f", {same} of them like another one" if same else ""
    listed: dict[str, str] = dict.fromkeys([*TITLES.values(), "Notes"], "")
    for note in run.ensemble.notes:
        listed[TITLES.get(note.kind, "Notes")] += f"<li>{safe(note)}</li>"
    groups = "".join(
        f"<p><b>{title}</b></p><ul>{notes}</ul>"
        for title, notes in listed.items()
        if notes
    )
    return (
        f"<p><b>{whole(outcome.kept)}</b> of {whole(outcome.asked)} models "
        f"kept{alike}; {duration(outcome.seconds)} of fitting. "
        f"{link('Read the consensus', 'consensus')}</p>"
        f"{groups or '<p class=muted>No model failed.</p>'}"
    )
