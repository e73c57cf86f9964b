"""Rules: each cluster as a short list of conditions in the units of the table.

Most rows are used to find the rules, the others to measure them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._validation import (
    UNLABELLED,
    FloatArray,
    Frozen,
    IntArray,
    RandomState,
    check_classes,
    check_random_state,
    check_range,
    read_only,
)
from clusterlens.compute.assigning._conditions import Condition
from clusterlens.compute.assigning._search import (
    Mask,
    RuleSearch,
    meeting,
    precision_recall,
    random_half,
)
from clusterlens.compute.assigning._sources import (
    Source,
    feature_sources,
    read_sources,
)
from clusterlens.compute.assigning._sql import check_table, identifier, literal
from clusterlens.compute.formatting import count, percent
from clusterlens.compute.table.dataset import Dataset, check_dataset
from clusterlens.compute.table.export import free_name

FIRST, SECOND, TEST = 0, 1, 2  # the two halves that search, and the other rows
_SHARES = (0.35, 0.7)  # ends of the halves
_MOST_SEARCHED = 10_000
_LEAST_GOOD = 0.5  # precision and recall of a good rule


@dataclass(frozen=True, eq=False)
class ClusterRule(Frozen):
    """The conditions of one cluster, measured on rows not used to find them.

    Parameters
    ----------
    cluster : int or str
        The label of the cluster.
    size : int
        Number of its rows.
    conditions : tuple of Condition
        Conditions that a row must all meet; empty if none were found.
    precision : float
        Share of the rows meeting the rule that are in the cluster, 0 to 1.
    recall : float
        Share of the rows of the cluster that meet the rule, 0 to 1.
    lift : float
        Precision, divided by the share of the cluster among all rows.
    found_precision : float
        Precision of rules found on each half of the searching rows, on the other half;
        it orders the rules.
    is_good : bool
        Whether this precision, and the recall, are at least one half.
    undecided : float
        Share of the rows of the cluster without a value that the rule needs; they do
        not meet it.
    without : array of float, shape (n_conditions, 2)
        Precision and recall if a condition is dropped.
    """

    cluster: Any
    size: int
    conditions: tuple[Condition, ...]
    precision: float
    recall: float
    lift: float
    found_precision: float
    is_good: bool
    undecided: float
    without: FloatArray

    @property
    def text(self) -> str:
        """The conditions in words, empty without any."""
        return " and ".join(condition.text for condition in self.conditions)

    @property
    def sentence(self) -> str:
        """The rule and its precision and recall, as one sentence."""
        if not self.conditions:
            return f"No rule for cluster {self.cluster} ({count(self.size, 'row')})."
        shares = (
            f"{self.text}: {percent(np.nan_to_num(self.precision))} of them are in "
            f"cluster {self.cluster}, which has {percent(np.nan_to_num(self.recall))} "
            "of its rows there"
        )
        if self.undecided > 0:
            shares += f" and lacks a value for it in {percent(self.undecided)}"
        if self.is_good:
            return f"{shares}."
        return f"No good rule for cluster {self.cluster}; the best one is {shares}."

    @property
    def sql(self) -> str:
        """The conditions in SQL."""
        return " AND ".join(condition.sql for condition in self.conditions)


@dataclass(frozen=True, eq=False)
class ClusterRules(Frozen):
    """One rule per cluster, if there is one.

    Parameters
    ----------
    rules : tuple of ClusterRule
        By cluster.
    assigned : array of int64, shape (n_clusters, n_clusters + 1)
        Held-out rows of each cluster by the cluster that the good rules give them; the
        last column counts rows that meet none.
    n_searched : int
        Number of rows used to find the rules.
    columns : tuple of str
        All columns of the table.
    """

    rules: tuple[ClusterRule, ...]
    assigned: IntArray
    n_searched: int
    columns: tuple[str, ...]

    def __repr__(self) -> str:
        """Return the number of good rules, and their share of right held-out rows."""
        good = sum(rule.is_good for rule in self.rules)
        tested = count(int(self.assigned.sum()), "held-out row")
        return (
            f"ClusterRules({good} good rules for {count(len(self.rules), 'cluster')}, "
            f"right for {percent(self.right)} of {tested})"
        )

    @property
    def right(self) -> float:
        """Share of the held-out rows of clusters that rules assign right."""
        return float(np.trace(self.assigned) / max(self.assigned.sum(), 1))

    @property
    def texts(self) -> dict[Any, str]:
        """One sentence per cluster."""
        return {rule.cluster: rule.sentence for rule in self.rules}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per cluster.

        Returns
        -------
        table : DataFrame of shape (n_clusters, 9)
            `cluster`, `size`, `rule` (text), `n_conditions`, `precision`, `recall`,
            `lift`, `undecided` and `good`.
        """
        rows = [
            {
                "cluster": rule.cluster,
                "size": rule.size,
                "rule": rule.text,
                "n_conditions": len(rule.conditions),
                "precision": rule.precision,
                "recall": rule.recall,
                "lift": rule.lift,
                "undecided": rule.undecided,
                "good": rule.is_good,
            }
            for rule in self.rules
        ]
        return pd.DataFrame(rows)

    def conditions(self) -> pd.DataFrame:
        """Return one row per condition, with the loss without it.

        Returns
        -------
        table : DataFrame of shape (n_conditions, 9)
            `cluster`, `column`, `condition` (text), `above`, `at_most` (numbers or
            dates), `levels` (tuples), `precision_lost` and `recall_lost` (with the
            condition minus without it; a negative recall is a gain), `sql`.
        """
        rows = [
            {
                "cluster": rule.cluster,
                "column": condition.source.name,
                "condition": condition.text,
                "above": condition.source.shown(condition.low),
                "at_most": condition.source.shown(condition.high),
                "levels": condition.levels,
                "precision_lost": rule.precision - precision,
                "recall_lost": rule.recall - recall,
                "sql": condition.sql,
            }
            for rule in self.rules
            for condition, (precision, recall) in zip(
                rule.conditions, rule.without, strict=True
            )
        ]
        return pd.DataFrame(rows)

    def predict(self, table: Any) -> pd.Series:
        """Return the cluster of the first good rule that each row of a table meets.

        Parameters
        ----------
        table : DataFrame, array-like, Dataset, path, file object or bytes
            A table with the columns that the good rules need, in any order; others
            are ignored. Levels that were not there before are missing values.

        Returns
        -------
        cluster : Series of shape (n_rows,)
            Labels, missing if a row meets no rule; rules apply in descending order of
            `found_precision`. `attrs["notes"]` lists values treated as missing.

        Raises
        ------
        DataError
            If a column is not there, or holds other kinds of values.
        """
        good = by_precision(self.rules)
        used = {c.source: None for rule in good for c in rule.conditions}
        values, index, notes = read_sources(table, list(used))
        chosen = first_met(good, values, list(used))
        names = pd.array([rule.cluster for rule in good])
        found = pd.Series(names, dtype=None if good else "Int64")
        clusters = found.reindex(chosen).set_axis(index).rename("cluster")
        clusters.attrs["notes"] = notes
        return clusters

    def to_sql(self, table: str = "rows") -> str:
        """Return a query that adds the cluster of `predict` to the rows of a table.

        Parameters
        ----------
        table : str, default "rows"
            Name of the table.

        Returns
        -------
        query : str
            ``SELECT *, CASE ... END AS "cluster" FROM ...``, for DuckDB.

        Raises
        ------
        ValueError
            If table is no name.

        Notes
        -----
        Names and texts are quoted. Columns must have the names and types of
        `Dataset.table`: reading removes blanks around names and texts, with a note. The
        largest finite number as a bound excludes infinite values and NaN, which are
        missing values. DuckDB ignores the case of names, so a table with columns "a"
        and "A" needs another name for one.
        """
        lines = [
            f"    WHEN {rule.sql} THEN {literal(rule.cluster)}"
            for rule in by_precision(self.rules)
        ]
        case = ["  CASE", *lines, "  END"] if lines else ["  NULL"]
        name = identifier(free_name("cluster", self.columns))
        rows = check_table(table)
        return "\n".join(["SELECT *,", *case, f"  AS {name}", f"FROM {rows}"])


