"""Internal and external indices by name: `internal_index` and `external_index`.

An internal index evaluates a partition by the features, an external one by a reference
partition. `INDICES` lists them all with definitions, direction, range, cost, reference.
"""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, RunOptions
from clusterlens.compute._validation import (
    RandomState,
    check_features,
    check_random_state,
    check_range,
    split_labelled,
    warn_caller,
)
from clusterlens.compute.indices._clusters import Clusters
from clusterlens.compute.indices.registry import INDICES, Definition, index_name

__all__ = ["INDICES", "IndexValue", "external_index", "internal_index"]

MAX_QUADRATIC_SAMPLES = 50_000


class IndexValue(float):
    """The value of an index: a float with the conditions under which it was computed.

    Attributes
    ----------
    reason : str
        Why the value is NaN or infinite; empty otherwise.
    n_used : int
        Number of samples used.
    n_left_out : int
        Number of samples left out because they have no label.
    exact : bool
        Whether all samples with a label were used.
    """

    reason: str
    n_used: int
    n_left_out: int
    exact: bool

    def __new__(
        cls,
        value: float,
        *,
        reason: str = "",
        n_used: int = 0,
        n_left_out: int = 0,
        exact: bool = True,
    ) -> IndexValue:
        """Make the float and attach the conditions."""
        number = super().__new__(cls, value)
        number.reason, number.exact = reason, exact
        number.n_used, number.n_left_out = n_used, n_left_out
        return number


