"""Picture of the separation of each pair of classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import holoviews as hv
import numpy as np

from clusterlens.compute.formatting import minus
from clusterlens.compute.indices.class_match import LabelCheck
from clusterlens.ui.plots.backend import (
    bokeh,
    check_result,
    coloured,
    frame,
    matplotlib,
    styled,
)
from clusterlens.ui.widgets.palette import apart_colour

# Largest number of classes with scores written into the cells.
_NUMBERED = 14
_PALETTE = [apart_colour(share)[0] for share in np.linspace(0, 1, 65)]


def plot_class_pairs(check: LabelCheck, names: Mapping[Any, str] | None = None) -> Any:
    """Draw the score of every pair of classes.

    Parameters
    ----------
    check : LabelCheck
        As from `label_match`.
    names : mapping, optional
        Names of the classes. Default: the classes as text.

    Returns
    -------
    plot : holoviews.Overlay
        A square per pair below the diagonal, with its score: about 0 for classes that
        mix, at most 1 for classes that are apart. Scores below 0 have the colour of 0;
        pairs that were skipped are empty.

    Examples
    --------
    >>> import clusterlens as cl
    >>> iris = cl.prepare(cl.load_example("iris"))
    >>> check = cl.label_match(iris.X, iris.labels_true, random_state=0)
    >>> cl.plot_class_pairs(check).QuadMesh.I
    :QuadMesh   [class,and]   (score)
    """
    check_result(check, LabelCheck, "label_match")
    table = check.matrix()
    names = names or {}
    called = [str(names.get(one, one)) for one in table.index]
    values = np.where(np.tri(len(table), k=-1, dtype=bool), table.to_numpy(), np.nan)
    edges = np.arange(len(table) + 1) - 0.5
    mesh = hv.QuadMesh((edges, edges, values), ["class", "and"], "score")
    plot = styled(
        mesh,
        bokeh("QuadMesh", line_color="white", tools=["hover"]),
        *coloured(_PALETTE, (0, 1)),
    )
    if len(table) <= _NUMBERED:
        plot = plot * _numbers(values)
    ticks = list(enumerate(called))
    size = int(np.clip(120 + 44 * len(table), 320, 720))
    return styled(
        plot,
        *frame(
            "Overlay",
            width=size + 80,
            height=size,
            xticks=ticks,
            yticks=ticks,
            xrotation=45,
            xlabel="",
            ylabel="",
            invert_yaxis=True,
        ),
    )


def _numbers(values: np.ndarray) -> Any:
    """Write the scores in black or white, whichever is legible on the colour."""
    rows, columns = np.nonzero(np.isfinite(values))
    scores = values[rows, columns]
    inks = np.array([apart_colour(score)[1] for score in scores], dtype=object)
    parts = []
    for ink in ("#000000", "#ffffff"):
        some = inks == ink
        texts = [minus(f"{score:.2f}") for score in scores[some]]
        labels = hv.Labels((columns[some], rows[some], texts), ["class", "and"], "text")
        parts.append(
            styled(
                labels,
                bokeh("Labels", text_color=ink, text_font_size="9pt"),
                matplotlib("Labels", color=ink, size=8),
            )
        )
    return hv.Overlay(parts)
