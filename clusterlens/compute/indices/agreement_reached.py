"""Agreement of a pool of partitions with given classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._validation import FloatArray, Frozen, IntArray, split_labelled
from clusterlens.compute.ensemble.comparison import adjusted_rand_or_nan
from clusterlens.compute.ensemble.ensemble import Ensemble, check_ensemble
from clusterlens.compute.ranking.ranking import Ranking


@dataclass(frozen=True, eq=False)
class PoolAgreement(Frozen):
    """Adjusted Rand index of every partition of a pool with given classes.

    Attributes
    ----------
    ensemble : Ensemble
        The partitions.
    values : array of float64, shape (n_partitions,)
        Adjusted Rand index, at most 1 (equal); NaN for a partition that saw fewer than
        two samples with a class.
    ranking : Ranking or None
        The consensus ranking from which the leader is taken.
    n_left_out : int
        Number of samples without a class, which were left out.
    """

    ensemble: Ensemble
    values: FloatArray
    ranking: Ranking | None
    n_left_out: int

    @cached_property
    def highest(self) -> int:
        """Position of the highest value; an upper limit, as it uses the classes."""
        return int(np.nanargmax(self.values))

    @cached_property
    def places(self) -> IntArray:
        """Place by value, 1 is highest; ties share it, NaN is last."""
        ranks = pd.Series(self.values).rank(
            ascending=False, method="min", na_option="bottom"
        )
        return ranks.astype(int).to_numpy()

    @cached_property
    def leader(self) -> int | None:
        """Position of the leader of the ranking, chosen without the classes."""
        return None if self.ranking is None else int(self.ranking.order[0])

    def to_frame(self) -> pd.DataFrame:
        """Return a table of the partitions, highest value first.

        Returns
        -------
        table : DataFrame
            model, family, n_clusters, ari, place (by value, 1 is highest; ties share
            it, NaN comes last), and rank in the ranking if there is one.
        """
        table = pd.DataFrame(
            {
                "model": self.ensemble.names,
                "family": self.ensemble.families,
                "n_clusters": self.ensemble.n_clusters,
                "ari": self.values,
                "place": self.places,
            }
        )
        if self.ranking is not None:
            table["rank"] = self.ranking.ranks
        return table.sort_values("place", kind="stable").reset_index(drop=True)


def pool_agreement(
    ensemble: Ensemble,
    labels_true: npt.ArrayLike,
    ranking: Ranking | None = None,
    *,
    unlabelled: int | None = -1,
) -> PoolAgreement:
    """Measure the agreement of the partitions of a pool with given classes.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    labels_true : array-like of int or str, shape (n_samples,)
        Class of each sample. Samples without one are left out.
    ranking : Ranking, optional
        A ranking of the same ensemble, from which the leader is taken.
    unlabelled : int or None, default -1
        The label of samples without a class, as in `external_index`.

    Returns
    -------
    agreement : PoolAgreement
        `values` of shape (n_partitions,), `highest` and `leader`.

    Raises
    ------
    ValueError
        If the lengths disagree, the ranking belongs to another ensemble, or no
        partition
        saw two samples with a class.

    Notes
    -----
    O(T n) time. Noise is a cluster like any other. A partial partition is evaluated on
    the samples that it saw; its value is NaN if these are fewer than two.

    Examples
    --------
    >>> ensemble = Ensemble([[0, 0, 1, 1], [0, 1, 1, 1]])
    >>> pool_agreement(ensemble, ["a", "a", "b", None]).values.tolist()
    [1.0, -0.5]
    """
    ensemble = check_ensemble(ensemble)
    if not isinstance(ranking, Ranking | None):
        raise ValueError(
            f"ranking is a {type(ranking).__name__}; give what rank_partitions returns."
        )
    if ranking is not None and ranking.ensemble.names != ensemble.names:
        raise ValueError(
            f"ranking ranks {ranking.ensemble.n_partitions} other partitions; give a "
            "ranking of the same ensemble."
        )
    labelled, classes = split_labelled(
        labels_true, unlabelled, n_samples=ensemble.n_samples, name="labels_true"
    )
    codes = np.unique(classes, return_inverse=True)[1]
    seen = [ensemble.seen_by(t)[labelled] for t in range(ensemble.n_partitions)]
    values = np.array(
        [
            adjusted_rand_or_nan(codes[some], labels[labelled][some])
            for labels, some in zip(ensemble.labels, seen, strict=True)
        ]
    )
    if np.isnan(values).all():
        raise ValueError(
            "labels_true has no two samples that a partition saw; give classes of more "
            "samples."
        )
    return PoolAgreement(ensemble, values, ranking, int(np.count_nonzero(~labelled)))
