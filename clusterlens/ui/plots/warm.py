"""Small pictures of each kind, drawn before the first user asks for one."""

from __future__ import annotations

import numpy as np

from clusterlens.compute.consensus.tiles import Tile
from clusterlens.ui.plots.matrix import draw_matrix
from clusterlens.ui.plots.samples import draw_map
from clusterlens.ui.state.view_parameters import Viewport


def draw_each() -> None:
    """Draw each kind of picture, so that Datashader is imported and compiled."""
    edges = np.arange(3)
    for kind in ("consensus", "binarised"):
        tile = Tile(np.eye(2, dtype=np.float32), edges, edges, kind, None, exact=True)
        for shading in ("linear", "eq_hist"):
            draw_matrix(tile, shading)
    xy, colours = np.eye(2), np.zeros((2, 3), np.uint8)
    for triangles in (None, np.array([True, False])):
        draw_map(xy, colours, Viewport(width=200, height=200), triangles=triangles)
