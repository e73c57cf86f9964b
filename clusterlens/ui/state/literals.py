"""Literals: plain values as Python that evaluates to exactly these values."""

from __future__ import annotations

from math import isfinite
from typing import Any

_PLAIN = (str, int, float, bool, type(None))


class ScriptError(ValueError):
    """Error of an analysis that cannot be written as a script, with the reason."""


def literal(value: Any) -> str:
    """Write a plain value as Python; raise ScriptError for any other.

    Parameters
    ----------
    value : object
        None, a text, a truth value, a finite number, or a list, tuple, set or mapping
        of these.

    Returns
    -------
    code : str
        Expression that evaluates to exactly this value.
    """
    refuse_other_than_plain(value)
    return repr(value)


def refuse_other_than_plain(value: Any) -> None:
    """Raise ScriptError for a value that is not made of plain values."""
    if type(value) is dict:
        value = [*value, *value.values()]
    if type(value) in (list, tuple, set):
        for one in value:
            refuse_other_than_plain(one)
    elif type(value) not in _PLAIN or (type(value) is float and not isfinite(value)):
        raise ScriptError(f"{value!r:.60} is no plain value, so that no script has it.")
