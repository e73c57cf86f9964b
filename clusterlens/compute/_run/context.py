"""Options of long computations, set once for all calls within a block.

`takes_running` fills the options that a call of a public function leaves out from the
block around it. Inside that function the block is hidden, so that public functions
which it calls report only if it lets them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from clusterlens.compute._run.options import Cancel, Progress, RunOptions

if TYPE_CHECKING:
    from distributed import Client

P = ParamSpec("P")
T = TypeVar("T")
_RUNNING: ContextVar[Mapping[str, Any]] = ContextVar(
    "running", default=MappingProxyType({})
)
_OPTIONS = {field.name for field in fields(RunOptions)}


def running(
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
    client: Client | str | None = None,
    memory_limit: float | None = None,
) -> AbstractContextManager[None]:
    """Set the options of long computations for all calls within a block.

    Parameters
    ----------
    n_jobs : int, optional
        Threads or worker processes; -1 for all cores, -2 for all but one.
    progress : callable, optional
        Called as progress(done, total), in units of the called function.
    cancel : callable, optional
        Called without arguments between short steps; True stops the computation.
    executor : concurrent.futures.Executor, optional
        Threads to use instead of new ones.
    client : dask.distributed.Client or str, optional
        Cluster to compute on, or the address of its scheduler.
    memory_limit : float, optional
        Limit of the bytes of all worker processes together.

    Returns
    -------
    block : context manager
        Applies inside its `with` block.

    Raises
    ------
    ValueError
        If an option is none of these.

    Notes
    -----
    Each option replaces the argument of that name, if a function has one and the call
    leaves it out or gives None; a given argument takes precedence. A block inside
    another one adds to it. A function that calls others reports progress for all of
    them. A function without such an argument, such as `fit` of an estimator, leaves the
    report to its steps, one after the other.

    A block applies to its own thread (and asyncio task) only: `submit(
    contextvars.copy_context().run, function)` transfers it to another one.

    Examples
    --------
    >>> import clusterlens as cl
    >>> steps = []
    >>> with cl.running(n_jobs=2, progress=lambda done, total: steps.append(done)):
    ...     agreement = cl.count_agreements(cl.Ensemble([[0, 0, 1], [0, 1, 1]]))
    >>> steps[-1]
    3
    """
    given = vars(RunOptions(n_jobs, progress, cancel, executor, client, memory_limit))
    return _block({name: value for name, value in given.items() if value is not None})


def takes_running(function: Callable[P, T]) -> Callable[P, T]:
    """Let a public function take omitted options from `running`."""
    signature = inspect.signature(function)
    own = _OPTIONS & set(signature.parameters)

    @functools.wraps(function)
    def door(*args: Any, **kwargs: Any) -> Any:
        options = {key: _RUNNING.get()[key] for key in own & _RUNNING.get().keys()}
        if options:
            call = signature.bind(*args, **kwargs)
            for key, value in options.items():
                if call.arguments.get(key) is None:
                    call.arguments[key] = value
            args, kwargs = call.args, call.kwargs
        with _only({}):
            return function(*args, **kwargs)

    return cast(Callable[P, T], door)


@contextmanager
def _block(options: Mapping[str, Any]) -> Iterator[None]:
    """Add options to the options of the enclosing block."""
    with _only({**_RUNNING.get(), **options}):
        yield


@contextmanager
def _only(options: Mapping[str, Any]) -> Iterator[None]:
    """Use these options and no others."""
    token = _RUNNING.set(options)
    try:
        yield
    finally:
        _RUNNING.reset(token)
