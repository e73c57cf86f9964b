"""Paces: how this machine compares with the cost laws, from what it has fitted so far.

A cost law (see `Clusterer`) gives seconds on one ordinary core. What a fit took, over
what its law says, is kept with the size of its data; the pace of a law at another size
is the geometric mean of what was seen, near sizes counting most, drawn towards the
pace of all laws where little was seen. So one short calibration corrects every law,
and each run corrects those that it used.

Processor time of the fitting thread is compared, not the clock, so that what was seen
while the machine did other work is as good. It is kept as JSON in the directory of the
compiled kernels (see `_run.kernels`). Of several files the newest is read; one that is
damaged, or of another machine or version, counts as none, and where none can be written
nothing is kept.
"""

from __future__ import annotations

import json
import math
import os
import platform
import threading
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np

from clusterlens.compute._run.kernels import directories
from clusterlens.compute._run.turns import Turns

FILE = "pool-paces.json"
# Raised when cost laws change, so that what was seen against the old ones is forgotten.
LAWS = 5
# What is seen at a size this many times smaller or larger counts half.
_HALF_AT = 3.0
# Weight of the pace of all laws beside what was seen of one.
_PRIOR = 0.3
# Fits kept of one law at about one size (within a factor of two), the newest.
_KEPT = 4
# Of a shorter time, most is what comes with a first call, which may be longer yet; so
# this much more is added to both times.
_LEAST_SECONDS = 0.02
FIRST_CALL_SECONDS = 0.1
# More than this is not the machine: something was compiled, or a fit ended early.
_LARGEST_PACE = 10.0
# Of two pools that end at once, the second adds to what the first has written, also
# where they are of two processes. A process that is stopped meanwhile holds up none.
_LEARNING = threading.Lock()
_PATIENCE_SECONDS = 5.0

Shape = tuple[int, int]


@dataclass(frozen=True)
class Seen:
    """What a job took against what its cost law says.

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
    def of(cls, law: str, shape: Shape, took: float, said: float) -> Self | None:
        """Compare two times; None where they say nothing."""
        if not (law and said > 0 and took >= _LEAST_SECONDS):
            return None
        pace = (took + FIRST_CALL_SECONDS) / (said + FIRST_CALL_SECONDS)
        pace = min(max(pace, 1 / _LARGEST_PACE), _LARGEST_PACE)
        return cls(law, int(shape[0]), int(shape[1]), pace)

    @property
    def is_plausible(self) -> bool:
        """Whether the size is one, and the pace one that a machine may have."""
        size = min(self.n_samples, self.n_features)
        return size >= 1 and 1 / _LARGEST_PACE <= self.pace <= _LARGEST_PACE

    @property
    def place(self) -> tuple[int, int]:
        """About which size it is: powers of two."""
        return round(math.log2(self.n_samples)), round(math.log2(self.n_features))


@dataclass(frozen=True)
class Paces:
    """What was seen on this machine, the newest last.

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
        """Estimate by how much a law is exceeded at a size.

        Parameters
        ----------
        law : str
            Name of the law.
        shape : tuple of int
            Numbers of samples and features.

        Returns
        -------
        pace : float
            Factor of the seconds of the law; 1 where nothing was seen.
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
        """Median pace of the laws; 1 where nothing was seen."""
        middle = [
            np.median([math.log(one.pace) for one in seen])
            for seen in self._of_law.values()
        ]
        return math.exp(np.median(middle)) if middle else 1.0

    def with_more(self, more: Iterable[Seen]) -> Paces:
        """Add what was seen, and forget what is older at the same size."""
        kept: list[Seen] = []
        count: dict[Any, int] = {}
        for one in reversed([*self.seen, *more]):
            key = (one.law, one.place)
            count[key] = count.get(key, 0) + 1
            if count[key] <= _KEPT:
                kept.append(one)
        return Paces(tuple(reversed(kept)))


def known_paces() -> Paces:
    """Read what was seen on this machine.

    Returns
    -------
    paces : Paces
        Nothing seen where no file is there, or none of this machine and version.
    """
    found: list[tuple[int, Paces]] = []
    for directory in directories():
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
            file = directory / FILE
            written, said = file.stat().st_mtime_ns, json.loads(file.read_text())
            if said["machine"] == _machine():
                found.append((written, Paces(tuple(map(_read, said["seen"])))))
    # Where the first place can be read and not written, the next one has more.
    return max(found, key=lambda one: one[0], default=(0, Paces()))[1]


def learn(seen: Iterable[Seen | None]) -> None:
    """Keep what was seen for the next estimate, if it can be kept anywhere.

    Parameters
    ----------
    seen : iterable of Seen or None
        What a run saw; None is left out.
    """
    new = [one for one in seen if one is not None]
    if not new:
        return
    with _LEARNING:
        for directory in directories():
            with suppress(OSError):
                turns = _turns(directory)
                turns.take(FILE, _PATIENCE_SECONDS)
                try:
                    _write(directory / FILE, _content(known_paces().with_more(new)))
                    return
                finally:
                    turns.give(FILE)


def _content(paces: Paces) -> str:
    """Write what the file holds."""
    seen = [
        [one.law, one.n_samples, one.n_features, round(one.pace, 4)]
        for one in paces.seen
    ]
    return json.dumps({"machine": _machine(), "seen": seen})


@cache
def _turns(directory: Path) -> Turns:
    """Turns of the processes that learn; OSError where nothing can be written."""
    return Turns(directory / f"{FILE}.turns")


def _nearness(one: Seen, shape: Shape) -> float:
    """Weight in (0, 1] of what was seen at another size."""
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
    """What the times depend on: processor, libraries and laws."""
    return {
        "laws": LAWS,
        "processor": _processor(),
        "cores": os.cpu_count(),
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
    }


def _processor() -> str:
    """Name of the processor, where the system tells."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line for line in lines if line.startswith("model name"))
    return f"{platform.machine()} {platform.processor()}"


def _write(path: Path, content: str) -> None:
    """Write a file at once, so that no other process sees a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}")
    try:
        draft.write_text(content)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