def describe_clusters(
    dataset: Dataset,
    labels: npt.ArrayLike,
    max_conditions: int = 4,
    random_state: RandomState = 0,
) -> ClusterRules:
    """Find the shortest list of conditions that distinguishes each cluster.

    Parameters
    ----------
    dataset : Dataset
        A prepared dataset.
    labels : array-like of int or str, shape (n_samples,)
        One label per row of dataset.X; rows with the number -1 belong to no cluster and
        count among the others.
    max_conditions : int, default 4
        Largest number of columns in a rule, 1 to 10.
    random_state : int, Generator or None, default 0
        Draws the rows that are used to find the rules.

    Returns
    -------
    rules : ClusterRules
        One rule per cluster, in the columns, units and levels of the table.

    Raises
    ------
    ValueError
        If there is not one label per row of dataset.X, or all rows are in one cluster.
    DataError
        If the dataset is not prepared.

    Notes
    -----
    The rows of each cluster are split at random. 70 % of them search, in two halves,
    drawn three times. On each half trees of depth 2 `max_conditions`, one cluster
    against the others, with and without balanced weights, propose the paths to all
    nodes richer than the root. Conditions on one column merge into one, with bounds
    rounded to two significant digits (finer if that is more than a fifth of the
    standard deviation). The other half prunes them: conditions are dropped while that
    raises precision x recall - 0.02 for each condition. Both halves together choose the
    best rule, and move its bounds one at a time.

    The other 30 % of the rows measure precision, recall, lift, and the loss without a
    condition. In large tables 10,000 rows search and all others measure. A missing
    value meets no condition. A rule is good if rules found on one half of the searching
    rows have precision and recall of at least one half on the other half; other rules
    are shown, but not used. If a row meets several, the rule with the highest precision
    on these halves counts. So no row evaluates its own choice. The rows of the table
    have shaped the partition, so rules may hold somewhat less often for new rows. Time
    O(n_clusters n_columns n log n) for the n rows that search, and linear in all rows.

    References
    ----------
    .. [1] Breiman, L., Friedman, J., Olshen, R., Stone, C.: Classification and
       Regression Trees. Wadsworth, 1984; theorem 4.5 for sets of levels.

    Examples
    --------
    >>> from clusterlens.compute.table.dataset import prepare
    >>> from clusterlens.compute.table.examples import load_example
    >>> ds = prepare(load_example("iris"))
    >>> rules = describe_clusters(ds, ds.labels_true)
    >>> rules
    ClusterRules(3 good rules for 3 clusters, right for 91% of 45 held-out rows)
    >>> print(rules.texts[1])
    petal length at most 4.9 and petal width above 0.75 up to 1.6: 100% of them are in
    cluster 1, which has 93% of its rows there.
    >>> print(rules.to_sql())
    SELECT *,
      CASE
        WHEN "petal width" >= -1.7976931348623157e+308 AND ... THEN 0
        ...
      END
      AS "cluster"
    FROM "rows"
    >>> rules.predict({"petal width": [0.2, 2.3], "petal length": [1.4, 5.1]}).tolist()
    [0, 2]
    """
    ds = check_dataset(dataset, name="dataset")
    codes, names = check_classes(labels, n_samples=len(ds.X))
    most = check_range(max_conditions, 1, 10, name="max_conditions", integer=True)
    seed = check_random_state(random_state)
    if len(names) < 2:
        raise ValueError(
            "labels has one cluster only; give labels of at least two, so that there "
            "is a rest to tell it from."
        )
    sources, values = feature_sources(ds)
    parts = _parts(codes, seed)
    search = RuleSearch(sources, np.nanstd(values, axis=0), most, seed)
    clusters = [k for k, name in enumerate(names) if name != UNLABELLED]
    rules = tuple(_rule(search, values, codes == k, parts, names[k]) for k in clusters)
    tested = (parts == TEST) & np.isin(codes, clusters)
    good = by_precision(rules)
    places = np.array([rules.index(rule) for rule in good] + [len(rules)])
    found = places[first_met(good, values[tested], sources)]
    own = np.searchsorted(clusters, codes[tested])
    assigned = np.zeros((len(rules), len(rules) + 1), dtype=np.int64)
    np.add.at(assigned, (own, found), 1)
    n_searched = int((parts != TEST).sum())
    return ClusterRules(rules, read_only(assigned), n_searched, tuple(ds.table.columns))


