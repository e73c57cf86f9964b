"""Compiled code of the server, loaded by a thread while the first page is in use.

Every session may call `start`; the thread starts once. It draws a picture first,
because Datashader compiles its code anew in each process. If some kernels are not on
disk, a separate process compiles them, the kernels of a first consensus first, so that
pages stay responsive, and the thread loads the compiled code. Callers do not wait for
the thread: a caller that needs a kernel earlier loads or compiles it, or waits for that
one kernel if another process is compiling it.
"""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache

from clusterlens.compute._run.kernels import all_on_disk
from clusterlens.compute._run.processes import Workers
from clusterlens.ui.jobs.reading import start_readers

_LOG = logging.getLogger(__name__)
# Prints a line after each step.
_COMPILE = """
import clusterlens
clusterlens.compile_kernels(progress=lambda *counts: print(*counts, flush=True))
"""
# Priority below other processes, once the first kernels are ready.
_NICENESS = 19
_MESSAGE = "compiling for this machine, once"


class Warming:
    """Thread that prepares kernels and worker processes.

    Parameters
    ----------
    workers : Workers
        Worker processes; started first and calibrated last.
    readers : Workers
        Reader processes; started before the workers.

    Attributes
    ----------
    message : str
        Reason why a first consensus may have to wait; empty if there is none.
    ended : threading.Event
        Set when everything is ready.
    """

    def __init__(self, workers: Workers, readers: Workers) -> None:
        self.message, self.ended = "", threading.Event()
        self._workers, self._readers, self._lock = workers, readers, threading.Lock()
        self._thread = threading.Thread(target=self._work, name="warm", daemon=True)

    def start(self) -> None:
        """Start to load or compile in the background, once."""
        with self._lock:
            if self._thread.ident is None:
                self._thread.start()

    def _work(self) -> None:
        """Take the steps in order; a step that fails is left to its first user."""
        _try("Reader processes", start_readers, self._readers)
        _try("Worker processes", _start, self._workers)
        compiled = None if all_on_disk() else _compile_beside()
        if compiled:
            self.message = _MESSAGE
        _try("The colours", _read_colours)
        _try("The pictures", _draw)
        steps, n_first = _steps()
        for done, (name, step) in enumerate(steps.items()):
            if compiled:
                words = f"{_MESSAGE}: {done} of {n_first}"
                self.message = words if done < n_first else ""
                _try("The compiler", next, compiled, None)
            _try(f"The kernels of {name}", step)
        _try("The pace of this machine", _calibrate, self._workers)
        self.ended.set()


def _try(what: str, make_ready: Callable[..., object], *given: object) -> None:
    try:
        make_ready(*given)
    except Exception as error:
        if "shutdown" not in str(error):  # the server is shutting down
            _LOG.exception("%s could not be made ready", what)


def _start(workers: Workers) -> None:
    """Start worker processes for the first run."""
    from clusterlens.compute.pool.pool import start_workers

    start_workers(workers)


def _calibrate(workers: Workers) -> None:
    """Measure the speed of a worker, unless a pool has shown it already."""
    from clusterlens.compute.pool.calibration import calibrate

    calibrate(workers=workers)


def _compile_beside() -> Iterator[None]:
    """Compile all kernels to disk in another process; yield when each step is done.

    The process starts now, and ends with this one.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", _COMPILE],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    atexit.register(process.kill)
    return _steps_of(process)


def _steps_of(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Yield at each line; after the first steps lower the priority of the process."""
    with process:
        for done, _ in enumerate(process.stdout or (), 1):
            if done == _steps()[1]:
                with suppress(OSError, AttributeError):
                    os.setpriority(os.PRIO_PROCESS, process.pid, _NICENESS)
            yield
    atexit.unregister(process.kill)


@cache
def _steps() -> tuple[Mapping[str, Callable[[], None]], int]:
    """Return the steps and the number of first ones.

    They are imported here because the first page does not need them.
    """
    from clusterlens.compute.warm import N_FIRST, STEPS

    return STEPS, N_FIRST


def _draw() -> None:
    """Draw a small picture of each kind, so that Datashader compiles its code."""
    import numpy as np

    from clusterlens.compute.consensus.tiles import Tile
    from clusterlens.ui.plots.matrix import draw_matrix
    from clusterlens.ui.plots.samples import draw_map
    from clusterlens.ui.state.view_parameters import Viewport

    edges = np.arange(3)
    for kind in ("consensus", "binarised"):
        tile = Tile(np.eye(2, dtype=np.float32), edges, edges, kind, None, exact=True)
        for shading in ("linear", "eq_hist"):
            draw_matrix(tile, shading)
    xy, colours = np.eye(2), np.zeros((2, 3), np.uint8)
    for triangles in (None, np.array([True, False])):
        draw_map(xy, colours, Viewport(width=200, height=200), triangles=triangles)


def _read_colours() -> None:
    """Compute the colours of clusters, which many cards need at once."""
    from clusterlens.ui.widgets.palette import palette

    palette()
