"""Values that a specification may derive from the data: distances and sample counts.

Quantiles of distances cost O(n²) time and memory up to 5,000 samples (0.1 GB). Above,
they come from a seeded random sample, and a note says so. Results for the last few
tables are cached by content, because an estimate, the page and the run need the same
ones. ask for the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping
from functools import cache, cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import pdist
from sklearn.neighbors import NearestNeighbors

from clusterlens.compute._run.process_settings import one_thread
from clusterlens.compute._validation import (
    FloatArray,
    check_features,
    check_range,
    plain_repr,
)
from clusterlens.compute.notes import Note

Rows = npt.NDArray[np.intp]

# Above this many samples, quantiles of distances come from a random sample.
MAX_QUANTILE_SAMPLES = 5_000
# With more features than this, fewer samples are used, so that it takes no longer.
_SAMPLED_FEATURES = 50
# The cost of DBSCAN depends on the number of pairs within eps; a rough share suffices.
_MAX_COST_SAMPLES = 1_000
_N_NEIGHBORS = 5
# Number of tables with cached results; up to 1 MB each.
_REMEMBERED = 8

Found = TypeVar("Found")


class DataScale:
    """Lengths and sizes of given data, or of a shape alone; collects notes."""

    def __init__(self, X: npt.ArrayLike | tuple[int, int], random_state: int) -> None:
        self.notes: list[str] = []
        self._random_state = random_state
        self._X: FloatArray = np.empty((0, 0))
        if isinstance(X, tuple) and len(X) == 2 and all(map(np.isscalar, X)):
            self.n_samples, self.n_features = (
                check_range(size, 1, np.inf, name=f"the {name} of X", integer=True)
                for size, name in zip(X, ("n_samples", "n_features"), strict=True)
            )
        else:
            self._X = check_features(X)
            self.n_samples, self.n_features = self._X.shape
        self._distances = cache(self._compute_distances)

    def resolve(self, value: Any, name: str) -> Any:
        """Return the number of a mapping, if known, and other values unchanged."""
        if not isinstance(value, Mapping):
            return value
        try:
            return self._resolve(dict(value))
        except ValueError as error:
            raise ValueError(f"{name} is {plain_repr(value)}: {error}") from None

    def _resolve(self, ref: dict[str, Any]) -> Any:
        """Return the number of a reference to the data, if known."""
        match ref:
            case {"of": "samples", "share": share, **rest} if rest.keys() <= {
                "at_most"
            }:
                check_range(share, 0, 1, name="share")
                size = round(share * self.n_samples)
                if "at_most" in rest:
                    check_range(rest["at_most"], _N_NEIGHBORS, np.inf, name="at_most")
                    size = min(size, int(rest["at_most"]))
                return max(_N_NEIGHBORS, size)
            case {"of": "samples", "root": _, **rest} if rest.keys() <= {"at_least"}:
                return root_of(ref, self.n_samples)
            case {"of": str(kind), "quantile": [low, high], "at": at} if (
                kind in _DISTANCES and len(ref) == 3
            ):
                return self._between(kind, low, high, at, ref)
            case {"of": str(kind), "quantile": float() | int() as q} if (
                kind in _DISTANCES and len(ref) == 2
            ):
                return self._between(kind, q, q, 0.0, ref)
        raise ValueError(_what_a_reference_needs(ref))

    def share_within(self, eps: Any) -> float | None:
        """Return the share of pairs within eps of each other, if known."""
        match eps:
            case {"of": "pair distances", "quantile": [low, high], "at": at}:
                return float(low + (high - low) * at)
            case {"of": "pair distances", "quantile": q}:
                return float(q)
            case float() | int() if len(self._X) > 1:
                return self.find(("within", eps), lambda: self._share_within(eps))
        return None

    def some_rows(self, n_rows: int) -> FloatArray:
        """Return rows drawn at random, in order; none if only the shape is known."""
        return self._X[self._sample(n_rows)] if self._X.size else self._X

    def find(self, key: Hashable, compute: Callable[[], Found]) -> Found:
        """Return a cached result for these data, computed on first use.

        The result may depend only on the data and the seed. It stays in memory, so it
        should be small.
        """
        if key not in self._found:
            self._found[key] = compute()
        return self._found[key]

    @cached_property
    def _found(self) -> dict[Hashable, Any]:
        """The cached results for these data; nothing is cached for a shape alone."""
        if not self._X.size:
            return {}
        digest = hashlib.sha256(self._X.tobytes()).digest()
        return _found_of(digest, self._X.shape, self._random_state)

    def _between(self, kind: str, low: float, high: float, at: float, ref: Any) -> Any:
        """Return the length at a fraction of the way between two quantiles."""
        for q in (low, high):
            check_range(q, 0, 1, name="quantile")
        check_range(at, 0, 1, name="at")
        if not self._X.size:
            return ref
        n_rows = self._n_rows(kind)
        if n_rows < self.n_samples:
            note = Note("sampled", kind, rows=n_rows, samples=self.n_samples)
            if note not in self.notes:
                self.notes.append(note)
        start, end = self._quantile(kind, low), self._quantile(kind, high)
        return start + (end - start) * at

    def _quantile(self, kind: str, q: float) -> float:
        """Return a quantile of distances; zero if one sample has none."""

        def compute() -> float:
            distances = self._distances(kind)
            return float(np.quantile(distances, q)) if distances.size else 0.0

        return self.find((kind, q, self._n_rows(kind)), compute)

    def _compute_distances(self, kind: str) -> FloatArray:
        """Return the distances of a kind, of a random sample if there are many."""
        with one_thread():
            return _DISTANCES[kind](self._X, self._sample(self._n_rows(kind)))

    def _n_rows(self, kind: str) -> int:
        """Return the number of samples used for the quantiles of a kind."""
        if self.n_samples <= MAX_QUANTILE_SAMPLES:
            return self.n_samples
        share = min(_SAMPLED_FEATURES / self.n_features, 1.0)
        return round(_N_ROWS[kind] * share**0.5)

    def _share_within(self, eps: float) -> float:
        """Return the share of the pairs of a small sample within eps."""
        return float(np.mean(self._some_distances <= eps))

    def _sample(self, n_rows: int) -> Rows:
        """Return rows drawn at random without replacement, or all of them."""
        rng = np.random.default_rng(self._random_state)
        size = min(n_rows, self.n_samples)
        return np.sort(rng.choice(self.n_samples, size=size, replace=False))

    @cached_property
    def _some_distances(self) -> FloatArray:
        """Distances of the pairs of a small sample."""
        return pdist(self._X[self._sample(_MAX_COST_SAMPLES)])


@lru_cache(_REMEMBERED)
def _found_of(
    digest: bytes, shape: tuple[int, int], random_state: int
) -> dict[Hashable, Any]:
    """Return the cached results for a table, empty if it is new."""
    return {}


def root_of(ref: Mapping[str, Any], n_samples: int) -> int:
    """Return the number that {"root": 3, "of": "samples", "at_least": 15} stands for.

    Raises
    ------
    ValueError
        If the root is below 1, or `at_least` is not positive.
    """
    root = check_range(ref["root"], 1, np.inf, name="root")
    least = check_range(ref.get("at_least", 1), 1, np.inf, name="at_least")
    return max(int(least), round(n_samples ** (1 / root)))


def _pair_distances(X: FloatArray, rows: Rows) -> FloatArray:
    """Euclidean distances of all pairs of the given rows, (m (m - 1) / 2,)."""
    return pdist(X[rows])


def _neighbor_distances(X: FloatArray, rows: Rows) -> FloatArray:
    """Distances of the given rows to their fifth neighbour among all samples, (m,)."""
    k = min(_N_NEIGHBORS, len(X) - 1)
    search = NearestNeighbors(n_neighbors=k + 1).fit(X)
    return search.kneighbors(X[rows])[0][:, -1]


_DISTANCES: dict[str, Callable[[FloatArray, Rows], FloatArray]] = {
    "pair distances": _pair_distances,
    "neighbour distances": _neighbor_distances,
}
# All pairs of m samples, or the neighbours of m samples among all n.
_N_ROWS = {"pair distances": MAX_QUANTILE_SAMPLES, "neighbour distances": 1_000}


def _what_a_reference_needs(ref: Mapping[str, Any]) -> str:
    """Describe the fault of a reference to the data, and the remedy."""
    kind = ref.get("of")
    if kind == "samples":
        return (
            "give a 'share', and 'at_most' if it has a limit, e.g. "
            "{'share': 0.02, 'of': 'samples'}, or a 'root', and 'at_least' if it has "
            "a limit, e.g. {'root': 3, 'of': 'samples'}."
        )
    if kind in list(_DISTANCES):
        return (
            "give one 'quantile', or two and 'at', how far between them, e.g. "
            f"{{'quantile': 0.1, 'of': {plain_repr(kind)}}}."
        )
    found = f"'of' is {plain_repr(kind)}" if "of" in ref else "'of' is missing"
    return (
        f"{found}; give 'samples' with a 'share', or "
        f"{' or '.join(map(repr, _DISTANCES))} with a 'quantile'."
    )
