"""Address: the view state as plain values, for links and for the next visit.

An address is untrusted input: unreadable text is refused, and unsuitable values are
left out. Brushed samples and drafts are not included.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from clusterlens.compute._plain import read_plain
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.state.view_state import ViewState

# Largest numbers of characters of the two parts of a link.
MOST_LOOK, MOST_ID = 10_000, 100
# Larger whole numbers differ in a browser.
_LARGEST = 2**53
# Parameters that an address restores without an analysis.
_LESSONS = ("lesson", "lesson_step", "lessons_finished", "class_word")
_ALONE = ("page", *_LESSONS)
# Parameters by their names in earlier links, stored views and lesson files.
_RENAMED = {"judged": "label_source"}


def plain_view_state(view_state: ViewState) -> dict[str, Any]:
    """Return the view state as plain values, without defaults."""
    plain = {}
    for name in view_state.linked():
        value, default = getattr(view_state, name), view_state.param[name].default
        if isinstance(value, Viewport):
            if value.x is not None and value.y is not None:
                plain[name] = [*map(float, (*value.x, *value.y))]
        elif value != default:
            plain[name] = value
    return plain


def present_names(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of view parameters under their present names."""
    return {_RENAMED.get(name, name): value for name, value in plain.items()}


def restore_view_state(
    view_state: ViewState,
    plain: Mapping[str, Any],
    ends: Mapping[str, int] | None = None,
) -> None:
    """Set view parameters from plain values; unsuitable values are left out.

    Parameters
    ----------
    view_state : ViewState
        View state to change.
    plain : mapping
        Values by parameter.
    ends : mapping, optional
        Exclusive upper bounds of parameters that are positions.
    """
    plain = present_names(plain)
    wanted = {name: plain[name] for name in view_state.linked() if name in plain}
    for name, value in list(wanted.items()):
        if isinstance(view := getattr(view_state, name), Viewport):
            wanted[name] = value = _viewport(value, view)
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            wanted[name] = value = tuple(value)
        try:
            type(view_state)(**{name: value})
            _check(
                value, view_state.param[name].default, (ends or {}).get(name, _LARGEST)
            )
        except (ValueError, TypeError):
            del wanted[name]
    view_state.param.update(**wanted)


def _check(value: Any, default: Any, end: int) -> None:
    """Refuse values that parameters accept but no link contains.

    For example a number for a truth value, or half of a surrogate pair.
    """
    if isinstance(value, bool) != isinstance(default, bool):
        raise TypeError("truth is no number")
    if isinstance(value, int) and value >= end:
        raise ValueError("there are not as many")
    for text in value if isinstance(value, tuple) else (value,):
        str(text).encode()


def _viewport(ranges: Any, view: Viewport) -> Viewport | None:
    """Return a viewport of four finite numbers, None for any other value."""
    if not isinstance(ranges, list) or len(ranges) != 4:
        return None
    if not all(isinstance(end, (int, float)) and abs(end) < 1e300 for end in ranges):
        return None
    x0, x1, y0, y1 = map(float, ranges)
    if not (x0 < x1 and y0 < y1):
        return None
    return Viewport((x0, x1), (y0, y1), view.width, view.height)


def to_query(analysis: str | None, view_state: ViewState) -> dict[str, str]:
    """Return the query arguments of a link to an analysis in its present view.

    Without an analysis only lessons have an address.
    """
    plain = plain_view_state(view_state)
    if analysis is None:
        if plain.keys().isdisjoint(_LESSONS):
            return {}
        return {"look": json.dumps({n: plain[n] for n in plain if n in _ALONE})}
    return {"analysis": analysis, **({"look": json.dumps(plain)} if plain else {})}


def from_query(query: Mapping[str, str]) -> tuple[str | None, dict[str, Any]]:
    """Return the analysis and the view state of the arguments of a link.

    Raises
    ------
    ValueError
        If the arguments were not made by `to_query`.
    """
    analysis = query.get("analysis")
    if analysis is not None and len(analysis) > MOST_ID:
        raise ValueError(
            "the name of the analysis in it is too long; copy the link again."
        )
    try:
        view_state = read_plain(query.get("look", "{}"), MOST_LOOK)
        if not isinstance(view_state, dict):
            raise ValueError("it is no JSON object")
    except ValueError as error:
        raise ValueError(
            f"what to look at cannot be read ({error}); copy the link again, or remove "
            "“look=…” from it."
        ) from None
    return analysis, view_state
