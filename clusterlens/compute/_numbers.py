"""Numbers as text that readers of any language understand."""


def whole(amount: float) -> str:
    """Write a whole number, with thousands separated by a narrow no-break space.

    A comma there is a decimal mark in many languages, and a point in others.
    """
    return f"{amount:,.0f}".replace(",", "\u202f")


def grouped(amount: float) -> str:
    """Write a number with six digits, in groups from 10 000 on (beyond years)."""
    return whole(amount) if 10_000 <= abs(amount) < 1e9 else f"{amount:.6g}"


def count(amount: int, one: str, many: str | None = None) -> str:
    """Write an amount with its noun."""
    return f"{whole(amount)} {one if amount == 1 else many or one + 's'}"


def percent(share: float) -> str:
    """Write a share in percent: zero without a sign, a small share not as zero.

    A share close to 1 is not written as 100%. A value below 1e-9 is rounding.
    """
    if abs(share) < 0.005:
        return "<1%" if share > 1e-9 else "0%"
    if 0.995 <= share < 1 - 1e-9:
        return ">99%"
    return f"{share:.0%}".replace("-", "−")
