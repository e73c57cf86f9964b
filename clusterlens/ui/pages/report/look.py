"""What is looked at on the page Report."""

from __future__ import annotations

import param

from clusterlens.ui.state.looking import kept


class Look(param.Parameterized):
    """What is looked at here, and on other pages through it."""

    report_without = kept(
        param.ClassSelector(
            class_=tuple, default=(), doc="Sections that the report leaves out."
        ),
        linked=True,
    )
    report_with = param.ClassSelector(
        class_=tuple, default=(), doc="Sections of the lab that were asked for."
    )
