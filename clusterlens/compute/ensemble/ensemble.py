"""Ensemble: the labels that a pool of models gives to the same samples.

An ensemble holds T partitions of n samples as a label matrix of shape (T, n). Label
values are names only. Comparisons of partitions start from the compact codes stored
here, or from contingency tables, which cost O(n) per pair of partitions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal, get_args, overload

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._validation import (
    UNLABELLED,
    DataError,
    FloatArray,
    Frozen,
    IntArray,
    as_pandas,
    check_choice,
    check_entries,
    read_only,
)
from clusterlens.compute.ensemble._arguments import (
    check_seen,
    checked_seconds,
    checked_specs,
    checked_weights,
    kept_gaps,
    label_matrix,
    mask_of_gaps,
    most_votes,
    one_each,
    positions_or_mask,
    soft_by_position,
    some_weights,
    warn_if_transposed,
    whole_votes,
)
from clusterlens.compute.ensemble._stored import write_ensemble
from clusterlens.compute.formatting import whole
from clusterlens.compute.notes import Note, as_note

NOISE = UNLABELLED
NO_VOTE = 2.0**-100  # weight of a candidate without a vote
NoiseMeans = Literal["cluster", "singletons", "silent"]
_KEPT = ("codes_and_gaps", "gaps", "n_codes", "n_noise", "n_clusters", "_distinct")


def without_slight_votes(weights: FloatArray) -> FloatArray:
    """Replace weights (T,) of less than half a vote by negligible ones.

    Their partitions stay candidates, but rounding does not give them a whole vote each.
    """
    least = 0.5 * weights.sum() / most_votes(len(weights))
    return np.where((weights > 0) & (weights < least), NO_VOTE, weights)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Ensemble(Frozen):
    """Partitions of the same samples, one per model.

    Parameters
    ----------
    labels : array-like of int, shape (n_partitions, n_samples)
        Label matrix, or a sequence of label vectors. Values are names only: gaps and
        negative values are allowed; -1 is noise. In a DataFrame every column is a
        partition and every row a sample. Texts are allowed, missing entries are not;
        see `load_partitions`.
    names : sequence of str, optional
        One name per partition. Default the names of the columns of a DataFrame, else
        "model 1", "model 2", ...
    families : sequence of str, optional
        Kind of clusterer of each partition, e.g. "k-means". Default "model".
    noise : {"cluster", "singletons", "silent"}, default "cluster"
        Meaning of the label -1: all noise samples form one cluster (Ohl & Lindsten),
        each is a cluster of its own, or the model has no label for them, as for samples
        that it left out.
    specs : sequence of mapping, optional
        Clusterer and parameters of each partition.
    seconds : array-like of float, shape (n_partitions,), optional
        Fit time of each partition in seconds. Default NaN.
    notes : sequence of str, optional
        Events while the pool ran: failed, degenerate or skipped models.
    memberships : mapping of int to array of shape (n_samples, n_clusters), optional
        Soft memberships of the partitions that have them, by position.
    weights : array-like of float, shape (n_partitions,), optional
        How much each partition counts in the consensus, 0 or more; weight 2 means the
        partition twice. A partition of weight 0 is scored and ranked, but it does not
        vote, and no answer makes it probable. Default 1 each. See the Notes.
    missing : array-like of bool, shape (n_partitions, n_samples), optional
        Whether each model left out each sample, for partial partitions. The labels of
        such samples are ignored and become -1. Each model must have seen two samples.
        Default none.

    Attributes
    ----------
    codes : array of uint8, uint16 or uint32, shape (n_partitions, n_samples)
        Labels renumbered 0, 1, ... in order of first appearance, so that two rows are
        equal exactly if the partitions are. Partial partitions have none.
    gaps : array of bool, shape (n_partitions, n_samples), or None
        Whether each model has no label for each sample: it left the sample out, or
        calls it noise and noise is silent. None if there are no gaps.
    n_clusters : array of int64, shape (n_partitions,)
        Number of clusters of each partition, noise not counted.
    n_noise : array of int64, shape (n_partitions,)
        Number of samples that each partition calls noise (label -1).
    n_missing : array of int64, shape (n_partitions,)
        Number of samples that each model left out.
    n_gaps : array of int64, shape (n_partitions,)
        Number of samples without a label, for each model.
    votes : array of int64, shape (n_partitions,)
        Whole votes in the ratio of the weights; agreement counts and thresholds count
        votes.
    n_votes : int
        Their sum; n_partitions if all weights are 1.

    Raises
    ------
    ValueError
        If labels are neither whole numbers nor texts, one is missing, or lengths
        disagree.

    Warns
    -----
    UserWarning
        If there are more partitions than samples, and no names, families or specs
        give their number: the matrix may be transposed.

    Notes
    -----
    Time and memory O(n_partitions n_samples). Arrays are read-only.

    Weights that are whole numbers are the votes. Other weights become the smallest
    whole numbers in their ratio or, if the sum of these exceeds 4096 and 8 votes per
    partition, are rounded so that it does not: see `votes`. A negligible weight, less
    than 2**-50 of the largest, is no vote. The model may still be the right one:
    answers as evidence can make it probable (`candidates`).

    Partial partitions are not filled in. The consensus of a pair of samples is the
    number of votes that join it over the number that saw both. Functions that need the
    label of every sample refuse partial partitions, as `codes` does. Partitions with
    silent noise are partial, too: a model saw the samples that it put into a cluster.

    Examples
    --------
    >>> ensemble = Ensemble([[5, 5, 9], [0, 1, 1]])
    >>> ensemble.codes.tolist()
    [[0, 0, 1], [0, 1, 1]]
    """

    labels: IntArray
    names: tuple[str, ...]
    families: tuple[str, ...]
    noise: NoiseMeans
    specs: tuple[Mapping[str, Any], ...]
    seconds: FloatArray
    notes: tuple[Note, ...]
    memberships: Mapping[int, FloatArray]
    weights: FloatArray
    missing: npt.NDArray[np.bool_] | None

    def __init__(
        self,
        labels: npt.ArrayLike | Sequence[npt.ArrayLike],
        names: Sequence[str] | None = None,
        families: Sequence[str] | None = None,
        noise: NoiseMeans = "cluster",
        *,
        specs: Sequence[Mapping[str, Any]] | None = None,
        seconds: npt.ArrayLike | None = None,
        notes: Sequence[str] = (),
        memberships: Mapping[int, npt.ArrayLike] | None = None,
        weights: npt.ArrayLike | None = None,
        missing: npt.ArrayLike | None = None,
    ) -> None:
        labels = as_pandas(labels)
        if isinstance(labels, pd.DataFrame):
            names = labels.columns.tolist() if names is None else names
            labels = [labels.iloc[:, t] for t in range(labels.shape[1])]
        matrix = label_matrix(labels)
        if names is None and families is None and specs is None:
            warn_if_transposed(matrix)
        gaps = mask_of_gaps(missing, matrix.shape)
        if gaps is not None:
            kind = np.result_type(matrix.dtype, np.int8)
            matrix = matrix.astype(kind if kind.kind == "i" else np.int64)
            matrix[gaps] = NOISE
        count = len(matrix)
        numbered = [f"model {t}" for t in range(1, count + 1)]
        values = {
            "labels": read_only(matrix),
            "names": tuple(map(str, one_each(names, numbered, "names"))),
            "families": tuple(
                map(str, one_each(families, ["model"] * count, "families"))
            ),
            "specs": checked_specs(one_each(specs, [{}] * count, "specs")),
            "seconds": checked_seconds(one_each(seconds, [np.nan] * count, "seconds")),
            "noise": check_choice(noise, get_args(NoiseMeans), name="noise"),
            "notes": tuple(map(as_note, check_entries(notes, "notes"))),
            "memberships": soft_by_position(memberships, *matrix.shape),
            "weights": checked_weights(weights, count),
            "missing": gaps,
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        check_seen(self.gaps)

    @cached_property
    def gaps(self) -> npt.NDArray[np.bool_] | None:
        """Whether each model has no label for a sample, (n_partitions, n_samples)."""
        if self.noise != "silent" or not (silent := self.labels == NOISE).any():
            return self.missing
        return read_only(silent)  # samples left out have that label, too

    @property
    def codes(self) -> IntArray:
        """Compact codes, shape (n_partitions, n_samples)."""
        if self.gaps is not None:
            raise DataError(_refusal(self))
        return self.codes_and_gaps

    @cached_property
    def codes_and_gaps(self) -> IntArray:
        """Compact codes with an extra code for gaps, after all clusters of a row.

        Shape (n_partitions, n_samples). Samples with that code are not joined, so code
        that uses this array skips `n_codes[t]` in row t.
        """
        rows = []
        for t, labels in enumerate(self.labels):
            gaps = None if self.gaps is None else self.gaps[t]
            row = _compact(labels, self.noise, gaps)
            rows.append(row.astype(np.min_scalar_type(int(row.max()))))
        kind = np.result_type(*{row.dtype for row in rows})
        return read_only(np.array(rows, dtype=kind))

    @cached_property
    def n_codes(self) -> IntArray:
        """Number of codes of each partition, shape (n_partitions,), including noise."""
        highest = self.codes_and_gaps.max(axis=1).astype(np.int64)
        return read_only(highest + (self.n_gaps == 0))

    @cached_property
    def n_missing(self) -> IntArray:
        """Number of samples that each model left out, shape (n_partitions,)."""
        if self.missing is None:
            return read_only(np.zeros(self.n_partitions, np.int64))
        return read_only(np.count_nonzero(self.missing, axis=1))

    @property
    def n_gaps(self) -> IntArray:
        """Number of samples without a label, for each model, (n_partitions,)."""
        if self.gaps is None:
            return read_only(np.zeros(self.n_partitions, np.int64))
        return read_only(np.count_nonzero(self.gaps, axis=1))

    @property
    def is_partial(self) -> bool:
        """Whether a model has no label for some sample."""
        return self.gaps is not None

    @property
    def seen_by_all(self) -> IntArray:
        """Positions of the samples that every model saw."""
        if self.gaps is None:
            return np.arange(self.n_samples)
        return np.flatnonzero(~self.gaps.any(axis=0))

    def seen_by(self, model: int) -> npt.NDArray[np.bool_]:
        """Tell which samples a model saw, shape (n_samples,).

        Parameters
        ----------
        model : int
            Position of the partition.

        Returns
        -------
        seen : array of bool, shape (n_samples,)
            All of them unless the partition is partial.
        """
        if self.gaps is None:
            return np.ones(self.n_samples, bool)
        return ~self.gaps[model]

    @cached_property
    def presence(self) -> Ensemble:
        """The ensemble with one cluster per model: all samples that the model saw.

        The votes that join a pair in it are the votes that saw the pair.
        """
        one = read_only(np.zeros(self.labels.shape, np.uint8))
        return self._with(labels=one, missing=self.gaps)

    @cached_property
    def n_noise(self) -> IntArray:
        """Number of noise samples of each partition, shape (n_partitions,)."""
        return read_only(
            np.count_nonzero(self.labels == NOISE, axis=1) - self.n_missing
        )

    @cached_property
    def n_clusters(self) -> IntArray:
        """Number of clusters of each partition without noise, (n_partitions,)."""
        codes_of_noise: dict[str, Any] = {
            "cluster": self.n_noise > 0,
            "singletons": self.n_noise,
            "silent": 0,
        }
        return read_only(self.n_codes - codes_of_noise[self.noise])

    @cached_property
    def votes(self) -> IntArray:
        """Whole votes in the ratio of the weights, shape (n_partitions,)."""
        return read_only(whole_votes(self.weights))

    @property
    def n_votes(self) -> int:
        """Number of all votes; n_partitions if all weights are 1."""
        return int(self.votes.sum())

    @property
    def voters(self) -> Ensemble:
        """The partitions with a vote; the ensemble itself if all have one."""
        return self if self.votes.all() else self._some_voters

    @cached_property
    def _some_voters(self) -> Ensemble:
        return self.select(self.votes > 0)

    @property
    def candidates(self) -> Ensemble:
        """The partitions of weight above 0, with or without a vote; itself if all.

        Any of these may be the right one. Partitions of weight 0 are derived from
        others.
        """
        return self if self.weights.all() else self._some_candidates

    @cached_property
    def _some_candidates(self) -> Ensemble:
        return self.select(self.weights > 0)

    @cached_property
    def _distinct(self) -> tuple[IntArray, IntArray]:
        """First copy and group of the distinct partitions, see `distinct_partitions`.

        Codes are canonical, so equal partitions have equal bytes and equally many gaps.
        """
        seen: dict[tuple[bytes, int], int] = {}
        rows = zip(self.codes_and_gaps, self.n_gaps.tolist(), strict=True)
        group = [seen.setdefault((row.tobytes(), n), len(seen)) for row, n in rows]
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
        """Return the ensemble of the chosen partitions.

        Parameters
        ----------
        models : array-like
            Positions of partitions, or a boolean mask of shape (n_partitions,).

        Returns
        -------
        ensemble : Ensemble
            The chosen partitions in the given order with their weights, without notes.
            If no chosen partition has a vote, each gets one.
        """
        chosen = np.arange(self.n_partitions)[positions_or_mask(models)]
        if not chosen.size:
            raise ValueError("models names no partition; give at least one.")
        return self._with(
            labels=read_only(self.labels[chosen]),
            names=tuple(self.names[t] for t in chosen),
            families=tuple(self.families[t] for t in chosen),
            specs=tuple(self.specs[t] for t in chosen),
            seconds=read_only(self.seconds[chosen]),
            weights=some_weights(self.weights[chosen]),
            missing=kept_gaps(self.missing, (chosen, slice(None))),
            memberships={
                new: self.memberships[old]
                for new, old in enumerate(chosen.tolist())
                if old in self.memberships
            },
        )

    def __len__(self) -> int:
        """Number of partitions T."""
        return self.n_partitions

    @overload
    def __getitem__(self, models: int) -> IntArray: ...

    @overload
    def __getitem__(self, models: slice | npt.ArrayLike) -> Ensemble: ...

    def __getitem__(self, models: int | slice | npt.ArrayLike) -> IntArray | Ensemble:
        """Return the labels of one partition, or the ensemble of several.

        Parameters
        ----------
        models : int, slice or array-like
            Position of a partition; several positions, a slice or a mask of them.

        Returns
        -------
        part : array of int, shape (n_samples,), or Ensemble
            Labels for one position; otherwise the result of `select`.
        """
        if isinstance(models, slice):
            return self.select(np.arange(self.n_partitions)[models])
        if isinstance(models, int | np.integer):
            return self.labels[models]
        return self.select(models)

    # Prevents NumPy from taking an ensemble for an array of labels.
    __iter__ = None

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[np.object_]:
        """Return the ensemble as one object, shape ()."""
        whole = np.empty((), np.object_)
        whole[()] = self
        return whole

    def replace(self, **changes: Any) -> Ensemble:
        """Return the ensemble with other values of some arguments.

        Parameters
        ----------
        **changes
            Arguments of `Ensemble` by name, checked as there; all others stay the same.

        Returns
        -------
        ensemble : Ensemble
            Equal except for the changes.

        Examples
        --------
        >>> Ensemble([[0, 0, 1], [0, 1, 1]]).replace(names=["first", "second"]).names
        ('first', 'second')
        """
        kept = {field.name: getattr(self, field.name) for field in fields(self)}
        return Ensemble(**{**kept, **changes})

    def concat(self, *others: Ensemble) -> Ensemble:
        """Return the partitions of this ensemble and of others, in order.

        Parameters
        ----------
        *others : Ensemble
            Partitions of the same samples with the same meaning of noise.

        Returns
        -------
        ensemble : Ensemble
            All partitions with their weights, memberships, gaps and notes.

        Raises
        ------
        ValueError
            If numbers of samples or meanings of noise differ.

        Examples
        --------
        >>> Ensemble([[0, 0, 1]]).concat(Ensemble([[0, 1, 1], [0, 1, 2]]))
        Ensemble(3 partitions of 3 samples)
        """
        parts = [self, *map(check_ensemble, others)]
        for part in parts:
            if (part.n_samples, part.noise) != (self.n_samples, self.noise):
                raise ValueError(
                    f"others has {part!r} with noise={part.noise!r}, to follow "
                    f"{self!r} with noise={self.noise!r}; give partitions of the same "
                    "samples, and one meaning of noise with replace(noise=...)."
                )
        starts = np.cumsum([0, *map(len, parts)]).tolist()
        missing = [
            np.zeros(part.labels.shape, bool) if part.missing is None else part.missing
            for part in parts
        ]
        return Ensemble(
            [labels for part in parts for labels in part.labels],
            [name for part in parts for name in part.names],
            [family for part in parts for family in part.families],
            self.noise,
            specs=[spec for part in parts for spec in part.specs],
            seconds=np.concatenate([part.seconds for part in parts]),
            notes=[note for part in parts for note in part.notes],
            memberships={
                start + t: rows
                for start, part in zip(starts, parts, strict=False)
                for t, rows in part.memberships.items()
            },
            weights=np.concatenate([part.weights for part in parts]),
            missing=np.concatenate(missing),
        )

    def take_samples(self, samples: npt.ArrayLike) -> Ensemble:
        """Return the ensemble restricted to the chosen samples.

        Parameters
        ----------
        samples : array-like
            Positions of samples, or a boolean mask of shape (n_samples,).

        Returns
        -------
        ensemble : Ensemble
            All partitions of the chosen samples, in the given order, without notes.

        Raises
        ------
        DataError
            If a model saw fewer than two of these.
        """
        chosen = np.arange(self.n_samples)[positions_or_mask(samples)]
        if not chosen.size:
            raise ValueError("samples names no sample; give at least one.")
        soft = {t: read_only(m[chosen]) for t, m in self.memberships.items()}
        missing = kept_gaps(self.missing, (slice(None), chosen))
        labels = read_only(self.labels[:, chosen])
        some = self._with(labels=labels, memberships=soft, missing=missing)
        check_seen(some.gaps)
        return some

    def with_weights(self, weights: npt.ArrayLike | None) -> Ensemble:
        """Return the same partitions with other weights.

        Parameters
        ----------
        weights : array-like of float, shape (n_partitions,), or None
            As for `Ensemble`; None gives each partition weight 1.

        Returns
        -------
        ensemble : Ensemble
            Equal except for the weights and votes.
        """
        checked = checked_weights(weights, self.n_partitions)
        new = self._with(weights=checked)
        object.__setattr__(new, "notes", self.notes)
        vars(new).update({k: v for k, v in vars(self).items() if k in _KEPT})
        return new

    def to_frame(self) -> pd.DataFrame:
        """Return one row per partition.

        Returns
        -------
        frame : DataFrame
            Columns model, family, n_clusters, n_noise, votes, seconds, and n_missing
            if partitions are partial; the index is the position.
        """
        frame = pd.DataFrame(
            {
                "model": self.names,
                "family": self.families,
                "n_clusters": self.n_clusters,
                "n_noise": self.n_noise,
                "votes": self.votes,
                "seconds": self.seconds,
            }
        )
        return frame.assign(n_missing=self.n_missing) if self.is_partial else frame

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the ensemble to one Parquet file, which `load_ensemble` reads.

        Parameters
        ----------
        path : path
            File to write; it appears once it is complete.
        """
        write_ensemble(self, path)

    def _with(self, **changes: Any) -> Ensemble:
        """Return an ensemble with other checked fields, without notes."""
        new = object.__new__(Ensemble)
        for field in fields(self):
            value = changes.get(field.name, getattr(self, field.name))
            object.__setattr__(new, field.name, value)
        object.__setattr__(new, "notes", ())
        return new

    def __repr__(self) -> str:
        """Return the size, and the votes if they are not one each."""
        votes = "" if (self.votes == 1).all() else f", {self.n_votes} votes"
        size = f"{self.n_partitions} partitions of {self.n_samples} samples"
        n_partial = np.count_nonzero(self.n_gaps)
        partial = f", {n_partial} partial" if n_partial else ""
        return f"Ensemble({size}{votes}{partial})"


