"""Partial runs: frozen values that show a run while its models are fitted.

The fitting thread reports events to a `PartialRunRecorder`, which publishes a
`PartialRun`, an immutable value with the state of every model and the partitions so
far. Partial runs are not logged; the finished run is the result of its action.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterlens.compute.ensemble.ensemble import Ensemble, NoiseMeans
from clusterlens.compute.pool.pool import PoolEstimate, PoolModel
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.state.analysis import Run

WAITING, RUNNING, DONE, WARNED, DROPPED, FAILED = STATES = "wrdyxf"
# Id of an unfinished run.
UNFINISHED = "unfinished"


@dataclass(frozen=True, eq=False)
class PartialRun:
    """State of an unfinished run.

    Parameters
    ----------
    number : int
        Number that the run will have.
    dataset, pool, random_state
        As in `Run`.
    noise : {"cluster", "singletons", "silent"}
        As in `Ensemble`.
    estimate : PoolEstimate
        Names and families of its models, with their estimated cost.
    states : str
        One of STATES for each model.
    model_texts : tuple of str
        For each model its time and notes; empty until it has ended.
    models : tuple of PoolModel
        Kept models, in the order of their ends.
    began, ends : float
        Start and expected end, on the clock `time.monotonic`.
    """

    number: int
    dataset: Dataset
    pool: tuple[Mapping[str, Any], ...]
    random_state: int
    noise: NoiseMeans
    estimate: PoolEstimate
    states: str
    model_texts: tuple[str, ...]
    models: tuple[PoolModel, ...]
    began: float
    ends: float

    @property
    def n_asked(self) -> int:
        """Number of models of the pool."""
        return len(self.states)

    @property
    def n_ended(self) -> int:
        """Number of models that have ended, successfully or not."""
        counts = Counter(self.states)
        return self.n_asked - counts[WAITING] - counts[RUNNING]

    @property
    def run(self) -> Run:
        """The run of the models so far."""
        models = self.models
        soft = {t: m.membership for t, m in enumerate(models)}
        ensemble = Ensemble(
            np.array([model.labels for model in models]),
            names=[model.name for model in models],
            families=[model.family for model in models],
            specs=[model.spec for model in models],
            seconds=[model.seconds for model in models],
            memberships={t: m for t, m in soft.items() if m is not None},
            noise=self.noise,
        )
        return Run(
            UNFINISHED,
            f"run {self.number} so far",
            self.dataset,
            self.pool,
            self.random_state,
            ensemble,
            n_asked=self.n_asked,
        )


class PartialRunRecorder:
    """Collector of the events of a run; publishes its state after each one.

    Parameters
    ----------
    number, dataset, pool, random_state, noise
        As in `PartialRun`.
    tell : callable
        Called with a PartialRun after each change, on the fitting thread.
    """

    def __init__(
        self,
        number: int,
        dataset: Dataset,
        pool: tuple[Mapping[str, Any], ...],
        random_state: int,
        tell: Callable[[PartialRun], object],
        noise: NoiseMeans = "cluster",
    ) -> None:
        self._of = number, dataset, pool, random_state, noise
        self._tell = tell
        self._began = time.monotonic()
        self._states: list[str] = []
        self._models: list[PoolModel] = []

    @property
    def n_asked(self) -> int:
        """Number of models of the pool."""
        return len(self._states)

    @property
    def n_usable(self) -> int:
        """Number of models that have ended successfully."""
        return len(self._models)

    @property
    def is_unfinished(self) -> bool:
        """Return whether models wait or run."""
        return not {WAITING, RUNNING}.isdisjoint(self._states)

    @property
    def has_failed(self) -> bool:
        """Return whether a model failed, which may not happen again."""
        return FAILED in self._states

    def planned(self, estimate: PoolEstimate) -> None:
        """Record the models of the run and their estimated cost."""
        self._estimate = estimate
        self._place = {name: at for at, name in enumerate(estimate.names)}
        self._states = [WAITING] * len(self._place)
        self._model_texts = [""] * len(self._place)
        self._seconds: dict[int, float] = {}
        self._changed()

    def started(self, name: str) -> None:
        """Record that the fit of a model starts."""
        self._states[self._place[name]] = RUNNING
        self._changed()

    def ended(self, model: PoolModel) -> None:
        """Record a finished model."""
        at = model.position
        self._states[at] = _state(model)
        self._model_texts[at] = _model_words(model)
        self._seconds[at] = model.seconds
        if model.reason is None:
            self._models.append(model)
        self._changed()

    def _changed(self) -> None:
        left = self._estimate.seconds_left(self._seconds)
        self._tell(
            PartialRun(
                *self._of,
                self._estimate,
                "".join(self._states),
                tuple(self._model_texts),
                tuple(self._models),
                self._began,
                time.monotonic() + left,
            )
        )


def _state(model: PoolModel) -> str:
    """Return the letter of a model's outcome."""
    if model.reason is not None:
        return DROPPED if model.labels is not None else FAILED
    return WARNED if model.warnings else DONE


def _model_words(model: PoolModel) -> str:
    """Return the time of a model with its notes."""
    seconds = "" if np.isnan(model.seconds) else f"{model.seconds:.2g} s"
    notes = [model.reason] if model.reason else [f"warned: {w}" for w in model.warnings]
    return "; ".join(filter(None, (seconds, *notes)))
