"""Robustness: how far a ranking hangs on the make-up of the pool.

Every model is ranked again without any one family of clusterers, where a majority of
the models must agree, and where every family has the same total vote.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._run.options import Cancel, Progress, RunOptions, report
from clusterlens.compute._validation import FloatArray, check_choice, read_only
from clusterlens.compute.ensemble.agreement import Agreement, count_agreements
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.overlaps import partition_overlaps, select_partitions
from clusterlens.compute.ensemble.pairs import joined_pairs, pair_layout, sum_costs
from clusterlens.compute.ranking.ranking import (
    SCORES,
    RankArray,
    rank_partitions,
    rank_values,
)
from clusterlens.compute.ranking.scores import (
    Variant,
    discotec,
    pair_costs,
    partitions_of,
    violation_charge,
)

_FEWEST = 3  # two partitions are equally far from their consensus
_MOST_VOTES = 1 << 18  # of a family, so that tables of costs stay small
_VARIANTS: dict[str, Variant] = {
    "discotec-binary": "binary",
    "discotec-kl": "kl",
    "discotec-tv": "tv",
    "discotec-hellinger": "hellinger",
}
_INDICES = {"aari": "adjusted_rand", "anmi": "normalized_information"}
_COLUMN_TYPES = {
    "lowest_rank": "Int64",
    "highest_rank": "Int64",
    "highest_without": "string",
    "rank_equal_families": "Int64",
}
_STEPS = 1000  # progress steps of one pass


@dataclass(frozen=True, eq=False, repr=False)
class Robustness:
    """Ranks of each partition under other make-ups of the pool; 1 is best.

    Parameters
    ----------
    ensemble : Ensemble
        The ranked partitions.
    score : str
        Name of the score in `SCORES`.
    ranks : array of int, shape (n_partitions,)
        Rank in the whole pool.
    ranks_without : mapping of str to array of float, shape (n_partitions,)
        By family: rank among the models of the other families, which are all the models
        that vote; NaN for the family itself.
    ranks_majority : array of int, shape (n_partitions,)
        Rank by "discotec-binary" with pairs joined where more than half of the models
        join them, whatever the score.
    ranks_equal_families : array of float, shape (n_partitions,)
        Rank where all families have the same total vote; NaN where not defined.
    reasons : tuple of str
        Why a rank could not be given.
    """

    ensemble: Ensemble
    score: str
    ranks: RankArray
    ranks_without: Mapping[str, FloatArray]
    ranks_majority: RankArray
    ranks_equal_families: FloatArray
    reasons: tuple[str, ...] = ()

    @property
    def lowest(self) -> FloatArray:
        """Lowest (best) rank without any one family, shape (n_partitions,), or NaN."""
        return np.fmin.reduce(self._rows())

    @property
    def highest(self) -> FloatArray:
        """Highest (worst) rank without any one family, as `lowest`."""
        return np.fmax.reduce(self._rows())

    @property
    def highest_without(self) -> tuple[str | None, ...]:
        """Family without which each model ranks worst, None if there is none."""
        rows, names = self._rows()[1:], list(self.ranks_without)
        if not names:
            return (None,) * len(self.ranks)
        worst = np.where(np.isnan(rows), -1.0, rows).argmax(axis=0)
        return tuple(
            None if np.isnan(rows[k, t]) else names[k] for t, k in enumerate(worst)
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
        """A row of NaN, then the ranks without each family."""
        missing = np.full(len(self.ranks), np.nan)
        return np.stack([missing, *self.ranks_without.values()])

    def __repr__(self) -> str:
        """Say the score and the size."""
        return f"Robustness({self.score}, {len(self.ranks)} partitions)"


def rank_robustness(
    ensemble: Ensemble | Agreement,
    score: str = "discotec-binary",
    constraints: Constraints | None = None,
    constraint_weight: float = 1.0,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> Robustness:
    """Rank each partition again under other make-ups of the pool.

    Parameters
    ----------
    ensemble : Ensemble or Agreement
        T >= 2 partitions with their families. Counted agreements save one pass.
    score : str, default "discotec-binary"
        A name in `SCORES`.
    constraints : Constraints, optional
        Pairs that should be joined or separated, the same in every ranking.
    constraint_weight : float, default 1.0
        Charge for breaking all of them.
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
        If the score is unknown, there are fewer than two partitions, or the agreements
        are estimates.
    Cancelled
        If `cancel` said so.

    Notes
    -----
    Without a family, its models neither vote nor are ranked: the ranks are those of the
    pool that never had it, with its own mean threshold. Fewer than three models left
    are not ranked.

    Equal votes, DISCOTEC: a model of a family of size s has weight 1/s in the consensus
    and in the mean threshold. Weights become whole votes (their least common multiple;
    above 2^18 votes per family rounded, families then equal to within 0.1 %), so that
    ties at the threshold stay exact. Average indices: the mean over families of the
    mean over the other models of the family. A score of one's own has no such rank.

    Cost: one pass O(n² T) for the agreements if not given, one per family over the
    models left, and one about twice as dear for equal votes, left out where all
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
    [nan, nan, 2.0, 2.0, 1.0]
    >>> robustness.reasons
    ("Without 'b' 2 of 5 models are left, too few...",)
    """
    check_choice(score, SCORES, name="score")
    if isinstance(ensemble, Agreement) and not ensemble.exact:
        raise ValueError(
            "ensemble holds estimated agreements, but every pool is counted in full; "
            "give an Ensemble of the samples to compare."
        )
    partitions = partitions_of(ensemble)
    names = tuple(dict.fromkeys(partitions.families))
    n_stages = len(names) + 3

    def run(stage: int) -> RunOptions:
        part = _stage(progress, stage, n_stages)
        return RunOptions(n_jobs, part, cancel, executor)

    def ranks_of(pool: Ensemble | Agreement, stage: int) -> RankArray:
        constrained = (constraints, constraint_weight)
        return rank_partitions(
            pool, score, None, *constrained, **run(stage).threads
        ).ranks

    if isinstance(ensemble, Ensemble):
        ensemble = count_agreements(ensemble, **run(0).threads)
    ranks = ranks_of(ensemble, 1)
    without, reasons = _ranks_without(partitions, names, ranks_of)
    majority = rank_partitions(
        ensemble,
        threshold=partitions.n_partitions // 2 + 1,
        constraints=constraints,
        constraint_weight=constraint_weight,
    )
    equal = _equal_family_values(ensemble, score, run(n_stages - 1))
    if equal is None:
        reasons.append(f"Equal votes of the families are not defined for {score!r}.")
    charge = violation_charge(partitions, constraints, constraint_weight)
    report(progress, _STEPS * n_stages, _STEPS * n_stages)
    return Robustness(
        partitions,
        score,
        ranks,
        without,
        majority.ranks,
        _charged_ranks(equal, charge, SCORES[score].greater_is_better),
        tuple(reasons),
    )


def _ranks_without(
    ensemble: Ensemble,
    families: tuple[str, ...],
    ranks_of: Callable[[Ensemble, int], RankArray],
) -> tuple[dict[str, FloatArray], list[str]]:
    """Ranks without each family where enough models are left, and reasons where not."""
    ranks, reasons = {}, []
    for stage, family in enumerate(families, start=2):
        left = np.asarray(ensemble.families) != family
        n_left = np.count_nonzero(left)
        if n_left < _FEWEST:
            reasons.append(
                f"Without {family!r} {n_left} of {left.size} models are left, too few "
                f"to rank; the pool needs {_FEWEST} or more of other families."
            )
            continue
        row = np.full(left.size, np.nan)
        row[left] = ranks_of(select_partitions(ensemble, left), stage)
        ranks[family] = read_only(row)
    return ranks, reasons


def _equal_family_values(
    agreement: Agreement, score: str, run: RunOptions
) -> FloatArray | None:
    """Values of the score with equal votes of all families, None if not defined."""
    ensemble = agreement.ensemble
    families, sizes = np.unique(
        ensemble.families, return_inverse=True, return_counts=True
    )[1:]
    if score in _INDICES:
        index = getattr(partition_overlaps(ensemble, **run.threads), _INDICES[score])
        return _mean_over_families(index, families)
    if score not in _VARIANTS:
        return None
    if len(set(sizes)) == 1:
        return discotec(agreement, _VARIANTS[score])
    return _weighted_discotec(
        ensemble, _VARIANTS[score], _family_votes(sizes)[families], run
    )


def _family_votes(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Votes of a model of each family, whole numbers, such that totals are equal."""
    total = min(math.lcm(*sizes.tolist()), _MOST_VOTES)
    return np.maximum(np.round(total / sizes), 1).astype(np.int64)


