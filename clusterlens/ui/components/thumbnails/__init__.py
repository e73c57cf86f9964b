"""Thumbnails of the examples, drawn by `assets/thumbnails.py`."""

from __future__ import annotations

import base64
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


@cache
def thumbnail(name: str) -> str:
    """Return the thumbnail of an example as an address of its own, empty without."""
    path = FOLDER / f"{name.replace(' ', '-')}.png"
    if not path.exists():
        return ""
    return f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"
