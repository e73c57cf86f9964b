"""The neighbour table that the models of a pool share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.estimators.neighbors import known_neighbors, neighbor_table
from clusterlens.compute.pool.sharing import Arrays, Step


def neighbors_step(n_neighbors: int) -> Step:
    """Return the step that finds the nearest other samples of every sample."""
    return Step(
        "neighbours",
        "{size} nearest neighbours of every sample",
        neighbor_table,
        n_neighbors,
        seconds=_seconds,
        n_bytes=lambda n, d, k: 1e7 + 24.0 * n * (k + d),
    )


def with_density(title: str, min_samples: int, *terms: str) -> str:
    """Add the number of counted neighbours and the terms to the title of a step."""
    density = f", density from {min_samples} neighbours" if min_samples > 1 else ""
    return f"{title}{density} ({', '.join((*terms, f'min_samples={min_samples}'))})"


def _seconds(n: int, d: int, k: int) -> float:
    """Time of the search: all pairs but those in boxes far away."""
    return 0.01 + 1.2e-9 * n ** (2 - 2 / d) + 2.5e-7 * n * (d + k)


class WithNeighbors:
    """An estimator of this package that uses the shared table of neighbours."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def fit_predict(self, X: FloatArray, neighbors: Arrays) -> IntArray:
        """Fit; labels (n_samples,)."""
        self._model = self._make()
        with known_neighbors(X, *neighbors):
            return self._model.fit_predict(X)

    def __getattr__(self, name: str) -> Any:
        """Return a fitted attribute of the estimator."""
        return getattr(self.__dict__["_model"], name)
