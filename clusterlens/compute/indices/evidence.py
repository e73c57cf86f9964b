"""Evidence that class labels are clusters: centres, density and chance.

CH_btwn measures classes by their centres, DBCV by the gaps between dense groups of any
shape: nested rings score -0.07 in CH_btwn and 0.39 in DBCV. Both are compared with the
scores of the same labels shuffled over the samples, because DBCV depends on dimension
and noise: shuffled labels of ten tables score from -0.4 to -0.9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    FloatArray,
    IntArray,
    check_entries,
    check_features,
    check_random_state,
    check_range,
    plain_repr,
    split_labelled,
)
from clusterlens.compute.indices.class_match import (
    LabelCheck,
    label_match,
    rename_check,
)
from clusterlens.compute.indices.indices import IndexValue, internal_index

Class = int | str


@dataclass(frozen=True, eq=False)
class LabelEvidence:
    """Scores of class labels by centres and by density, beside shuffled labels.

    Attributes
    ----------
    check : LabelCheck
        CH_btwn, see `label_match`.
    dbcv : IndexValue
        Density-based validity of all classes together, in [-1, 1]; 1 is best. It does
        not depend on the order of the rows.
    pairs : DataFrame
        The pairs of classes of `check` with one more column, dbcv.
    shuffled : DataFrame, shape (n_shuffles, 2)
        Columns score (CH_btwn) and dbcv of labels shuffled over the samples: scores of
        classes of these sizes by chance.
    """

    check: LabelCheck
    dbcv: IndexValue
    pairs: pd.DataFrame
    shuffled: pd.DataFrame


@takes_running
def label_evidence(
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    n_shuffles: int = 10,
    n_permutations: int | Literal["adaptive"] = 1000,
    sample_size: int | None = None,
    random_state: int | np.random.Generator | None = 0,
    unlabelled: int | None = -1,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> LabelEvidence:
    """Score class labels by centres and by density, beside shuffled labels.

    Parameters
    ----------
    X : array-like of float, shape (n_samples, n_features)
        Finite features.
    labels : array-like of int or str, shape (n_samples,)
        Class of each sample, at least two classes. Samples without one are left out.
    n_shuffles : int, default 10
        Number of times the labels are shuffled over the samples.
    n_permutations : int or "adaptive", default 1000
        Random assignments per pair of classes, as in `label_match`.
    sample_size : int, optional
        If a comparison has more samples, compute DBCV on this many of them.
    random_state : int, Generator or None, default 0
        Seed of shuffles, permutations and that draw.
    unlabelled : int or None, default -1
        The label of samples without a class, as in `label_match`.
    n_jobs, cancel, executor : optional
        As in `label_match`.
    progress : callable, optional
        Called as progress(comparisons done, comparisons in all).

    Returns
    -------
    evidence : LabelEvidence
        Both scores, for all classes, per pair of classes, and of shuffled labels.

    Raises
    ------
    ValueError
        If there are fewer than two classes, lengths disagree, or there are more than
        50,000 samples and no sample_size.

    Notes
    -----
    The time of 1 + n_shuffles calls of `label_match` and as many of DBCV, O(n² d), for
    all samples and for each pair of classes.

    References
    ----------
    Jeon et al. (2025), see `label_match`; Moulavi et al. (2014), density-based
    clustering validation, doi:10.1137/1.9781611973440.96.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]]
    >>> evidence = label_evidence(X, [0, 0, 0, 1, 1, 1], n_shuffles=2)
    >>> round(evidence.check.score, 2), round(evidence.dbcv, 2)
    (0.99, 0.81)
    """
    run = RunOptions(n_jobs, progress, cancel, executor)
    check_range(n_shuffles, 0, 10_000, name="n_shuffles", integer=True)
    seed = check_random_state(random_state)
    if sample_size is not None:
        check_range(sample_size, 1, np.inf, name="sample_size", integer=True)
    features = check_features(X)
    labelled, classes = split_labelled(labels, unlabelled, n_samples=len(features))
    features = features[labelled]
    judge = partial(
        label_match,
        n_permutations=n_permutations,
        random_state=seed,
        **run.quiet.threads,
    )

    def density(chosen: slice | IntArray, given: npt.NDArray[Any]) -> IndexValue:
        size = None if sample_size is None else min(sample_size, len(given))
        codes = np.unique(given, return_inverse=True)[1]
        return internal_index(
            "DBCV",
            features[chosen],
            codes,
            sample_size=size,
            random_state=seed,
            cancel=cancel,
        )

    # The check counts the samples left out of the whole table.
    check = judge(X, labels, unlabelled=unlabelled)
    total = 1 + len(check.pairs) + n_shuffles
    dbcv = density(slice(None), classes)
    run.report(1, total)
    of_pairs = []
    for a, b in zip(check.pairs["class_a"], check.pairs["class_b"], strict=True):
        both = np.flatnonzero((classes == a) | (classes == b))
        of_pairs.append(float(density(both, classes[both])))
        run.report(1 + len(of_pairs), total)
    shuffled = []
    for at, rng in enumerate(np.random.default_rng(seed).spawn(n_shuffles), 1):
        dealt = rng.permutation(classes)
        score = judge(features, dealt, unlabelled=None).score
        shuffled.append((score, float(density(slice(None), dealt))))
        run.report(total - n_shuffles + at, total)
    return LabelEvidence(
        check,
        dbcv,
        check.pairs.assign(dbcv=of_pairs),
        pd.DataFrame(shuffled, columns=["score", "dbcv"]),
    )


def rename_evidence(evidence: LabelEvidence, names: Mapping[int, int]) -> LabelEvidence:
    """Return evidence with other whole numbers for its classes; no score changes."""
    check, ends = rename_check(evidence.check, names), ["class_a", "class_b"]
    found = {
        frozenset((names[a], names[b])): dbcv
        for a, b, dbcv in evidence.pairs[[*ends, "dbcv"]].itertuples(index=False)
    }
    dbcv = [found[frozenset(pair)] for pair in check.pairs[ends].to_numpy().tolist()]
    return replace(evidence, check=check, pairs=check.pairs.assign(dbcv=dbcv))


def merge_classes(
    labels: npt.ArrayLike, classes: Sequence[Class]
) -> npt.NDArray[np.object_]:
    """Merge several classes into one.

    Parameters
    ----------
    labels : array-like of int or str, shape (n_samples,)
        Class of each sample; missing ones stay missing (None).
    classes : sequence of int or str
        Two or more of these classes.

    Returns
    -------
    merged : array of object, shape (n_samples,)
        Labels with all these classes renamed to the first one.

    Examples
    --------
    >>> merge_classes(["a", "b", "c"], ["b", "c"]).tolist()
    ['a', 'b', 'b']
    """
    labelled, values = split_labelled(labels, None)
    classes = check_entries(classes, "classes")
    absent = [name for name in classes if not np.isscalar(name) or name not in values]
    if absent or len(set(classes)) < 2:
        raise ValueError(
            f"classes is {plain_repr(list(classes))}; give two or more different ones "
            f"of {np.unique(values).tolist()!r}."
        )
    merged = np.full(len(labelled), None, dtype=object)
    names = np.array(values.tolist(), dtype=object)
    names[np.isin(values, np.array(list(classes)))] = classes[0]
    merged[labelled] = names
    return merged


@takes_running
def merge_gains(
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    n_pairs: int = 5,
    n_permutations: int | Literal["adaptive"] = 1000,
    random_state: int | np.random.Generator | None = 0,
    unlabelled: int | None = -1,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> pd.DataFrame:
    """Score the classes again after merging each of the pairs that mix most.

    Parameters
    ----------
    X, labels
        As in `label_match`; at least three classes.
    n_pairs : int, default 5
        Number of pairs to try, in order of increasing score.
    n_permutations, random_state, unlabelled, n_jobs, cancel, executor : optional
        As in `label_match`.
    progress : callable, optional
        Called as progress(pairs done, pairs in all).

    Returns
    -------
    table : DataFrame
        One row per pair, lowest score first: class_a, class_b, score, standard_error,
        n_a, n_b, merged (CH_btwn of all classes after merging the two), change (merged
        minus CH_btwn before).

    Raises
    ------
    ValueError
        If there are fewer than three classes or lengths disagree.

    Notes
    -----
    Pairs without the merged class keep their scores exactly, because each pair draws
    its own random numbers. Takes the time of 1 + n_pairs calls of `label_match`.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [0.1], [1.1], [2.1], [7.0], [8.0], [9.0]]
    >>> merge_gains(X, list("aaabbbccc")).loc[0, ["class_a", "class_b"]].tolist()
    ['a', 'b']
    """
    run = RunOptions(n_jobs, progress, cancel, executor)
    check_range(n_pairs, 1, np.inf, name="n_pairs", integer=True)
    seed = check_random_state(random_state)
    features: FloatArray = check_features(X)
    labelled, classes = split_labelled(labels, unlabelled, n_samples=len(features))
    features = features[labelled]
    judge = partial(
        label_match,
        features,
        n_permutations=n_permutations,
        random_state=seed,
        unlabelled=None,
        **run.quiet.threads,
    )
    before = judge(classes)
    if len(before.pairs) < 2:
        raise ValueError("labels has two classes; give at least three, to merge two.")
    table = before.pairs.sort_values("score", kind="stable").head(n_pairs)
    merged = []
    for a, b in zip(table["class_a"], table["class_b"], strict=True):
        merged.append(judge(merge_classes(classes, [a, b])).score)
        run.report(len(merged), len(table))
    columns = ["class_a", "class_b", "score", "standard_error", "n_a", "n_b"]
    return (
        table[columns]
        .assign(merged=merged, change=np.array(merged) - before.score)
        .reset_index(drop=True)
    )
