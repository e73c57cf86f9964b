"""Card of the pair in question: votes, differences, and effects of an answer."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.formatting import count, first_of, whole
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.commands import answer, leave_unsure, skip
from clusterlens.ui.components.tab import share_bar
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.results.answers import Answers, Outlook
from clusterlens.ui.results.leading import enough_words
from clusterlens.ui.results.links import Answer, Difference, PairReading
from clusterlens.ui.state.links import KINDS, TITLES, Kind
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import badge, link, pn, safe
from clusterlens.ui.widgets.words import in_models, number, voters

SHOWN_DIFFERENCES = 6
NAMED = 4
_NEXT = '<div class="empty">Looking for the next pair …</div>'
KEYS: dict[Kind, str] = {"must": "M", "cannot": "C"}
# Values and votes, side by side if they fit.
_HALVES = """
.halves { display: flex; flex-wrap: wrap; gap: 0 20px; }
.halves > div { flex: 1 1 210px; min-width: 0; }
.halves td.number { white-space: nowrap; }
"""


class PairCard(Card):
    """Row ids, votes by family, and the three answers."""

    needs = ("ensemble", "view.pair", "view.linking", "view.streak")
    also = ("pair_reading", "threshold_in_force", "answers", "outlook")

    def build(self) -> Any:
        self._text = Text(does=self._do, css_classes=["cl-pair"], stylesheets=[_HALVES])
        return pn.Column(self.status, self._text, margin=0, sizing_mode="stretch_width")

    def show(
        self,
        ensemble: Ensemble,
        pair: tuple[int, ...],
        linking: bool,
        streak: bool,
        pair_reading: Result,
        threshold_in_force: Result,
        answers: Result,
        outlook: Result,
    ) -> None:
        """Describe the pair, or explain how to pick one."""
        if pair_reading.ready:
            so_far = _so_far(answers.value, outlook.value) if streak else ""
            self._text.body = so_far + _card(
                pair_reading.value, ensemble, threshold_in_force.value
            )
        elif len(pair) == 2:
            self._text.body = '<div class="skeleton"></div>'
        else:
            self._text.body = _NEXT if streak else _how_to(linking, len(pair))

    def _do(self, what: str) -> None:
        if what == "skip":
            skip(self.session)
        elif what == "unsure":
            leave_unsure(self.session)
        else:
            answer(self.session, "must" if what == "must" else "cannot")


def _how_to(linking: bool, n_picked: int) -> str:
    if not linking:
        text = (
            "<b>Link two samples.</b> Press <kbd>L</kbd> and click two points of the "
            "map or a cell of a zoomed matrix, or take a suggestion below."
        )
    else:
        text = f"<b>Click sample {'AB'[n_picked]}</b> on the map"
        text += "." if n_picked else ", or both at once: a cell of a zoomed matrix."
    return f'<div class="empty">{text}</div>'


def _so_far(found: Answers | None, ahead: Outlook | None) -> str:
    """Write the number of answers in a row, and whether to go on."""
    if found is None:
        return ""
    progress = "…"
    if found.posterior.none_fits:
        progress = "<b>no model fits them</b>, see below"
    elif ahead is not None:
        settled = f"<b>enough?</b> {enough_words(found)}"
        progress = settled if ahead.enough else "not settled"
    return (
        "<p class='muted between cl-so-far'><span>"
        f"{count(found.n_answers, 'answer')}: {progress}</span>"
        "<span><kbd>Esc</kbd> stops</span></p>"
    )


def _card(read: PairReading, ensemble: Ensemble, needed: int | None) -> str:
    """Write both rows with their differences, their votes, and the answers."""
    a, b = map(safe, read.rows)
    rows = "".join(
        f"<tr><td class='cut'>{safe(family)}</td>"
        f"<td>{share_bar(joined / total, '#5b6169')}</td>"
        f"<td class='number'>{joined} of {total}</td></tr>"
        for family, joined, total in read.votes
    )
    known = f" {badge(TITLES[read.linked.kind])}" if read.linked else ""
    return (
        f"<p style='font-size:16px'><b>A</b> row {a} and <b>B</b> row {b}{known}</p>"
        f"<p>{_buttons(read)}</p>"
        f"<div class='halves'><div>{_differences(read.differences)}</div><div>"
        f"{_readings(read, ensemble, needed)}<table>{rows}</table>"
        + "".join(_effect(kind, read.answers[kind], ensemble) for kind in KINDS)
        + "<p class='muted'><b>U</b> counts as no answer; the pair is not asked again."
        "</p></div></div>"
    )


def _readings(read: PairReading, ensemble: Ensemble, needed: int | None) -> str:
    """Write how many models join the pair: in the pool, and with the answers."""
    text = _reading("Together in", *read.pooled, ensemble, needed)
    if read.answered is not None:
        text += _reading("With your answers", *read.answered, ensemble, needed)
    return text


def _reading(
    whose: str, joined: int, seen: int, ensemble: Ensemble, needed: int | None
) -> str:
    """Write how many models join a pair, and its cell in the binarised matrix."""
    if not seen:
        return f"<h3>{whose}: no vote on both rows</h3>"
    n_votes, verdict = ensemble.n_votes, ""
    if needed is not None:
        word = "together" if joined * n_votes >= needed * seen else "apart"
        verdict = f"<span class='right muted'>{needed} needed: <b>{word}</b></span>"
    models = in_models(n_votes * joined / seen)
    return f"<h3>{whose} {models} of {voters(ensemble)}{verdict}</h3>"


def _differences(found: list[Difference]) -> str:
    """Write the columns that differ most with both values, and name the next ones."""
    if not found:
        return "<p class='muted'>Equal in every column that goes in.</p>"
    rows = "".join(
        f"<tr><td class='cut'>{safe(one.column)}</td>"
        f"<td class='number'>{safe(number(one.a))}</td>"
        f"<td class='number'>{safe(number(one.b))}</td>"
        f"<td class='number muted'>{_by(one)}</td></tr>"
        for one in found[:SHOWN_DIFFERENCES]
    )
    others = [one.column for one in found[SHOWN_DIFFERENCES:]]
    closer = ""
    if others:
        closer = f"<p class='muted'>Closer: {safe(first_of(others, NAMED))}.</p>"
    return (
        "<table><tr><th>differ most in</th><th class='number'>A</th><th class='number'>"
        f"B</th><th class='number'>by</th></tr>{rows}</table>{closer}"
    )


def _by(one: Difference) -> str:
    return "other level" if one.by is None else f"{one.by:.1f} sd"


def _buttons(read: PairReading) -> str:
    """Write the possible new answers, and the buttons Unsure and Skip."""
    offered = [
        link(
            f"{TITLES[kind].capitalize()} <kbd>{KEYS[kind]}</kbd>",
            kind,
            kind="pill",
            css=f"cl-{kind}",
        )
        for kind in KINDS
        if not read.answers[kind].chain
        and (read.linked is None or read.linked.kind != kind)
    ]
    unsure = link("Unsure <kbd>U</kbd>", "unsure", kind="pill", css="cl-unsure")
    go_on = link("Skip <kbd>Space</kbd>", "skip", kind="pill", css="cl-skip")
    return "".join([*offered, unsure, go_on])


def _effect(kind: Kind, answer: Answer, ensemble: Ensemble) -> str:
    """Write the effect of an answer, or the reason why it is refused."""
    if answer.chain:
        links = ", ".join(
            f"{TITLES[link.kind]} {safe(link.a)} – {safe(link.b)}"
            for link in answer.chain
        )
        return (
            f"<p class='warn cl-refused'>A {TITLES[kind]} would contradict others: "
            f"{links}.</p>"
        )
    if answer.leader is None:
        return ""
    moved = "no rank changes"
    if answer.rises or answer.falls:
        moved = f"{count(answer.rises, 'model')} up, {whole(answer.falls)} down"
    return (
        f"<p class='muted'><b>{KEYS[kind]}</b> ranks "
        f"<b>{safe(ensemble.names[answer.leader])}</b> first ({moved}).</p>"
    )
