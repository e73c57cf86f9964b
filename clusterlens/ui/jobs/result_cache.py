"""Cache of results by node and key, least recently used first, bounded in bytes.

The bytes are those of arrays and tables. An array that several results share counts
once. The latest result of a node always stays, because it may be on screen.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd

T = TypeVar("T")
# Types without arrays, or without arrays of their own.
_LEAVES = (str, bytes, int, float, complex, type, FunctionType, ModuleType, np.generic)
# Longer containers are not searched for arrays: they hold plain values.
_LOOKED_INTO = 1000


class ResultCache(Generic[T]):
    """Cached results of nodes.

    Parameters
    ----------
    most_bytes : int
        Bytes of all results; beyond it the least recently used are dropped.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._results: OrderedDict[tuple[str, Any], T] = OrderedDict()
        self._numbers: Counter[str] = Counter()
        self._buffers: dict[tuple[str, Any], dict[int, int]] = {}
        self._holders: Counter[int] = Counter()
        self.n_bytes = 0

    def get(self, name: str, key: Any) -> T | None:
        """Return a result and mark it as the latest used; None if it is not cached."""
        place = name, key
        if place in self._results:
            self._results.move_to_end(place)
        return self._results.get(place)

    def put(self, name: str, key: Any, result: T, most: int) -> None:
        """Cache a result, and at most `most` results of this node."""
        self.drop(name, key)
        place = name, key
        self._results[place] = result
        self._numbers[name] += 1
        self._buffers[place] = found = dict(buffers(result))
        for at, size in found.items():
            self.n_bytes += size * (self._holders[at] == 0)
            self._holders[at] += 1
        if self._numbers[name] > most:
            self.drop(*next(one for one in self._results if one[0] == name))
        while self.n_bytes > self.most_bytes and (old := self._dispensable()):
            self.drop(*old)

    def drop(self, name: str, key: Any) -> None:
        """Drop a result if it is cached."""
        place = name, key
        if place not in self._results:
            return
        del self._results[place]
        self._numbers[name] -= 1
        for at, size in self._buffers.pop(place).items():
            self._holders[at] -= 1
            if not self._holders[at]:
                del self._holders[at]
                self.n_bytes -= size

    def _dispensable(self) -> tuple[str, Any] | None:
        """Return the least recently used result among nodes with several results."""
        return next((one for one in self._results if self._numbers[one[0]] > 1), None)


def buffers(thing: Any) -> Iterator[tuple[int, int]]:
    """Yield identity and bytes of each array and table reachable from an object."""
    seen: set[int] = set()
    ahead = [thing]
    while ahead:
        one = ahead.pop()
        if one is None or isinstance(one, _LEAVES) or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            if isinstance(one.base, np.ndarray):
                ahead.append(one.base)
            else:
                yield id(one), one.nbytes
        elif isinstance(one, (pd.DataFrame, pd.Series, pd.Index)):
            yield id(one), int(np.sum(one.memory_usage()))
        else:
            ahead.extend(_parts(one))


def _parts(one: Any) -> Iterable[Any]:
    """Return the items of a container or the attributes of an object."""
    if isinstance(one, dict):
        values: Iterable[Any] = one.values()
    elif isinstance(one, (list, tuple, set, frozenset)):
        values = one
    else:
        return getattr(one, "__dict__", {}).values()
    return values if len(one) <= _LOOKED_INTO else ()
