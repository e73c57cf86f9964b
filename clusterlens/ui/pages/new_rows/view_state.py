"""View state of the page New rows."""

from __future__ import annotations

import param

from clusterlens.ui.state.view_parameters import Viewport, view_parameter


class ViewState(param.Parameterized):
    """View parameters of this page, which other pages may read."""

    segmentation = view_parameter(
        param.Integer(
            None,
            allow_None=True,
            bounds=(0, None),
            doc="Position of the segmentation that is read; None for the latest.",
        ),
        until="table",
    )
    new_rows_first = param.Selector(
        default="least sure", objects=["least sure", "most sure", "nowhere"]
    )
    read_otherwise = view_parameter(
        param.Boolean(False, doc="Whether the controls of the file format are shown."),
        until="table",
    )
    new_row = view_parameter(
        param.Integer(
            None,
            allow_None=True,
            bounds=(0, None),
            doc="Position of the new row that is read; None for the first.",
        ),
        until="table",
    )
    new_rows_cards = param.ClassSelector(
        class_=tuple, default=(), doc="Areas of the cards that are shown; () for all."
    )
    new_rows_view = view_parameter(
        param.ClassSelector(class_=Viewport, default=Viewport()), until="table"
    )
