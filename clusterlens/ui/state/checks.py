"""Checks: expensive measurements, stored with the analysis.

A check is stored under a hash of all its inputs. Every page that needs the same
measurement shows it. It disappears when its run is undone and returns on redo.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import param

from clusterlens.compute.ensemble.ensemble import NOISE
from clusterlens.compute.formatting import count, whole
from clusterlens.ui.state.history import now

# Kinds of checks, as they are stored.
COPIES, NUMBERS, FOUND_AGAIN = "copies", "numbers of clusters", "found again"
APART, DENSITY = "apart", "density"
_N_DRAWS: dict[str, Callable[[Any], int]] = {
    COPIES: lambda found: found.n_draws,
    NUMBERS: lambda found: len(next(iter(found.references.values())).area),
    FOUND_AGAIN: lambda found: found.n_resamples,
    APART: lambda found: found.n_copies,
    DENSITY: lambda found: len(found.shuffled),
}
KINDS = tuple(_N_DRAWS)
# Features are rounded to so many bits below the mean of their column, because the last
# bits may differ between machines.
_BITS = 24


@dataclass(frozen=True, eq=False)
class Check:
    """One measurement, or its progress when it was stopped.

    Parameters
    ----------
    key : str
        Hash of its inputs, see `check_key`.
    kind : str
        One of KINDS.
    value : object or None
        The measurement; None if it was stopped.
    done, total : int
        Progress of a check that was stopped.
    at : str
        When it ended, UTC.
    """

    key: str
    kind: str
    value: Any = None
    done: int = 0
    total: int = 0
    at: str = field(default_factory=now)

    @property
    def is_whole(self) -> bool:
        """Return whether it was measured to its end."""
        return self.value is not None

    @property
    def settings(self) -> str:
        """Draws, seed and day, in words."""
        n_draws, day = _N_DRAWS[self.kind](self.value), datetime.fromisoformat(self.at)
        seed = getattr(self.value, "random_state", 0)
        return f"{count(n_draws, 'draw')}, seed {seed}, {day.day} {day:%b %Y}"

    @property
    def stopped(self) -> str:
        """Progress of a check that was stopped, in words; else empty."""
        if self.is_whole:
            return ""
        return f"stopped at {whole(self.done)} of {whole(self.total)}"


class Checks(param.Parameterized):
    """The checks of an analysis by key."""

    held = param.Dict({}, constant=True, doc="Never changed, only replaced.")

    def put(self, *checks: Check) -> None:
        """Keep checks, unless more is known under their keys."""
        if new := newer({check.key: check for check in checks}, self.held):
            self.replace({**self.held, **{check.key: check for check in new}})

    def drop(self, key: str) -> None:
        """Forget a check, if it is there."""
        self.replace({k: check for k, check in self.held.items() if k != key})

    def replace(self, held: Mapping[str, Check]) -> None:
        """Hold these checks and no others."""
        with param.edit_constant(self):
            self.held = dict(held)


def newer(checks: Mapping[str, Check], than: Mapping[str, Check]) -> list[Check]:
    """Return the checks that others lack or have with another date or progress."""
    return [
        check
        for key, check in checks.items()
        for other in [than.get(key)]
        if other is None
        or (
            check.is_whole >= other.is_whole
            and (check.is_whole, check.at, check.done)
            != (other.is_whole, other.at, other.done)
        )
    ]


def check_key(kind: str, *inputs: Any) -> str:
    """Return a SHA-256 of plain values and of arrays of whole numbers."""
    digest = hashlib.sha256(kind.encode())
    for one in inputs:
        if isinstance(one, np.ndarray):
            digest.update(np.ascontiguousarray(one, np.int64).data)
        else:
            digest.update(json.dumps(one, sort_keys=True, default=_plain).encode())
        digest.update(b"\0")
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else repr(value)


def features_digest(X: npt.NDArray[np.float64]) -> str:
    """Return a SHA-256 of features, (n_samples, n_features), rounded."""
    means = np.abs(X).mean(axis=0)
    units = 2.0 ** (np.floor(np.log2(np.where(means > 0, means, 1.0))) - _BITS)
    rounded = np.rint(X / units) + 0.0  # no negative zeros
    digest = hashlib.sha256(repr(X.shape).encode())
    digest.update(units.tobytes())
    digest.update(np.ascontiguousarray(rounded).data)
    return digest.hexdigest()


def numbered_by_rows(clusters: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Number clusters, (n_samples,), in the order of their first rows; noise is -1.

    The numbers depend on the partition alone, not on the names of its clusters.
    """
    codes = np.full(len(clusters), NOISE, np.int64)
    inside = clusters != NOISE
    codes[inside] = pd.factorize(clusters[inside])[0]
    return codes
