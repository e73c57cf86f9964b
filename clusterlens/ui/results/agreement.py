"""Agreement of the models of a run, and the rankings that follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute._run.context import running
from clusterlens.compute.consensus.ordering import order_samples
from clusterlens.compute.ensemble.agreement import (
    Agreement,
    count_agreements,
    estimate_agreements,
)
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.counting_cost import AgreementCost, agreement_cost
from clusterlens.compute.ensemble.ensemble import Ensemble, distinct_partitions
from clusterlens.compute.ensemble.overlaps import sample_disagreement
from clusterlens.compute.ensemble.partial import share_levels
from clusterlens.compute.indices.model_comparison import compare_models
from clusterlens.compute.ranking.answers import AnswerPosterior, weigh_ranking
from clusterlens.compute.ranking.hubs import Hubs, find_hubs
from clusterlens.compute.ranking.likeness import NEAR_COPY, likeness
from clusterlens.compute.ranking.makeups import Makeups, score_makeups
from clusterlens.compute.ranking.model_map import ModelMap, map_models
from clusterlens.compute.ranking.ranking import (
    SCORES,
    Ranking,
    Weight,
    rank_partitions,
    rank_values,
)
from clusterlens.compute.ranking.robustness import Robustness, rank_makeups
from clusterlens.compute.ranking.scores import threshold_scores
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.jobs.shared_results import ensemble_key
from clusterlens.ui.state.analysis import EVIDENCE, AnalysisResult

SEED = 0
LEADERS = 3
# Arrays of an agreement.
_TABLES = (
    *("pair_counts", "joint_counts", "seen_counts"),
    *("samples", "group_pairs", "group_joint"),
)


@node("live", "Counting agreements")
def cost(job: Job, ensemble: Ensemble) -> AgreementCost:
    """Return the cost of counting all agreements."""
    return agreement_cost(ensemble)


@node("live", "Counting agreements", keep=6)
def agreement(
    job: Job, ensemble: Ensemble, cost: AgreementCost, exact: bool
) -> Agreement:
    """Count all agreements, or estimate them if counting would take minutes."""
    counts_all = exact or cost.affordable

    def count() -> dict[str, np.ndarray]:
        found = (
            count_agreements(ensemble, **job.kernels)
            if counts_all
            else estimate_agreements(ensemble, None, SEED, **job.kernels)
        )
        tables = {name: getattr(found, name) for name in _TABLES}
        return {name: table for name, table in tables.items() if table is not None}

    what = "all agreements" if counts_all else "estimated agreements"
    key = ensemble_key(ensemble, what)
    tables = job.server.results.arrays(key, count, job.cancelled)
    levels = share_levels(ensemble) if ensemble.is_partial else None
    is_exact = "samples" not in tables
    return Agreement(ensemble, exact=is_exact, levels=levels, **tables)


@node()
def threshold_asked(
    threshold: int | None, view_threshold_preview: int | None
) -> int | None:
    """Return the dragged or chosen threshold, None for the mean rule."""
    return threshold if view_threshold_preview is None else view_threshold_preview


@node()
def threshold_in_force(agreement: Agreement, threshold_asked: int | None) -> int:
    """Return the number of models that must agree, by default of the mean rule."""
    return agreement.threshold if threshold_asked is None else threshold_asked


@dataclass(frozen=True, eq=False)
class ScoredWithLinks:
    """Ranking by the score and links in force; one result keeps both parts consistent.

    Parameters
    ----------
    ranking : Ranking
        Ranking with the links.
    posterior : AnswerPosterior or None
        Posterior if links count as evidence.
    """

    ranking: Ranking
    posterior: AnswerPosterior | None


@node("live", "Ranking", keep=16)
def scored(
    job: Job, agreement: Agreement, score: str, threshold_asked: int | None
) -> Ranking:
    """Rank the models by the score in force, without links."""
    at = _at(score, threshold_asked)
    return rank_partitions(agreement, score=score, **at, **job.kernels)


# On the event loop, so that an answer changes the ranking at once.
@node(keep=64)
def scored_with_links(
    scored: Ranking, constraints: Constraints | None, link_weight: Weight
) -> ScoredWithLinks:
    """Rank the models with the links, and compute their probabilities."""
    ranked = scored.with_constraints(constraints, link_weight)
    if constraints is None or link_weight != EVIDENCE:
        return ScoredWithLinks(ranked, None)
    return ScoredWithLinks(ranked, weigh_ranking(scored, constraints))


@node()
def ranking(scored_with_links: ScoredWithLinks) -> Ranking:
    """Return the models in order of the score in force."""
    return scored_with_links.ranking


def _at(score: str, threshold: int | None) -> dict[str, Any]:
    return {"threshold": threshold} if SCORES[score].uses_threshold else {}


@node("idle", "Checking the ranking without each family", keep=16)
def makeups(
    job: Job, agreement: Agreement, score: str, threshold_asked: int | None
) -> Makeups:
    """Score the models without each family; links do not matter here."""
    return score_makeups(agreement, score, **_at(score, threshold_asked), **job.kernels)


@node(keep=16)
def robustness(makeups: Makeups, ranking: Ranking) -> Robustness:
    """Return the ranks of the models, with the links, without each family."""
    return rank_makeups(makeups, np.abs(ranking.values - ranking.unconstrained))


@node("live", "Matching the clusters")
def reference(job: Job, agreement: Agreement) -> int:
    """Return the model that sets the colours of clusters if there is no result."""
    return int(rank_partitions(agreement, executor=job.server.kernels).order[0])


@node()
def selected(
    view_model: int | None,
    ranking: Ranking,
    result: AnalysisResult | None,
    run_id: str | None,
) -> int:
    """Return the displayed model: the chosen one, else the result or the leader."""
    model = view_model
    if model is None and result is not None:
        model = result.model_of(run_id)
    return int(ranking.order[0]) if model is None else model


@node("live", "Judging the models")
def model_table(job: Job, agreement: Agreement, samples: Dataset) -> pd.DataFrame:
    """Compute every score and index of every model, one row each."""
    return compare_models(
        agreement,
        samples.X,
        samples.labels_true,
        random_state=SEED,
        **job.kernels,
    )


@node("live", "Comparing the models")
def model_map(job: Job, ensemble: Ensemble) -> ModelMap:
    """Return the models as points, near each other if they agree."""
    return map_models(ensemble, **job.kernels)


@node("live", "Looking for hubs")
def hubs(job: Job, ensemble: Ensemble) -> Hubs:
    """Return groups of models that share a structure."""
    return find_hubs(ensemble, **job.kernels)


@node()
def leader(ranking: Ranking) -> int:
    """Return the model with the best rank."""
    return int(ranking.order[0])


@node("idle", "Looking for near-copies", keep=16, debounced=True)
def likeness_to_leader(job: Job, ensemble: Ensemble, leader: int) -> np.ndarray:
    """Return the adjusted Rand index of each model with the leader."""
    return likeness(ensemble, leader)


@node()
def copies_of_leader(likeness_to_leader: np.ndarray) -> np.ndarray:
    """Return the near-copies of the leader, with the leader itself."""
    return np.flatnonzero(likeness_to_leader >= NEAR_COPY)


@node("live", "Comparing partitions")
def copies(job: Job, ensemble: Ensemble) -> np.ndarray:
    """Return the number of the distinct partition of each model."""
    return distinct_partitions(ensemble)[1]


@node()
def rows(ranking: Ranking, copies: np.ndarray) -> np.ndarray:
    """Return the first model of each distinct partition, in order of the ranking."""
    first = np.unique(copies[ranking.order], return_index=True)[1]
    return ranking.order[np.sort(first)]


@node("live", "Measuring disagreement")
def disagreement(job: Job, ensemble: Ensemble) -> np.ndarray:
    """Return the disagreement of the pool at each sample, in [0, 1]."""

    def measure() -> dict[str, np.ndarray]:
        kernels = {"executor": job.server.kernels, "cancel": job.cancelled}
        return {"samples": sample_disagreement(ensemble, **kernels)}

    key = ensemble_key(ensemble, "disagreement")
    return job.server.results.arrays(key, measure, job.cancelled)["samples"]


@node("live", "Ordering the samples")
def tree_order(job: Job, ensemble: Ensemble) -> np.ndarray:
    """Order the samples by the consensus tree, shape (n_samples,)."""

    def order() -> dict[str, np.ndarray]:
        with running(**job.kernels):
            return {"order": order_samples(ensemble, "tree", random_state=SEED)}

    key = ensemble_key(ensemble, f"order by the tree, seed {SEED}")
    return job.server.results.arrays(key, order, job.cancelled)["order"]


@dataclass(frozen=True, eq=False)
class Leaders:
    """Ranks of the leading models at every threshold, shape (n_leaders, T + 2)."""

    models: np.ndarray
    ranks: np.ndarray


@node("live", "Ranking at every threshold")
def threshold_ranks(job: Job, agreement: Agreement) -> np.ndarray:
    """Return the rank of every model at every threshold, (n_partitions, T + 2)."""
    return rank_values(threshold_scores(agreement), False)


@node(keep=16)
def leaders(threshold_ranks: np.ndarray, rows: np.ndarray) -> Leaders:
    """Pick the leading distinct models."""
    models = rows[:LEADERS]
    return Leaders(models, threshold_ranks[models])
