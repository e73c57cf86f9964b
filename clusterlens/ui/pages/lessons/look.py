"""View state of the page Lessons."""

from __future__ import annotations

import param

from clusterlens.ui.state.looking import kept


class Look(param.Parameterized):
    """The open lesson and the finished ones, which an address restores."""

    lesson = kept(param.String("", doc="Key of the open lesson, or none."), linked=True)
    lesson_step = kept(
        param.Integer(0, bounds=(0, None), doc="Position of its step."), linked=True
    )
    lessons_finished = kept(
        param.ClassSelector(class_=tuple, default=(), doc="Keys of finished lessons."),
        linked=True,
    )
