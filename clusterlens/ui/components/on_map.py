"""Handlers of clicks, boxes and lassos on a map of samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clusterlens.ui.figures.frame import View
from clusterlens.ui.figures.sample_map import CLICK_PIXELS, inside
from clusterlens.ui.session import Session
from clusterlens.ui.state.view_parameters import Brush


def taps(
    session: Session, tree: str, pick: Callable[[int | None], Any]
) -> Callable[[float, float, float], None]:
    """Return a handler of clicks; `pick` gets the sample, None in empty space.

    `tree` is the node with the places of the samples, a KDTree. A click is its place
    and the data units of a pixel.
    """

    def tap(x: float, y: float, unit: float) -> None:
        places = session.derived.get(tree)
        if places.ready:
            distance, position = places.value.query((x, y))
            pick(int(position) if distance <= CLICK_PIXELS * unit else None)

    return tap


def shapes(
    session: Session, brush: Callable[[Brush], Any]
) -> tuple[Callable[[View], None], Callable[[np.ndarray], None]]:
    """Return handlers of boxes and of lassos; `brush` gets the enclosed samples.

    The samples are found off the event loop. A box is its ranges, a lasso its outline.
    """

    def find(within: Callable[[np.ndarray], np.ndarray], source: str) -> None:
        found = session.derived.get("projection")
        if not found.ready:
            return

        def on_found(positions: Any, error: BaseException | None) -> None:
            if error is None and session.derived.get("projection") is found:
                brush(Brush(positions, source))

        session.jobs.live(
            "brush",
            "Selecting samples",
            lambda job: np.flatnonzero(within(found.value.coordinates)),
            on_found,
        )

    def boxed(view: View) -> None:
        low, high = np.array(view).T
        find(lambda xy: ((xy >= low) & (xy <= high)).all(axis=1), "box on the map")

    def lassoed(outline: np.ndarray) -> None:
        find(lambda xy: inside(xy, outline), "lasso on the map")

    return boxed, lassoed