def check_ensemble(
    ensemble: Any, *, name: str = "ensemble", alternatives: str = ""
) -> Ensemble:
    """Return the ensemble if it is one; otherwise name the calls that make one."""
    if not isinstance(ensemble, Ensemble):
        raise ValueError(
            f"{name} is a {type(ensemble).__name__}; give an Ensemble{alternatives}: "
            "Ensemble(labels) makes one of a label matrix, run_pool of a table, "
            "load_partitions of a file."
        )
    return ensemble


def distinct_partitions(ensemble: Ensemble) -> tuple[IntArray, IntArray]:
    """Find the first copy of each distinct partition, and the group of each one.

    Shapes (n_distinct,), ascending, and (n_partitions,), positions in the first array.
    O(T n) time on the first call for an ensemble, which caches the result.
    """
    return ensemble._distinct


def distinct_votes(ensemble: Ensemble) -> tuple[IntArray, IntArray]:
    """Find the first copy of each distinct partition, and the votes of its copies.

    Shapes (n_distinct,); 0 votes if no copy has one. O(T n) time on the first call for
    an ensemble.
    """
    first, group = distinct_partitions(ensemble)
    votes = np.zeros(len(first), np.int64)
    np.add.at(votes, group, ensemble.votes)
    return first, votes


def _compact(
    labels: IntArray, noise: str, gaps: npt.NDArray[np.bool_] | None
) -> IntArray:
    """Number the codes of one partition by first appearance; gaps come last."""
    if gaps is None or not gaps.any():
        return pd.factorize(split_noise(labels, noise))[0]
    codes, names = pd.factorize(split_noise(labels[~gaps], noise))
    row = np.full(len(labels), len(names), np.int64)
    row[~gaps] = codes
    return row


