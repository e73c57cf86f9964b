"""“Copy as Python”: the calls of a page after the lines of the log."""

from __future__ import annotations

from collections.abc import Callable

from clusterlens.ui.state.literals import ScriptError
from clusterlens.ui.widgets.toolkit import copier, safe


def copy_as_python(write: Callable[[], str]) -> str:
    """Return markup of a button that copies Python code, or of a reason why not.

    Parameters
    ----------
    write : callable
        Returns the calls; raises ScriptError where the log does not say enough.
    """
    try:
        return copier("Copy as Python", write(), css="cl-copy")
    except ScriptError as error:
        return f"<span class='muted'>No Python to copy: {safe(error)}</span>"
