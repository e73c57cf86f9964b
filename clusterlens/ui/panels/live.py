"""LivePanel: what every card that follows a slider has in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterlens.ui.derived import Result
from clusterlens.ui.panels.panel import Panel


class LivePanel(Panel):
    """A card that keeps what it shows of a table until the next is ready.

    A sign of waiting at each move would push the figure to another size, which then
    asks for another picture.
    """

    _shown_of: Any = None

    def _say(self, needed: Mapping[str, Result]) -> str:
        states = {result.state for result in needed.values()}
        dataset = self.session.analysis.dataset
        if states == {"ready"}:
            self._shown_of = dataset
        is_waiting = "pending" in states and states <= {"ready", "pending"}
        if is_waiting and self._shown_of is dataset:
            return ""
        return super()._say(needed)
