"""Constraints: pairs of samples that belong together or apart.

Pairs are stored once, sorted; contradictory pairs are refused on construction. A model
is charged for the share of pairs it breaks: two look-ups per pair and model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from clusterlens.compute._validation import (
    FloatArray,
    Frozen,
    IntArray,
    as_array,
    read_only,
)
from clusterlens.compute.ensemble.connected import components
from clusterlens.compute.ensemble.ensemble import Ensemble

# Pairs times partitions that are looked up at once.
_BLOCK = 1 << 20
PairArray = npt.NDArray[np.int64]
Link = tuple[Literal["must-link", "cannot-link"], int, int]


class ConstraintError(ValueError):
    """The constraints contradict each other.

    Parameters
    ----------
    message : str
        The contradiction, and the remedy.
    chain : sequence of (str, int, int)
        The links of the contradiction: must-links that lead from one sample to another,
        then the cannot-link between the two.
    """

    def __init__(self, message: str, chain: Sequence[Link]) -> None:
        super().__init__(message)
        self.chain = tuple(chain)

    def __reduce__(self) -> tuple[type[ConstraintError], tuple[str, tuple[Link, ...]]]:
        """Keep the chain when pickled, for instance by a worker process."""
        return type(self), (str(self), self.chain)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Constraints(Frozen):
    """Must-link and cannot-link pairs of samples.

    Parameters
    ----------
    must_link : array-like of int, shape (n_must, 2), default ()
        Pairs of sample indices that should share a cluster. The order within a pair,
        repeated pairs, and pairs of a sample with itself do not matter.
    cannot_link : array-like of int, shape (n_cannot, 2), default ()
        Pairs of sample indices that should be in different clusters.

    Raises
    ------
    ConstraintError
        If a cannot-link joins two samples that must-links connect, directly or through
        other samples; `chain` holds the links.
    ValueError
        If the pairs are not pairs of non-negative whole numbers.

    Notes
    -----
    Contradictions are searched in the transitive closure of the must-links, but
    violations are measured on the given pairs only. O(n_must + n_cannot) time, plus one
    search per reported contradiction.

    Examples
    --------
    >>> constraints = Constraints(must_link=[(3, 1), (1, 3)], cannot_link=[(0, 1)])
    >>> constraints.must_link.tolist()
    [[1, 3]]
    >>> constraints.violations(Ensemble([[0, 0, 1, 0], [0, 1, 1, 1]])).tolist()
    [0.5, 0.0]
    """

    must_link: PairArray
    cannot_link: PairArray

    def __init__(
        self, must_link: npt.ArrayLike = (), cannot_link: npt.ArrayLike = ()
    ) -> None:
        must = _sorted_pairs(must_link, "must_link")
        cannot = _sorted_pairs(cannot_link, "cannot_link")
        _refuse_contradiction(must, cannot)
        object.__setattr__(self, "must_link", read_only(must))
        object.__setattr__(self, "cannot_link", read_only(cannot))

    @property
    def n_pairs(self) -> int:
        """Number of pairs of both kinds."""
        return len(self.must_link) + len(self.cannot_link)

    def violations(self, ensemble: Ensemble) -> FloatArray:
        """Return the share of the pairs that each partition breaks.

        Parameters
        ----------
        ensemble : Ensemble
            Partitions of the samples that the pairs refer to.

        Returns
        -------
        violated : array of float, shape (n_partitions,)
            Broken pairs over all pairs, in [0, 1], 0 is best; 0 without any pair.

        Raises
        ------
        ValueError
            If a pair names a sample that the ensemble does not have.

        Notes
        -----
        R(t) = (must-links that t separates + cannot-links that t joins) / pairs. Time
        O(n_partitions n_pairs). For a partial partition only the pairs that it saw
        count.

        References
        ----------
        Ohl, L., Lindsten, F. Discriminative ordering through ensemble consensus,
        Algorithm 1, with the 0/1 violation for every variant of the score.
        """
        broken, seen = self._counts(ensemble)
        return np.asarray(broken / np.maximum(seen, 1))

    def seen(self, ensemble: Ensemble) -> IntArray:
        """Count the pairs with both samples seen, for each partition.

        Parameters
        ----------
        ensemble : Ensemble
            Partitions of the samples that the pairs refer to.

        Returns
        -------
        seen : array of int, shape (n_partitions,)
            All pairs, unless a partial partition left samples out: the denominators of
            `violations`.

        Raises
        ------
        ValueError
            If a pair names a sample that the ensemble does not have.

        Notes
        -----
        O(n_partitions n_pairs) time.
        """
        return np.asarray(self._counts(ensemble)[1])

    def _counts(self, ensemble: Ensemble) -> IntArray:
        """Count the pairs that each partition breaks and the pairs it saw: (2, T)."""
        self.check_samples(ensemble.n_samples)
        links = np.concatenate([self.must_link, self.cannot_link])
        must = np.arange(self.n_pairs) < len(self.must_link)
        counts = np.zeros((2, ensemble.n_partitions), np.int64)
        step = max(1, _BLOCK // max(1, len(links)))
        for block in range(0, ensemble.n_partitions, step):
            some = slice(block, block + step)
            codes = ensemble.codes_and_gaps[some, links.T]
            left, right = codes[:, 0], codes[:, 1]
            seen = np.maximum(left, right) < ensemble.n_codes[some, None]
            broken = seen & ((left == right) != must)
            counts[:, some] = broken.sum(axis=1), seen.sum(axis=1)
        return counts

    def settles(self, pairs: npt.ArrayLike, n_samples: int) -> npt.NDArray[np.bool_]:
        """Tell which pairs follow from the links.

        Parameters
        ----------
        pairs : array-like of int, shape (n_pairs, 2)
            Pairs of samples.
        n_samples : int
            Number of samples.

        Returns
        -------
        settled : array of bool, shape (n_pairs,)
            Whether a path of links connects the ends, with at most one cannot-link on
            it.

        Notes
        -----
        O(n_samples + n_pairs + links) time.

        Examples
        --------
        >>> known = Constraints(must_link=[(0, 1)], cannot_link=[(1, 2), (2, 3)])
        >>> known.settles([(0, 2), (0, 3)], 4).tolist()
        [True, False]
        """
        ends = np.asarray(pairs, np.int64).reshape(-1, 2)
        group = components(self.must_link, n_samples)
        return settled_pairs(group, self.cannot_link, ends)

    def check_samples(self, n_samples: int) -> None:
        """Raise if a pair names a sample beyond the last one.

        Parameters
        ----------
        n_samples : int
            Number of samples.

        Raises
        ------
        ValueError
            Names the missing sample.
        """
        for name in ("must_link", "cannot_link"):
            pairs = getattr(self, name)
            if pairs.size and pairs.max() >= n_samples:
                raise ValueError(
                    f"{name} of the constraints names sample {pairs.max()}, but there "
                    f"are {n_samples} samples; give indices from 0 to {n_samples - 1}."
                )

    def __repr__(self) -> str:
        """Return the numbers of pairs."""
        return (
            f"Constraints({len(self.must_link)} must-links, "
            f"{len(self.cannot_link)} cannot-links)"
        )


def settled_pairs(
    group: PairArray, cannot: PairArray, pairs: PairArray
) -> npt.NDArray[np.bool_]:
    """Tell for each pair whether a path with at most one cannot-link connects its ends.

    `group` numbers the components of the must-links, as from `components`.
    """
    ends, apart = (np.sort(group[some], axis=1) for some in (pairs, cannot))
    keys = ends[:, 0] * len(group) + ends[:, 1]
    separated = np.isin(keys, apart[:, 0] * len(group) + apart[:, 1])
    return np.asarray(separated | (ends[:, 0] == ends[:, 1]))


def check_constraints(constraints: Any, n_samples: int | None = None) -> Constraints:
    """Return the constraints, empty for None, after checking their samples."""
    if constraints is None:
        return Constraints()
    if not isinstance(constraints, Constraints):
        raise ValueError(
            f"constraints is a {type(constraints).__name__}; give "
            "Constraints(must_link, cannot_link), or None."
        )
    if n_samples is not None:
        constraints.check_samples(n_samples)
    return constraints


def check_pairs(pairs: npt.ArrayLike, ensemble: Ensemble, *, name: str) -> PairArray:
    """Return distinct pairs (i, j), i < j, of samples of an ensemble."""
    found = _sorted_pairs(pairs, name)
    if found.size and found.max() >= ensemble.n_samples:
        raise ValueError(
            f"{name} has sample {found.max()}, but there are {ensemble.n_samples} "
            f"samples; give indices from 0 to {ensemble.n_samples - 1}."
        )
    return found


def _sorted_pairs(pairs: npt.ArrayLike, name: str) -> PairArray:
    """Return distinct pairs (i, j), i < j, as an (n_pairs, 2) array."""
    array = as_array(pairs, name, "pairs of sample indices, shape (n_pairs, 2)")
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} has shape {array.shape} and type {array.dtype}; give pairs of "
            "sample indices, shape (n_pairs, 2), whole numbers."
        )
    if array.min() < 0:
        raise ValueError(
            f"{name} has the negative index {array.min()}; count samples from 0."
        )
    ordered = np.sort(array.astype(np.int64), axis=1)
    return np.unique(ordered[ordered[:, 0] < ordered[:, 1]], axis=0)


def _refuse_contradiction(must: PairArray, cannot: PairArray) -> None:
    """Raise ConstraintError if must-links connect the ends of a cannot-link."""
    if not len(must) or not len(cannot):
        return
    samples, compact = np.unique(np.concatenate([must, cannot]), return_inverse=True)
    compact = compact.reshape(-1, 2)
    links, apart = compact[: len(must)], compact[len(must) :]
    graph = coo_array(
        (np.ones(len(links), dtype=np.int8), (links[:, 0], links[:, 1])),
        shape=(len(samples), len(samples)),
    ).tocsr()
    component = connected_components(graph, directed=False)[1]
    inside = np.flatnonzero(component[apart[:, 0]] == component[apart[:, 1]])
    if not inside.size:
        return
    start, end = apart[inside[0]]
    before = breadth_first_order(graph, start, directed=False)[1]
    path = [end]
    while path[-1] != start:
        path.append(before[path[-1]])
    raise _contradiction(samples[path[::-1]].tolist())


def _contradiction(path: list[int]) -> ConstraintError:
    """Make the error for must-links along the path and a cannot-link of its ends."""
    steps = list(pairwise(path))
    chain: list[Link] = [("must-link", min(step), max(step)) for step in steps]
    chain.append(("cannot-link", path[0], path[-1]))
    links = ", ".join(f"{a}–{b}" for a, b in steps)
    return ConstraintError(
        f"cannot_link keeps samples {path[0]} and {path[-1]} apart, but must_link "
        f"joins them ({links}); remove one of these pairs.",
        chain,
    )
