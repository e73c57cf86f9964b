"""Kernels of the server: made ready by one thread, while the first page is in use.

`start` may be called by every session; the thread starts once in a process. Where no
kernel is on disk yet, a process beside the server compiles them, so that pages stay
quick meanwhile. A kernel that is used before its turn is loaded or compiled by whoever
uses it; a long job rather waits for all, and says so (`hold`).
"""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from clusterlens.compute._run.kernels import kernels_on_disk
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.ui.jobs import WORKERS

_LOG = logging.getLogger(__name__)
# What is made ready, in this order.
PARTS = ("pictures", "ensembles", "tables", "memberships")
# Seconds between two looks at the cancel of a job that waits.
_PAUSE = 0.1
_COMPILE = "import clusterlens; clusterlens.compile_kernels()"
# Below other processes, as the pages of this server must stay quick.
_NICENESS = 10

_LOCK = threading.Lock()


def _done() -> dict[str, threading.Event]:
    """One event for each part; the first call starts the thread."""
    with _LOCK:
        return _begin()


@cache
def _begin() -> dict[str, threading.Event]:
    done = {part: threading.Event() for part in PARTS}
    threading.Thread(target=_work, args=(done,), name="warm", daemon=True).start()
    return done


def start() -> None:
    """Begin to load or compile, in the background, if nobody has begun yet."""
    _done()


def ready(part: str | None = None) -> bool:
    """Whether a part, or all, is there."""
    return all(event.is_set() for event in _events(part))


def hold(job: Any) -> None:
    """Let a job wait for the kernels where they are being made ready, and say so."""
    if _begin.cache_info().currsize and not ready():
        title = job.title
        job.enter("Getting ready (the first start compiles for this machine)")
        wait(progress=job.report, cancel=job.cancelled)
        job.enter(title)


def wait(
    part: str | None = None,
    *,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> None:
    """Return when a part, or all, is there; for threads, never on the event loop.

    Parameters
    ----------
    part : str, optional
        One of PARTS; parts before it come first.
    progress : callable, optional
        Called with the number of parts that are there, and of those waited for.
    cancel : callable, optional
        Asked ten times a second whether to stop waiting.

    Raises
    ------
    Cancelled
        If the cancel callback asked to stop.
    """
    run = RunOptions(progress=progress, cancel=cancel)
    events = _events(part)
    for done, event in enumerate(events):
        run.report(done, len(events))
        while not event.wait(_PAUSE):
            run.raise_if_cancelled()
    run.report(len(events), len(events))


def _events(part: str | None) -> list[threading.Event]:
    """Events of a part and of those before it, or of all."""
    stop = len(PARTS) if part is None else PARTS.index(part) + 1
    return list(_done().values())[:stop]


def _work(done: dict[str, threading.Event]) -> None:
    """Make one part after the other ready; what fails is left to its first user."""
    if not kernels_on_disk():
        _compile_beside()
    for part, event in done.items():
        try:
            _steps()[part]()
        except Exception as error:
            if "after shutdown" in str(error) or "interpreter shutdown" in str(error):
                return  # the server is stopping
            _LOG.exception("The kernels of %s could not be made ready", part)
        event.set()
    _start_workers()


def _start_workers() -> None:
    """Let worker processes wait for the first run; one of them shows how fast it is."""
    from clusterlens.compute.pool.calibration import calibrate
    from clusterlens.compute.pool.pool import start_workers

    try:
        start_workers(WORKERS)
        calibrate(workers=WORKERS)
    except OSError:
        _LOG.exception("Worker processes could not be started")


def _compile_beside() -> None:
    """Compile all kernels to disk in another process; it ends with this one."""
    command = [sys.executable, "-c", _COMPILE]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
    atexit.register(process.kill)
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, process.pid, _NICENESS)
    process.wait()
    atexit.unregister(process.kill)


@cache
def _steps() -> dict[str, Callable[[], None]]:
    """What makes each part ready; imported here, as the first page does without."""
    from clusterlens.compute.warm import STEPS

    return {"pictures": _draw, **STEPS}


def _draw() -> None:
    """Draw a small matrix, which compiles the aggregations; read the colours."""
    from clusterlens.compute.consensus.tiles import consensus_tile
    from clusterlens.compute.ensemble.ensemble import Ensemble
    from clusterlens.ui.figures.matrix import heatmap
    from clusterlens.ui.look import Viewport
    from clusterlens.ui.palette import palette

    palette()
    rng = np.random.default_rng(0)
    ensemble = Ensemble(rng.integers(0, 3, (4, 600)))
    port = Viewport(width=30, height=30)
    heatmap(consensus_tile(ensemble, shape=(20, 20)), port, 600, ("#000000", "#ffffff"))
