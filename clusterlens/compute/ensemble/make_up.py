"""Composition of a pool: families of models, and the number of distinct ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from clusterlens.compute.ensemble.ensemble import (
    Ensemble,
    check_ensemble,
    distinct_partitions,
)


@dataclass(frozen=True)
class PoolMakeUp:
    """Families of a pool.

    Parameters
    ----------
    n_partitions : int
        Number of partitions.
    n_distinct : int
        Number of distinct partitions.
    families : mapping of str to int
        Partitions of each family, most first.
    distinct : mapping of str to int
        Distinct partitions of each family.
    votes : mapping of str to int
        Votes of each family.
    """

    n_partitions: int
    n_distinct: int
    families: Mapping[str, int]
    distinct: Mapping[str, int]
    votes: Mapping[str, int]

    @property
    def text(self) -> str:
        """The composition in one line."""
        parts = ", ".join(f"{count} {name}" for name, count in self.families.items())
        return f"{self.n_partitions} models: {parts} · {self.n_distinct} distinct"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per family.

        Returns
        -------
        frame : DataFrame
            Columns models, distinct and share (of the votes); the index is the family,
            largest first.
        """
        counts = pd.Series(self.families, dtype=np.int64)
        distinct = pd.Series(self.distinct, dtype=np.int64)
        votes = pd.Series(self.votes, dtype=np.int64)
        columns = {
            "models": counts,
            "distinct": distinct,
            "share": votes / votes.sum(),
        }
        return pd.DataFrame(columns).loc[list(self.families)].rename_axis("family")


def pool_make_up(ensemble: Ensemble) -> PoolMakeUp:
    """Count the models of each family of a pool, and the distinct ones.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions with their families.

    Returns
    -------
    make_up : PoolMakeUp
        Counts by family, most first, and a line of text.

    Notes
    -----
    O(T), after O(n T) for the distinct partitions of an ensemble.

    Examples
    --------
    >>> ensemble = Ensemble([[0, 1], [0, 1], [0, 0]], families=["b", "a", "a"])
    >>> pool_make_up(ensemble).text
    '3 models: 2 a, 1 b · 2 distinct'
    """
    first, group = distinct_partitions(check_ensemble(ensemble))
    families = dict(Counter(ensemble.families).most_common())
    kinds = set(zip(ensemble.families, group.tolist(), strict=True))
    distinct = Counter(family for family, _ in kinds)
    votes: Counter[str] = Counter()
    for family, vote in zip(ensemble.families, ensemble.votes.tolist(), strict=True):
        votes[family] += vote
    return PoolMakeUp(
        ensemble.n_partitions,
        len(first),
        families,
        {name: distinct[name] for name in families},
        {name: votes[name] for name in families},
    )
