"""The search for one rule: trees propose conditions, and other rows prune them.

The paths of depth-limited trees, one cluster against the others, are lists of
conditions; conditions on one column merge into one. Levels are sorted by their share of
the cluster, which makes the best set of levels a range (Breiman et al. 1984, theorem
4.5).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeClassifier

from clusterlens.compute._validation import FloatArray
from clusterlens.compute.assigning._conditions import Condition, rounded
from clusterlens.compute.assigning._sources import Source
from clusterlens.compute.estimators.units import spread

Mask = npt.NDArray[np.bool_]
Conditions = tuple[Condition, ...]
Box = dict[int, tuple[float, float]]

LEAST_GAIN = 0.02  # least gain of precision x recall by a condition
_ROUNDS = 3
_HALVINGS = 3
_GRID = np.linspace(0.01, 0.99, 50)
_LEAST_LEAF = 0.05  # rows of a leaf, as a share of the rows of the cluster


@dataclass(frozen=True, eq=False)
class RuleSearch:
    """Shared data of the searches for all clusters: columns (c,) and spreads (c,)."""

    sources: Sequence[Source]
    spreads: FloatArray
    max_conditions: int
    seed: int

    def find(self, values: FloatArray, inside: Mask, half: Mask) -> Conditions:
        """Return the conditions of a cluster, empty if none are better.

        The other half of the rows (n, c) prunes the proposals of one half, for the
        given halves and for random ones. All rows choose among them, and move the
        bounds.
        """
        proposed: dict[Conditions, float] = {}
        for chosen in self._halves(inside, half):
            for own in (chosen, ~chosen):
                x, y, others = values[own], inside[own], inside[~own]
                if y.all() or not (y.any() and others.any()):
                    continue
                paths, unseen = self._paths(x, y), values[~own]
                for path in dict.fromkeys(paths):
                    pruned = self._pruned(path, unseen, others)
                    if pruned not in proposed:
                        proposed[pruned] = self._merit(pruned, values, inside)
        if not proposed:
            return ()
        best = max(proposed, key=proposed.__getitem__)
        merit, conditions = self._refined(best, values, inside)
        return conditions if merit > inside.mean() else ()

    def _halves(self, inside: Mask, half: Mask) -> Iterator[Mask]:
        """Yield the given half of the rows, and random ones of the same composition."""
        yield half
        rng = np.random.default_rng(self.seed)
        for _ in range(_HALVINGS - 1):
            chosen = np.zeros(len(inside), dtype=bool)
            for group in (inside, ~inside):
                rows = rng.permutation(np.flatnonzero(group))
                chosen[rows[: len(rows) // 2]] = True
            yield chosen

    def holding(self, conditions: Sequence[Condition], values: FloatArray) -> Mask:
        """Tell which rows (n, c) meet all conditions."""
        return meeting(conditions, values, self.sources)

    def _merit(self, conditions: Conditions, values: FloatArray, inside: Mask) -> float:
        return _merit(self.holding(conditions, values), inside, len(conditions))

    def _pruned(self, path: Conditions, values: FloatArray, inside: Mask) -> Conditions:
        """Drop conditions one by one while that gains, or there are too many."""
        masks = [self.holding([condition], values) for condition in path]
        kept = list(range(len(path)))

        def merit(chosen: Sequence[int]) -> float:
            both = np.logical_and.reduce([masks[i] for i in chosen])
            return _merit(both, inside, len(chosen))

        while len(kept) > 1:
            trials = [[i for i in kept if i != gone] for gone in kept]
            merits = [merit(trial) for trial in trials]
            best = int(np.argmax(merits))
            if len(kept) <= self.max_conditions and merits[best] < merit(kept):
                break
            kept = trials[best]
        return tuple(path[i] for i in kept)

    def _refined(
        self, conditions: Conditions, values: FloatArray, inside: Mask
    ) -> tuple[float, Conditions]:
        """Move one bound at a time to the best of a grid until none is better."""
        moved = list(conditions)
        best = self._merit(conditions, values, inside)
        for _ in range(_ROUNDS):
            before = best
            for i, side in product(range(len(moved)), ("low", "high")):
                if np.isfinite(getattr(moved[i], side)):
                    trials = self._moved(moved, i, side, values)
                    merits = [self._merit(trial, values, inside) for trial in trials]
                    ties = np.flatnonzero(np.equal(merits, max(merits)))
                    if max(merits) > best:
                        # The middle of equally good bounds is furthest from the rows.
                        best = max(merits)
                        moved = list(trials[ties[len(ties) // 2]])
            if best == before:
                break
        return best, tuple(moved)

    def _moved(
        self, conditions: Sequence[Condition], i: int, side: str, values: FloatArray
    ) -> list[Conditions]:
        """Return the conditions with one bound at each quantile of its column."""
        j = self.sources.index(conditions[i].source)
        cuts = np.unique(np.nanquantile(values[:, j], _GRID, method="lower"))
        bounds = {rounded(cut, self.sources[j], self.spreads[j]) for cut in cuts}
        before, old, after = conditions[:i], conditions[i], conditions[i + 1 :]
        return [(*before, old.moved(side, b), *after) for b in sorted(bounds)]

    def _paths(self, values: FloatArray, inside: Mask) -> Iterator[Conditions]:
        """Yield the merged and rounded conditions of the nodes of two trees."""
        columns = list(zip(values.T, self.sources, strict=True))
        keys = [_level_keys(x, inside, source) for x, source in columns]
        ordered = [_ordered(x, key) for x, key in zip(values.T, keys, strict=True)]
        # Trees compute in single precision and split no gap below 1e-7.
        units = np.array([spread(x[:, None]) for x in ordered])
        X = np.column_stack(ordered) / units
        for weight in (None, "balanced"):
            tree = DecisionTreeClassifier(
                max_depth=2 * self.max_conditions,
                min_samples_leaf=max(1, int(_LEAST_LEAF * inside.sum())),
                class_weight=weight,
                random_state=self.seed,
            ).fit(X, inside)
            for box in _boxes(tree.tree_):
                yield tuple(
                    self._condition(j, low * units[j], high * units[j], keys[j])
                    for j, (low, high) in box.items()
                )

    def _condition(
        self, j: int, low: float, high: float, keys: FloatArray
    ) -> Condition:
        """Return a range of column j of the trees, in its own units."""
        source, spread = self.sources[j], self.spreads[j]
        if not source.is_number:
            codes = np.flatnonzero((keys > low) & (keys <= high))
            return Condition(source, codes=tuple(codes.tolist()))
        low, high = (rounded(bound, source, spread) for bound in (low, high))
        return Condition(source, low, high)


def random_half(n: int, seed: int) -> Mask:
    """Draw one half of n rows."""
    return np.random.default_rng(seed).permutation(n) < n // 2


def meeting(
    conditions: Sequence[Condition], values: FloatArray, sources: Sequence[Source]
) -> Mask:
    """Tell which rows (n, c) of some columns meet all conditions."""
    chosen = np.ones(len(values), dtype=bool)
    for condition in conditions:
        chosen &= condition.holds(values[:, sources.index(condition.source)])
    return chosen


def precision_recall(chosen: Mask, inside: Mask) -> tuple[float, float]:
    """Return precision and recall of the chosen rows."""
    both, n_chosen, n_inside = ((chosen & inside).sum(), chosen.sum(), inside.sum())
    precision = float(both / n_chosen) if n_chosen else np.nan
    return precision, float(both / n_inside) if n_inside else np.nan


def _merit(chosen: Mask, inside: Mask, n_conditions: int) -> float:
    """Return precision x recall minus the least gain of each condition."""
    product = float(np.prod(precision_recall(chosen, inside)))
    return float(np.nan_to_num(product)) - LEAST_GAIN * n_conditions


def _level_keys(values: FloatArray, inside: Mask, source: Source) -> FloatArray:
    """Return sort keys of levels, empty for a column of numbers."""
    n_levels = len(source.column.levels)
    if source.is_ordered:
        return np.arange(n_levels, dtype=np.float64)
    known = ~np.isnan(values)
    codes = values[known].astype(np.intp)
    n = np.bincount(codes, minlength=n_levels)
    hits = np.bincount(codes, inside[known], minlength=n_levels)
    return np.where(n > 0, (hits + inside.mean()) / (n + 1), np.nan)


def _ordered(values: FloatArray, keys: FloatArray) -> FloatArray:
    """Return a column (n,) as used by the trees: by its keys, gaps in the middle."""
    known = ~np.isnan(values)
    if keys.size:
        values = np.where(known, keys[np.nan_to_num(values).astype(np.intp)], np.nan)
    middle = np.median(values[known]) if known.any() else 0.0
    return np.where(known, values, middle)


def _boxes(tree: Any) -> Iterator[Box]:
    """Yield the range of each column on the path to nodes richer than the root."""
    stack: list[tuple[int, Box]] = [(0, {})]
    while stack:
        node, box = stack.pop()
        if tree.value[node, 0, 1] > tree.value[0, 0, 1]:
            yield box
        if tree.children_left[node] >= 0:
            j, cut = int(tree.feature[node]), float(tree.threshold[node])
            low, high = box.get(j, (-np.inf, np.inf))
            stack.append((tree.children_left[node], {**box, j: (low, cut)}))
            stack.append((tree.children_right[node], {**box, j: (cut, high)}))
