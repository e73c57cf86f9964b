"""Card of both sides' rows: histograms, fitted marginals, a triangle."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from clusterlens.ui.components.card import Card
from clusterlens.ui.figures.canvas import CANVAS_CSS, Canvas
from clusterlens.ui.pages.fuzzy.nodes import BINS, Side
from clusterlens.ui.widgets.palette import cluster_colour
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card
from clusterlens.ui.widgets.words import number

_MOST = 8
_TRIANGLE_POINTS = 400
_TRIANGLE_STEPS = 12
ROWS_CSS = """
.sides { display: grid; grid-template-rows: 1fr 1fr; height: 100%; gap: 4px;
  justify-content: stretch; }
.side { display: flex; gap: 6px; min-height: 0; }
.side > b { align-self: center; width: 14px; }
.side > div { flex: 1 1 0; min-width: 0; max-width: 150px; display: flex;
  flex-direction: column; text-align: center; font-size: .857em; }
.side > div > .canvas { flex: 1 1 0; min-height: 26px; height: auto; }
"""


class FuzzyRows(Card):
    """A small histogram for each cluster of both sides; a triangle if K = 3."""

    needs = ("fuzzy_pair", "fuzzy_sides")

    def build(self) -> Any:
        how = Text(
            "<p class='how'>Memberships 0 to 1 by cluster, heights by square root. "
            "Line: Fit, dotted: Sym; below: parameter of Fit.</p>"
        )
        self._text = Text(
            css_classes=["cl-fuzzy-marginals"],
            stylesheets=[CANVAS_CSS, ROWS_CSS],
            scrolls=True,
        )
        return card(
            "Rows under the models",
            how,
            self._text,
            note=self.status,
            css="cl-fuzzy-rows",
        )

    def prepare(self, results: Any) -> None:
        """Show nothing without a pair."""
        if not results["fuzzy_pair"].ready:
            self._text.body = ""

    def show(self, fuzzy_pair: Any, fuzzy_sides: tuple[Side, Side]) -> None:
        """Draw both sides."""
        rows = "".join(
            f"<div class='side'><b>{name}</b>{_side(side)}</div>"
            for name, side in zip("UV", fuzzy_sides, strict=True)
        )
        self._text.body = f"<div class='sides'>{rows}</div>"


def _side(side: Side) -> str:
    shown = range(min(_MOST, side.partition.n_clusters))
    body = "".join(f"<div>{_marginal(side, k)}</div>" for k in shown)
    more = side.partition.n_clusters - len(shown)
    if more:
        body += f"<span class='muted'>+{more}</span>"
    if side.partition.n_clusters == 3:
        body += f"<div>{_triangle(side)}<span class='muted'>rows</span></div>"
    return body


def _marginal(side: Side, k: int) -> str:
    """Draw one column of memberships with the expectations of the fits."""
    hard = side.partition.is_hard
    counts = np.sqrt(side.counts[k])
    curves = (
        [] if hard else [np.sqrt(side.expected(f)[k]) for f in (side.fit, side.sym)]
    )
    top = max(counts.max(), *(np.nan_to_num(c).max() for c in curves), 1e-9)
    edges = np.linspace(0, 1, BINS + 1)
    share = side.partition.memberships[:, k].mean()
    words = f"cluster {k + 1}: mean membership {share:.2f}"
    canvas = Canvas((0, 1), (0, 1.05 * top), words, padding=(1, 2, 1, 2))
    colour = cluster_colour(int(side.hues[k]))
    for low, high, height in zip(edges, edges[1:], counts, strict=False):
        canvas.box((low, high - 0.01), (0, height), colour, opacity=0.75)
    for curve, dash in zip(curves, ("", "2 2"), strict=False):
        if np.isfinite(curve).all():
            steps = np.repeat(edges, 2)[1:-1]
            canvas.line(zip(steps, np.repeat(curve, 2), strict=True), dash=dash)
    canvas.line([(0, 0), (1, 0)], opacity=0.4)
    kind = side.fit.kind
    below = number(float(side.fit.alpha[k])) if kind == "dirichlet" else kind
    return f"{canvas.markup()}<span class='muted'>{below}</span>"


def _triangle(side: Side) -> str:
    """Draw the rows in the triangle of three clusters, over the fitted density."""
    canvas = Canvas(
        (-0.02, 1.02), (-0.05, 0.92), "rows in a triangle", padding=(1, 1, 1, 1)
    )
    corners = np.array([[0, 0], [1, 0], [0.5, 0.87]])
    if side.fit.kind == "dirichlet":
        for cell, weight in _density(side.fit.alpha):
            canvas.area((cell @ corners).tolist(), opacity=0.5 * weight)
    canvas.line([*corners.tolist(), (0, 0)], opacity=0.5)
    rows = side.partition.memberships
    step = -(-len(rows) // _TRIANGLE_POINTS)
    for row, label in zip(rows[::step], side.labels[::step], strict=True):
        x, y = row @ corners
        canvas.dot(x, y, cluster_colour(int(side.hues[label])), size=4)
    return canvas.markup()


def _density(alpha: np.ndarray) -> list[tuple[np.ndarray, float]]:
    """Return cells of the triangle with the square root of a Dirichlet density.

    The largest weight is 1.
    """
    n, cells, logs = _TRIANGLE_STEPS, [], []
    for i in range(n):
        for j in range(n - i):
            for up in (True, False):
                if not up and i + j == n - 1:
                    continue
                a = [(i, j), (i + 1, j), (i, j + 1)]
                b = [(i + 1, j), (i, j + 1), (i + 1, j + 1)]
                cell = np.array([[p, q, n - p - q] for p, q in (a if up else b)]) / n
                logs.append(((alpha - 1) * np.log(cell.mean(axis=0))).sum())
                cells.append(cell)
    scale = gammaln(alpha.sum()) - gammaln(alpha).sum()
    weights = np.exp(0.5 * (np.array(logs) + scale))
    return list(zip(cells, (weights / weights.max()).tolist(), strict=True))
