"""run_pool: fit many clusterers to one table, and return an Ensemble of the results.

Steps that several models need run once (`sharing`), and copies of one specification are
one fit. Jobs run in worker processes, the most urgent first; a small pool runs in this
process, which finishes before a worker would have started. Every model has its own
seed, so results do not depend on the number of workers, on their location, or on the
order of completion. A model that fails, or finds one cluster or n, becomes a note.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import (
    Cancel,
    Cancelled,
    Progress,
    RunOptions,
    check_callback,
    raise_if_cancelled,
)
from clusterlens.compute._run.processes import Workers, check_workers
from clusterlens.compute._validation import (
    UNLABELLED,
    FloatArray,
    Frozen,
    IntArray,
    RandomState,
    check_features,
    check_range,
    read_only,
)
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.notes import Note
from clusterlens.compute.pool._fitting import Fit, Limits, StepJob, fit_jobs
from clusterlens.compute.pool._jobs import START_SECONDS, in_which_workers, pool_jobs
from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.compute.pool.clusterer import Clusterer
from clusterlens.compute.pool.estimate import (
    MEMORY_LIMIT,
    PlannedStep,
    PoolEstimate,
    estimate_plan,
    estimate_pool,
    merge_notes,
    notes_of_steps,
)
from clusterlens.compute.pool.paces import Seen, known_paces, learn
from clusterlens.compute.pool.presets import POOLS
from clusterlens.compute.pool.sharing import merge_steps
from clusterlens.compute.pool.specs import Pool, plan_pool, pool_grids, pool_specs

if TYPE_CHECKING:
    from distributed import Client

__all__ = [
    "CLUSTERERS",
    "POOLS",
    "Clusterer",
    "PlannedStep",
    "PoolEstimate",
    "PoolModel",
    "Workers",
    "estimate_pool",
    "iter_pool",
    "pool_grids",
    "pool_specs",
    "run_pool",
    "start_workers",
]


@dataclass(frozen=True, eq=False)
class PoolModel(Frozen):
    """A model of a pool that has ended.

    Parameters
    ----------
    position : int
        Position in the pool, from 0; models end in any order.
    n_models : int
        Number of models of the pool.
    name, family : str
        Name and family.
    spec : mapping
        Its specification.
    labels : array of int, shape (n_samples,), or None
        Cluster of each sample, -1 for noise; None if the fit failed.
    membership : array of float, shape (n_samples, n_clusters), or None
        Memberships of a soft model.
    seconds : float
        Time of its fit, with its part of shared steps.
    reason : str or None
        Why the model is left out of the ensemble: it failed, or found one cluster or n.
    warnings : tuple of str
        Texts of warnings.
    """

    position: int
    n_models: int
    name: str
    family: str
    spec: Mapping[str, Any]
    labels: IntArray | None = field(repr=False)
    membership: FloatArray | None = field(repr=False)
    seconds: float
    reason: str | None
    warnings: tuple[str, ...]


@takes_running
def run_pool(
    X: npt.ArrayLike,
    pool: Pool = "default",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    *,
    memory_limit: float | None = MEMORY_LIMIT,
    client: Client | str | None = None,
    on_model: Callable[[PoolModel], object] | None = None,
    on_plan: Callable[[PoolEstimate], object] | None = None,
    on_start: Callable[[str], object] | None = None,
    stop: Cancel | None = None,
    time_limit: float | None = None,
    workers: Workers | None = None,
) -> Ensemble:
    """Fit a pool of clusterings to a table.

    Parameters
    ----------
    X : array-like of float, shape (n_samples, n_features)
        Finite features, prepared (scaled) as the clusterers should see them.
    pool : str or sequence, default "default"
        Name in POOLS; ("paper-fixed-k", n_clusters); or a list of specs (mappings such
        as {"clusterer": "k-means", "n_clusters": [2, 3, 4]}, see `pool_specs`) and
        estimator instances with scikit-learn's interface.
    random_state : int, default 0
        Seed of everything random, also for models without a seed of their own.
    n_jobs : int, optional
        Largest number of worker processes; None or -1 for one per core. 1 fits in this
        process, where a cancel waits for the current fit. A pool of up to four seconds
        that is estimated to end here before workers could also runs in this process.
    progress : callable, optional
        Called as progress(done, total) with numbers of models.
    cancel : callable, optional
        Returns True to stop; workers are stopped in the middle of a fit.
    memory_limit : float, default 4e9
        Limit of the bytes of models fitted at the same time; on a cluster, of the fit
        in each worker process. A model predicted to exceed it alone becomes a note, as
        does a model that exceeds it while running (in worker processes on Linux).
    client : dask.distributed.Client or str, optional
        Cluster for the fits, or the address of its scheduler; `n_jobs` then has no
        effect. The result is the same, apart from seconds. Needs the extra "dask".
    on_model : callable, optional
        Called with a PoolModel as soon as a model has ended, in any order.
    on_plan : callable, optional
        Called once with the PoolEstimate, before the first fit.
    on_start : callable, optional
        Called with the name of a model when its fit starts; not on a cluster.
    stop : callable, optional
        Returns True to stop and keep the results: the ensemble has the models that had
        ended, and a note names the others.
    time_limit : float, optional
        Limit of the seconds of one fit; a longer fit is stopped and becomes a note.
        Shared steps may take as long as all of their models together. Fits then run in
        worker processes, even with n_jobs=1; not on a cluster.
    workers : Workers, optional
        Worker processes that stay for the next run. Fits then run in worker processes,
        even in a small pool.

    Returns
    -------
    ensemble : Ensemble
        One partition per surviving model, in the order of the pool, with names,
        families, specs, seconds, memberships, and notes on everything else.

    Raises
    ------
    DataError
        If X is not a finite table.
    ValueError
        If the pool is unknown or not one model survives.
    Cancelled
        If cancel returned True.
    OSError
        If no scheduler answers at the address of `client`, or it has no workers.

    Notes
    -----
    Noise is kept as label -1. Shared steps (see `estimate_pool` and its `plan`) run
    once, and their time is divided among the models. Each partition equals the result
    of fitting its model alone, up to ties and rounding.

    X in other units gives the same partitions, exactly if it is multiplied by a power
    of two. `reg_covar` of mixtures and `tol` of bisecting k-means are in squared units
    of the usual standard deviation of the features (to the nearest power of two, 1 for
    standardised features). Distances that a specification gives as numbers, for example
    `eps` of DBSCAN, are in units of X; so are estimators of other classes.

    On a cluster every worker process gets the features once and fits one model at a
    time with one thread, so start workers with one thread each. Each worker runs the
    shared steps of its models. A fit on a worker that dies runs again on others, up to
    the limit of the scheduler (`allowed-failures`, three by default); then its models
    fail with that reason, as they do at once on this machine. A cancel returns within a
    second; running fits end on their workers, and their results are discarded. Dask
    sends data and functions by pickle: connect only to clusters that you trust like
    this process.

    Examples
    --------
    >>> X = [[0.0], [0.1], [5.0], [5.1], [9.0]]
    >>> pool = [{"clusterer": "agglomerative", "n_clusters": [2, 3]}]
    >>> run_pool(X, pool).names
    ('ward linkage k=2', 'ward linkage k=3')
    """
    run = RunOptions(n_jobs, progress, cancel, None, client, memory_limit)
    for given, call in (
        (on_model, "on_model(model)"),
        (on_plan, "on_plan(estimate)"),
        (on_start, "on_start(name)"),
        (stop, "stop()"),
    ):
        check_callback(given, call)
    work = _Work(X, pool, random_state, run, stop, time_limit, workers)
    run.report(0, work.n_models)
    if on_plan is not None:
        on_plan(work.estimate())
    with closing(work.models(on_start)) as models:
        for done, model in enumerate(models, 1):
            if on_model is not None:
                on_model(model)
            run.report(done, work.n_models)
    return work.ensemble()


@takes_running
def iter_pool(
    X: npt.ArrayLike,
    pool: Pool = "default",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    cancel: Cancel | None = None,
    *,
    memory_limit: float | None = MEMORY_LIMIT,
    client: Client | str | None = None,
    time_limit: float | None = None,
) -> Generator[PoolModel]:
    """Fit a pool and yield each model as it ends.

    Parameters
    ----------
    X : array-like of float, shape (n_samples, n_features)
        As for `run_pool`.
    pool : str or sequence, default "default"
        As for `run_pool`.
    random_state : int, default 0
        As for `run_pool`.
    n_jobs : int, optional
        As for `run_pool`.
    cancel : callable, optional
        As for `run_pool`; to end early, leave the loop or close the generator.
    memory_limit : float, default 4e9
        As for `run_pool`.
    client : dask.distributed.Client or str, optional
        As for `run_pool`.
    time_limit : float, optional
        As for `run_pool`.

    Yields
    ------
    model : PoolModel
        A finished model, even a failed one.

    Examples
    --------
    >>> X = [[0.0], [0.1], [5.0], [5.1], [9.0]]
    >>> models = iter_pool(X, [{"clusterer": "k-means", "n_clusters": [2, 3]}])
    >>> sorted((model.name, len(set(model.labels))) for model in models)
    [('k-means k=2', 2), ('k-means k=3', 3)]
    """
    run = RunOptions(n_jobs, None, cancel, None, client, memory_limit)
    with closing(_Work(X, pool, random_state, run, None, time_limit).models()) as found:
        yield from found


def start_workers(workers: Workers) -> None:
    """Start waiting workers for a pool, with the imports of all clusterers.

    Parameters
    ----------
    workers : Workers
        The workers that `run_pool` will get.
    """
    workers.start(run_pool)


class _Work:
    """A running pool: its plan, its jobs, and the outcome of its models so far."""

    def __init__(
        self,
        X: npt.ArrayLike,
        pool: Pool,
        random_state: RandomState,
        run: RunOptions,
        stop: Cancel | None,
        time_limit: float | None,
        workers: Workers | None = None,
    ) -> None:
        if time_limit is not None:
            check_range(time_limit, 0, np.inf, name="time_limit")
            if run.client is not None:
                raise ValueError(
                    "time_limit is given with client; a fit on a cluster cannot be "
                    "ended, so leave one of the two out."
                )
        memory_limit = run.memory_limit or MEMORY_LIMIT
        self.run = replace(run, memory_limit=memory_limit)
        self.stop, self.time_limit = stop, time_limit
        self.workers = check_workers(workers)
        self.features = read_only(np.ascontiguousarray(check_features(X)))
        self.plan = plan_pool(pool, self.features, random_state)
        self.paces = known_paces()
        self.jobs, self.refused = pool_jobs(self.plan, memory_limit, self.paces)
        self.n_models = len(self.plan.models)
        self.ended: dict[int, PoolModel] = {}
        self.step_seconds: dict[str, float] = {}
        self.seen: list[Seen | None] = []
        self.is_cancelled = False

    def estimate(self) -> PoolEstimate:
        """Return the predicted cost of the pool and its shared steps."""
        return estimate_plan(
            self.plan,
            self.jobs,
            self.refused,
            self.run,
            self.paces,
            self.workers,
            self.in_workers,
        )

    @property
    def in_workers(self) -> bool:
        """Whether fits run in worker processes in any case."""
        return self.time_limit is not None or self.workers is not None

    def models(
        self, on_start: Callable[[str], object] | None = None
    ) -> Generator[PoolModel]:
        """Fit the jobs and yield the models as they end, until the caller stops."""
        for at, fit in self.refused:
            yield self._ended(at, fit)
        try:
            with closing(self._running(on_start)) as results:
                for done in results:
                    # On a cluster each worker runs a step; the first one counts.
                    self.seen.append(done.seen)
                    self.step_seconds = {**done.step_seconds, **self.step_seconds}
                    for at in done.models:
                        yield self._ended(at, done.fit)
        except Cancelled:
            if self.is_cancelled:
                raise
        finally:
            if self.run.client is None:  # other machines have other paces
                learn(self.seen)
        raise_if_cancelled(self.run.cancel)

    def _running(self, on_start: Callable[[str], object] | None) -> Any:
        """Start the jobs; a request to stop ends them like a cancel."""

        def started(models: tuple[int, ...]) -> None:
            if on_start is not None:
                for at in models:
                    on_start(self.plan.models[at].name)

        run = RunOptions(
            cancel=self._halted,
            client=self.run.client,
            memory_limit=self.run.memory_limit,
        )
        limits = Limits(
            np.inf if self.time_limit is None else self.time_limit,
            self.run.memory_limit or MEMORY_LIMIT,
        )
        start = START_SECONDS * self.paces.common
        n_workers = in_which_workers(self.jobs, self.run, self.in_workers, start)
        return fit_jobs(
            self.features,
            self.jobs,
            n_workers=n_workers,
            limits=limits,
            run=run,
            on_start=started,
            workers=self.workers,
        )

    def _halted(self) -> bool:
        """Whether the caller has requested to cancel, or to stop and keep."""
        cancel, stop = self.run.cancel, self.stop
        self.is_cancelled = cancel is not None and cancel()
        return self.is_cancelled or (stop is not None and stop())

    def _ended(self, at: int, fit: Fit) -> PoolModel:
        """Describe the outcome of a model, and keep it for the ensemble."""
        model = self.plan.models[at]
        self.ended[at] = PoolModel(
            at,
            self.n_models,
            model.name,
            model.family,
            model.spec,
            fit.labels,
            fit.membership,
            fit.seconds + self._shared_seconds(at),
            _reason(fit),
            fit.warnings,
        )
        return self.ended[at]

    def _shared_seconds(self, at: int) -> float:
        """Seconds of the shared steps of a model, its part of each."""
        keys: list[str] = []
        n_models = {}
        for job in self.jobs:
            if isinstance(job, StepJob):
                n_models[job.step.key] = job.n_models
            elif at in job.models:
                keys = list(merge_steps(job.steps))
        return sum(self.step_seconds.get(key, 0.0) / n_models[key] for key in keys)

    def ensemble(self) -> Ensemble:
        """Keep the models that found clusters; failures and warnings become notes."""
        ended = [self.ended[at] for at in sorted(self.ended)]
        kept = [model for model in ended if model.reason is None]
        notes = self.plan.notes + notes_of_steps(self.jobs) + self._missing()
        notes += merge_notes(
            (self.plan.models[model.position], *issue)
            for model in ended
            for issue in _issues_of(model)
        )
        if not kept and len(ended) < self.n_models:
            raise ValueError(
                "The pool was stopped before a model had found anything; let it run "
                "longer. " + " ".join(notes)
            )
        if not kept:
            raise ValueError(
                "No model of the pool survived; change the pool. " + " ".join(notes)
            )
        return Ensemble(
            np.array([model.labels for model in kept]),
            names=[model.name for model in kept],
            families=[model.family for model in kept],
            specs=[model.spec for model in kept],
            seconds=[model.seconds for model in kept],
            notes=notes,
            memberships={
                t: model.membership
                for t, model in enumerate(kept)
                if model.membership is not None
            },
        )

    def _missing(self) -> list[str]:
        """Name the models that had not ended when the caller stopped."""
        names = [
            model.name
            for at, model in enumerate(self.plan.models)
            if at not in self.ended
        ]
        if not names:
            return []
        ended = self.n_models - len(names)
        return [Note("stopped", ", ".join(names), ended=ended, models=self.n_models)]


def _reason(fit: Fit) -> str | None:
    """Return the reason why a model is left out, if it is."""
    return fit.error or _degenerate(np.asarray(fit.labels))


def _issues_of(model: PoolModel) -> list[tuple[str, str]]:
    """Return the reason why a model is left out, or its warnings, with their kinds."""
    if model.reason is not None:
        return [("failed" if model.labels is None else "dropped", model.reason)]
    return [("warned", text) for text in model.warnings]


def _degenerate(labels: IntArray) -> str | None:
    """Explain why labels are not a clustering, if so; noise counts as one label."""
    n_labels = len(np.unique(labels))
    if (labels == UNLABELLED).all():
        return "dropped, all samples are in one cluster, that of noise."
    if n_labels == 1:
        return "dropped, all samples are in one cluster."
    if n_labels == labels.size:
        return "dropped, each sample is a cluster of its own."
    return None
