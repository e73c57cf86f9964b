"""View state of the page Data."""

from __future__ import annotations

import param

from clusterlens.ui.state.view_parameters import Viewport, view_parameter


class ViewState(param.Parameterized):
    """View parameters of this page, which other pages may read."""

    starting = view_parameter(
        param.Boolean(
            False, doc="Whether the Data page offers another table in place of its own."
        ),
        until="table",
    )
    column = param.String(
        None, allow_None=True, doc="Column that shades the map of the Data page."
    )
    column_query = param.String("", doc="Text that names of listed columns hold.")
    column_role = param.String("", doc="Role of listed columns; empty for all.")
    rows_as = param.Selector(default="read", objects=["read", "features"])
    prepared_view = view_parameter(
        param.ClassSelector(class_=Viewport, default=Viewport()), until="table"
    )
