"""History: the analyses of a session in order, with a cursor.

Undo and redo move the cursor; a new action drops the undone steps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import param

from clusterlens.ui.state.analysis import Analysis, Run


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, eq=False)
class Step:
    """One action with its plain values, the resulting analysis, and the time (UTC).

    Raises
    ------
    TypeError, ValueError
        If a value is not plain JSON.
    """

    kind: str
    title: str
    analysis: Analysis
    values: Mapping[str, Any] = field(default_factory=dict)
    at: str = field(default_factory=now)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", plain_values(self.values))


def plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as plain JSON; raise TypeError or ValueError for others."""
    return json.loads(json.dumps(dict(values), allow_nan=False))


class History(param.Parameterized):
    """Steps up to the cursor are in force; later steps can be redone."""

    steps = param.ClassSelector(
        class_=tuple,
        default=(Step("start", "Start", Analysis()),),
        constant=True,
        doc="All steps, oldest first; the first is the empty analysis.",
    )
    cursor = param.Integer(0, constant=True, doc="Position of the step in force.")
    partial_run = param.ClassSelector(
        class_=Run,
        default=None,
        allow_None=True,
        doc="A run that is looked at before it is finished; never part of a step.",
    )

    @property
    def analysis(self) -> Analysis:
        """The analysis in force."""
        return self.steps[self.cursor].analysis

    @property
    def shown(self) -> Analysis:
        """The analysis in force, with the partial run if it is displayed."""
        analysis, run = self.analysis, self.partial_run
        is_there = run is not None and analysis.table is not None
        return analysis.with_run(run) if is_there else analysis

    @property
    def undo_step(self) -> Step | None:
        """The step that undo would undo."""
        return self.steps[self.cursor] if self.cursor else None

    @property
    def redo_step(self) -> Step | None:
        """The step that redo would redo."""
        after = self.cursor + 1
        return self.steps[after] if after < len(self.steps) else None

    @property
    def done(self) -> tuple[Step, ...]:
        """The steps in force, without the start."""
        return self.steps[1 : self.cursor + 1]

    def do(self, step: Step) -> None:
        """Put a new step in force, and drop the undone steps."""
        self._move((*self.steps[: self.cursor + 1], step), self.cursor + 1)

    def go(self, cursor: int) -> None:
        """Put the step at a position in force; positions outside are ignored."""
        if 0 <= cursor < len(self.steps):
            self._move(self.steps, cursor)

    def replace(self, steps: tuple[Step, ...], cursor: int) -> None:
        """Replace all steps by stored or imported ones."""
        self._move(steps, cursor)

    def _move(self, steps: tuple[Step, ...], cursor: int) -> None:
        with param.edit_constant(self):
            self.param.update(steps=steps, cursor=cursor)
