"""Card of the conclusion of the verdict, and its grounds."""

from __future__ import annotations

import re
from typing import Any

from clusterlens.ui.components.card import Card
from clusterlens.ui.results.evaluated_labels import EvaluatedLabels
from clusterlens.ui.results.lab import Grounds
from clusterlens.ui.results.label_verdict import LIGHT_COLOURS, LIGHTS, LabelVerdict
from clusterlens.ui.results.partition_verdict import PartitionVerdict
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, copier


class LabelVerdictCard(Card):
    """The conclusion, and one paragraph for each kind of evidence."""

    needs = ("evaluated_labels", "label_verdict", "label_grounds")

    def build(self) -> Any:
        self._text = Text(
            css_classes=["cl-label-verdict"],
            stylesheets=["@media (max-width: 1150px) { p { font-size: .857em; } }"],
            scrolls=True,
        )
        return card(
            "What the verdict rests on",
            self._text,
            note=self.status,
            css="cl-label-grounds",
        )

    def prepare(self, results: Any) -> None:
        """Remove the text if there are no labels."""
        if not results["evaluated_labels"].ready:
            self._text.body = ""

    def show(
        self,
        evaluated_labels: EvaluatedLabels,
        label_verdict: LabelVerdict | PartitionVerdict,
        label_grounds: Grounds,
    ) -> None:
        """Write the conclusion, which is never cut, and its grounds below."""
        grounds = "".join(
            f"<p style='padding-left:22px;position:relative;margin:0 0 8px'>"
            f"<span class='dot' style='position:absolute;left:0;top:3px;width:13px;"
            f"height:13px;background:{LIGHT_COLOURS[light]}'></span>"
            f"<b>{title}: {LIGHTS[light]}.</b> {text}</p>"
            for title, light, text in label_grounds.lines
        )
        so = f"<b>So:</b> {label_grounds.conclusion}"
        text = f"{evaluated_labels.title}: {label_verdict.answer}. {_plain(so)}"
        copied = copier(
            "Copy verdict", f"{text} {_plain(grounds)}", css="cl-copy-verdict"
        )
        self._text.body = f"<p>{so} {copied}</p>{grounds}"


def _plain(markup: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", markup).split())
