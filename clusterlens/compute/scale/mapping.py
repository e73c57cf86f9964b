"""A function of each job of a source, on threads or on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.cluster import run_on_workers
from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._run.processes import WorkerDied
from clusterlens.compute.scale.source import UnreadableFile


def map_jobs(
    function: Callable[[Any, Any], Any],
    shared: Any,
    jobs: Sequence[Any],
    work: Sequence[int],
    run: RunOptions,
) -> Iterator[Any]:
    """Yield function(shared, job) of each job in order; progress counts the work.

    UnreadableFile is yielded, not raised, so that a caller may go on without the file.
    """
    if run.client is None:
        blocks = [(job,) for job in jobs]
        yield from run_blocks(partial(_result, function, shared), blocks, work, run)
        return
    ended: dict[int, Any] = {}
    following = done = 0
    with closing(run_on_workers(partial(_result, function), shared, jobs, run)) as all_:
        for at, result in all_:
            if isinstance(result, WorkerDied):
                raise result
            ended[at] = result
            done += work[at]
            run.report(done, sum(work))
            while following in ended:
                yield ended.pop(following)
                following += 1


def _result(function: Callable[[Any, Any], Any], shared: Any, job: Any) -> Any:
    try:
        return function(shared, job)
    except UnreadableFile as error:
        return error
