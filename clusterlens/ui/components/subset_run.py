"""Clustering of some rows of a run by themselves: a cluster or a selection."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clusterlens.ui.session import Session
from clusterlens.ui.state.links import plain_ids

FEWEST_AGAIN = 10  # fewer rows are not worth a pool


async def cluster_again(
    session: Session, positions: npt.NDArray[np.intp], name: str
) -> None:
    """Make a run of the samples at some positions, under a name of its own."""
    rows = plain_ids(
        np.asarray(session.analysis.selected_run.dataset.row_ids)[positions]
    )
    await session.act("cluster rows", rows=rows, name=name)
