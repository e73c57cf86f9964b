"""Ensemble: the labels that a pool of models gives to the same samples.

An ensemble holds T partitions of n samples as a label matrix of shape (T, n). Label
values are names only. Everything that compares partitions starts from the compact codes
kept here, or from contingency tables, which cost O(n) per pair of partitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    check_choice,
    check_labels,
    read_only,
)

NOISE = -1


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Ensemble:
    """Partitions of the same samples, one per model.

    Parameters
    ----------
    labels : array-like of int, shape (n_partitions, n_samples)
        Label matrix, or a sequence of label vectors. Values are names only: gaps and
        negative values are allowed; -1 is noise.
    names : sequence of str, optional
        One name per partition. Default "model 1", "model 2", ...
    families : sequence of str, optional
        The kind of clusterer of each partition, e.g. "k-means". Default "model".
    noise : {"cluster", "singletons"}, default "cluster"
        What the label -1 means: all noise samples form one cluster (Ohl & Lindsten), or
        each of them is a cluster of its own.
    specs : sequence of mapping, optional
        Clusterer and parameters of each partition.
    seconds : array-like of float, shape (n_partitions,), optional
        Fit time of each partition in seconds. Default NaN.
    notes : sequence of str, optional
        What happened while the pool ran: failed, degenerate or skipped models.
    memberships : mapping of int to array of shape (n_samples, n_clusters), optional
        Soft memberships of the partitions that have them, by position.

    Attributes
    ----------
    codes : array of uint8, uint16 or uint32, shape (n_partitions, n_samples)
        Labels renumbered 0, 1, ... in order of first appearance, so that two rows are
        equal exactly when the partitions are.

    Raises
    ------
    ValueError
        If the labels are not integers, or lengths disagree.

    Notes
    -----
    Time and memory O(n_partitions n_samples). Arrays are read-only.

    Examples
    --------
    >>> ensemble = Ensemble([[5, 5, 9], [0, 1, 1]])
    >>> ensemble.codes.tolist()
    [[0, 0, 1], [0, 1, 1]]
    """

    labels: IntArray
    names: tuple[str, ...]
    families: tuple[str, ...]
    noise: Literal["cluster", "singletons"]
    specs: tuple[Mapping[str, Any], ...]
    seconds: FloatArray
    notes: tuple[str, ...]
    memberships: Mapping[int, FloatArray]

    def __init__(
        self,
        labels: npt.ArrayLike | Sequence[npt.ArrayLike],
        names: Sequence[str] | None = None,
        families: Sequence[str] | None = None,
        noise: Literal["cluster", "singletons"] = "cluster",
        *,
        specs: Sequence[Mapping[str, Any]] | None = None,
        seconds: npt.ArrayLike | None = None,
        notes: Sequence[str] = (),
        memberships: Mapping[int, npt.ArrayLike] | None = None,
    ) -> None:
        matrix = _label_matrix(labels)
        count = len(matrix)
        default_names = [f"model {t}" for t in range(1, count + 1)]
        per_partition: dict[str, Any] = {
            "names": tuple(map(str, default_names if names is None else names)),
            "families": tuple(
                map(str, ["model"] * count if families is None else families)
            ),
            "specs": tuple(map(dict, [{}] * count if specs is None else specs)),
            "seconds": read_only(
                np.array(np.full(count, np.nan) if seconds is None else seconds, float)
            ),
        }
        for key, values in per_partition.items():
            if len(values) != count:
                raise ValueError(
                    f"{key} has {len(values)} entries for {count} partitions; "
                    "give one per partition."
                )
        soft = {t: np.asarray(m) for t, m in (memberships or {}).items()}
        for t, membership in soft.items():
            if t not in range(count) or len(membership) != matrix.shape[1]:
                raise ValueError(
                    f"memberships[{t}] has {len(membership)} rows for "
                    f"{matrix.shape[1]} samples and {count} partitions; give one row "
                    "per sample, keyed by the position of the partition."
                )
        fields = {
            "labels": read_only(matrix),
            **per_partition,
            "noise": check_choice(noise, ("cluster", "singletons"), name="noise"),
            "notes": tuple(notes),
            "memberships": {t: read_only(m) for t, m in soft.items()},
        }
        for key, value in fields.items():
            object.__setattr__(self, key, value)

    @cached_property
    def codes(self) -> IntArray:
        """Compact codes, shape (n_partitions, n_samples)."""
        rows = []
        for labels in self.labels:
            row, names = pd.factorize(_split_noise(labels, self.noise))
            rows.append(row.astype(np.min_scalar_type(len(names) - 1)))
        kind = np.result_type(*{row.dtype for row in rows})
        return read_only(np.array(rows, dtype=kind))

    @cached_property
    def n_clusters(self) -> IntArray:
        """Number of clusters of each partition, shape (n_partitions,)."""
        return read_only(self.codes.max(axis=1).astype(np.int64) + 1)

    @cached_property
    def _distinct(self) -> tuple[IntArray, IntArray]:
        """First copy and group of the distinct partitions, see `distinct_partitions`.

        Codes are canonical, so equal partitions have equal bytes.
        """
        seen: dict[bytes, int] = {}
        group = [seen.setdefault(row.tobytes(), len(seen)) for row in self.codes]
        first = np.unique(group, return_index=True)[1]
        return read_only(first), read_only(np.asarray(group))

    @property
    def n_partitions(self) -> int:
        """Number of partitions T."""
        return int(self.labels.shape[0])

    @property
    def n_samples(self) -> int:
        """Number of samples n."""
        return int(self.labels.shape[1])

    def select(self, models: npt.ArrayLike) -> Ensemble:
        """Return the ensemble of some of the partitions.

        Parameters
        ----------
        models : array-like
            Positions of partitions, or a boolean mask of shape (n_partitions,).

        Returns
        -------
        ensemble : Ensemble
            The chosen partitions in the given order, without notes.
        """
        chosen = np.arange(self.n_partitions)[np.asarray(models)]
        return Ensemble(
            self.labels[chosen],
            names=[self.names[t] for t in chosen],
            families=[self.families[t] for t in chosen],
            noise=self.noise,
            specs=[self.specs[t] for t in chosen],
            seconds=self.seconds[chosen],
            memberships={
                new: self.memberships[old]
                for new, old in enumerate(chosen.tolist())
                if old in self.memberships
            },
        )

    def take_samples(self, samples: npt.ArrayLike) -> Ensemble:
        """Return the ensemble restricted to some of the samples.

        Parameters
        ----------
        samples : array-like
            Positions of samples, or a boolean mask of shape (n_samples,).

        Returns
        -------
        ensemble : Ensemble
            All partitions of the chosen samples, in the given order, without notes.
        """
        chosen = np.arange(self.n_samples)[np.asarray(samples)]
        return Ensemble(
            self.labels[:, chosen],
            names=self.names,
            families=self.families,
            noise=self.noise,
            specs=self.specs,
            seconds=self.seconds,
            memberships={t: m[chosen] for t, m in self.memberships.items()},
        )

    def __repr__(self) -> str:
        """Say the size."""
        return f"Ensemble({self.n_partitions} partitions of {self.n_samples} samples)"


def check_ensemble(
    ensemble: Any, *, name: str = "ensemble", alternatives: str = ""
) -> Ensemble:
    """Return the ensemble if it is one, or say which call makes one."""
    if not isinstance(ensemble, Ensemble):
        raise ValueError(
            f"{name} is a {type(ensemble).__name__}; give an Ensemble{alternatives}: "
            "Ensemble(labels) makes one of a label matrix, run_pool of a table, "
            "load_partitions of a file."
        )
    return ensemble


def distinct_partitions(ensemble: Ensemble) -> tuple[IntArray, IntArray]:
    """Find the distinct partitions of an ensemble.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions.

    Returns
    -------
    first : array of int, shape (n_distinct,)
        Position of the first copy of each distinct partition, ascending.
    group : array of int, shape (n_partitions,)
        For each partition the index into `first`.

    Notes
    -----
    O(T n) time on the first call for an ensemble, which keeps the answer.
    """
    return ensemble._distinct


def _label_matrix(labels: Any) -> IntArray:
    """Stack label vectors into a (T, n) matrix of the smallest fitting type."""
    try:
        rows = list(labels)
    except TypeError:
        raise ValueError(
            f"labels is a {type(labels).__name__}; give a label matrix of shape "
            "(n_partitions, n_samples)."
        ) from None
    if not rows:
        raise ValueError("labels is empty; give at least one partition.")
    first = check_labels(rows[0], name="labels[0]")
    vectors = [
        check_labels(row, n_samples=first.size, name=f"labels[{t}]")
        for t, row in enumerate(rows)
    ]
    low = min(int(vector.min()) for vector in vectors)
    high = max(int(vector.max()) for vector in vectors)
    dtype = np.result_type(np.min_scalar_type(low), np.min_scalar_type(high))
    return np.array(vectors, dtype=dtype if dtype.kind in "iu" else np.int64)


def _split_noise(labels: IntArray, noise: str) -> IntArray:
    """Give each noise sample a label of its own where noise means singletons."""
    if noise == "cluster" or not (labels == NOISE).any():
        return labels
    split = labels.astype(np.int64)
    at = np.flatnonzero(split == NOISE)
    split[at] = int(split.max()) + 1 + np.arange(len(at))
    return split
