"""Map of memberships: samples by certainty, seeds, and the selected sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from bokeh.models import ColumnDataSource, Scatter, Segment, Text
from scipy.spatial import KDTree

from clusterlens.ui.figures.frame import ON_A_GROUND, RINGED
from clusterlens.ui.figures.map_frame import MapFrame

# Pixels from the centre of a star to that of its number.
_ASIDE = 18


class MembershipMap(MapFrame):
    """Samples on a plane, with a star for each seed.

    Parameters
    ----------
    on_change : callable
        As for `Frame`.
    tapped : callable
        Called with the place of a click and the data units of a pixel.
    beside : MembershipMap, optional
        Another map with the same ranges.
    """

    def __init__(
        self,
        on_change: Callable[..., None],
        tapped: Callable[[float, float, float], None],
        beside: MembershipMap | None = None,
    ) -> None:
        super().__init__(
            on_change,
            beside=beside,
            css="cl-membership-figure",
            tools=["box_zoom", "tap", "save"],
        )
        self._walks = ColumnDataSource(
            {key: [] for key in ("x0", "y0", "x1", "y1", "colour", "width")}
        )
        self._ring = ColumnDataSource({"x": [], "y": []})
        self._seeds = ColumnDataSource(
            {key: [] for key in ("x", "y", "text", "right", "down")}
        )
        self._draw()
        self.on_click(lambda x, y: tapped(x, y, self.pixel()))

    def _draw(self) -> None:
        self.draw(
            self._walks,
            Segment(
                x0="x0",
                y0="y0",
                x1="x1",
                y1="y1",
                line_color="colour",
                line_width="width",
                line_alpha=0.7,
            ),
        )
        self.draw(self._ring, Scatter(x="x", y="y", **RINGED))
        self.draw(
            self._seeds,
            Scatter(
                x="x",
                y="y",
                marker="star",
                size=17,
                fill_color="#14181d",
                line_color="#ffffff",
            ),
        )
        self.draw(
            self._seeds,
            Text(
                x="x",
                y="y",
                text="text",
                x_offset="right",
                y_offset="down",
                text_align="center",
                text_baseline="middle",
                text_font_size="14px",
                **ON_A_GROUND,
            ),
        )

    def star(self, places: np.ndarray) -> None:
        """Mark and number the seeds, places of shape (n_seeds, 2)."""
        numbers = [str(k + 1) for k in range(len(places))]
        right, down = _aside(places)
        data = {
            "x": places[:, 0],
            "y": places[:, 1],
            "text": numbers,
            "right": right,
            "down": down,
        }
        self.fill(self._seeds, data)

    def ring(self, place: np.ndarray | None) -> None:
        """Ring a place, shape (2,), or none."""
        x, y = ([], []) if place is None else ([place[0]], [place[1]])
        self.put(lambda: setattr(self._ring, "data", {"x": x, "y": y}))

    def walk(
        self,
        start: np.ndarray | None,
        ends: np.ndarray,
        shares: np.ndarray,
        colours: Sequence[str],
    ) -> None:
        """Ring a sample and draw lines to seeds, as thick as their shares.

        Parameters
        ----------
        start : array of float, shape (2,), or None
            Place of the sample; None for none.
        ends, shares, colours : array (n, 2), array (n,), sequence of str
            Places of seeds, their shares of the seed stops, their colours.
        """
        start, ends = (np.zeros(2), ends[:0]) if start is None else (start, ends)
        count = len(ends)
        ring = {"x": [start[0]], "y": [start[1]]} if count else {"x": [], "y": []}
        walks = {
            "x0": np.full(count, start[0]),
            "y0": np.full(count, start[1]),
            "x1": ends[:, 0],
            "y1": ends[:, 1],
            "colour": list(colours[:count]),
            "width": 7 * shares[:count],
        }
        self.fill(self._ring, ring)
        self.fill(self._walks, walks)


def _aside(places: np.ndarray) -> np.ndarray:
    """Return pixels (2, n), right and down, that move numbers off the next star."""
    away = np.zeros(places.shape)
    if len(places) > 1:
        _, nearest = KDTree(places).query(places, 2)
        away = places - places[np.asarray(nearest)[:, 1]]
    lengths = np.linalg.norm(away, axis=1, keepdims=True)
    aslant = np.full(places.shape, np.sqrt(0.5))
    away = np.divide(away, lengths, out=aslant, where=lengths > 0)
    return _ASIDE * away.T * [[1], [-1]]
