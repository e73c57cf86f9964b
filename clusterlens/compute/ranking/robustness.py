"""Robustness: dependence of a ranking on the composition of the pool.

Every model is ranked again without each family of clusterers, with a majority of the
models required to agree, and with the same total vote for every family. Ranks are
always among all models of the pool, so that they can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
import pandas as pd

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import FloatArray, Frozen, IntArray, check_range
from clusterlens.compute.ensemble.agreement import Agreement
from clusterlens.compute.ensemble.constraints import Constraints, check_constraints
from clusterlens.compute.ensemble.ensemble import Ensemble, distinct_partitions
from clusterlens.compute.formatting import with_capital
from clusterlens.compute.ranking._evidence import Weight, check_weight, weigh_links
from clusterlens.compute.ranking.makeups import Makeups, score_makeups
from clusterlens.compute.ranking.ranking import SCORES, RankArray, rank_values
from clusterlens.compute.ranking.scores import partitions_of

_COLUMN_TYPES = {
    "lowest_rank": "Int64",
    "highest_rank": "Int64",
    "highest_without": "string",
    "rank_equal_families": "Int64",
}


@dataclass(frozen=True, eq=False, repr=False)
class Robustness(Frozen):
    """Ranks of each partition under other compositions of the pool; 1 is best.

    Parameters
    ----------
    ensemble : Ensemble
        The ranked partitions.
    score : str
        Name of the score in `SCORES`.
    ranks : array of int, shape (n_partitions,)
        Rank in the whole pool.
    ranks_without : mapping of str to array of float, shape (n_partitions,)
        By family: rank among all models if the models of the family do not vote, see
        the Notes of `rank_robustness`; NaN for the family itself.
    ranks_majority : array of int, shape (n_partitions,)
        Rank by "discotec-binary", whatever the score, with pairs joined if more than
        half of the models join them.
    ranks_equal_families : array of float, shape (n_partitions,)
        Rank if all families have the same total vote; NaN if not defined.
    reasons : tuple of str
        Reasons for missing ranks.
    threshold : int, optional
        Threshold of "discotec-binary"; None is the mean.
    exact : bool, default True
        False if the agreements were estimates.
    """

    ensemble: Ensemble
    score: str
    ranks: RankArray
    ranks_without: Mapping[str, FloatArray]
    ranks_majority: RankArray
    ranks_equal_families: FloatArray
    reasons: tuple[str, ...] = ()
    threshold: int | None = None
    exact: bool = True

    @property
    def lowest(self) -> FloatArray:
        """Lowest (best) rank without any one family, shape (n_partitions,), or NaN.

        NaN if no other family could be left out; `reasons` explain it.
        """
        return np.fmin.reduce(self._rows())

    @property
    def highest(self) -> FloatArray:
        """Highest (worst) rank without any one family, as for `lowest`."""
        return np.fmax.reduce(self._rows())

    @property
    def highest_without(self) -> tuple[str | None, ...]:
        """Family without which each model ranks worst; None if there is none."""
        rows, names = self._rows()[1:], list(self.ranks_without)
        if not names:
            return (None,) * len(self.ranks)
        worst = np.where(np.isnan(rows), -1.0, rows).argmax(axis=0)
        return tuple(
            None if np.isnan(rows[k, t]) else names[k] for t, k in enumerate(worst)
        )

    def sentence(self, model: int, subject: str = "it") -> str:
        """Describe the ranks of a model under other compositions of the pool.

        Parameters
        ----------
        model : int
            Position of the partition, from 0 to n_partitions - 1.
        subject : str, default "it"
            Name of the model in the sentence.

        Returns
        -------
        sentence : str
            Plain text: rank without any one family, and under majority.
        """
        check_range(model, 0, len(self.ranks) - 1, name="model", integer=True)
        rank, majority = int(self.ranks[model]), int(self.ranks_majority[model])
        low, high = self.lowest[model], self.highest[model]
        if np.isnan(low):
            first = f"What becomes of rank {rank} without a family is not known"
        else:
            first = f"{with_capital(subject)} {_move(rank, int(low), int(high))}"
            first += (
                f" (without {self.highest_without[model]})"
                if high > rank
                else " when any one family of models is left out"
            )
        return (
            f"{first}; it {_move(rank, majority, majority)} if a majority must agree."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the ranks as a table, best in the whole pool first.

        Returns
        -------
        frame : DataFrame
            Columns model, family, rank, lowest_rank, highest_rank, highest_without,
            rank_majority and rank_equal_families, one row per partition; the index is
            its position in the ensemble. Ranks that cannot be given are missing.
        """
        frame = pd.DataFrame(
            {
                "model": self.ensemble.names,
                "family": self.ensemble.families,
                "rank": self.ranks,
                "lowest_rank": self.lowest,
                "highest_rank": self.highest,
                "highest_without": self.highest_without,
                "rank_majority": self.ranks_majority,
                "rank_equal_families": self.ranks_equal_families,
            }
        ).astype(_COLUMN_TYPES)
        best_first = np.argsort(self.ranks, kind="stable")
        return frame.rename_axis("position").iloc[best_first]

    def _rows(self) -> FloatArray:
        """Return a row of NaN, then the ranks without each family."""
        missing = np.full(len(self.ranks), np.nan)
        return np.stack([missing, *self.ranks_without.values()])

    def __repr__(self) -> str:
        """Return the score, the size, and whether it is an estimate."""
        kind = "" if self.exact else ", estimated"
        return f"Robustness({self.score}, {len(self.ranks)} partitions{kind})"


