"""Quantiles of a column of any length, from few of its values.

References
----------
Munro, J. I., Paterson, M. S. Selection and sorting with limited storage. Theoretical
Computer Science 12 (1980), doi:10.1016/0304-3975(80)90061-4.
Manku, G. S., Rajagopalan, S., Lindsay, B. G. Approximate medians and other quantiles in
one pass and with limited memory. SIGMOD 1998, doi:10.1145/276304.276342.
"""

from __future__ import annotations

import numpy as np

from clusterlens.compute._validation import FloatArray, IntArray

SIZE = 1 << 15


class QuantileSketch:
    """Weighted values that keep the ranks of a column up to a known error.

    Parameters
    ----------
    size : int, default 32768
        Values that a level holds, at least 1.

    Attributes
    ----------
    count : int
        Values added.
    error : int
        Bound on the difference between the rank of any number in the sketch and in the
        column; 0 while no more values than `size` were added.

    Notes
    -----
    Level h holds values of weight 2^h. A level that is too long is sorted, and every
    other value moves up, which changes a rank by at most 2^h. Level h overflows at most
    count / (2^h size) times. So the error is at most count / size per level, and there
    are about log2(count / size) levels. Deterministic.
    """

    def __init__(self, size: int = SIZE) -> None:
        self.size, self.count, self.error = size, 0, 0
        self._levels: list[FloatArray] = []
        self._second: list[bool] = []

    def add(self, values: FloatArray) -> None:
        """Add values (n,) without NaN."""
        self.count += len(values)
        self._push(0, values)

    def merge(self, other: QuantileSketch) -> None:
        """Add the values of another sketch."""
        self.count += other.count
        self.error += other.error
        for level, values in enumerate(other._levels):
            self._push(level, values)

    def points(self) -> tuple[FloatArray, IntArray]:
        """Return the values, and how many values of the column each stands for."""
        lengths = [len(values) for values in self._levels]
        weights = np.repeat(1 << np.arange(len(lengths)), lengths)
        return np.concatenate([*self._levels, np.empty(0)]), weights

    def _push(self, level: int, values: FloatArray) -> None:
        if level == len(self._levels):
            self._levels.append(np.empty(0))
            self._second.append(False)
        held = np.concatenate([self._levels[level], values])
        if len(held) <= self.size:
            self._levels[level] = held
            return
        held.sort()
        even = len(held) // 2 * 2
        self._levels[level] = held[even:]
        self.error += 1 << level
        start = int(self._second[level])
        self._second[level] = not self._second[level]
        self._push(level + 1, held[start:even:2])


def weighted_quantile(values: FloatArray, weights: IntArray, share: float) -> float:
    """Return the quantile of values (m,) that each occur so often, as np.quantile."""
    order = np.argsort(values)
    ends = np.cumsum(weights[order])
    place = share * (ends[-1] - 1)
    low = int(place)
    ranks = [low, min(low + 1, int(ends[-1]) - 1)]
    below, above = values[order][np.searchsorted(ends, ranks, side="right")]
    return float(np.quantile([below, above], place - low))
