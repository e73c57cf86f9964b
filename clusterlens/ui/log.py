"""The action log: every change of an analysis as plain values.

An action is a kind and plain (JSON) values. The log only grows; doing the same actions
again from an empty session gives the same analysis.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Action:
    """One change of the analysis.

    Parameters
    ----------
    kind : str
        Name of the action, a key of `clusterlens.ui.actions.ACTIONS`.
    values : mapping
        Its arguments, plain JSON values only.

    Raises
    ------
    TypeError
        If a value is not plain.
    """

    kind: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        plain = json.loads(json.dumps(dict(self.values), allow_nan=False))
        object.__setattr__(self, "values", plain)


class ActionLog:
    """Append-only list of actions."""

    def __init__(self) -> None:
        self._actions: list[Action] = []

    def append(self, action: Action) -> None:
        """Add an action at the end."""
        self._actions.append(action)

    def __iter__(self) -> Iterator[Action]:
        return iter(tuple(self._actions))

    def __len__(self) -> int:
        return len(self._actions)
