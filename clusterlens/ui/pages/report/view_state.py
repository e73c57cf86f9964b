"""View state of the page Report."""

from __future__ import annotations

import param

from clusterlens.ui.state.view_parameters import view_parameter


class ViewState(param.Parameterized):
    """View parameters of this page, which other pages may read."""

    report_without = view_parameter(
        param.ClassSelector(
            class_=tuple, default=(), doc="Sections that the report leaves out."
        ),
        linked=True,
    )
    report_with = param.ClassSelector(
        class_=tuple, default=(), doc="Sections of the lab that were asked for."
    )