@takes_running
def internal_index(
    name: str,
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    definition: str | None = None,
    sample_size: int | None = None,
    random_state: RandomState = 0,
    unlabelled: int | None = None,
    n_jobs: int | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> IndexValue:
    """Evaluate a partition by the features alone.

    Parameters
    ----------
    name : str
        An internal index of `INDICES`, such as "CHI", or one of its aliases, such as
        "calinski-harabasz" or "silhouette".
    X : array-like of float, shape (n_samples, n_features)
        Finite features.
    labels : array-like of int or str, shape (n_samples,)
        Cluster of each sample. -1 is the noise of a clustering: a cluster like any
        other, except in DBCV. Rows without a label (None, NaN, NA) are left out.
    definition : str, optional
        Name of the formula; `INDICES[name].definitions` lists them, the default first:
        "textbook", or "paper" for the few that only the paper defines.
    sample_size : int, optional
        Compute on this many samples, drawn without replacement. Default all. Least and
        greatest distances (DI) are biased on a sample, means are not.
    random_state : int, default 0
        Seed of that draw.
    unlabelled : int, optional
        The label of samples without a class: give -1 for class labels of a table, as
        `prepare` marks missing classes. Default: every whole number is a cluster.
    n_jobs : int, optional
        Threads of quadratic indices, all cores by default; the value does not depend on
        their number.
    cancel : callable, optional
        Called without argument between blocks; a true answer raises `Cancelled`.
    executor : concurrent.futures.Executor, optional
        Threads to use instead of new ones.

    Returns
    -------
    value : IndexValue
        A float within `INDICES[name].definitions[definition].range`. If the formula has
        no value: its limit if there is one, else NaN; `value.reason` says why.
        `value.exact` is False on a sample.

    Warns
    -----
    UserWarning
        If samples without a label are left out; `value.n_left_out` counts them.

    Raises
    ------
    ValueError
        If the index or definition does not exist, shapes disagree, or a quadratic index
        is called with more than 50,000 samples and no `sample_size`.
    Cancelled
        If `cancel` returns true.

    Notes
    -----
    "linear" indices take O(n d) time, "quadratic" ones O(n^2 d); memory is O(n d) for
    both.

    References
    ----------
    L. Ohl, F. Lindsten, "Discriminative ordering through ensemble consensus": the 18
    indices and their "paper" definitions. B. Desgraupes, "Clustering Indices", package
    clusterCrit: most "textbook" definitions.

    Examples
    --------
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> internal_index("DI", X, [0, 0, 1, 1])
    9.0
    >>> internal_index("BHI", X, [0, 0, 1, 1], definition="paper")
    0.5
    >>> internal_index("CHI", X, [0, 0, 0, 0]).reason
    'n_clusters is 1 for 4 samples; it needs 2 to n - 1'
    """
    run = RunOptions(n_jobs, None, cancel, executor)
    seed = check_random_state(random_state)
    formula = _definition("internal", name, definition)
    features = check_features(X)
    n_samples = len(features)
    labelled, vector = split_labelled(labels, unlabelled, n_samples=n_samples)
    n_left_out = _warn_of_unlabelled(labelled, unlabelled, "labels")
    if n_left_out:
        features = features[labelled]
    if vector.dtype.kind == "U":  # text has no noise label
        vector = pd.factorize(vector)[0]
    chosen = _choose_samples(name, formula, len(features), sample_size, seed)
    clusters = Clusters.sort(features[chosen], vector[chosen], run)
    n_used = clusters.n_samples
    value, reason = formula.measure(clusters)
    return IndexValue(
        value,
        reason=reason,
        n_used=n_used,
        n_left_out=n_left_out,
        exact=n_used == len(features),
    )


def external_index(
    name: str,
    labels_true: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    definition: str | None = None,
    unlabelled: int | None = -1,
) -> IndexValue:
    """Compare a partition with a reference partition.

    Parameters
    ----------
    name : str
        An external index of `INDICES`, such as "ari", or one of its aliases.
    labels_true : array-like of int or str, shape (n_samples,)
        The reference, such as class labels. Values are names only.
    labels : array-like of int or str, shape (n_samples,)
        The partition to evaluate; -1, the noise of a clustering, is a cluster like any
        other. Samples without a label in either (None, NaN, NA) are left out.
    definition : str, optional
        Name of the formula; for "ami" and "nmi" the mean of the two entropies that
        normalises: "arithmetic" (default), "geometric", "max" or "min".
    unlabelled : int or None, default -1
        The label in labels_true of samples without a class; -1, as `prepare` marks
        missing classes. None if every whole number is a class, for instance if the
        reference is a clustering with noise.

    Returns
    -------
    value : IndexValue
        A float within `INDICES[name].range`; 1 for equal partitions.

    Warns
    -----
    UserWarning
        If samples without a label are left out; `value.n_left_out` counts them.

    Raises
    ------
    ValueError
        If the index or definition does not exist, lengths disagree or no sample has
        both labels.

    Notes
    -----
    O(n) time and the cells of the contingency table; K^3 for "accuracy".

    References
    ----------
    `INDICES[name].reference`.

    Examples
    --------
    >>> external_index("ari", [0, 0, 1, 1], [7, 7, 3, 3])
    1.0
    >>> external_index("accuracy", [0, 0, 1, 1], [0, 0, 1, 2])
    0.75
    """
    formula = _definition("external", name, definition)
    has_class, classes = split_labelled(labels_true, unlabelled, name="labels_true")
    n_samples = len(has_class)
    has_label, values = split_labelled(labels, None, n_samples=n_samples)
    n_left_out = _warn_of_unlabelled(has_class, unlabelled, "labels_true")
    if not has_label.all():
        n_left_out += _warn_of_unlabelled(has_label | ~has_class, None, "labels")
    if n_left_out == n_samples:
        raise ValueError("No sample has a label in both labels_true and labels.")
    reference = pd.factorize(classes[has_label[has_class]])[0]
    codes = pd.factorize(values[has_class[has_label]])[0]
    return IndexValue(
        formula.function(reference, codes), n_used=len(codes), n_left_out=n_left_out
    )


def _warn_of_unlabelled(
    labelled: npt.NDArray[np.bool_], unlabelled: int | None, name: str
) -> int:
    """Warn of samples left out because they have no label; return their number."""
    n_left_out = int(np.count_nonzero(~labelled))
    if n_left_out:
        counted = "" if unlabelled is None else f", {unlabelled} counted as none"
        warn_caller(
            f"{name} has no label for {n_left_out} of {len(labelled)} samples"
            f"{counted}; these are left out.",
        )
    return n_left_out


def _definition(
    kind: Literal["internal", "external"], name: str, definition: str | None
) -> Definition:
    """Look up one formula of an index."""
    name = index_name(kind, name)
    index = INDICES[name]
    if definition is None:
        return next(iter(index.definitions.values()))
    if not isinstance(definition, str) or definition not in index.definitions:
        allowed = ", ".join(map(repr, index.definitions))
        raise ValueError(
            f"definition is {definition!r}, but {name} ({index.title}) has no such "
            f"definition; give one of {allowed}."
        )
    return index.definitions[definition]


def _choose_samples(
    name: str,
    formula: Definition,
    n_samples: int,
    sample_size: int | None,
    seed: int,
) -> Any:
    """Choose all samples or a seeded draw; refuse computations that take too long."""
    if sample_size is None:
        if formula.cost == "quadratic" and n_samples > MAX_QUADRATIC_SAMPLES:
            raise ValueError(
                f"{name} compares all pairs of {n_samples} samples, the limit is "
                f"{MAX_QUADRATIC_SAMPLES}; give sample_size for an estimate on a "
                f"random sample, or sample_size={n_samples} to compute it all the same."
            )
        return slice(None)
    sample_size = check_range(
        sample_size, 1, n_samples, name="sample_size", integer=True
    )
    if sample_size == n_samples:
        return slice(None)
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n_samples, sample_size, replace=False))
