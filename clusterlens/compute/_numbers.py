"""Numbers as people of any language read them."""


def whole(amount: float) -> str:
    """Write a whole number, thousands apart by a narrow space that breaks no line.

    A comma there is a decimal mark to many, and a point to others.
    """
    return f"{amount:,.0f}".replace(",", "\u202f")


def grouped(amount: float) -> str:
    """Write a number with six digits; from 10 000 on, beyond years, in groups."""
    return whole(amount) if 10_000 <= abs(amount) < 1e9 else f"{amount:.6g}"


def count(amount: int, one: str, many: str | None = None) -> str:
    """Write an amount with its noun."""
    return f"{whole(amount)} {one if amount == 1 else many or one + 's'}"


def percent(share: float) -> str:
    """Write a share in percent: a zero without a sign, a little not as nothing.

    Nor most as all. What is below 1e-9 is rounding, not a little.
    """
    if abs(share) < 0.005:
        return "<1%" if share > 1e-9 else "0%"
    if 0.995 <= share < 1 - 1e-9:
        return ">99%"
    return f"{share:.0%}".replace("-", "−")
