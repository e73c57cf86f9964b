"""Results: what took long in this process, by content, so that a class waits once.

Sessions that ask for the same pool on the same features get the same ensemble, which
never changes, and so with its comparison with structureless data; one that asks while
another computes waits for it.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, TypeVar

import numpy as np

from clusterlens.compute._run.options import Cancel, raise_if_cancelled

# Bytes of all results that are kept.
_MOST_BYTES = 500_000_000
_VERSIONS = {
    name: version(name) for name in ("clusterlens", "numpy", "scipy", "scikit-learn")
}
_PAUSE = 0.1


Found = TypeVar("Found")


class Results:
    """Frozen results by their content, the latest used, up to a number of bytes.

    Parameters
    ----------
    n_bytes : int
        Most bytes that are kept; a larger result is handed on but not kept.
    """

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes
        self._kept: OrderedDict[str, Any] = OrderedDict()
        self._under_way: dict[str, threading.Event] = {}
        self._lock = threading.Lock()

    def get(
        self, key: str, compute: Callable[[], tuple[Found, bool]], cancel: Cancel
    ) -> Found:
        """Return the result of a key: kept, awaited from another thread, or computed.

        Parameters
        ----------
        key : str
            What the result depends on, see `content_key`.
        compute : callable
            Returns the result, and whether others may have it, too.
        cancel : callable
            Asked while waiting whether to stop.
        """
        while (ended := self._ended_by_another(key)) is not None:
            while not ended.wait(_PAUSE):
                raise_if_cancelled(cancel)
        try:
            with self._lock:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    return self._kept[key]
            found, is_whole = compute()
            if is_whole:
                self._keep(key, found)
            return found
        finally:
            with self._lock:
                self._under_way.pop(key).set()

    def _ended_by_another(self, key: str) -> threading.Event | None:
        """Return what another thread sets when it is done with the key, or take it."""
        with self._lock:
            if key in self._under_way:
                return self._under_way[key]
            self._under_way[key] = threading.Event()
            return None

    def _keep(self, key: str, found: Any) -> None:
        """Keep a result, and as many of the latest others as there is room for."""
        with self._lock:
            self._kept[key] = found
            while sum(map(_n_bytes, self._kept.values())) > self.n_bytes:
                self._kept.popitem(last=False)


def content_key(
    X: np.ndarray, pool: Sequence[Mapping[str, Any]], seed: int, what: str = "pool"
) -> str:
    """Return the same text where the same is found: data, pool, seed, versions."""
    about = [what, X.shape, str(X.dtype), pool, seed, _VERSIONS]
    told = json.dumps(about, sort_keys=True)
    digest = hashlib.sha256(told.encode())
    digest.update(np.ascontiguousarray(X).data)
    return digest.hexdigest()


def _n_bytes(found: Any) -> int:
    """Bytes of a result: nearly all are in its arrays and mappings to arrays."""
    getattr(found, "codes_and_gaps", None)  # of an ensemble: kept from its first use on
    parts = list(vars(found).values())
    for part in [part for part in parts if isinstance(part, Mapping)]:
        parts += part.values()
    return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))


RESULTS = Results(_MOST_BYTES)
