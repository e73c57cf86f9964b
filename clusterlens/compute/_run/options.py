"""Options of a long computation, in one frozen object checked on construction.

Public functions take plain keywords (n_jobs, progress, cancel, ...), first make one
`RunOptions` of them, and pass it on. Only this module checks these keywords.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypedDict

import joblib
import numpy as np

from clusterlens.compute._validation import plain_repr

if TYPE_CHECKING:
    from distributed import Client

Progress = Callable[[int, int], object]
Cancel = Callable[[], bool]


class Cancelled(RuntimeError):
    """The caller's cancel callback returned true; the computation has no result."""


class ThreadOptions(TypedDict):
    """Keywords of computations on threads, to pass to a public function."""

    n_jobs: int | None
    progress: Progress | None
    cancel: Cancel | None
    executor: Executor | None


class StepOptions(TypedDict):
    """Keywords of computations in steps, to pass to a public function."""

    progress: Progress | None
    cancel: Cancel | None


@dataclass(frozen=True)
class RunOptions:
    """Options of a long computation.

    Parameters
    ----------
    n_jobs : int, optional
        Threads or worker processes; None means all cores, -2 all but one, as joblib
        counts them.
    progress : callable, optional
        Called as progress(done, total), in units that the computation names.
    cancel : callable, optional
        Called without arguments between short steps; True stops the computation.
    executor : concurrent.futures.Executor, optional
        Threads to use instead of new ones.
    client : dask.distributed.Client or str, optional
        Cluster to compute on, or the address of its scheduler.
    memory_limit : float, optional
        Limit of the bytes of all worker processes together; None: the free memory that
        the computation finds.

    Raises
    ------
    ValueError
        If an option is none of these.
    """

    n_jobs: int | None = None
    progress: Progress | None = None
    cancel: Cancel | None = None
    executor: Executor | None = None
    client: Client | str | None = None
    memory_limit: float | None = None

    def __post_init__(self) -> None:
        """Check every option."""
        object.__setattr__(self, "n_jobs", _checked_jobs(self.n_jobs))
        check_callback(self.progress, "progress(done, total)")
        check_callback(self.cancel, "cancel()")
        if not isinstance(self.executor, Executor | None):
            raise ValueError(
                f"executor is {self.executor!r}; give a concurrent.futures.Executor, "
                "or None."
            )
        if not (isinstance(self.client, str | None) or hasattr(self.client, "submit")):
            raise ValueError(
                f"client is {self.client!r}; give a synchronous "
                "dask.distributed.Client, the address of a scheduler, e.g. "
                "'tcp://host:8786', or None."
            )
        object.__setattr__(self, "memory_limit", _checked_bytes(self.memory_limit))

    @property
    def n_workers(self) -> int:
        """Number of threads to use: all cores for None, else as joblib counts them."""
        return int(joblib.effective_n_jobs(-1 if self.n_jobs is None else self.n_jobs))

    @property
    def quiet(self) -> RunOptions:
        """The same options without progress, for a step of a larger computation."""
        return replace(self, progress=None)

    @property
    def threads(self) -> ThreadOptions:
        """The keywords of a public function that computes on threads."""
        return {
            "n_jobs": self.n_jobs,
            "progress": self.progress,
            "cancel": self.cancel,
            "executor": self.executor,
        }

    @property
    def steps(self) -> StepOptions:
        """The keywords of a public function that goes in steps."""
        return {"progress": self.progress, "cancel": self.cancel}

    def report(self, done: int, total: int) -> None:
        """Report progress to the caller, if requested."""
        report(self.progress, done, total)

    def raise_if_cancelled(self) -> None:
        """Raise Cancelled if the caller's callback returns true."""
        raise_if_cancelled(self.cancel)


def stretches(
    run: RunOptions, total: int, shares: Sequence[float] = ()
) -> list[RunOptions]:
    """Return options for consecutive steps with progress that adds up to the whole.

    Parameters
    ----------
    run : RunOptions
        Receives the progress of the whole.
    total : int
        Units of the whole.
    shares : sequence of float, optional
        Ascending shares of the whole, in (0, 1), at which the next step begins.

    Returns
    -------
    steps : list of RunOptions
        One more than there are shares.
    """

    def part(start: float, stop: float) -> Progress:
        def tell(done: int, of: int) -> None:
            share = start + (stop - start) * done / max(of, 1)
            run.report(round(total * share), total)

        return tell

    return [replace(run, progress=part(*ends)) for ends in pairwise((0, *shares, 1))]


def check_callback(given: Any, call: str) -> None:
    """Refuse what cannot be called as in `call`, which starts with its name."""
    if given is not None and not callable(given):
        raise ValueError(
            f"{call.partition('(')[0]} is {given!r}; give a function that is called as "
            f"{call}, or None."
        )


def report(progress: Progress | None, done: int, total: int) -> None:
    """Report progress to the caller, if requested."""
    if progress is not None:
        progress(done, total)


def raise_if_cancelled(cancel: Cancel | None) -> None:
    """Raise Cancelled if the caller's callback returns true."""
    if cancel is not None and cancel():
        raise Cancelled("The computation was cancelled.")


def _checked_jobs(n_jobs: Any) -> int | None:
    """Return n_jobs as None or an int other than 0."""
    if n_jobs is None:
        return None
    try:
        if isinstance(n_jobs, bool | np.bool_):
            raise TypeError
        number = operator.index(n_jobs)
    except TypeError:
        number = 0
    if number == 0:
        raise ValueError(
            f"n_jobs is {plain_repr(n_jobs)}; give a whole number of threads or "
            "processes, -1 or None for all cores, -2 for all but one."
        )
    return number


def _checked_bytes(limit: Any) -> float | None:
    """Return memory_limit as None or a positive float."""
    if limit is None:
        return None
    number = isinstance(limit, int | float | np.integer | np.floating)
    if isinstance(limit, bool) or not number or not limit > 0:
        raise ValueError(
            f"memory_limit is {plain_repr(limit)}; give a positive number of bytes, "
            "or None for what is free."
        )
    return float(limit)


DEFAULT_RUN = RunOptions()
