"""Internal and external indices by name: `internal_index` and `external_index`.

An internal index judges a partition by the features, an external one by a reference
partition. `INDICES` lists them all with definitions, direction, range, cost, reference.
"""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from clusterlens.compute._run.options import Cancel, RunOptions
from clusterlens.compute._validation import (
    check_choice,
    check_classes,
    check_features,
    check_range,
)
from clusterlens.compute.indices._clusters import Clusters, Undefined
from clusterlens.compute.indices.registry import INDICES, Definition

__all__ = ["INDICES", "IndexValue", "external_index", "internal_index"]

MAX_QUADRATIC_SAMPLES = 50_000


class IndexValue(float):
    """The value of an index: a float that also says how far it may be trusted.

    Attributes
    ----------
    reason : str
        Why the value is NaN or infinite; empty otherwise.
    n_used : int
        Number of samples it was computed on.
    exact : bool
        Whether these were all samples.
    """

    reason: str
    n_used: int
    exact: bool

    def __new__(
        cls, value: float, *, reason: str = "", n_used: int = 0, exact: bool = True
    ) -> IndexValue:
        """Attach what is known to the value."""
        number = super().__new__(cls, value)
        number.reason, number.n_used, number.exact = reason, n_used, exact
        return number


def internal_index(
    name: str,
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    definition: str = "textbook",
    sample_size: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> IndexValue:
    """Judge a partition by the features alone.

    Parameters
    ----------
    name : str
        An internal index of `INDICES`, such as "CHI".
    X : array-like of float, shape (n_samples, n_features)
        Finite features.
    labels : array-like of int, shape (n_samples,)
        Cluster of each sample. -1 is a cluster like any other, except in DBCV, where it
        is noise.
    definition : str, default "textbook"
        Which formula; `INDICES[name].definitions` lists them.
    sample_size : int, optional
        Compute on this many samples, drawn without replacement. Default all. Least and
        greatest distances (DI) are biased on a sample, means are not.
    random_state : int, default 0
        Seed of that draw.
    n_jobs : int, optional
        Threads of quadratic indices, all cores by default; the value does not depend on
        their number.
    cancel : callable, optional
        Called without argument between blocks; a true answer raises `Cancelled`.
    executor : concurrent.futures.Executor, optional
        Threads to use instead of own ones.

    Returns
    -------
    value : IndexValue
        A float within `INDICES[name].definitions[definition].range`. NaN, or the limit
        if there is one, where the formula has no value; `value.reason` then says why.
        `value.exact` is False on a sample.

    Raises
    ------
    ValueError
        If the index or definition does not exist, shapes disagree, or a quadratic index
        is asked for above 50,000 samples without a `sample_size`.
    Cancelled
        If `cancel` says so.

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
    formula = _definition("internal", name, definition)
    features = check_features(X)
    vector, _ = check_classes(labels, n_samples=len(features))
    chosen = _choose_samples(name, formula, len(features), sample_size, random_state)
    run = RunOptions(n_jobs, None, cancel, executor)
    clusters = Clusters.sort(features[chosen], vector[chosen], run)
    n_used = clusters.n_samples
    reason = ""
    try:
        value = formula.function(clusters)
    except Undefined as undefined:
        value, reason = undefined.limit, str(undefined)
    return IndexValue(
        value, reason=reason, n_used=n_used, exact=n_used == len(features)
    )


def external_index(
    name: str,
    labels_true: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    definition: str | None = None,
) -> IndexValue:
    """Compare a partition with a reference partition.

    Parameters
    ----------
    name : str
        An external index of `INDICES`, such as "ari".
    labels_true, labels : array-like of int or str, shape (n_samples,)
        The reference and the partition to judge. Values are names only; -1 is a cluster
        like any other.
    definition : str, optional
        Which formula; for "ami" and "nmi" the mean of the two entropies that
        normalises: "arithmetic" (default), "geometric", "max" or "min".

    Returns
    -------
    value : IndexValue
        A float within `INDICES[name].range`; 1 for equal partitions.

    Raises
    ------
    ValueError
        If the index or definition does not exist or lengths disagree.

    Notes
    -----
    O(n) time beside the cells of the contingency table, K^3 for "accuracy".

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
    reference, _ = check_classes(labels_true, name="labels_true")
    codes, _ = check_classes(labels, n_samples=len(reference))
    return IndexValue(formula.function(reference, codes), n_used=len(codes))


def _definition(
    kind: Literal["internal", "external"], name: str, definition: str | None
) -> Definition:
    """Look up one formula of an index."""
    names = [key for key, index in INDICES.items() if index.kind == kind]
    index = INDICES[check_choice(name, names, name="name")]
    if definition is None:
        return next(iter(index.definitions.values()))
    if definition not in index.definitions:
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
    random_state: int,
) -> Any:
    """Samples to use: all, or a seeded draw; refuse what takes too long."""
    if sample_size is None:
        if formula.cost == "quadratic" and n_samples > MAX_QUADRATIC_SAMPLES:
            raise ValueError(
                f"{name} compares all pairs of {n_samples} samples, the limit is "
                f"{MAX_QUADRATIC_SAMPLES}; give sample_size for an estimate on a "
                f"random sample, or sample_size={n_samples} to compute it all the same."
            )
        return slice(None)
    check_range(sample_size, 1, n_samples, name="sample_size", integer=True)
    if sample_size == n_samples:
        return slice(None)
    rng = np.random.default_rng(random_state)
    return np.sort(rng.choice(n_samples, sample_size, replace=False))
