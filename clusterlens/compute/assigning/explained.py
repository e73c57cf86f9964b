"""Reasons for the cluster of a row: its neighbours, its oddness, its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._validation import FloatArray, Frozen, IntArray
from clusterlens.compute.assigning._prototypes import N_WITHIN
from clusterlens.compute.assigning._readings import centre_distance
from clusterlens.compute.assigning.assigner import Assigner

Rows = npt.NDArray[np.bool_]
_LONE = 0.5  # half a row, so that an absent level is not impossible


@dataclass(frozen=True, eq=False)
class Company(Frozen):
    """Neighbours of a row and its oddness.

    Parameters
    ----------
    clusters : array of int, shape (n_near,)
        Labels of the nearest prototypes, or of all centres, the nearest first.
    distances : array of float64, shape (n_near,)
        Their distances, in the units of the features.
    rows : array of int, shape (n_near,)
        Positions of these prototypes; empty for centres.
    oddness : float
        Mean distance to the five nearest prototypes of the own cluster, or the distance
        to its centre in its scale.
    bound : float
        A row with a larger oddness belongs nowhere; NaN if the cluster has too few
        rows.
    """

    clusters: IntArray
    distances: FloatArray
    rows: IntArray
    oddness: float
    bound: float


def company(
    assigner: Assigner, x: FloatArray, cluster: int, alpha: float, n_near: int = 5
) -> Company:
    """Find the neighbours of a row, and its oddness in a cluster.

    Parameters
    ----------
    assigner : Assigner
        The assigner of rows.
    x : array of float64, shape (n_features,)
        Features of the row.
    cluster : int
        Label of its cluster.
    alpha : float
        Rate of "nowhere" among rows like those seen.
    n_near : int, default 5
        Number of neighbours to return.

    Returns
    -------
    company : Company
        Takes time linear in the number of prototypes.
    """
    code = int(np.searchsorted(assigner.clusters, cluster))
    has_rows = len(assigner.rows) > 0
    places = assigner.rows if has_rows else assigner.centres
    distances = np.linalg.norm(places - x, axis=1)
    near = np.argsort(distances, kind="stable")[:n_near]
    codes = assigner.codes[near] if has_rows else near
    if has_rows:
        own = np.sort(distances[assigner.codes == code])[:N_WITHIN]
        oddness = float(own.mean())
    else:
        at = np.array([code])
        oddness = float(
            centre_distance(x[None], assigner.centres, assigner.scales, at)[0]
        )
    scores = assigner.held_out[code]
    # p = (1 + number at least as odd) / (1 + number of all) is at most alpha beyond it.
    fewer = int(assigner.n_beyond(alpha)[code]) - 1
    bound = float(scores[len(scores) - 1 - fewer]) if fewer >= 0 else float("nan")
    rows = near if has_rows else near[:0]
    return Company(assigner.clusters[codes], distances[near], rows, oddness, bound)


def pulls(table: pd.DataFrame, own: Rows, other: Rows, row: pd.Series) -> pd.DataFrame:
    """Measure how much each column alone supports the cluster of a row.

    Parameters
    ----------
    table : DataFrame
        Columns of the clustered table, as read.
    own, other : array of bool, shape (n_rows,)
        Rows of the cluster of the row, and of the next one.
    row : Series
        Its values, by column.

    Returns
    -------
    pulls : DataFrame
        One row per column with a value: "column", "value", "own" and "other", means of
        numbers and dates, shares of the level otherwise; "pull", the log ratio of the
        likelihoods of the value in both clusters: normal with one spread, or by the
        share of the level; and whether it is a "level".
    """
    found = []
    for name in table.columns:
        value = row[name]
        if pd.isna(value):
            continue
        a, b = (table[name][rows].dropna() for rows in (own, other))
        is_level = not _is_measured(table[name])
        compared = _of_level(a, b, value) if is_level else _of_number(a, b, value)
        found.append((name, value, *compared, is_level))
    columns = ["column", "value", "own", "other", "pull", "level"]
    return pd.DataFrame(found, columns=columns).sort_values(
        "pull", ascending=False, ignore_index=True
    )


def _is_measured(column: pd.Series) -> bool:
    kinds = pd.api.types
    if kinds.is_datetime64_any_dtype(column):
        return True
    return kinds.is_numeric_dtype(column) and not kinds.is_bool_dtype(column)


def _of_number(a: pd.Series, b: pd.Series, value: Any) -> tuple[Any, Any, float]:
    """Return means, and the log ratio of two normal densities with the same spread."""
    if not (len(a) and len(b)):
        return pd.NA, pd.NA, 0.0
    means = a.mean(), b.mean()
    x, own, other = (_in_units(one) for one in (pd.Series([value]), a, b))
    variance = (own.var() * len(own) + other.var() * len(other)) / (len(a) + len(b))
    if not variance > 0:
        return *means, 0.0
    far, near = (x[0] - other.mean()) ** 2, (x[0] - own.mean()) ** 2
    return *means, float(far - near) / (2 * float(variance))


def _in_units(values: pd.Series) -> FloatArray:
    """Return numbers, or days of dates."""
    if pd.api.types.is_datetime64_any_dtype(values):
        values = (values - pd.Timestamp(0, tz=values.dt.tz)) / pd.Timedelta(days=1)
    return values.to_numpy(np.float64)


def _of_level(a: pd.Series, b: pd.Series, value: Any) -> tuple[float, float, float]:
    """Return shares of a level, and the logarithm of their ratio."""
    counts = [(float((one == value).sum()), len(one)) for one in (a, b)]
    shares = [k / max(n, 1) for k, n in counts]
    own, other = ((k + _LONE) / (n + 2 * _LONE) for k, n in counts)
    return shares[0], shares[1], float(np.log(own / other))
