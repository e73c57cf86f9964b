"""CriterionGrid: the criterion of CNS over neighbourhoods, alphas and counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    IntArray,
    check_range,
)


class Choice(NamedTuple):
    """A setting of CNS and the criterion there."""

    n_clusters: int
    criterion: float
    n_neighbors: int
    alpha: float


@dataclass(frozen=True, eq=False)
class CriterionGrid(Frozen):
    """Gain in clarity for every number of clusters, neighbourhood size and alpha.

    Attributes
    ----------
    values : array of float64, shape (max_clusters, n_k, n_alpha)
        Gain over that of ideal clusters for K = 1, 2, ...; 0 for K = 1, higher is
        better, no fixed bounds; NaN where there is none. Comparable on the same data
        only, and no test that clusters exist.
    n_neighbors : array of int, shape (n_k,)
        Neighbourhood sizes, ascending.
    alphas : array of float64, shape (n_alpha,)
        Stopping probabilities, ascending.
    """

    values: FloatArray
    n_neighbors: IntArray
    alphas: FloatArray

    def at(self, n_clusters: int) -> pd.DataFrame:
        """Return the criterion at one number of clusters.

        Parameters
        ----------
        n_clusters : int
            Number of seeds K, 1 to max_clusters.

        Returns
        -------
        table : DataFrame, shape (n_k, n_alpha)
            Neighbourhood sizes as rows, alphas as columns.
        """
        check_range(n_clusters, 1, len(self.values), name="n_clusters", integer=True)
        return pd.DataFrame(
            self.values[n_clusters - 1],
            index=pd.Index(self.n_neighbors, name="n_neighbors"),
            columns=pd.Index(self.alphas, name="alpha"),
        )

    def best(self) -> pd.DataFrame:
        """Return the best setting for each number of clusters.

        Returns
        -------
        table : DataFrame
            A row for each number of clusters that has a value: n_clusters, criterion,
            n_neighbors, alpha. Ties go to the smaller alpha, then to the smaller
            neighbourhood, as in `CNS`.
        """
        known = np.flatnonzero(np.isfinite(self.values).any(axis=(1, 2)))
        by_alpha = np.nan_to_num(self.values[known].swapaxes(1, 2), nan=-np.inf)
        flat = by_alpha.reshape(len(known), -1)
        chosen = flat.argmax(axis=1)
        at_alpha, at_k = np.divmod(chosen, len(self.n_neighbors))
        return pd.DataFrame(
            {
                "n_clusters": known + 1,
                "criterion": flat[np.arange(len(known)), chosen],
                "n_neighbors": self.n_neighbors[at_k],
                "alpha": self.alphas[at_alpha],
            }
        )

    def choice(self) -> Choice:
        """Return the setting that `CNS` chooses on this grid.

        Returns
        -------
        choice : Choice
            n_clusters, criterion, n_neighbors and alpha where the criterion is highest;
            ties go to the smaller alpha, then to the smaller neighbourhood, then to
            fewer clusters.
        """
        rows = (Choice(*row) for row in self.best().itertuples(index=False))
        return min(
            rows,
            key=lambda row: (
                -row.criterion,
                row.alpha,
                row.n_neighbors,
                row.n_clusters,
            ),
        )
