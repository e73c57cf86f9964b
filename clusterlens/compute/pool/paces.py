"""Paces: speed of this machine relative to the cost laws, from earlier fits.

A cost law (see `Clusterer`) gives seconds on one ordinary core. The ratio of the time
of a fit to its law is stored with the size of the data. The pace of a law at another
size is the geometric mean of these ratios, with more weight for similar sizes; with few
measurements it is drawn towards the pace of all laws. So one short calibration corrects
every law, and each run corrects the laws that it used.

The module measures the processor time of the fitting thread, not the clock, so other
work on the machine does not matter. It stores JSON in the directory of the compiled
kernels (see `_run.kernels`). If there are several files, it reads the newest; a file
that is damaged, or belongs to another machine or version, is ignored. If no file can be
written, nothing is stored.
"""

from __future__ import annotations

import json
import math
import os
import platform
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np

from clusterlens.compute._run.kernels import directories, write_atomically
from clusterlens.compute._run.process_locks import ProcessLocks

FILE = "pool-paces.json"
# Increase this if cost laws change, so that measurements against the old ones expire.
LAWS = 5
# Weight of a measurement halves at a size this many times smaller or larger.
_HALF_AT = 3.0
# Weight of the pace of all laws relative to one measurement of a law.
_PRIOR = 0.3
# Number of the newest fits kept per law and size (within a factor of two).
_KEPT = 4
# A shorter time consists mostly of the cost of a first call, which may be longer yet;
# so this much is added to both times.
_LEAST_SECONDS = 0.02
FIRST_CALL_SECONDS = 0.1
# A larger ratio is not the machine: something was compiled, or a fit ended early.
_LARGEST_PACE = 10.0
# If two pools end at once, in one or two processes, the second adds to the file of the
# first. A process that is stopped meanwhile blocks no other.
_LEARNING = threading.Lock()
_PATIENCE_SECONDS = 5.0

Shape = tuple[int, int]


@dataclass(frozen=True)
class Seen:
    """Time of a job relative to its cost law.

    Parameters
    ----------
    law : str
        Name of the law.
    n_samples, n_features : int
        Size of the data.
    pace : float
        Seconds taken over seconds of the law.
    """

    law: str
    n_samples: int
    n_features: int
    pace: float

    @classmethod
    def of(cls, law: str, shape: Shape, took: float, predicted: float) -> Self | None:
        """Compare two times; None if they say nothing."""
        if not (law and predicted > 0 and took >= _LEAST_SECONDS):
            return None
        pace = (took + FIRST_CALL_SECONDS) / (predicted + FIRST_CALL_SECONDS)
        pace = min(max(pace, 1 / _LARGEST_PACE), _LARGEST_PACE)
        return cls(law, int(shape[0]), int(shape[1]), pace)

    @property
    def is_plausible(self) -> bool:
        """Whether the size is valid and the pace possible for a machine."""
        size = min(self.n_samples, self.n_features)
        return size >= 1 and 1 / _LARGEST_PACE <= self.pace <= _LARGEST_PACE

    @property
    def place(self) -> tuple[int, int]:
        """Size class of the data: powers of two."""
        return round(math.log2(self.n_samples)), round(math.log2(self.n_features))


