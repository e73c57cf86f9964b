"""Fuzzy partitions: memberships of samples in clusters, checked on construction.

A fuzzy partition gives each sample a membership in each cluster. A hard partition is
the special case of memberships 0 and 1 and is stored as one code per sample. Partitions
are compared through pairs of samples only, so their numbers of clusters may differ and
clusters are never matched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from clusterlens.compute._validation import (
    DataError,
    FloatArray,
    Frozen,
    IntArray,
    as_array,
    check_classes,
    check_entries,
    check_features,
    check_flag,
    check_memory,
    check_range,
    read_only,
)
from clusterlens.compute.fuzzy._pair_distances import (
    count_pairs,
    pairs_together,
    summed_distance,
)

ROW_SUM_TOLERANCE = 1e-6
HARD_TOLERANCE = 1e-12
_ONE_HOT_BYTES = 2_000_000_000


@dataclass(frozen=True, eq=False, init=False, repr=False)
class FuzzyPartition(Frozen):
    """Memberships of samples in clusters, checked once.

    Parameters
    ----------
    memberships : array-like, shape (n_samples, n_clusters) or (n_samples,)
        Non-negative memberships with rows that sum to one within 1e-6 (they are then
        divided by their sum), as returned by `predict_proba`, `memberships_` or from a
        table; or hard labels, an integer or text each. Values of labels are names only;
        -1 is a cluster like the others, and None, NaN and NA are refused.
    normalize : bool, default False
        Divide rows with a positive sum by it. Otherwise possibilistic memberships are
        refused, because their pair agreements may leave [0, 1].
    notes : sequence of str
        Earlier changes to the memberships.

    Attributes
    ----------
    memberships : array of float64, shape (n_samples, n_clusters)
        The rows, read-only; one-hot if hard, made on first use.
    codes : array of int or None, shape (n_samples,)
        Column of each sample if all memberships are 0 or 1 within 1e-12, else None.
    n_clusters : int
        Number of columns, empty ones included.
    n_empty : int
        Number of columns without any membership.
    notes : tuple of str
        Changes and unusual properties: normalised rows, empty columns.

    Raises
    ------
    DataError
        If entries are missing, negative or not numbers, or rows do not sum to one.

    Notes
    -----
    Time and memory O(n_samples n_clusters); O(n_samples) for hard labels.

    Examples
    --------
    >>> partition = FuzzyPartition([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    >>> partition.n_clusters, partition.is_hard
    (2, False)
    >>> FuzzyPartition([7, 7, 3]).memberships.tolist()
    [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    """

    n_samples: int
    n_clusters: int
    n_empty: int
    codes: IntArray | None
    notes: tuple[str, ...]
    _rows: FloatArray | None

    def __init__(
        self,
        memberships: npt.ArrayLike,
        *,
        normalize: bool = False,
        notes: Sequence[str] = (),
    ) -> None:
        normalize = check_flag(normalize, name="normalize")
        array = as_array(memberships, "memberships", "memberships or labels")
        if array.ndim == 1:
            fields = _from_labels(*check_classes(memberships, name="memberships"))
        else:
            fields = _from_rows(_check_rows(array, normalize), normalize)
        fields["notes"] += tuple(check_entries(notes, "notes"))
        for key, value in fields.items():
            object.__setattr__(self, key, value)

    @property
    def is_hard(self) -> bool:
        """Whether every membership is 0 or 1."""
        return self.codes is not None

    @property
    def n_occupied(self) -> int:
        """Number of clusters with a sample that has a membership."""
        return self.n_clusters - self.n_empty

    @cached_property
    def memberships(self) -> FloatArray:
        """Memberships, shape (n_samples, n_clusters)."""
        if self._rows is not None:
            return self._rows
        assert self.codes is not None
        check_memory(
            8 * self.n_samples * self.n_clusters,
            _ONE_HOT_BYTES,
            what=f"The one-hot table of {self.n_clusters} clusters",
            remedy="use the labels in codes instead.",
        )
        one_hot = np.zeros((self.n_samples, self.n_clusters))
        one_hot[np.arange(self.n_samples), self.codes] = 1.0
        return read_only(one_hot)

    @cached_property
    def occupied(self) -> FloatArray:
        """Memberships without the empty columns, shape (n_samples, n_occupied)."""
        if self.n_empty == 0:
            return self.memberships
        return read_only(self.memberships[:, self.memberships.any(axis=0)])

    @cached_property
    def sizes(self) -> FloatArray:
        """Summed memberships of each cluster, shape (n_clusters,)."""
        if self.codes is None:
            return read_only(self.memberships.sum(axis=0))
        return read_only(np.bincount(self.codes, minlength=self.n_clusters) * 1.0)

    @cached_property
    def mean_distance(self) -> float:
        """Mean over pairs of half the L1 distance of their rows, exact, O(n K log n).

        For a hard partition this is the share of pairs that it separates.
        """
        if self.codes is None:
            return summed_distance(self.occupied) / count_pairs(self.n_samples)
        return 1 - pairs_together(self.sizes) / count_pairs(self.n_samples)

    def __repr__(self) -> str:
        """Return the kind and the size."""
        kind = "hard" if self.is_hard else "soft"
        return f"FuzzyPartition({kind}, {self.n_samples} x {self.n_clusters})"


Partition = npt.ArrayLike | FuzzyPartition


def check_partitions(
    U: Partition, V: Partition, *, names: tuple[str, str] = ("U", "V")
) -> tuple[FuzzyPartition, FuzzyPartition]:
    """Return both as fuzzy partitions of the same two or more samples."""
    u, v = (
        as_partition(one, name=name) for one, name in zip((U, V), names, strict=True)
    )
    if u.n_samples != v.n_samples:
        raise ValueError(
            f"{names[1]} has {v.n_samples} rows for the {u.n_samples} samples of "
            f"{names[0]}; give one "
            "row per sample in both."
        )
    check_range(u.n_samples, 2, np.inf, name=f"In {names[0]} the number of samples")
    return u, v


def as_partition(U: Partition, *, name: str = "U") -> FuzzyPartition:
    """Return U as a fuzzy partition; messages use the name."""
    if isinstance(U, FuzzyPartition):
        return U
    try:
        return FuzzyPartition(U)
    except ValueError as error:
        message = str(error).replace("memberships", name, 1)
        raise type(error)(message) from None


def _from_labels(codes: IntArray, names: list[Any]) -> dict[str, Any]:
    """Return the fields of a partition given by codes (n,) of the names of columns."""
    return {
        "n_samples": len(codes),
        "n_clusters": len(names),
        "n_empty": 0,
        "codes": read_only(codes),
        "notes": (),
        "_rows": None,
    }


def wrong_sums(sums: FloatArray, normalize: bool) -> npt.NDArray[np.bool_]:
    """Tell which sums of rows are not sums of memberships."""
    return sums <= 0 if normalize else np.abs(sums - 1) > ROW_SUM_TOLERANCE


def _check_rows(array: npt.NDArray[Any], normalize: bool) -> FloatArray:
    """Return rows (n, K) divided by their sums, which must be one unless normalize."""
    rows = check_features(array, name="memberships", compared=False)
    if rows.min() < 0:
        row, column = np.argwhere(rows < 0)[0]
        raise DataError(
            f"memberships has the negative value {rows[row, column]} in row {row}, "
            f"column {column}; give values of at least 0."
        )
    sums = rows.sum(axis=1, keepdims=True)
    wrong = wrong_sums(sums, normalize)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"memberships has the sum {sums[row, 0]:.6g} in row {row}; give rows that "
            "sum to 1, or rows with a positive sum and normalize=True (of "
            "FuzzyPartition) to divide them by it."
        )
    return rows / sums


def _from_rows(rows: FloatArray, normalize: bool) -> dict[str, Any]:
    """Return the fields of a partition given by rows (n, K) that sum to one."""
    n_samples, n_clusters = rows.shape
    hard = bool((np.minimum(rows, 1 - rows) <= HARD_TOLERANCE).all())
    if hard:
        rows = np.rint(rows)
    n_empty = n_clusters - int(rows.any(axis=0).sum())
    notes = ["Rows were divided by their sums."] if normalize else []
    if n_empty:
        notes.append(f"{n_empty} of {n_clusters} clusters have no member.")
    return {
        "n_samples": n_samples,
        "n_clusters": n_clusters,
        "n_empty": n_empty,
        "codes": read_only(rows.argmax(axis=1)) if hard else None,
        "notes": tuple(notes),
        "_rows": None if hard else read_only(rows),
    }
