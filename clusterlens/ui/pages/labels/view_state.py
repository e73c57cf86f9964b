"""View state of the page Given labels."""

from __future__ import annotations

from typing import Any

import param

from clusterlens.ui.state.view_parameters import Viewport, view_parameter


class ViewState(param.Parameterized):
    """View parameters of this page, which other pages may read."""

    label_source = view_parameter(
        param.String(
            "labels",
            doc="Source of the classes: labels, group, column:<name>, "
            "model:<position> or consensus:<number of clusters>.",
        ),
        until="either",
        linked=True,
    )
    merged = view_parameter(
        param.ClassSelector(
            class_=tuple, default=(), doc="Pairs of classes that are merged."
        ),
        until="either",
    )
    label_pair = view_parameter(
        param.ClassSelector(
            class_=tuple,
            default=(),
            doc="Two classes looked at; empty for the most mixed.",
        ),
        until="either",
    )
    label_view = view_parameter(
        param.ClassSelector(class_=Viewport, default=Viewport()), until="either"
    )

    def evaluate(self, source: str) -> None:
        """Evaluate the classes of another source, without merges, all pairs in view."""
        self.open_pair(label_source=source, merged=())

    def open_pair(self, *pair: int, **more: Any) -> None:
        """Show all of two classes, by default of the least separated ones."""
        view = self.label_view.whole()
        self.param.update(label_pair=pair, label_view=view, **more)
