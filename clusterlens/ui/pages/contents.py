"""Contents: what is inside the cards of a page, on its way to the browser in steps.

A step that puts models on a page sends them and walks over all that are there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bokeh.model import Model
from panel.io.state import set_curdoc

from clusterlens.ui.kit import pn

_MODELS_AT_ONCE = 60


@dataclass(frozen=True, eq=False)
class Content:
    """Models that were taken out of a holder, to be put back in turn.

    Parameters
    ----------
    holder : Model
        Holds them in its list `name`.
    name : str
        Name of the list.
    models : list of Model
        What is there then.
    size : int
        How many models come with those that are new.
    """

    holder: Model
    name: str
    models: list[Model]
    size: int


def withhold(card: Any) -> list[Content]:
    """Take out what is inside a card where it is shown; what holds much comes empty."""
    return [part for model, _ in card._models.values() for part in _taken_out(model)]


def _taken_out(model: Model) -> list[Content]:
    data = getattr(model, "data", None)
    holder, name = (data, "objects") if data else (model, "children")
    models = list(getattr(holder, name, ()))
    if not models:
        return []
    deeper = [
        part
        for inner in models
        if len(inner.references()) > _MODELS_AT_ONCE
        for part in _taken_out(inner)
    ]
    setattr(holder, name, [])
    parts, size = [], 0
    for end, inner in enumerate(models, 1):
        size += len(inner.references())
        if size > _MODELS_AT_ONCE or end == len(models):
            parts.append(Content(holder, name, models[:end], size))
            size = 0
    return [*parts, *deeper]


def together(contents: Iterable[Content]) -> list[list[Content]]:
    """Return what goes to the browser in each step: a content, or some small ones."""
    steps: list[list[Content]] = []
    size = 0
    for content in contents:
        size += content.size
        if not steps or size > _MODELS_AT_ONCE:
            steps.append([])
            size = content.size
        steps[-1].append(content)
    return steps


def send(contents: list[Content]) -> None:
    """Put contents back, in one message; those that hold others come before them."""
    document = contents[0].holder.document
    with set_curdoc(document), pn.io.hold(document, freeze=True):
        for content in contents:
            setattr(content.holder, content.name, content.models)
