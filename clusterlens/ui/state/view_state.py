"""View state: never logged, but part of a shared link."""

from __future__ import annotations

from typing import Literal

import param

from clusterlens.ui.state.pages import PAGES
from clusterlens.ui.state.view_parameters import Brush, Viewport, rule, view_parameter


class ViewState(param.Parameterized):
    """View parameters of several pages; the composition root adds those of each."""

    page = view_parameter(
        param.Selector(
            default="data",
            objects=[spec.key for spec in PAGES],
            doc="The page that is shown, a key of PAGES.",
        ),
        linked=True,
    )
    model = view_parameter(
        param.Integer(
            None,
            allow_None=True,
            bounds=(0, None),
            doc="Selected model; None for the leader.",
        ),
        until="run",
        linked=True,
    )
    colour_by = view_parameter(
        param.Selector(default="model", objects=["model", "disagreement", "labels"]),
        linked=True,
    )
    so_far = param.Boolean(
        False, doc="Whether the partial run is displayed instead of a finished one."
    )
    large = param.Boolean(False, doc="Whether text is larger, for projectors.")
    help = param.Boolean(False, doc="Whether the keys are listed.")
    inspected = view_parameter(
        param.Integer(
            None, allow_None=True, bounds=(0, None), doc="Position of a sample."
        ),
        until="run",
        linked=True,
    )
    brush = view_parameter(
        param.ClassSelector(class_=Brush, default=Brush(), doc="Brushed samples."),
        until="run",
    )
    pair = view_parameter(
        param.ClassSelector(
            class_=tuple,
            default=(),
            doc="Positions of A and B, as far as they are picked.",
        ),
        until="run",
    )
    map_view = view_parameter(
        param.ClassSelector(class_=Viewport, default=Viewport()),
        until="run",
        linked=True,
    )

    @classmethod
    def reset_at(cls, *ends: Literal["run", "table", "either"]) -> list[str]:
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
