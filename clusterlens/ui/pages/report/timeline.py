"""Timeline of the steps in force, followed by steps that can be redone."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.components.card import Card
from clusterlens.ui.exports.step_words import step_words
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.shapes import as_moment
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import TEXT_CSS
from clusterlens.ui.widgets.toolkit import card, link, safe

CSS = """
ol.steps { list-style: none; margin: 0; padding: 0 0 0 2px; }
ol.steps li { position: relative; padding: 0 0 10px 22px; }
ol.steps li::before { content: ""; position: absolute; left: 4px; top: 16px;
  bottom: -4px;
  border-left: 1.5px solid color-mix(in srgb, currentColor 18%, transparent); }
ol.steps li:last-child::before { display: none; }
ol.steps i { position: absolute; left: 0; top: 5px; width: 7px; height: 7px;
  border-radius: 50%; border: 1.5px solid #0b8a8a; }
ol.steps li.now i { background: #0b8a8a; }
ol.steps li.undone { opacity: .55; }
ol.steps .at { float: right; font-size: 12px; opacity: .7; }
ol.steps button { position: absolute; right: 0; top: 18px; opacity: 0;
  backdrop-filter: blur(4px); padding-left: 6px; }
ol.steps li:hover button, ol.steps li button:focus { opacity: 1; }
"""


class Timeline(Card):
    """The log; each step can be put in force again."""

    needs = ("table?",)

    def build(self) -> Any:
        self.text = Text(
            does=self._go,
            css_classes=["cl-timeline"],
            scrolls=True,
            styles={"flex": "1 1 0", "min-height": "0"},
        )
        self.text.stylesheets = [TEXT_CSS, CSS]
        note = Text(
            "<p class='muted'>Each ring is a point to go back to. Undone steps stay "
            "until you do something else; looking around is no step.</p>"
        )
        self.session.history.param.watch(self._write, ["steps", "cursor"])
        self._write()
        return card("What was done", self.text, css="cl-steps", note=note)

    def show(self, table: Any) -> None:
        """Do nothing: steps are written as they are made."""

    def _write(self, *events: Any) -> None:
        history = self.session.history
        rows = [
            _row(k, step, history.cursor) for k, step in enumerate(history.steps) if k
        ]
        self.text.body = (
            f"<ol class='steps'>{''.join(rows)}</ol>"
            if rows
            else "<div class='empty'>Nothing was done yet.</div>"
        )

    def _go(self, what: str) -> None:
        self.session.go(int(what))


def _row(k: int, step: Step, cursor: int) -> str:
    kind = "now" if k == cursor else "undone" if k > cursor else ""
    act = "redo to here" if k > cursor else "back to here"
    go = link(act, str(k)) if k != cursor else ""
    at = as_moment(step.at).astimezone().strftime("%H:%M")
    words = safe(step_words(step))
    return (
        f"<li class='{kind}'><i></i><span class='at'>{at}</span><b>{safe(step.title)}"
        f"</b> {go}<br><span class='muted'>{words}</span></li>"
    )
