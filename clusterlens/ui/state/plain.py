"""Plain values from outside: JSON of bounded length and depth."""

from __future__ import annotations

import json
from typing import Any

from clusterlens.compute._numbers import whole

# No value that the app writes is nested nearly as deeply.
MOST_NESTED = 50


def read_plain(text: str | bytes, most: int) -> Any:
    """Read JSON that comes from outside.

    What has passed can be walked over without end of the stack.

    Parameters
    ----------
    text : str or bytes
        JSON; bytes are UTF-8.
    most : int
        Largest length.

    Raises
    ------
    ValueError
        If it is longer, nested more deeply than `MOST_NESTED`, or no JSON.
    """
    if len(text) > most:
        raise ValueError(
            f"it is {whole(len(text))} characters long, the limit is {whole(most)}"
        )
    try:
        level = [found := json.loads(text)]
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    for _ in range(MOST_NESTED):
        level = [part for one in level for part in _parts(one)]
    if level:
        raise ValueError(_TOO_DEEP)
    return found


_TOO_DEEP = f"its brackets are nested more than {MOST_NESTED} deep"


def _parts(value: Any) -> Any:
    """What a value of JSON holds."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
