"""Probabilities of the leading models after each answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.formatting import percent
from clusterlens.ui.components.card import Card
from clusterlens.ui.results.answers import ByAnswer
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import safe

_SHOWN = 3
_CHANGES = 4
_WIDTH, _HEIGHT = 270, 64
_DASHES = ("none", "5 3", "6 3 1 3")


class AnswerByAnswer(Card):
    """Curves of up to three models, and the answers that changed the leader."""

    needs = ("by_answer", "ensemble")

    def build(self) -> Any:
        self._text = Text(css_classes=["cl-answer-by-answer"])
        return self._text

    def prepare(self, results: Any) -> None:
        """Show nothing if there is no answer, or links are no evidence."""
        self._text.visible = results["by_answer"].state != "empty"

    def show(self, by_answer: ByAnswer, ensemble: Ensemble) -> None:
        """Draw the present leader, the first leader, and other likely models."""
        models = _shown(by_answer)
        curves = "".join(
            _curve(by_answer, model, dash)
            for model, dash in zip(models, _DASHES, strict=False)
        )
        legend = "".join(
            f"<p class='between'><span>{_stroke(dash)} {safe(ensemble.names[model])}"
            f"</span><span class='muted'>{percent(by_answer.fits[0, model])} → "
            f"{percent(by_answer.fits[-1, model])}</span></p>"
            for model, dash in zip(models, _DASHES, strict=False)
        )
        n = by_answer.counts[-1]
        label = f"How likely the models of now are by the first 0 to {n} answers"
        self._text.body = (
            "<h3>Answer by answer <small>all models of now</small></h3>"
            f"<svg viewBox='-4 -4 {_WIDTH + 8} {_HEIGHT + 8}' width='100%' role='img' "
            f"aria-label='{label}'><path d='M0 0V{_HEIGHT}H{_WIDTH}' fill='none' "
            f"stroke='currentColor' stroke-opacity='.35'/>{curves}</svg>{legend}"
            f"<p class='muted'>{_changes(by_answer, ensemble)}</p>"
        )


def _shown(found: ByAnswer) -> list[int]:
    """Return the leader now, the first leader, the longest leader, likely models."""
    leaders = found.leaders
    led, times = np.unique(leaders, return_counts=True)
    likely = np.argsort(-found.fits[-1], kind="stable")[: 2 * _SHOWN]
    every = [leaders[-1], leaders[0], *led[np.argsort(-times, kind="stable")], *likely]
    chosen: list[int] = []
    for model in every:
        # Copies of a model have the same curve.
        curve = found.fits[:, model]
        if not any(np.array_equal(curve, found.fits[:, one]) for one in chosen):
            chosen.append(int(model))
    return chosen[:_SHOWN]


def _curve(found: ByAnswer, model: int, dash: str) -> str:
    """Draw the probability of a model: from 0 at the bottom to 1 at the top."""
    across = _WIDTH * found.counts / found.counts[-1]
    down = _HEIGHT * (1 - found.fits[:, model])
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down, strict=True))
    return (
        f"<polyline points='{points}' fill='none' stroke='currentColor' "
        f"stroke-width='1.8' stroke-dasharray='{dash}'/>"
    )


def _stroke(dash: str) -> str:
    return (
        "<svg width='24' height='8' aria-hidden='true'><path d='M0 4H24' fill='none' "
        f"stroke='currentColor' stroke-width='1.8' stroke-dasharray='{dash}'/></svg>"
    )


def _changes(found: ByAnswer, ensemble: Ensemble) -> str:
    """Name the answers that change the leader, only the latest ones.

    All present models are scored after each answer, including models made later.
    """
    leaders = found.leaders
    at = np.flatnonzero(leaders[1:] != leaders[:-1]) + 1
    if not len(at):
        return "By every number of them the same model leads."
    changes = ", ".join(
        f"{found.counts[k]} ({safe(ensemble.names[leaders[k]])})"
        for k in at[-_CHANGES:].tolist()
    )
    earlier = f", and {len(at) - _CHANGES} before" if len(at) > _CHANGES else ""
    return (
        "By the first answers alone, another model leads from answer "
        f"{changes}{earlier}."
    )
