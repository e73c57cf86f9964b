"""Shapes: checks of plain values that come from a file, a store or a link.

A shape is a function that raises `ShapeError` for unsuitable values. Larger shapes are
composed of smaller ones, so that each record is described once, in the order of its
entries. Values are never converted: an accepted value is used as it is.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, get_args

from clusterlens.compute.ensemble.ensemble import NoiseMeans
from clusterlens.compute.ranking.ranking import SCORES
from clusterlens.compute.ranking.voting import VoteBy
from clusterlens.compute.table.dataset import (
    CATEGORICAL_RULES,
    COPY_RULES,
    MISSING_RULES,
    ROLES,
    SCALES,
)
from clusterlens.compute.table.preparation import TRANSFORMS

Shape = Callable[[Any], None]
_SHOWN = 60
_MOST_LEVELS = 6
_MOST_INTEGER = 2**64


class ShapeError(ValueError):
    """Error of an unsuitable value.

    Parameters
    ----------
    expected : str
        Description of suitable values.
    found : object
        The value.
    where : str
        Path to it, such as ".runs[0].name".
    """

    def __init__(self, expected: str, found: Any, where: str = "") -> None:
        self.expected, self.found, self.where = expected, found, where
        shown = repr(found)
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
        place = where.lstrip(".") or "a value"
        super().__init__(f"{place} is {shown}, where {expected} belongs")

    def within(self, part: str) -> ShapeError:
        """Return the same error for a value inside another one."""
        return ShapeError(self.expected, self.found, f"{part}{self.where}")


def fits(shape: Shape, value: Any) -> bool:
    """Return whether a value has a shape."""
    try:
        shape(value)
    except ShapeError:
        return False
    return True


def text(most: int) -> Shape:
    """Accept a text of at most so many characters that can be encoded as UTF-8."""

    def check(value: Any) -> None:
        if not isinstance(value, str) or len(value) > most or not _is_unicode(value):
            raise ShapeError(f"a text of up to {most} characters", value)

    return check


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def integer(low: int = -_MOST_INTEGER, high: int = _MOST_INTEGER) -> Shape:
    """Accept a whole number between two bounds, both included."""

    def check(value: Any) -> None:
        if type(value) is not int or not low <= value <= high:
            raise ShapeError(f"a whole number from {low} to {high}", value)

    return check


def number(low: float = -math.inf) -> Shape:
    """Accept a finite number with a lower bound."""
    expected = "a number" if low == -math.inf else f"a number from {low} on"

    def check(value: Any) -> None:
        is_number = type(value) is float or type(value) is int
        if not is_number or not (low <= value and abs(value) <= sys.float_info.max):
            raise ShapeError(expected, value)

    return check


def choice(*options: Any) -> Shape:
    """Accept one of some texts."""
    expected = f"one of {', '.join(map(repr, options))}"

    def check(value: Any) -> None:
        if not isinstance(value, str) or value not in options:
            raise ShapeError(expected, value)

    return check


def any_of(*shapes: Shape) -> Shape:
    """Accept any of several shapes."""

    def check(value: Any) -> None:
        errors = []
        for shape in shapes:
            try:
                return shape(value)
            except ShapeError as error:
                errors.append(error)
        inner = max(errors, key=lambda error: len(error.where))
        if inner.where:
            raise inner
        raise ShapeError(" or ".join(error.expected for error in errors), value)

    return check


def nothing(value: Any) -> None:
    """Accept None."""
    if value is not None:
        raise ShapeError("nothing", value)


def sequence(shape: Shape) -> Shape:
    """Accept a list of values of one shape."""

    def check(value: Any) -> None:
        if not isinstance(value, list):
            raise ShapeError("a list", value)
        for k, one in enumerate(value):
            try:
                shape(one)
            except ShapeError as error:
                raise error.within(f"[{k}]") from None

    return check


def row(*shapes: Shape) -> Shape:
    """Accept a list with one value for each shape, in order."""

    def check(value: Any) -> None:
        if not isinstance(value, list) or len(value) != len(shapes):
            raise ShapeError(f"a list of {len(shapes)}", value)
        for k, shape in enumerate(shapes):
            try:
                shape(value[k])
            except ShapeError as error:
                raise error.within(f"[{k}]") from None

    return check


def record(
    needed: Mapping[str, Shape] | None = None,
    optional: Mapping[str, Shape] | None = None,
    *,
    others: Shape | None = None,
) -> Shape:
    """Accept a mapping from texts with required and optional entries.

    `others` is the shape of all other entries; without it there must be none.
    """
    known = {**(needed or {}), **(optional or {})}

    def check(value: Any) -> None:
        if not isinstance(value, dict):
            raise ShapeError("a mapping", value)
        for name in needed or {}:
            if name not in value:
                raise ShapeError(f"a mapping with {name!r}", value)
        for name, one in value.items():
            LONG_TEXT(name)
            shape = known.get(name, others)
            if shape is None:
                raise ShapeError("a name that this version knows", name)
            try:
                shape(one)
            except ShapeError as error:
                raise error.within(f".{name:.40}") from None

    return check


def plain(value: Any) -> None:
    """Accept any plain value of few levels, such as a parameter or a setting."""
    _plain(value, _MOST_LEVELS)


def _plain(value: Any, levels: int) -> None:
    if isinstance(value, (list, dict)):
        if not levels:
            raise ShapeError(f"a value of up to {_MOST_LEVELS} levels", value)
        inner = value if isinstance(value, list) else [*value, *value.values()]
        for one in inner:
            _plain(one, levels - 1)
    elif not isinstance(value, bool) and value is not None:
        _PLAIN(value)


def anything(value: Any) -> None:
    """Accept any value; it is checked elsewhere."""


def flag(value: Any) -> None:
    """Accept true or false."""
    if not isinstance(value, bool):
        raise ShapeError("true or false", value)


def key(value: Any) -> None:
    """Accept a SHA-256 in hexadecimal digits."""
    digits = set("0123456789abcdef")
    if not isinstance(value, str) or len(value) != 64 or not set(value) <= digits:
        raise ShapeError("a SHA-256 in hexadecimal digits", value)


def moment(value: Any) -> None:
    """Accept a time in ISO 8601."""
    try:
        year = as_moment(value).year
    except (TypeError, ValueError, OverflowError):
        year = 0
    if not 1 < year < 9999:  # no time zone leads beyond the range of years
        raise ShapeError("a time such as 2026-01-31T12:00:00+00:00", value)


def as_moment(text: str) -> datetime:
    """Return a time of ISO 8601 in UTC; without a time zone it is in UTC."""
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


# Names, and contents of cells of a table.
TEXT, LONG_TEXT = text(10_000), text(50_000_000)
COUNT = integer(0)
SEED = integer(0, 2**32 - 1)
SCORE, VOTES = choice(*SCORES), choice(*get_args(VoteBy))
NOISE_MEANS = choice(*get_args(NoiseMeans))
LINK = choice("must", "cannot")
LINK_WEIGHT = any_of(choice("evidence"), number(0))
_PLAIN = any_of(integer(), number(), LONG_TEXT)
ROW_ID = any_of(integer(), LONG_TEXT)
ROW_IDS = sequence(ROW_ID)
POOL = sequence(record({"clusterer": TEXT}, others=plain))
# A rule of a column; None removes it.
_FACTOR = any_of(nothing, number(0))
RULES = record(
    optional={
        "roles": record(others=choice(*ROLES)),
        "missing": choice(*MISSING_RULES),
        "scale": choice(*SCALES),
        "categorical": choice(*CATEGORICAL_RULES),
        "pca": _FACTOR,
        "sentinels": any_of(choice("auto"), sequence(number())),
        "copies": choice(*COPY_RULES),
        "transforms": record(others=any_of(nothing, choice(*TRANSFORMS))),
        "weights": record(others=_FACTOR),
    }
)
