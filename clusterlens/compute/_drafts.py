"""Drafts: files that appear once they are complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def draft_of(target: Path) -> Iterator[Path]:
    """Yield a file beside the target to write; it replaces the target on success."""
    handle, name = tempfile.mkstemp(".part", target.name, target.parent)
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
