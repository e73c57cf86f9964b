"""Format numbers so that readers of any language understand them, and list names."""

from collections.abc import Sequence


def minus(number: str) -> str:
    """Write a formatted number with a true minus sign, for readers.

    Files and the sentences of results in Python keep the hyphen.

    Parameters
    ----------
    number : str
        A number as `format` writes it.

    Returns
    -------
    text : str
        For example "−1.7".
    """
    return number.replace("-", "−")


def whole(amount: float) -> str:
    """Format a whole number, with thousands separated by a narrow no-break space.

    A comma is a decimal mark in many languages, and a point in others.

    Parameters
    ----------
    amount : float
        Rounded to the nearest whole number.

    Returns
    -------
    text : str
        For example "12 000".
    """
    return f"{amount:,.0f}".replace(",", "\u202f")


def grouped(amount: float) -> str:
    """Format a number with six digits, in groups from 10 000 on (beyond years).

    Parameters
    ----------
    amount : float
        Any number.

    Returns
    -------
    text : str
        A whole number from 10 000 to 1e9, otherwise six significant digits.
    """
    return whole(amount) if 10_000 <= abs(amount) < 1e9 else f"{amount:.6g}"


def count(amount: int, one: str, many: str | None = None) -> str:
    """Format an amount with its noun.

    Parameters
    ----------
    amount : int
        Number of things.
    one : str
        Noun in the singular.
    many : str, optional
        Noun in the plural; by default the singular with an s.

    Returns
    -------
    text : str
        For example "1 row" or "3 rows".
    """
    return f"{whole(amount)} {one if amount == 1 else many or one + 's'}"


def all_of(amount: int) -> str:
    """Format an amount in front of the noun of everything: two are "both".

    Parameters
    ----------
    amount : int
        Number of things, at least two.

    Returns
    -------
    text : str
        For example "all 12" or "both".
    """
    return "both" if amount == 2 else f"all {whole(amount)}"


def first_of(names: Sequence[str], most: int) -> str:
    """List the first names and the number of the others.

    Parameters
    ----------
    names : sequence of str
        What to list.
    most : int
        Number of names to write.

    Returns
    -------
    text : str
        For example "a, b and 3 more".
    """
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def with_capital(text: str) -> str:
    """Begin a text with a capital letter and leave its other letters as they are.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    text : str
        For example "The ARI".
    """
    return text[:1].upper() + text[1:]


def abridge(text: str, most: int) -> str:
    """Cut a long text, with an ellipsis in place of its end.

    Parameters
    ----------
    text : str
        Any text.
    most : int
        Number of characters to write.

    Returns
    -------
    text : str
        For example "sepal len…".
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def decimals_below(value: float, limit: float) -> int:
    """Return the decimals, 2 to 6, that show a value below its limit as below it."""
    decimals = 2
    while decimals < 6 and value < limit <= round(value, decimals):
        decimals += 1
    return decimals


def percent(share: float) -> str:
    """Format a share in percent: zero without a sign, a small share not as zero.

    A share close to 1 is not written as 100%. A value below 1e-9 is rounding.

    Parameters
    ----------
    share : float
        In [0, 1], or a difference of two shares.

    Returns
    -------
    text : str
        For example "25%", "<1%" or ">99%".
    """
    if abs(share) < 0.005:
        return "<1%" if share > 1e-9 else "0%"
    if 0.995 <= share < 1 - 1e-9:
        return ">99%"
    return minus(f"{share:.0%}")