@takes_running
def rank_robustness(
    ensemble: Ensemble | Agreement,
    score: str = "discotec-binary",
    constraints: Constraints | None = None,
    constraint_weight: Weight = 1.0,
    *,
    threshold: int | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> Robustness:
    """Rank each partition again under other compositions of the pool.

    Parameters
    ----------
    ensemble : Ensemble or Agreement
        T >= 2 partitions with their families. Counted agreements save one pass. If they
        are estimated, every pool is estimated from the same samples.
    score : str, default "discotec-binary"
        A name in `SCORES`.
    constraints : Constraints, optional
        Pairs that should be joined or separated, the same in every ranking.
    constraint_weight : float or "evidence", default 1.0
        Charge for breaking all of them, as in `rank_partitions`; "evidence" uses the
        scores in the whole pool.
    threshold : int, optional
        For "discotec-binary": agreement count from 0 to T + 1 from which a pair counts
        as joined. A pool that is smaller or has other votes uses the same share of
        its votes. Default the mean of each pool.
    n_jobs, progress, cancel, executor
        As in `count_agreements`; progress counts thousandths of a pass.

    Returns
    -------
    robustness : Robustness
        Ranks in the whole pool, without each family, under majority and under equal
        votes of the families.

    Raises
    ------
    ValueError
        If the score is unknown, there are fewer than two partitions, or an argument is
        out of range.
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    Without a family f its models do not vote, neither in the consensus nor in its mean.
    They stay in the list, so that no rank changes because the list gets shorter. A
    model of f with copies outside f takes the rank of the best one (an average index
    treats copies with a vote differently from others); any other model keeps its place
    relative to the others. Let g be the models of f without such a copy, and s < t mean
    that s is better than t. Then

        rank of t without f = 1 + #{s not in g: s < t in the pool without f}
                                + #{s in g: s < t in the whole pool}.

    This is the rank of t in the whole pool plus the change of its rank among the models
    outside g. If no order changes, lowest and highest are the rank in the whole pool.
    The models of f have no such rank themselves. A pool of fewer than three votes, or
    of one partition and its copies, is not ranked.

    Equal votes, DISCOTEC: a model in a family of s votes has 1/s times its votes in the
    consensus and in the mean threshold. Weights become whole votes, so that ties at the
    threshold stay exact: their least common multiple, or, above 2^18 votes per family,
    rounded numbers that make families equal to within 0.1 %. Average indices: the mean
    over families of the mean over the other models of the family. Other scores have no
    such rank.

    Cost: one pass O(n² T) for the agreements if not given, one per family over the
    remaining models, and one about twice as expensive for equal votes, left out if all
    families have the same size. Average indices need no pass over pairs except for the
    majority.

    Examples
    --------
    >>> labels = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 1], [0, 1, 0, 1]]
    >>> ensemble = Ensemble(labels, families=["a", "a", "b", "b", "b"])
    >>> robustness = rank_robustness(ensemble)
    >>> robustness.ranks.tolist()
    [1, 1, 3, 3, 5]
    >>> robustness.lowest.tolist()
    [nan, nan, 4.0, 4.0, 3.0]
    >>> robustness.reasons
    ("Without 'b' 2 of 5 models are left, too few...",)
    """
    check_weight(constraint_weight)
    check_constraints(constraints, partitions_of(ensemble).n_samples)
    run = RunOptions(n_jobs, progress, cancel, executor)
    makeups = score_makeups(ensemble, score, threshold=threshold, **run.threads)
    links = constraints, constraint_weight
    _, charge = weigh_links(makeups.ensemble, *links, makeups.whole)
    return rank_makeups(makeups, charge)


def rank_makeups(makeups: Makeups, charge: FloatArray) -> Robustness:
    """Rank each partition under other compositions of the pool, given links.

    `makeups` are scores without links, from `score_makeups`; `charge` (n_partitions,)
    is the charge of each partition for the links that it breaks. O(T log T) time for
    each family.
    """
    greater = SCORES[makeups.score].greater_is_better
    sign = -1 if greater else 1
    ranks = rank_values(makeups.whole + sign * charge, greater)
    equal = np.full(len(charge), np.nan)
    if makeups.equal is not None:
        equal = rank_values(makeups.equal + sign * charge, greater).astype(float)
    copies = distinct_partitions(makeups.ensemble)[1]
    without = {
        family: _ranks_among_all(values + sign * charge, ranks, greater, copies)
        for family, values in makeups.without.items()
    }
    return Robustness(
        makeups.ensemble,
        makeups.score,
        ranks,
        without,
        rank_values(makeups.majority + charge, False),
        equal,
        makeups.reasons,
        makeups.threshold,
        makeups.exact,
    )


def _ranks_among_all(
    values: FloatArray, ranks: RankArray, greater: bool, copies: IntArray
) -> FloatArray:
    """Rank all partitions by the values of a smaller pool, which are NaN outside it.

    Partitions outside take the rank of their best copy in it (`copies` numbers the
    distinct partitions), or else keep their place relative to every other partition.
    """
    left = ~np.isnan(values)
    best = np.full(len(values), np.nan)
    (np.fmax if greater else np.fmin).at(best, copies[left], values[left])
    values = np.where(left, values, best[copies])
    known = ~np.isnan(values)
    row = np.full(len(values), np.nan)
    above = np.searchsorted(np.sort(ranks[~known]), ranks[known])
    row[known] = rank_values(values[known], greater) + above
    row[~left] = np.nan
    return row


def _move(rank: int, low: int, high: int) -> str:
    """Describe a rank relative to the ranks from low to high."""
    if low == high == rank:
        return f"keeps rank {rank}"
    if low < rank < high:
        return f"moves between rank {low} and {high}"
    verb, to = ("falls", high) if high > rank else ("rises", low)
    if rank in (low, high):
        return f"keeps rank {rank} or {verb} to {to}"
    return f"{verb} to rank {to}" if low == high else f"{verb} to rank {low} to {high}"