def _weighted_discotec(
    ensemble: Ensemble, variant: Variant, votes: npt.NDArray[np.int64], run: RunOptions
) -> FloatArray:
    """DISCOTEC score of each partition where partition t has votes[t] votes.

    The n pairs (i, i) and pairs of merged identical samples cost nothing.
    """
    layout = pair_layout(ensemble, votes=votes)
    n_pairs = ensemble.n_samples**2
    joined = joined_pairs(ensemble).tolist()
    total = sum(int(v) * q for v, q in zip(votes, joined, strict=True))
    costs = pair_costs(variant, int(votes.sum()), -(-total // n_pairs))
    return 2 * sum_costs(layout, *costs, run)[layout.group] / n_pairs


def _mean_over_families(
    index: FloatArray, families: npt.NDArray[np.int64]
) -> FloatArray:
    """Mean over families of the mean index with the other models of each family."""
    other = 1.0 - np.eye(len(index))
    member = np.equal.outer(families, np.unique(families)).astype(float)
    counts = other @ member
    means = (index * other) @ member / np.maximum(counts, 1)
    return means.sum(axis=1) / (counts > 0).sum(axis=1)


def _charged_ranks(
    values: FloatArray | None, charge: FloatArray, greater_is_better: bool
) -> FloatArray:
    """Ranks of values after the charge for violations, NaN without values."""
    if values is None:
        return read_only(np.full(len(charge), np.nan))
    charged = values - charge if greater_is_better else values + charge
    return read_only(rank_values(charged, greater_is_better).astype(float))


def _stage(progress: Progress | None, stage: int, count: int) -> Progress | None:
    """Progress of one pass as its part of all."""
    if progress is None:
        return None
    return lambda done, total: report(
        progress, _STEPS * stage + _STEPS * done // max(total, 1), _STEPS * count
    )
