"""Ranking: partitions ordered by how typical they are of the ensemble.

`SCORES` lists the ways to score partitions; a Ranking orders them. Given counted
agreements, another score, threshold or set of constraints takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress
from clusterlens.compute._validation import FloatArray, Frozen, check_choice, read_only
from clusterlens.compute.ensemble.agreement import Agreement
from clusterlens.compute.ensemble.constraints import Constraints, check_constraints
from clusterlens.compute.ensemble.ensemble import Ensemble, distinct_partitions
from clusterlens.compute.ranking._evidence import Weight as Weight
from clusterlens.compute.ranking._evidence import (
    check_weight,
    posterior_under,
    weigh_links,
)
from clusterlens.compute.ranking.scores import (
    Variant,
    average_ari,
    average_nmi,
    discotec,
    partitions_of,
)
from clusterlens.compute.ranking.uncertainty import (
    Uncertainty,
    check_confidence,
    estimate_uncertainty,
)

RankArray = npt.NDArray[np.int64]

TIE_DECIMALS = 10
_PAPER = "Ohl, L., Lindsten, F. Discriminative ordering through ensemble consensus"


@dataclass(frozen=True)
class Score:
    """A way to score the partitions of an ensemble.

    Parameters
    ----------
    title : str
        Name on screen.
    greater_is_better : bool
        Direction.
    meaning : str
        Meaning of the score, in one sentence.
    reference : str
        Source of the definition.
    values : callable
        Takes an Ensemble or Agreement and the keywords of `rank_partitions` from
        `n_jobs` on, and returns one value per partition.
    uses_threshold : bool, default False
        Whether `values` also takes `threshold`.
    variant : str, optional
        Its variant of `discotec`; only these have intervals and other votes.
    linear : bool, default False
        Whether it takes time linear in the samples and does not use the agreements,
        so that it is exact even if they are estimates.
    plain : str, default ""
        Title in plain words; the app shows the title beside it.
    """

    title: str
    greater_is_better: bool
    meaning: str
    reference: str
    values: Callable[..., FloatArray]
    uses_threshold: bool = False
    variant: Variant | None = None
    linear: bool = False
    plain: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Frozen):
    """Partitions ordered by a score.

    Parameters
    ----------
    ensemble : Ensemble
        The ranked partitions.
    score : str
        Name of the score in `SCORES`.
    values : array of float, shape (n_partitions,)
        The score with the charge for violated constraints; it decides the order.
    unconstrained : array of float, shape (n_partitions,)
        The score alone.
    violated : array of float, shape (n_partitions,)
        Share of the constraints that each partition breaks, in [0, 1]. If constraints
        are
        evidence, a link to noise or to a missing label is not broken.
    greater_is_better : bool
        Direction of `values` and `unconstrained`.
    exact : bool, default True
        False if the score is an estimate.
    uncertainty : Uncertainty, optional
        Possible errors of an estimate; None if exact.
    posterior : array of float, shape (n_partitions,), optional
        Probability of each partition if constraints are evidence, see
        `answer_posterior`.
    """

    ensemble: Ensemble
    score: str
    values: FloatArray
    unconstrained: FloatArray
    violated: FloatArray
    greater_is_better: bool
    exact: bool = True
    uncertainty: Uncertainty | None = None
    posterior: FloatArray | None = None

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for name in ("values", "unconstrained", "violated", "posterior"):
            if (array := getattr(self, name)) is not None:
                object.__setattr__(self, name, np.asarray(array))
        super().__post_init__()

    @property
    def intervals(self) -> FloatArray:
        """Ends of the intervals for the values, shape (n_partitions, 2).

        They hold for all partitions together, with `uncertainty.confidence`. If exact,
        both ends are the value.
        """
        width = 0.0 if self.uncertainty is None else self.uncertainty.half_widths
        return np.stack([self.values - width, self.values + width], axis=1)

    @property
    def rank_ranges(self) -> RankArray:
        """Lowest and highest possible rank, shape (n_partitions, 2); equal if exact.

        Computed from the differences of the values. Their errors largely cancel, so the
        ranges are narrower than the intervals for the values suggest.
        """
        if self.uncertainty is None:
            return np.stack([self.ranks, self.ranks], axis=1)
        return self.uncertainty.rank_ranges

    def with_constraints(
        self, constraints: Constraints | None, constraint_weight: Weight = 1.0
    ) -> Ranking:
        """Rank by the same scores under other constraints instead of the present ones.

        Parameters
        ----------
        constraints, constraint_weight
            As in `rank_partitions`.

        Returns
        -------
        ranking : Ranking
            The same as from `rank_partitions`, but without computing the scores again:
            O(n_partitions n_pairs) time, and O(n_partitions²) more for estimates.

        Raises
        ------
        ValueError
            If the constraints name other samples, or the weight is out of range.
        """
        scores, better = self.unconstrained, self.greater_is_better
        violated, charge = weigh_links(
            self.ensemble, constraints, constraint_weight, scores
        )
        values = scores - charge if better else scores + charge
        uncertainty = self.uncertainty
        if uncertainty is not None:
            group = distinct_partitions(self.ensemble)[1]
            uncertainty = uncertainty.of(values, group)
        return replace(
            self,
            values=values,
            violated=violated,
            uncertainty=uncertainty,
            posterior=posterior_under(
                constraint_weight, self.ensemble, scores, values, better
            ),
        )

    @cached_property
    def ranks(self) -> RankArray:
        """Rank of each partition, 1 is best, shape (n_partitions,); ties share it."""
        return read_only(rank_values(self.values, self.greater_is_better))

    @cached_property
    def order(self) -> RankArray:
        """Positions of the partitions, best first; ties as in the ensemble."""
        return read_only(np.argsort(self.ranks, kind="stable"))

    @cached_property
    def decided_by_violations(self) -> bool:
        """Whether a partition that breaks fewer constraints always ranks higher."""
        charges = rank_values(self.violated, False)
        by_charge = np.lexsort((self.ranks, charges))
        differ = np.diff(charges[by_charge]) > 0
        return bool(differ.any() and (np.diff(self.ranks[by_charge])[differ] > 0).all())

    def to_frame(self) -> pd.DataFrame:
        """Return the ranking as a table, best first.

        Returns
        -------
        frame : DataFrame
            Columns model, family, n_clusters, n_noise (samples called noise), score,
            unconstrained, violated, rank and copies (partitions of the ensemble
            identical to this one, itself included), one row per partition; the
            index is its position in the ensemble. Ensembles with weights add votes;
            constraints as evidence add posterior. An estimate adds low, high,
            rank_low and rank_high, the possible range of the score and of the rank.
        """
        group = distinct_partitions(self.ensemble)[1]
        frame = pd.DataFrame(
            {
                "model": self.ensemble.names,
                "family": self.ensemble.families,
                "n_clusters": self.ensemble.n_clusters,
                "n_noise": self.ensemble.n_noise,
                "score": self.values,
                "unconstrained": self.unconstrained,
                "violated": self.violated,
                "rank": self.ranks,
                "copies": np.bincount(group)[group],
            }
        )
        if (self.ensemble.weights != 1).any():
            frame["votes"] = self.ensemble.votes
        if self.posterior is not None:
            frame["posterior"] = self.posterior
        if self.uncertainty is not None:
            frame[["low", "high"]] = self.intervals
            frame[["rank_low", "rank_high"]] = self.rank_ranges
        return frame.rename_axis("position").iloc[self.order]

    def __repr__(self) -> str:
        """Return the score, the leader, and the sample of an estimate."""
        text = f"{self.score}, {len(self.values)} partitions"
        text += f", first: {self.ensemble.names[self.order[0]]}"
        if self.uncertainty is not None:
            some, all_of = self.uncertainty.n_compared, self.ensemble.n_samples
            text += f", estimated from {some:,} of {all_of:,} samples"
        return f"Ranking({text})"


SCORES: dict[str, Score] = {
    "discotec-binary": Score(
        "DISCOTEC, binary",
        False,
        "Share of pairs of samples where the model contradicts what the pool agrees "
        "on, after the consensus is cut at a threshold.",
        _PAPER,
        partial(discotec, variant="binary"),
        uses_threshold=True,
        variant="binary",
        plain="distance to the consensus",
    ),
    "discotec-kl": Score(
        "DISCOTEC, Kullback-Leibler",
        False,
        "Mean surprise of the pool at what the model does with a pair of samples.",
        _PAPER,
        partial(discotec, variant="kl"),
        variant="kl",
        plain="surprise at the consensus",
    ),
    "discotec-tv": Score(
        "DISCOTEC, total variation",
        False,
        "Mean share of the pool that treats a pair of samples otherwise; its order is "
        "that of the average plain Rand index.",
        _PAPER,
        partial(discotec, variant="tv"),
        variant="tv",
        plain="share of models that differ",
    ),
    "discotec-hellinger": Score(
        "DISCOTEC, Hellinger",
        False,
        "Mean squared Hellinger distance between the model and the consensus.",
        _PAPER,
        partial(discotec, variant="hellinger"),
        variant="hellinger",
        plain="squared distance to the consensus",
    ),
    "aari": Score(
        "Average adjusted Rand index",
        True,
        "Mean agreement with each other model of the pool, corrected for chance.",
        "Hubert, L., Arabie, P. Comparing partitions. J. of Classification 2 (1985)",
        average_ari,
        linear=True,
        plain="likeness to the other models",
    ),
    "anmi": Score(
        "Average normalised mutual information",
        True,
        "Mean information shared with each other model of the pool.",
        "Strehl, A., Ghosh, J. Cluster ensembles. JMLR 3 (2002)",
        average_nmi,
        linear=True,
        plain="information shared with the others",
    ),
}


@takes_running
def rank_partitions(
    ensemble: Ensemble | Agreement,
    score: str = "discotec-binary",
    threshold: int | None = None,
    constraints: Constraints | None = None,
    constraint_weight: Weight = 1.0,
    *,
    confidence: float = 0.95,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> Ranking:
    """Rank the partitions of an ensemble; the first is the most typical one.

    Parameters
    ----------
    ensemble : Ensemble or Agreement
        T >= 2 partitions, or their counted agreements, which make the DISCOTEC scores
        instant.
    score : str, default "discotec-binary"
        A name in `SCORES`.
    threshold : int, optional
        For "discotec-binary": agreement count from 0 to T + 1 from which a pair counts
        as joined. Default the mean.
    constraints : Constraints, optional
        Pairs that should be joined or separated.
    constraint_weight : float or "evidence", default 1.0
        Charge for breaking all of them: added to a score that is better when lower,
        subtracted from a score that is better when greater. See the Warnings. With
        "evidence" the charge grows with their number, see `answer_posterior`.
    confidence : float, default 0.95
        Confidence of the intervals if the agreements are estimates, between 0 and 1.
    n_jobs, progress, cancel, executor
        As in `count_agreements`.

    Returns
    -------
    ranking : Ranking
        Values, violations and order. Values equal to 10 decimals share a rank.
        Estimated
        agreements add intervals for the values and ranges of ranks, except for the
        average indices, which are exact in linear time.

    Raises
    ------
    ValueError
        If the score is unknown or an argument is out of range.

    Warnings
    --------
    The default weight of 1 is the paper's. Breaking one of c constraints costs weight
    / c: with few of them and weight 1 a single broken link moves a model over many
    ranks, and violations alone may decide the order (`decided_by_violations`). Ten
    answers at weight 1 lowered the rank correlation with the classes in 7 of 18 cases,
    nine UCI sets with two pools each; at 0.2, which the app uses, in 1
    (`benchmarks/discotec_answers.py`).
    "evidence" gives nearly the same leader as 1 (`benchmarks/answers.py`).

    Notes
    -----
    Rounding gives identical partitions the same rank, because their scores may differ
    in the last bits. The first rank does not mean true: a structure that only few
    models find ranks last.

    Examples
    --------
    >>> ensemble = Ensemble([[0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 1]])
    >>> rank_partitions(ensemble).ranks.tolist()
    [1, 2, 2]
    """
    chosen = SCORES[check_choice(score, SCORES, name="score")]
    run: dict[str, object] = {
        "n_jobs": n_jobs,
        "progress": progress,
        "cancel": cancel,
        "executor": executor,
    }
    if threshold is not None and not chosen.uses_threshold:
        raise ValueError(
            f"threshold is {threshold}, but score {score!r} has none; leave it out or "
            "choose 'discotec-binary'."
        )
    if chosen.uses_threshold:
        run["threshold"] = threshold
    check_confidence(confidence)
    partitions = partitions_of(ensemble)
    check_weight(constraint_weight)
    check_constraints(constraints, partitions.n_samples)
    scores = chosen.values(ensemble, **run)
    exact = isinstance(ensemble, Ensemble) or ensemble.exact or chosen.linear
    uncertainty = None
    if isinstance(ensemble, Agreement) and not exact and chosen.variant is not None:
        uncertainty = estimate_uncertainty(
            ensemble, chosen.variant, threshold, scores, confidence
        )
    ranking = Ranking(
        partitions,
        score,
        scores,
        scores,
        np.zeros(partitions.n_partitions),
        chosen.greater_is_better,
        exact,
        uncertainty,
    )
    return ranking.with_constraints(constraints, constraint_weight)


def rank_values(values: npt.ArrayLike, greater_is_better: bool) -> RankArray:
    """Rank values (n_partitions, ...) of int64: 1 is best.

    Values equal to 10 decimals share the better rank.

    Examples
    --------
    >>> rank_values([0.3, 0.1, 0.1], greater_is_better=False).tolist()
    [3, 1, 1]
    """
    rounded = np.round(np.asarray(values, dtype=float), TIE_DECIMALS)
    oriented = -rounded if greater_is_better else rounded
    return rankdata(oriented, method="min", axis=0).astype(np.int64)
