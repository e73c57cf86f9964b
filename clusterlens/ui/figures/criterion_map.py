"""Criterion of CNS over neighbourhood sizes and alphas, at one number of seeds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from bokeh.models import ColumnDataSource, FixedTicker, LinearColorMapper, Quad, Scatter

from clusterlens.ui.figures.frame import Frame, View
from clusterlens.ui.plots.criterion import ALPHA_TICKS, PALETTE, colour_range, edges_of


class CriterionMap(Frame):
    """Clickable heatmap with the setting in force and the automatic choice.

    Parameters
    ----------
    went : callable
        Called with the neighbourhood size and alpha of a click.
    """

    still = True

    def __init__(self, went: Callable[[float, float], None]) -> None:
        super().__init__(
            lambda **seen: None,
            css="cl-criterion-figure",
            tools=[],
            toolbar_location=None,
            y_axis_type="log",
        )
        self.figure.toolbar.active_scroll = None
        self.figure.toolbar.tools = []
        self._colours = LinearColorMapper(palette=PALETTE, low=0, high=1)
        self._cells = ColumnDataSource(
            {key: [] for key in ("left", "right", "bottom", "top", "value")}
        )
        self._tried = ColumnDataSource({"x": [], "y": []})
        self._chosen = ColumnDataSource({"x": [], "y": []})
        self._here = ColumnDataSource({"x": [], "y": []})
        self._draw()
        self.on_click(went)

    def _draw(self) -> None:
        # Outlines in the colour of the cells, otherwise the card would shine through
        # between them.
        value = {"field": "value", "transform": self._colours}
        sides = {side: side for side in ("left", "right", "top", "bottom")}
        self.draw(self._cells, Quad(**sides, fill_color=value, line_color=value))
        for source, size, marker, fill, line in (
            (self._tried, 7, "diamond", "#ffffff", "#14181d"),
            (self._chosen, 15, "diamond", "#14181d", "#ffffff"),
            (self._here, 11, "circle", "#ffffff", "#0b6e6e"),
        ):
            self.draw(
                source,
                Scatter(
                    x="x",
                    y="y",
                    size=size,
                    marker=marker,
                    fill_color=fill,
                    line_color=line,
                    line_width=2 if marker == "circle" else 1,
                ),
            )
        self.figure.yaxis.ticker = FixedTicker(ticks=ALPHA_TICKS)
        # Hidden until there are values.
        self.show_axes(visible=False)

    def show(
        self, sizes: np.ndarray, alphas: np.ndarray, values: np.ndarray
    ) -> tuple[float, float]:
        """Show the criterion; return the values of the lightest and darkest colour.

        Parameters
        ----------
        sizes : array of int, shape (n_k,)
            Neighbourhood sizes, ascending.
        alphas : array of float, shape (n_alpha,)
            Alphas, ascending.
        values : array of float, shape (n_k, n_alpha)
            Values of the criterion; NaN leaves a cell empty.
        """
        x, y = edges_of(sizes.astype(float)), np.exp(edges_of(np.log(alphas)))
        k, a = np.nonzero(np.isfinite(values))
        low, high = colour_range(values)
        data = {"left": x[k], "right": x[k + 1], "bottom": y[a], "top": y[a + 1]}
        data["value"] = values[k, a]
        whole: View = ((float(x[0]), float(x[-1])), (float(y[0]), float(y[-1])))
        self.follow(whole)
        self.put(lambda: self._show_scales(low, high))
        self.fill(self._cells, data)
        return low, high

    def _at(self, right: float, down: float) -> tuple[float, float]:
        """Return k and alpha; the axis of alpha is logarithmic."""
        (x0, x1), (y0, y1) = self.view()
        return x0 + right * (x1 - x0), float(y1 * (y0 / y1) ** down)

    def _show_scales(self, low: float, high: float) -> None:
        self._colours.update(low=low, high=high)
        for axis in (*self.figure.xaxis, *self.figure.yaxis):
            axis.visible = True

    def mark(
        self,
        here: tuple[float, float],
        chosen: tuple[float, float],
        tried: list[tuple[float, float]],
    ) -> None:
        """Mark settings (k, alpha): in force, chosen and tried automatically."""
        for source, places in (
            (self._here, [here]),
            (self._chosen, [chosen]),
            (self._tried, tried),
        ):
            x, y = zip(*places, strict=True)
            self.fill(source, {"x": list(x), "y": list(y)})
