"""The garbage collector: it passes over what has come to stay.

A full collection goes through the objects of every session while all of them wait:
0.1 to 0.2 s for each session that has seen all pages.
"""

from __future__ import annotations

import gc


def settle() -> None:
    """Let later collections pass over all that is there now."""
    gc.collect()
    gc.freeze()


def sweep() -> None:
    """Go through everything once; for times at which nobody waits."""
    gc.unfreeze()
    settle()
