"""What each kind of action does.

Each entry of ACTIONS computes, from the session as it stands and the plain values of
an action, the parameters that change. It changes nothing itself, so it may run on a
thread, be cancelled, or fail; `Session.commit` then puts action and result in place.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterlens.compute.consensus.tree import consensus_tree
from clusterlens.compute.ensemble.agreement import (
    Agreement,
    agreement_cost,
    count_agreements,
    estimate_agreements,
)
from clusterlens.compute.ensemble.ensemble import Ensemble, distinct_partitions
from clusterlens.compute.ensemble.overlaps import sample_disagreement
from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.ranking.ranking import SCORES, Ranking, rank_partitions
from clusterlens.compute.table.dataset import Dataset, prepare
from clusterlens.compute.table.examples import load_example
from clusterlens.compute.table.projection import project
from clusterlens.compute.table.reading import load_table
from clusterlens.ui.jobs import KERNELS, Job
from clusterlens.ui.log import Action
from clusterlens.ui.session import Run, Session

Updates = dict[str, Any]
TREE_CLUSTERS = 64


@dataclass(frozen=True)
class ActionKind:
    """Title on screen, and the function that computes the changed parameters."""

    title: str
    compute: Callable[..., Updates]


def _load_file(session: Session, job: Job, *, name: str, sha256: str) -> Updates:
    """Read an uploaded file, kept in the session by its SHA-256."""
    return _new_table(load_table(io.BytesIO(session.files[sha256]), name=name))


def _load_example(session: Session, job: Job, *, name: str) -> Updates:
    """Load one of the examples."""
    return _new_table(load_example(name))


def _new_table(table: Dataset) -> Updates:
    """Show a table; it is prepared by a further action."""
    return {"table": table, "dataset": None, "projection": None, "preparation": {}}


def _prepare(session: Session, job: Job, **options: Any) -> Updates:
    """Turn the table into numbers with the given roles and rules."""
    dataset = prepare(session.table, **options)
    return {
        "dataset": dataset,
        "projection": project(dataset),
        "preparation": options,
    }


def _run_pool(
    session: Session,
    job: Job,
    *,
    pool: list[dict[str, Any]],
    random_state: int = 0,
    distinct_only: bool = False,
) -> Updates:
    """Fit a pool of clusterings, count their agreements, and make an immutable run."""
    dataset = session.dataset
    ensemble = run_pool(
        dataset.X,
        pool,
        random_state=random_state,
        progress=job.report,
        cancel=job.cancelled,
    )
    if distinct_only:
        ensemble = ensemble.select(distinct_partitions(ensemble)[0])
    job.enter("Counting agreements")
    agreement, compared = _count(ensemble, random_state, job)
    job.enter("Ordering the samples")
    tree = consensus_tree(
        ensemble,
        min(TREE_CLUSTERS, ensemble.n_samples),
        random_state=random_state,
        executor=KERNELS,
        progress=job.report,
        cancel=job.cancelled,
    )
    run = Run(
        name=f"run {len(session.runs) + 1}",
        dataset=dataset,
        ensemble=ensemble,
        agreement=agreement,
        compared=compared,
        disagreement=sample_disagreement(
            ensemble, executor=KERNELS, cancel=job.cancelled
        ),
        tree_order=np.asarray(tree.order),
        projection=session.projection,
    )
    job.enter("Preparing the pictures")
    run.nearest.query((0, 0))
    return {
        "runs": (*session.runs, run),
        "page": "consensus",
        **_show(run, session.score, session.colour_by),
    }


def _count(
    ensemble: Ensemble, random_state: int, job: Job
) -> tuple[Agreement, Ensemble]:
    """Count all agreements, or estimate them where that would take minutes."""
    run = {
        "executor": KERNELS,
        "progress": job.report,
        "cancel": job.cancelled,
    }
    if agreement_cost(ensemble).affordable:
        return count_agreements(ensemble, **run), ensemble
    agreement = estimate_agreements(ensemble, None, random_state, **run)
    return agreement, ensemble.take_samples(np.sort(agreement.samples))


def _choose_run(session: Session, job: Job, *, name: str) -> Updates:
    """Show another run."""
    run = next(run for run in session.runs if run.name == name)
    return _show(run, session.score, session.colour_by)


def _show(run: Run, score: str, colour_by: str) -> Updates:
    """Read a run from the model closest to its consensus, at the mean rule."""
    ranking = rank_partitions(run.agreement, score=score, executor=KERNELS)
    if colour_by == "labels" and run.dataset.labels_true is None:
        colour_by = "model"
    return {
        "run": run,
        "threshold": run.agreement.threshold,
        "ranking": ranking,
        "model": int(ranking.order[0]),
        "colour_by": colour_by,
        "inspected": None,
        "brushed": np.empty(0, np.intp),
    }


def _set_score(session: Session, job: Job, *, score: str) -> Updates:
    """Rank by another score."""
    return {"score": score, "ranking": _rank(session, score, session.threshold)}


def _set_threshold(session: Session, job: Job, *, threshold: int) -> Updates:
    """Binarise the consensus at another number of agreeing models."""
    return {
        "threshold": threshold,
        "ranking": _rank(session, session.score, threshold),
    }


def _rank(session: Session, score: str, threshold: int) -> Ranking:
    """Rank the models of the run on screen."""
    at = {"threshold": threshold} if SCORES[score].uses_threshold else {}
    return rank_partitions(session.run.agreement, score=score, executor=KERNELS, **at)


ACTIONS = {
    "load file": ActionKind("Reading the file", _load_file),
    "load example": ActionKind("Loading the example", _load_example),
    "prepare": ActionKind("Preparing the table", _prepare),
    "run pool": ActionKind("Running the pool", _run_pool),
    "choose run": ActionKind("Showing the run", _choose_run),
    "set score": ActionKind("Ranking", _set_score),
    "set threshold": ActionKind("Ranking", _set_threshold),
}


def perform(session: Session, action: Action) -> None:
    """Do an action at once, on this thread: for quick ones and for replay."""
    session.commit(
        action,
        ACTIONS[action.kind].compute(session, Job(action.kind), **action.values),
    )


async def perform_in_background(session: Session, action: Action) -> bool:
    """Do an action as a job; return whether it was done."""
    kind = ACTIONS[action.kind]
    updates = await session.jobs.run(
        kind.title, lambda job: kind.compute(session, job, **action.values)
    )
    if updates is not None:
        session.commit(action, updates)
    return updates is not None
