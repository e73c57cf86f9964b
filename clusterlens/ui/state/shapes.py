"""Shapes: what plain values may be that come from a file, a store or a link.

A shape is a function that raises `ShapeError` where a value is none of it. Larger ones
are made of smaller ones, so that what belongs into a record is said once, in the order
in which it stands there. Values are never converted: what passes is what is used.
"""

from __future__ import annotations

import math
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
    """A value is not what belongs in its place.

    Parameters
    ----------
    expected : str
        What belongs there.
    found : object
        What is there.
    where : str
        The way to it, such as ".runs[0].name".
    """

    def __init__(self, expected: str, found: Any, where: str = "") -> None:
        self.expected, self.found, self.where = expected, found, where
        shown = repr(found)
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
        place = where.lstrip(".") or "a value"
        super().__init__(f"{place} is {shown}, where {expected} belongs")

    def within(self, part: str) -> ShapeError:
        """The same, of a value that is a part of another one."""
        return ShapeError(self.expected, self.found, f"{part}{self.where}")


def fits(shape: Shape, value: Any) -> bool:
    """Whether a value is of a shape."""
    try:
        shape(value)
    except ShapeError:
        return False
    return True


def text(most: int) -> Shape:
    """A text of at most so many characters that can be written as UTF-8."""

    def check(value: Any) -> None:
        if not isinstance(value, str) or len(value) > most or not _is_unicode(value):
            raise ShapeError(f"a text of up to {most} characters", value)

    return check


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates
        return False
    return True


def integer(low: int = -_MOST_INTEGER, high: int = _MOST_INTEGER) -> Shape:
    """A whole number between two ends, both included."""

    def check(value: Any) -> None:
        if type(value) is not int or not low <= value <= high:
            raise ShapeError(f"a whole number from {low} to {high}", value)

    return check


def number(low: float = -math.inf) -> Shape:
    """A finite number, not below another one."""
    expected = "a number" if low == -math.inf else f"a number from {low} on"

    def check(value: Any) -> None:
        is_number = type(value) is float or type(value) is int
        if not is_number or not (math.isfinite(value) and low <= value):
            raise ShapeError(expected, value)

    return check


def choice(*options: Any) -> Shape:
    """One of some texts."""
    expected = f"one of {', '.join(map(repr, options))}"

    def check(value: Any) -> None:
        if not isinstance(value, str) or value not in options:
            raise ShapeError(expected, value)

    return check


def any_of(*shapes: Shape) -> Shape:
    """Of one of several shapes."""

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
    """None alone."""
    if value is not None:
        raise ShapeError("nothing", value)


def sequence(shape: Shape) -> Shape:
    """A list of values of one shape."""

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
    """A list of as many values as there are shapes, one of each."""

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
    """A mapping from texts: some it must have, some it may have.

    `others` is the shape of what stands under any other name, which there cannot be
    without it.
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
    """Any plain value of few levels: what a parameter or a setting may be."""
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
    """Whatever it is; somebody else looks at it."""


def flag(value: Any) -> None:
    """True or False."""
    if not isinstance(value, bool):
        raise ShapeError("true or false", value)


def key(value: Any) -> None:
    """A SHA-256 in hexadecimal digits."""
    digits = set("0123456789abcdef")
    if not isinstance(value, str) or len(value) != 64 or not set(value) <= digits:
        raise ShapeError("a SHA-256 in hexadecimal digits", value)


def moment(value: Any) -> None:
    """A time as ISO 8601 writes it."""
    try:
        year = as_moment(value).year
    except (TypeError, ValueError, OverflowError):
        year = 0
    if not 1 < year < 9999:  # no time zone leads out of all years
        raise ShapeError("a time such as 2026-01-31T12:00:00+00:00", value)


def as_moment(text: str) -> datetime:
    """Return a time of ISO 8601 in UTC; without a time zone it is one of UTC."""
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


# Names of things, and what the cells of a table or a person may hold.
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
# A rule of a column; None takes it away.
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
