"""What an action is: a way in which an analysis changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from clusterlens.compute._numbers import whole
from clusterlens.ui.actions.lines import Lines
from clusterlens.ui.state.analysis import Analysis
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.shapes import Shape

Values = Mapping[str, Any]
# Characters of the name of a run or a cluster, which heads columns and captions.
NAME_LENGTH = 80


@dataclass(frozen=True)
class Action:
    """A way in which an analysis changes.

    Parameters
    ----------
    title : str
        What is done, for the timeline and while it is under way.
    apply : callable
        `(analysis, values, job) -> analysis`; raises ValueError where it cannot.
    takes : Shape
        What its values are, also where they are read back from a log.
    slow : bool, default False
        Whether it takes longer than a blink and so runs on a thread.
    of_run : bool, default False
        Whether it is about the run that is read: refused while that forms, and where
        another one is read once its turn has come.
    python : callable, optional
        `(lines, step, before)` says in `lines` what a step that changed the analysis
        `before` stands for. Without it the action sets a value, which is written where
        it is used, or what no script has.
    """

    title: str
    apply: Callable[[Analysis, Values, Any], Analysis]
    takes: Shape
    slow: bool = False
    of_run: bool = False
    python: Callable[[Lines, Step, Analysis], None] | None = None


def limited(text: str, most: int, what: str) -> str:
    """Return a text of the analyst; ValueError where it has too many characters."""
    if len(text) > most:
        raise ValueError(
            f"{what} has {whole(len(text))} characters; {whole(most)} are kept, "
            "shorten it."
        )
    return text
