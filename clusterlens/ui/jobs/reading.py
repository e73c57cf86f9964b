"""Reading of uploaded files in separate processes with limits of their own.

A native parser may crash or exhaust the memory, and a Python parser may hold the
interpreter for long. In a process of its own this costs one reading, and the analyst
gets a message.
"""

from __future__ import annotations

import io
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from clusterlens.compute._run.context import running
from clusterlens.compute._run.process_settings import limit_memory, limit_processor
from clusterlens.compute._run.processes import (
    WorkerDied,
    WorkerJob,
    Workers,
    run_jobs,
    tell_caller,
)
from clusterlens.compute._validation import DataError

# Not used here: reader processes import them with this module before a file comes.
from clusterlens.compute.ensemble.importing import load_partitions  # noqa: F401
from clusterlens.compute.formatting import whole
from clusterlens.compute.fuzzy.importing import load_memberships  # noqa: F401

if TYPE_CHECKING:
    from clusterlens.ui.jobs.lanes import Job

# Limits of one reading: a constant and a multiple of the file's bytes. Time is that of
# the processor.
_BYTES, _BYTES_PER_BYTE = 500_000_000, 30
_MB = 1_000_000
_SECONDS, _SECONDS_PER_BYTE = 10.0, 1e-5
# On a busy machine a reading may take so many times longer.
_WAITING = 10


@dataclass(frozen=True)
class _Raised:
    """An error raised by the function."""

    error: Exception


def start_readers(readers: Workers) -> None:
    """Start the reader processes with their imports done."""
    readers.start(_answer)


def read_in_process(
    job: Job,
    name: str,
    content: bytes,
    read: Callable[..., Any],
    /,
    *given: Any,
    **options: Any,
) -> Any:
    """Return read(file, *given, **options), called in a separate process.

    Progress of the function is reported to the job in megabytes.

    Parameters
    ----------
    job : Job
        Cancelling the job ends the process.
    name, content : str, bytes
        Name and content of the file.
    read : callable
        Function; its arguments and its result are pickled.

    Raises
    ------
    DataError
        If the process crashed, or exceeded its memory or time.
    """
    size = len(content)
    n_bytes = _BYTES + _BYTES_PER_BYTE * size
    seconds = _SECONDS + _SECONDS_PER_BYTE * size
    work = read, name, content, given, options, n_bytes, seconds
    reading = WorkerJob(
        pickle.dumps(work, pickle.HIGHEST_PROTOCOL),
        n_bytes,
        seconds_limit=_WAITING * seconds,
        on_message=lambda share: job.report(int(size * share) // _MB, size // _MB),
    )
    ((_, answer),) = run_jobs(
        _answer,
        [reading],
        n_workers=1,
        memory_limit=float("inf"),
        cancel=job.cancelled,
        workers=job.server.readers.with_on_wait(job.wait),
    )
    if isinstance(answer, WorkerDied):
        start_readers(job.server.readers)  # while nobody waits for one
        raise DataError(
            f"{name!r} cannot be read ({answer}); it is damaged, or takes more than "
            f"the {whole(n_bytes / _MB)} MB or {whole(seconds)} seconds of processor "
            "time that a file of its size may: save it again, or keep fewer rows or "
            "columns."
        )
    if isinstance(answer, _Raised):
        raise answer.error
    return answer


def _answer(payload: bytes) -> Any:
    """Call the function in the worker; return its errors as results."""
    try:
        read, name, content, given, options, *limits = pickle.loads(payload)
        # The system's allocator returns memory, so that it does not count for the next
        # file.
        pa.set_memory_pool(pa.system_memory_pool())
        _limit(*limits)
        file = io.BytesIO(content)
        file.name = name
        with running(progress=_tell):
            return read(file, *given, **options)
    except MemoryError:
        return WorkerDied("there was not enough memory")
    except Exception as error:
        return _Raised(error)
    finally:  # the limits must not apply to the next file
        _limit(math.inf, math.inf)


def _limit(n_bytes: float, seconds: float) -> None:
    """Limit the memory and the processor time of this process."""
    limit_memory(n_bytes)
    limit_processor(seconds)


def _tell(done: int, total: int) -> None:
    tell_caller(done / total)
