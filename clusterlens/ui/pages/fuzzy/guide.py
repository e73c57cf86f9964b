"""Guide to the value to report: two questions on the origin of the data.

The answers never depend on the values.
"""

from __future__ import annotations

from typing import Any

from clusterlens.compute.formatting import whole
from clusterlens.compute.fuzzy.adjusted import AdjustedIndex
from clusterlens.compute.fuzzy.random_models import RANDOM_MODELS
from clusterlens.ui.components.card import Card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.fuzzy.nodes import MODELS, Choices, Pair, Side
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, copier, safe

_GIVEN = {
    "both": ("No, both could have come out otherwise", "both random"),
    "u": ("U is a reference, for example a label column", "U fixed"),
    "v": ("V is a reference, for example a label column", "V fixed"),
}
GUIDE_CSS = """
button.answer { all: unset; cursor: pointer; display: flex; width: 100%;
  box-sizing: border-box; justify-content: space-between; gap: 8px; padding: 1px 6px;
  font-size: .857em; border-radius: 4px; }
button.answer.chosen { background: color-mix(in srgb, #0b8a8a 13%, transparent); }
button.answer:focus-visible { outline-offset: -2px; }
button.answer .muted { white-space: nowrap; }
.warn { font-size: .857em; }
h4 { margin: 3px 0 1px; font-size: .857em; }
@media (max-width: 1150px) {
  h4 { margin: 1px 0 0; }
  button.answer { line-height: 1.2; padding: 0 4px; gap: 4px; }
  button.answer .muted { font-size: 12px; }
}
"""


class FuzzyGuide(Card):
    """Two questions that choose row and column and write the sentence."""

    needs = ("fuzzy_pair", "fuzzy_choices")
    also = (
        "view.fuzzy_model",
        "view.fuzzy_side",
        "view.fuzzy_hidden",
        "fuzzy_sides",
        *(f"fuzzy_{model}" for model in MODELS),
    )

    def build(self) -> Any:
        self._text = Text(
            does=self._answer,
            css_classes=["cl-fuzzy-guide"],
            stylesheets=[GUIDE_CSS],
            scrolls=True,
        )
        return card("Which one to report", self._text, note=self.status, css="cl-guide")

    def prepare(self, results: Any) -> None:
        """Show no questions without a pair."""
        if not results["fuzzy_pair"].ready:
            self._text.body = ""

    def show(
        self,
        fuzzy_pair: Pair,
        fuzzy_choices: Choices,
        fuzzy_model: Result,
        fuzzy_side: Result,
        fuzzy_hidden: Result,
        fuzzy_sides: Result,
        **models: Result,
    ) -> None:
        """Write the questions, the answers and the sentence."""
        side, model = fuzzy_side.value, fuzzy_model.value
        given = "".join(
            _button(f"side {key}", words, title, key == side)
            for key, (words, title) in _GIVEN.items()
        )
        same = "".join(
            _button(
                f"model {key}",
                RANDOM_MODELS[key].same_by_chance,
                RANDOM_MODELS[key].title,
                key == model,
            )
            for key in MODELS
        )
        hide = "☑" if fuzzy_hidden.value else "☐"
        self._text.body = (
            "<p class='muted'><span class='spare'>From how the partitions could have "
            "come out, never from the value. </span>"
            f"<button class='link' data-do='hide' aria-pressed='"
            f"{str(fuzzy_hidden.value).lower()}'>{hide} hide values while choosing"
            "</button></p><h4>1&ensp;Is one side given, not estimated?</h4>"
            f"{given}<h4>2&ensp;What would be the same in another outcome by chance?"
            f"</h4>{same}{self._sentence(model, side, models, fuzzy_pair)}"
            f"{_floored(fuzzy_sides.value)}"
        )

    def _sentence(
        self, model: str, side: str, models: dict[str, Result], pair: Pair
    ) -> str:
        if not (model and side):
            return "<p class='muted'>Answer both to get a sentence to report.</p>"
        result = models[f"fuzzy_{model}"]
        if not result.ready:
            return "<div class='skeleton'></div>"
        value: AdjustedIndex = result.value[None if side == "both" else side]
        found = self.session.derived.get("fuzzy_choices").value
        names = f"U: {found.titled(pair.u).title}; V: {found.titled(pair.v).title}."
        text = f"{value.sentence} {names}"
        return (
            f"<p class='cl-fuzzy-sentence'><b>Report</b> {safe(value.sentence)} "
            f"{copier('Copy sentence', text)}</p>"
        )

    def _answer(self, what: str) -> None:
        verb, _, key = what.partition(" ")
        view_state = self.session.view_state
        if verb == "hide":
            view_state.fuzzy_hidden = not view_state.fuzzy_hidden
        else:
            view_state.param.update(**{f"fuzzy_{verb}": key})


def _button(does: str, words: str, title: str, chosen: bool) -> str:
    mark, kind = ("◉", "answer chosen") if chosen else ("○", "answer")
    return (
        f"<button class='{kind}' data-do='{does}' aria-pressed='{str(chosen).lower()}'>"
        f"<span>{mark} {safe(words)}</span><span class='muted'>{title}</span></button>"
    )


def _floored(sides: tuple[Side, Side] | None) -> str:
    """Write how many memberships the fits had to raise."""
    if sides is None:
        return ""
    floored = sum(side.fit.n_floored for side in sides)
    if not floored:
        return ""
    cells = sum(side.partition.memberships.size for side in sides)
    return (
        f"<p class='warn' title='Fit and Sym rest on this floor'>{whole(floored)} zero "
        f"memberships of {whole(cells)} were raised to 10<sup>−6</sup> for Fit and Sym."
        "</p>"
    )
