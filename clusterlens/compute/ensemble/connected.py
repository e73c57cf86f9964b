"""Connected components of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components


def components(pairs: npt.NDArray[np.integer[Any]], size: int) -> npt.NDArray[np.int64]:
    """Number the connected components of pairs (n_pairs, 2) of numbers below `size`.

    Returns (size,) of int64; components are numbered in order of first appearance.
    """
    graph = coo_array((np.ones(len(pairs), np.int8), tuple(pairs.T)), shape=2 * (size,))
    return connected_components(graph, directed=False)[1].astype(np.int64)
