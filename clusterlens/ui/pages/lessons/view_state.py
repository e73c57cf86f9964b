"""View state of the page Lessons."""

from __future__ import annotations

import param

from clusterlens.ui.state.view_parameters import view_parameter

# Letters of a class word.
MOST_LETTERS = 40


class ViewState(param.Parameterized):
    """The open lesson and the finished ones, which an address restores."""

    lesson = view_parameter(
        param.String("", doc="Key of the open lesson, or none."), linked=True
    )
    lesson_step = view_parameter(
        param.Integer(0, bounds=(0, None), doc="Position of its step."), linked=True
    )
    lessons_finished = view_parameter(
        param.ClassSelector(class_=tuple, default=(), doc="Keys of finished lessons."),
        linked=True,
    )
    class_word = view_parameter(
        param.String(
            "",
            regex=rf"\A[^\r\n]{{0,{MOST_LETTERS}}}\Z",
            doc="Word of a class whose pages are counted by step, or none.",
        ),
        linked=True,
    )
