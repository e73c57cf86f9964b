"""Typing tool: the few columns that distinguish clusters, with one table of weights.

A row belongs to the cluster with the highest linear score. Python, SQL and spreadsheets
use the same rounded weights.
"""

from __future__ import annotations

import os
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
)
from clusterlens.compute.assigning._discriminant import (
    N_FOLDS,
    Selection,
    discriminant,
    joined,
    moments,
)
from clusterlens.compute.assigning._questions import Coding, Question, codings, short
from clusterlens.compute.assigning._sources import feature_sources, read_sources
from clusterlens.compute.assigning._sql import (
    check_table,
    identifier,
    literal,
    real,
    struct,
)
from clusterlens.compute.assigning._workbook import write_workbook
from clusterlens.compute.formatting import count, percent
from clusterlens.compute.table.dataset import Dataset, check_dataset
from clusterlens.compute.table.export import free_name

Hits = npt.NDArray[np.bool_]

_MOST_SEARCHED = 5_000  # rows for the selection and its cross-validation


@dataclass(frozen=True, eq=False)
class TypingTool(Frozen):
    """A few questions and the weights of their answers.

    Parameters
    ----------
    clusters : tuple of int or str
        Labels of the clusters.
    questions : tuple of Question
        The columns to ask for, with weights.
    constants : array of float, shape (n_clusters,)
        Scores before any answer.
    accuracy : DataFrame of shape (n_steps, 5)
        For 1, 2, ... questions `n_questions`, the `column` that is added, `accuracy` on
        rows that neither chose nor weighted the columns, its `standard_error`, and
        whether it is `used`. For the number in use, the accuracy is measured on rows
        that did not choose the number either.
    by_cluster : DataFrame of shape (n_steps, n_clusters)
        Share of the rows of each cluster that are assigned to it, by `n_questions`.
    columns : tuple of str
        All columns of the table.
    """

    clusters: tuple[Any, ...]
    questions: tuple[Question, ...]
    constants: FloatArray
    accuracy: pd.DataFrame
    by_cluster: pd.DataFrame
    columns: tuple[str, ...]

    def __repr__(self) -> str:
        """Return the number of questions and their accuracy."""
        n = len(self.questions)
        reached = self.accuracy["accuracy"].iloc[n - 1]
        clusters = count(len(self.clusters), "cluster")
        return (
            f"TypingTool({count(n, 'question')} for {clusters}, "
            f"accuracy {percent(reached)})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the table of weights.

        Returns
        -------
        table : DataFrame
            `column`, `answer` (a level, or "number" or "date" for (answer - centre)
            times weight), `centre`, and the weights of each cluster. The first row
            holds the constants. Dates count in days.
        """
        names = [str(name) for name in self.clusters]
        rows: list[list[Any]] = [["", "constant", None, *self.constants]]
        for question in self.questions:
            rows += [
                [question.source.name, answer, question.centre_shown, *weights]
                for answer, weights in zip(
                    question.answers, question.weights, strict=True
                )
            ]
        return pd.DataFrame(rows, columns=["column", "answer", "centre", *names])

    def predict(self, table: Any) -> pd.Series:
        """Return the cluster of each row of a table.

        Parameters
        ----------
        table : DataFrame, array-like, Dataset, path, file object or bytes
            A table with the columns of the questions, in any order; others are ignored.
            A missing answer adds nothing; a level that was not there before is missing.

        Returns
        -------
        cluster : Series of shape (n_rows,)
            Labels, missing if a row answers no question. `attrs["notes"]` lists
            values treated as missing.

        Raises
        ------
        DataError
            If a column is not there, or holds other kinds of values.
        """
        sources = [question.source for question in self.questions]
        values, index, notes = read_sources(table, sources)
        scores = np.tile(self.constants, (len(values), 1))
        for question, x in zip(self.questions, values.T, strict=True):
            scores += question.scores(x)
        found = pd.Series(pd.array(list(self.clusters))).reindex(scores.argmax(axis=1))
        found = found.set_axis(index).rename("cluster")
        found = found.mask(pd.Series(np.isnan(values).all(axis=1), index=index))
        found.attrs["notes"] = notes
        return found

    def to_sql(self, table: str = "rows") -> str:
        """Return a query that adds the cluster of `predict` to the rows of a table.

        Parameters
        ----------
        table : str, default "rows"
            Name of the table.

        Returns
        -------
        query : str
            ``SELECT ..., CASE ... END AS "cluster" FROM ...``, for DuckDB.

        Raises
        ------
        ValueError
            If table is no name.

        Notes
        -----
        As `ClusterRules.to_sql`. Inner queries have the columns "answers" and "scores",
        which the table must not have.
        """
        rows = check_table(table)
        names = [free_name(name, self.columns) for name in ("answers", "scores")]
        answers, scores = map(identifier, names)
        asked = {f"q{i}": q for i, q in enumerate(self.questions, start=1)}
        given = {key: question.answer_sql for key, question in asked.items()}
        reached = {
            f"c{k}": " + ".join(
                [real(start)]
                + [q.score_sql(f"{answers}.{key}", k) for key, q in asked.items()]
            )
            for k, start in enumerate(self.constants.tolist())
        }
        parts = [f"{scores}.{key}" for key in reached]
        known = " OR ".join(f"{answers}.{key} IS NOT NULL" for key in asked)
        cases = [
            f"    WHEN {part} THEN {literal(cluster)}"
            for part, cluster in zip(parts, self.clusters, strict=True)
        ]
        lines = [
            f"SELECT * EXCLUDE ({answers}, {scores}),",
            f"  CASE WHEN {known} THEN CASE GREATEST({', '.join(parts)})",
            *cases,
            f"  END END AS {identifier(free_name('cluster', self.columns))}",
            f"FROM (SELECT *, {struct(reached, '  ')} AS {scores}",
            f"  FROM (SELECT *, {struct(given, '    ')} AS {answers}",
            f"    FROM {rows}))",
        ]
        return "\n".join(lines)

    def to_excel(
        self, path: str | os.PathLike[str], table: Any = None, n_rows: int = 100
    ) -> None:
        """Write a workbook that computes the cluster of each row of answers.

        Parameters
        ----------
        path : str or path
            File to write; an existing file is replaced.
        table : DataFrame, array-like, Dataset, path, file object or bytes, optional
            Rows with given answers; by default there are `n_rows` empty ones.
        n_rows : int, default 100
            Number of empty rows, 1 to 100,000.

        Raises
        ------
        DataError
            If a column is not there, or Excel cannot hold a value.
        ImportError
            If openpyxl is not installed (extra `excel`).

        Notes
        -----
        Two sheets: "Answers" has one line per row, with formulas for the scores and the
        cluster, and "Weights" has the table that they use (SUMPRODUCT for numbers, an
        exact lookup for levels). No macro; every text of the table is written as text,
        even if it looks like a formula. Values that Python treats as missing are empty
        cells.
        """
        n_rows = check_range(n_rows, 1, 100_000, name="n_rows", integer=True)
        sources = [question.source for question in self.questions]
        values = np.full((n_rows, len(sources)), np.nan)
        ids: pd.Index = pd.RangeIndex(1, n_rows + 1)
        if table is not None:
            values, ids, _ = read_sources(table, sources)
        write_workbook(path, self.clusters, self.constants, self.questions, values, ids)


def typing_tool(
    dataset: Dataset,
    labels: npt.ArrayLike,
    n_questions: int = 6,
    random_state: RandomState = 0,
) -> TypingTool:
    """Find the fewest columns that distinguish clusters, and weigh their answers.

    Parameters
    ----------
    dataset : Dataset
        A prepared dataset.
    labels : array-like of int or str, shape (n_samples,)
        One label per row of dataset.X; rows with the number -1 belong to no cluster and
        are left out.
    n_questions : int, default 6
        Largest number of columns to ask for, 1 to 30.
    random_state : int, Generator or None, default 0
        Draws the folds.

    Returns
    -------
    tool : TypingTool
        The columns, their weights, and the accuracy for 1 to n_questions of them.

    Raises
    ------
    ValueError
        If there is not one label per row of dataset.X, or fewer than two clusters.
    DataError
        If the dataset is not prepared.

    Notes
    -----
    Columns are added one by one: each time the column with which a linear discriminant
    is right for most rows in cross-validation. Five folds outside this selection
    measure its accuracy, because they see neither the choice of the columns nor the
    weights. The tool uses the fewest questions with an accuracy within one standard
    error of the best. For the accuracy of this choice the other folds choose the number
    for each fold in the same way, among themselves. The score of cluster k is log p_k -
    m_k' S^-1 m_k / 2 + x' S^-1 m_k with p_k its share, m_k its mean and S the
    covariance within clusters, plus a hundredth of the variances. Levels are columns of
    0 and 1, for the 30 most frequent ones; other levels, and missing values, add
    nothing. The selection uses the 30 columns with the most different means, and at
    most 5,000 rows; all rows give the weights. Time O(n_questions n_columns n) after
    that. The rows of the table have shaped the partition, so the tool may be right
    somewhat less often for new rows.

    References
    ----------
    .. [1] Hastie, T., Tibshirani, R., Friedman, J.: The Elements of Statistical
       Learning, 2nd edition. Springer, 2009; equation 4.10, and section 7.10 for the
       choice of columns inside cross-validation.

    Examples
    --------
    >>> from clusterlens.compute.table.dataset import prepare
    >>> from clusterlens.compute.table.examples import load_example
    >>> ds = prepare(load_example("iris"))
    >>> tool = typing_tool(ds, ds.labels_true, n_questions=2)
    >>> tool
    TypingTool(1 question for 3 clusters, accuracy 94%)
    >>> tool.to_frame()
            column    answer  centre ...
    0               constant     NaN ...
    1  petal width    number  1.1993 ...
    >>> tool.predict({"petal width": [0.2, 2.3, None]}).tolist()
    [0, 2, <NA>]
    """
    ds = check_dataset(dataset, name="dataset")
    codes, labelled = check_classes(labels, n_samples=len(ds.X))
    most = check_range(n_questions, 1, 30, name="n_questions", integer=True)
    seed = check_random_state(random_state)
    sources, values = feature_sources(ds)
    kept = np.array([name != UNLABELLED for name in labelled])[codes]
    clusters, codes = np.unique(codes[kept], return_inverse=True)
    if len(clusters) < 2:
        raise ValueError(
            "labels has fewer than two clusters; give labels of at least two, so that "
            "there is something to tell apart."
        )
    coded = codings(sources, values[kept])
    rng = np.random.default_rng(seed)
    n_searched = min(len(codes), _MOST_SEARCHED)
    rows = np.sort(rng.permutation(len(codes))[:n_searched])
    selection = Selection.of(
        coded, values[kept][rows], codes[rows], len(clusters), seed
    )
    order = selection.order(most, range(N_FOLDS))
    found = selection.nested(most) == codes[rows]
    n_asked = _fewest(found) + 1
    found[n_asked - 1] = _without_choice(found, selection, most)
    names = tuple(labelled[k] for k in clusters)
    accuracy = _accuracy(found, [sources[j].name for j in order], n_asked)
    chosen = order[:n_asked]
    constants, questions = _weighted_questions(
        [coded[j] for j in chosen], values[kept][:, chosen], codes, len(names)
    )
    by_cluster = [found[:, codes[rows] == k].mean(axis=1) for k in range(len(names))]
    return TypingTool(
        clusters=names,
        questions=questions,
        constants=constants,
        accuracy=accuracy,
        by_cluster=pd.DataFrame(
            np.transpose(by_cluster), index=accuracy["n_questions"], columns=names
        ),
        columns=tuple(ds.table.columns),
    )


def _fewest(found: Hits) -> int:
    """Return the first step of hits (n_steps, n) within one error of the best one."""
    accuracy = found.mean(axis=1)
    best = accuracy.max()
    return int(
        np.argmax(accuracy >= best - np.sqrt(best * (1 - best) / found.shape[1]))
    )


def _without_choice(found: Hits, selection: Selection, most: int) -> Hits:
    """Return hits (n,) if the other folds alone choose the number of questions.

    `found` (n_steps, n) are the hits for each number.
    """
    hits = np.empty(found.shape[1], dtype=bool)
    for fold in range(N_FOLDS):
        own = selection.folds == fold
        others = [f for f in range(N_FOLDS) if f != fold]
        inner = selection.nested(most, others) == selection.codes
        hits[own] = found[_fewest(inner[:, ~own]), own]
    return hits


def _accuracy(found: Hits, columns: Sequence[str], n_asked: int) -> pd.DataFrame:
    """Return the table of accuracies of hits (n_steps, n), the first columns used."""
    accuracy = found.mean(axis=1)
    errors = np.sqrt(accuracy * (1 - accuracy) / found.shape[1])
    return pd.DataFrame(
        {
            "n_questions": np.arange(1, len(found) + 1),
            "column": columns,
            "accuracy": accuracy,
            "standard_error": errors,
            "used": np.arange(len(found)) < n_asked,
        }
    )


def _weighted_questions(
    coded: Sequence[Coding], values: FloatArray, codes: IntArray, n_clusters: int
) -> tuple[FloatArray, tuple[Question, ...]]:
    """Return constants, and weighted questions on columns (n, q), from all rows."""
    parts = [coding.features(x) for coding, x in zip(coded, values.T, strict=True)]
    Z, blocks = joined(parts)
    fold = np.zeros(len(Z), dtype=np.int64)
    of = moments(Z, codes, fold, n_clusters).over([0])
    weights, constants = discriminant(of, np.arange(Z.shape[1]))
    questions = tuple(
        coding.question(weights[at]) for coding, at in zip(coded, blocks, strict=True)
    )
    return short(constants), questions
