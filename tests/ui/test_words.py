"""How numbers are written, for readers of any language."""

import pytest

from clusterlens.compute._numbers import whole
from clusterlens.ui.words import count, number, percent


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (whole(999), "999"),
        (whole(1_234_567), "1\u202f234\u202f567"),
        (count(10_000, "model"), "10\u202f000 models"),
        (number(12_345.6), "12\u202f346"),
        (number(0.5), "0.5"),
        (percent(0), "0%"),
        (percent(0.0004), "<1%"),
        (percent(0.25), "25%"),
    ],
)
def test_no_comma_stands_between_thousands_and_little_is_not_nothing(written, text):
    assert written == text
