"""Plans of models to add for the answers, with their cost."""

from __future__ import annotations

from dataclasses import dataclass, replace

from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.formatting import whole
from clusterlens.compute.pool.answer_models import (
    N_MAKERS,
    made_for,
    models_for_answers_seconds,
    numbers_to_try,
)
from clusterlens.compute.pool.closer import FINER, N_CLOSER
from clusterlens.compute.pool.pool import estimate_pool
from clusterlens.compute.pool.preset_versions import sized_grids
from clusterlens.compute.ranking.ranking import Ranking
from clusterlens.ui.actions.pools import MOST_OBEYING
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.state.analysis import Run


@dataclass(frozen=True)
class ModelsToMake:
    """Plan of models to make for the answers, with the cost.

    Parameters
    ----------
    n_clusters : tuple of int
        Numbers of clusters to try, taken from the best models.
    n_models : int
        Number of models.
    n_links : int
        Number of links that they are made for.
    seconds : float
        Estimated time.
    refusal : str
        Reason why none can be made; empty if they can.
    """

    n_clusters: tuple[int, ...]
    n_models: int
    n_links: int
    seconds: float
    refusal: str = ""


@dataclass(frozen=True)
class CloserLook:
    """Plan of finer settings to fit, with the cost.

    Parameters
    ----------
    n_fitted, n_kept : int
        Number of models to fit, and to keep.
    seconds : float
        Estimated time.
    """

    n_fitted: int
    n_kept: int
    seconds: float


@node("live", "Estimating the cost", keep=8)
def closer_look(job: Job, run: Run) -> CloserLook:
    """Plan finer settings near the safest choice of a run."""
    shape = run.dataset.X.shape
    cost = estimate_pool(
        shape, sized_grids(FINER, shape[0]), workers=job.server.workers
    )
    return CloserLook(len(cost.names), N_CLOSER, cost.seconds)


@node()
def models_to_make(
    run: Run, ranking: Ranking, constraints: Constraints
) -> ModelsToMake:
    """Plan models for the answers, or give the reason why there can be none."""
    pool, n_links = run.ensemble, constraints.n_pairs
    numbers = tuple(numbers_to_try(pool, ranking.order))
    seconds = models_for_answers_seconds(pool.n_samples, pool.n_partitions, numbers)
    plan = ModelsToMake(numbers, len(numbers) * N_MAKERS, n_links, seconds)
    refusal = ""
    if pool.n_samples > MOST_OBEYING:
        refusal = f"Models are made for answers up to {whole(MOST_OBEYING)} rows."
    elif pool.is_partial:
        refusal = (
            "Models of this run left rows out; none can be made of it for answers."
        )
    elif made_for(pool, constraints):
        refusal = (
            f"Models were made for {'this link' if n_links == 1 else 'these links'}; "
            "with other answers more can be made."
        )
    return replace(plan, refusal=refusal)
