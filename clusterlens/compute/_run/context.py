"""How computations run, said once for all calls within a block.

Public functions are doors: `takes_running` fills the options that a call leaves out
from the block around it. Behind a door the block is out of sight, so that a step which
is itself public stays as silent as its caller lets it be.
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
    """Say for all calls within a block how long computations run.

    Parameters
    ----------
    n_jobs : int, optional
        Threads or worker processes; -1 for all cores, -2 for all but one.
    progress : callable, optional
        Called as progress(done, total), in units of the function that is called.
    cancel : callable, optional
        Called without arguments between short steps; True stops the computation.
    executor : concurrent.futures.Executor, optional
        Threads to use instead of new ones.
    client : dask.distributed.Client or str, optional
        Cluster to compute on, or the address of its scheduler.
    memory_limit : float, optional
        Bytes that worker processes may need together.

    Returns
    -------
    block : context manager
        In force while its `with` block lasts.

    Raises
    ------
    ValueError
        If an option is none of these.

    Notes
    -----
    Each option stands for the argument of that name, where a function has one and the
    call leaves it out or None; an argument that is given wins. A block within another
    one adds to it. What a function computes with the help of others is reported by that
    function alone. One without such an argument, as `fit` of an estimator, leaves it to
    its steps, which report one after the other.

    A block is in force in its own thread (and asyncio task) alone: `submit(
    contextvars.copy_context().run, function)` takes it along to another one.

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
    """Let a public function take what its call leaves out from `running`."""
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
    """Add options to those in force."""
    with _only({**_RUNNING.get(), **options}):
        yield


@contextmanager
def _only(options: Mapping[str, Any]) -> Iterator[None]:
    """Have these options in force and no others."""
    token = _RUNNING.set(options)
    try:
        yield
    finally:
        _RUNNING.reset(token)
