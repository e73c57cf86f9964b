"""Whole numbers as people of any language read them."""


def whole(amount: float) -> str:
    """Write a whole number, thousands apart by a narrow space that breaks no line.

    A comma there is a decimal mark to many, and a point to others.
    """
    return f"{amount:,.0f}".replace(",", "\u202f")
