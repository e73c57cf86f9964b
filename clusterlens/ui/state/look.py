"""View state: never logged, but part of a shared link."""

from __future__ import annotations

from typing import Literal

import param

from clusterlens.ui.pages import PAGES
from clusterlens.ui.state.looking import Brush, Viewport, kept, rule


class Look(*(look for spec in PAGES for look in spec.looks)):  # type: ignore[misc]  # one base per page
    """The view of the analyst: parameters of each page, and shared ones."""

    page = kept(
        param.Selector(
            default="data",
            objects=[spec.key for spec in PAGES],
            doc="The page that is shown, a key of PAGES.",
        ),
        linked=True,
    )
    model = kept(
        param.Integer(
            None,
            allow_None=True,
            bounds=(0, None),
            doc="Selected model; None for the leader.",
        ),
        until="run",
        linked=True,
    )
    colour_by = kept(
        param.Selector(default="model", objects=["model", "disagreement", "labels"]),
        linked=True,
    )
    so_far = param.Boolean(
        False, doc="Whether the partial run is displayed instead of a finished one."
    )
    large = param.Boolean(False, doc="Whether text is larger, for projectors.")
    help = param.Boolean(False, doc="Whether the keys are listed.")
    inspected = kept(
        param.Integer(
            None, allow_None=True, bounds=(0, None), doc="Position of a sample."
        ),
        until="run",
        linked=True,
    )
    brush = kept(
        param.ClassSelector(class_=Brush, default=Brush(), doc="Brushed samples."),
        until="run",
    )
    pair = kept(
        param.ClassSelector(
            class_=tuple,
            default=(),
            doc="Positions of A and B, as far as they are picked.",
        ),
        until="run",
    )
    map_view = kept(
        param.ClassSelector(class_=Viewport, default=Viewport()),
        until="run",
        linked=True,
    )

    @classmethod
    def kept_until(cls, *ends: Literal["run", "table", "either"]) -> list[str]:
        """Return the names of the parameters that are reset at one of these events."""
        return [name for name in cls.param if rule(cls.param[name]).until in ends]

    @classmethod
    def linked(cls) -> list[str]:
        """Return the names of the parameters that a link restores."""
        return [name for name in cls.param if rule(cls.param[name]).linked]

    def forget(self, *names: str) -> None:
        """Reset parameters to their defaults; viewports keep their size."""
        values = {name: self.param[name].default for name in names}
        for name, value in values.items():
            if isinstance(value, Viewport):
                values[name] = getattr(self, name).whole()
        self.param.update(**values)
