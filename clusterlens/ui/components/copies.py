"""Copies: links that choose whether rows equal to others count, shown with scores.

A click prepares the table again as an action, so undo and the script include it.
"""

from __future__ import annotations

from clusterlens.compute.formatting import count, percent, whole
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.session import Session
from clusterlens.ui.widgets.toolkit import badge, link

# If fewer than this share of the rows are copies, they do not decide a score.
FEW = 0.01
_ONCE = "copies once"
_KEEP = "copies keep"
_POOL = "copies pool"
_USE_ONCE = link("use each row once", _ONCE, css="cl-copies-once")
_COUNT_ALL = link("count every row", _KEEP, css="cl-copies-keep")
_RUN_ANEW = link("run a pool anew", _POOL, css="cl-copies-pool")


def ready_line(dataset: Dataset) -> str:
    """Return markup on the copies in a prepared table; empty if there are none."""
    if not dataset.n_copies:
        return ""
    if _kept(dataset):
        rows = count(dataset.n_copies, "exact copy", "exact copies")
        return f"<b>{rows} of other rows ({_share(dataset)})</b>: {_USE_ONCE}."
    n_rows = whole(int(dataset.row_counts.sum()))
    return (
        f"Each sample stands for all rows that equal it, {n_rows} in all: {_COUNT_ALL}."
    )


def beside_score(scored: Dataset, prepared: Dataset | None) -> str:
    """Return markup that warns that copies count in a score; empty if they are few.

    Parameters
    ----------
    scored : Dataset
        Table of the score, possibly of an older run.
    prepared : Dataset or None
        Table as prepared now.
    """
    if not matter(scored):
        return ""
    warning = badge(
        f"{_share(scored)} of the rows are copies of others", kind="estimate"
    )
    if prepared is None or _kept(prepared):
        return f"{warning} {_USE_ONCE}"
    return f"{warning} the table now uses each row once: {_RUN_ANEW}"


def matter(scored: Dataset) -> bool:
    """Return whether copies count in the scores of a table, and are not few."""
    return _kept(scored) and scored.n_copies > FEW * len(scored.X)


async def answer(session: Session, what: str) -> bool:
    """Handle a click on a link of these texts; return whether it was one."""
    if what == _POOL:
        session.view_state.page = "pool"
    elif what in (_ONCE, _KEEP):
        await session.act("prepare", copies=what.removeprefix("copies "))
    else:
        return False
    return True


def _kept(dataset: Dataset) -> bool:
    return dataset.settings["copies"] == "keep"


def _share(dataset: Dataset) -> str:
    return percent(dataset.n_copies / len(dataset.X))
