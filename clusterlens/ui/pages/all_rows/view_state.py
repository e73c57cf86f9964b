"""View state of the page All rows."""

from __future__ import annotations

import param

from clusterlens.ui.state.view_parameters import Viewport, view_parameter

# Orders of the rows of a part.
ORDERS = ("least sure", "nowhere", "in order")


class ViewState(param.Parameterized):
    """View parameters of this page, which other pages may read."""

    all_rows_view = view_parameter(
        param.ClassSelector(class_=Viewport, default=Viewport()), until="table"
    )
    all_rows_part = view_parameter(
        param.Integer(0, bounds=(0, None), doc="Part of the table with listed rows."),
        until="table",
    )
    all_rows_first = param.Selector(default="least sure", objects=list(ORDERS))