def by_precision(rules: Sequence[ClusterRule]) -> list[ClusterRule]:
    """Return the good rules, sorted by descending precision in the search."""
    good = [rule for rule in rules if rule.is_good]
    return sorted(good, key=lambda rule: -rule.found_precision)


def first_met(
    rules: Sequence[ClusterRule], values: FloatArray, sources: Sequence[Source]
) -> IntArray:
    """Return the first rule that each row (n, c) meets, -1 for none."""
    found = np.full(len(values), -1)
    for place, rule in enumerate(rules):
        found[(found < 0) & meeting(rule.conditions, values, sources)] = place
    return found


def _parts(codes: IntArray, seed: int) -> IntArray:
    """Split the rows of each cluster (n,) into two searching halves and test rows."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    sizes = np.bincount(codes)
    ranks = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = np.empty(len(codes))
    places[order] = (ranks + 0.5) / np.repeat(sizes, sizes)
    used = min(1.0, _MOST_SEARCHED / (_SHARES[-1] * len(codes)))
    return np.searchsorted(np.array(_SHARES) * used, places, side="right")


def _rule(
    search: RuleSearch, values: FloatArray, inside: Mask, parts: IntArray, name: Any
) -> ClusterRule:
    """Find the rule of one cluster and measure it on the test rows."""
    used = parts != TEST
    first = parts[used] == FIRST
    conditions = search.find(values[used], inside[used], first)
    x, y = values[~used], inside[~used]
    met = search.holding(conditions, x)
    precision, recall = precision_recall(met, y)
    found = _cross_fitted(search, values[used], inside[used], first)
    without = [
        precision_recall(search.holding([c for c in conditions if c is not gone], x), y)
        for gone in conditions
    ]
    asked = [search.sources.index(c.source) for c in conditions]
    lacks = np.isnan(x[:, asked]).any(axis=1)
    return ClusterRule(
        cluster=name,
        size=int(inside.sum()),
        conditions=conditions,
        precision=precision,
        recall=recall,
        lift=precision / y.mean() if y.any() else np.nan,
        found_precision=found[0],
        is_good=bool(conditions) and min(np.nan_to_num(found)) >= _LEAST_GOOD,
        undecided=float(lacks[y].mean()) if y.any() else np.nan,
        without=read_only(np.array(without, dtype=np.float64).reshape(-1, 2)),
    )


def _cross_fitted(
    search: RuleSearch, values: FloatArray, inside: Mask, half: Mask
) -> tuple[float, float]:
    """Return precision and recall of rules of each half of the rows on the other."""
    met = np.empty(len(inside), dtype=bool)
    for own in (half, ~half):
        part = random_half(int(own.sum()), search.seed)
        conditions = search.find(values[own], inside[own], part)
        met[~own] = bool(conditions) & search.holding(conditions, values[~own])
    return precision_recall(met, inside)
