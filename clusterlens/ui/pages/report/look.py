"""View state of the page Report."""

from __future__ import annotations

import param

from clusterlens.ui.state.looking import kept


class Look(param.Parameterized):
    """View parameters of this page, which other pages may read."""

    report_without = kept(
        param.ClassSelector(
            class_=tuple, default=(), doc="Sections that the report leaves out."
        ),
        linked=True,
    )
    report_with = param.ClassSelector(
        class_=tuple, default=(), doc="Sections of the lab that were asked for."
    )