def _refusal(ensemble: Ensemble) -> str:
    """Explain why partial partitions are refused, and how to proceed."""
    partial = ensemble.n_gaps[ensemble.n_gaps > 0]
    fewest, most = int(partial.min()), int(partial.max())
    span = whole(most) if fewest == most else f"{whole(fewest)} to {whole(most)}"
    everywhere = len(ensemble.seen_by_all)
    return (
        f"{len(partial)} of {ensemble.n_partitions} partitions are partial: they leave "
        f"out {span} of {whole(ensemble.n_samples)} samples, and this needs the label "
        f"of each; keep the {whole(everywhere)} samples that all models saw, with "
        "ensemble.take_samples(ensemble.seen_by_all), or say what a gap means with "
        f"{_remedy(ensemble)}."
    )


def _remedy(ensemble: Ensemble) -> str:
    """Name the call that fills the gaps of partial partitions."""
    if ensemble.noise == "silent":
        return "ensemble.replace(noise='cluster') or 'singletons'"
    return "load_partitions(gaps='singletons') or 'noise'"


def split_noise(labels: IntArray, noise: str) -> IntArray:
    """Give each noise sample its own label if noise means singletons."""
    if noise == "cluster" or not (labels == NOISE).any():
        return labels
    split = labels.astype(np.int64)
    at = np.flatnonzero(split == NOISE)
    split[at] = int(split.max()) + 1 + np.arange(len(at))
    return split