@dataclass(frozen=True)
class Paces:
    """Measurements on this machine, the newest last.

    Parameters
    ----------
    seen : tuple of Seen
        Fits and steps of pools.
    """

    seen: tuple[Seen, ...] = ()
    _of_law: dict[str, list[Seen]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Sort by law."""
        for one in self.seen:
            self._of_law.setdefault(one.law, []).append(one)

    def pace(self, law: str, shape: Shape) -> float:
        """Estimate the factor by which a law is exceeded at a size.

        Parameters
        ----------
        law : str
            Name of the law.
        shape : tuple of int
            Numbers of samples and features.

        Returns
        -------
        pace : float
            Factor of the seconds of the law; 1 without measurements.
        """
        near = self._of_law.get(law, [])
        weights = [_nearness(one, shape) for one in near]
        logs = [math.log(one.pace) for one in near]
        total = _PRIOR * math.log(self.common) + math.fsum(
            w * log for w, log in zip(weights, logs, strict=True)
        )
        return math.exp(total / (_PRIOR + math.fsum(weights)))

    @cached_property
    def common(self) -> float:
        """Median pace of the laws; 1 without measurements."""
        middle = [
            np.median([math.log(one.pace) for one in seen])
            for seen in self._of_law.values()
        ]
        return math.exp(np.median(middle)) if middle else 1.0

    def with_more(self, more: Iterable[Seen]) -> Paces:
        """Add measurements, and drop older ones at the same size."""
        kept: list[Seen] = []
        count: dict[Any, int] = {}
        for one in reversed([*self.seen, *more]):
            key = (one.law, one.place)
            count[key] = count.get(key, 0) + 1
            if count[key] <= _KEPT:
                kept.append(one)
        return Paces(tuple(reversed(kept)))


def known_paces() -> Paces:
    """Read the measurements of this machine.

    Returns
    -------
    paces : Paces
        Empty if there is no file, or none of this machine and version.
    """
    found: list[tuple[int, Paces]] = []
    for directory in directories():
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            file = directory / FILE
            written, content = file.stat().st_mtime_ns, json.loads(file.read_text())
            if content["machine"] == _machine():
                found.append((written, Paces(tuple(map(_read, content["seen"])))))
    # If the first directory can be read but not written, the next one has newer data.
    return max(found, key=lambda one: one[0], default=(0, Paces()))[1]


def learn(seen: Iterable[Seen | None]) -> None:
    """Store measurements for the next estimate, if any directory is writable.

    Parameters
    ----------
    seen : iterable of Seen or None
        Measurements of a run; None is left out.
    """
    new = [one for one in seen if one is not None]
    if not new:
        return
    with _LEARNING:
        for directory in directories():
            with suppress(OSError):
                lock = _lock(directory)
                lock.acquire(FILE, _PATIENCE_SECONDS)
                try:
                    content = _content(known_paces().with_more(new))
                    write_atomically(directory / FILE, content.encode())
                    return
                finally:
                    lock.release(FILE)


def _content(paces: Paces) -> str:
    """Return the content of the file."""
    seen = [
        [one.law, one.n_samples, one.n_features, round(one.pace, 4)]
        for one in paces.seen
    ]
    return json.dumps({"machine": _machine(), "seen": seen})


@cache
def _lock(directory: Path) -> ProcessLocks:
    """Return the lock of processes that learn; raise OSError if nothing is writable."""
    return ProcessLocks(directory / f"{FILE}.lock")


def _nearness(one: Seen, shape: Shape) -> float:
    """Weight in (0, 1] of a measurement at another size."""
    apart = [
        math.log(a / b)
        for a, b in zip((one.n_samples, one.n_features), shape, strict=True)
    ]
    return 1.0 / (1.0 + sum((x / math.log(_HALF_AT)) ** 2 for x in apart))


def _read(one: Any) -> Seen:
    """Check an entry of the file; a ValueError makes the file count as none."""
    law, n_samples, n_features, pace = one
    seen = Seen(str(law), int(n_samples), int(n_features), float(pace))
    if not seen.is_plausible:
        raise ValueError(f"{FILE} has the entry {one!r:.60}.")
    return seen


@cache
def _machine() -> Mapping[str, Any]:
    """Conditions of the times: processor, libraries and laws."""
    return {
        "laws": LAWS,
        "processor": _processor(),
        "cores": os.cpu_count(),
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
    }


def _processor() -> str:
    """Name of the processor, if the system provides it."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line for line in lines if line.startswith("model name"))
    return f"{platform.machine()} {platform.processor()}"
