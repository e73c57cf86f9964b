"""Definition of an action, a way to change an analysis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from clusterlens.compute.formatting import whole
from clusterlens.ui.actions.lines import Lines
from clusterlens.ui.state.analysis import Analysis
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.shapes import Shape

Values = Mapping[str, Any]
# Longest name of a run or a cluster, because names head columns and captions.
NAME_LENGTH = 80


@dataclass(frozen=True)
class Action:
    """A way to change an analysis.

    Parameters
    ----------
    title : str
        Description in the timeline and in the progress bar.
    apply : callable
        `(analysis, values, job) -> analysis`; raises ValueError if the change is
        impossible.
    takes : Shape
        Shape of its values, also when they are read from a log.
    slow : bool, default False
        Whether it takes longer than milliseconds and so runs on a thread.
    of_run : bool, default False
        Whether it applies to the selected run. It is refused while that run is
        unfinished, and if another run has been selected before its turn.
    python : callable, optional
        `(lines, step, before)` adds the Python of a step to `lines`, given the analysis
        `before` it. An action without it sets a value that is written where it is used,
        or that no script needs.
    """

    title: str
    apply: Callable[[Analysis, Values, Any], Analysis]
    takes: Shape
    slow: bool = False
    of_run: bool = False
    python: Callable[[Lines, Step, Analysis], None] | None = None


def limited(text: str, most: int, what: str) -> str:
    """Return a text of the analyst; raise ValueError if it is too long."""
    if len(text) > most:
        raise ValueError(
            f"{what} has {whole(len(text))} characters; {whole(most)} are kept, "
            "shorten it."
        )
    return text
