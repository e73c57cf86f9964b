"""Preparation of another table by the rules of one, alone or together with it."""

from __future__ import annotations

import os
from typing import Any

import pandas as pd

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress
from clusterlens.compute._validation import DataError, check_flag
from clusterlens.compute.formatting import count
from clusterlens.compute.table.dataset import (
    Dataset,
    check_dataset,
    make_dataset,
    prepare,
)
from clusterlens.compute.table.preparation import typed_table


@takes_running
def prepare_again(
    dataset: Dataset,
    table: Any,
    *,
    both: bool = False,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Dataset:
    """Prepare another table by the rules of one, fitted to its own rows.

    Parameters
    ----------
    dataset : Dataset
        The older table, prepared.
    table : DataFrame, array-like or Dataset
        Raw rows in the format of the older table, with columns by name in any order.
    both : bool, default False
        Whether to keep the rows of the older table, followed by the rows of `table`. A
        row that returns by its id counts once, with its new values.
    progress : callable, optional
        Called as progress(done, total), in percent of the work.
    cancel : callable, optional
        Asked between steps; True stops.

    Returns
    -------
    prepared : Dataset
        The columns that the older one uses, its labels and row ids if present, with the
        same roles and rules. Means, spreads and fill values come from its own rows.
        Without a column of row ids in both, rows of both tables are numbered.

    Raises
    ------
    DataError
        If the older table is not prepared, columns are missing (the error names all) or
        of another kind, or the rules do not fit the rows.
    Cancelled
        If `cancel` returned true.

    Notes
    -----
    Linear in the number of cells.

    Examples
    --------
    >>> old = prepare(pd.DataFrame({"size": [1.0, 2.0, 3.0], "name": ["a", "b", "a"]}))
    >>> new = pd.DataFrame({"name": ["b", "a", "b", "a"], "size": [5, 7, 5, 7]})
    >>> prepare_again(old, new).X[:, 0].tolist()
    [-1.0, 1.0, -1.0, 1.0]
    >>> len(prepare_again(old, new, both=True).X)
    7
    """
    old = check_dataset(dataset, name="dataset")
    needed = [column.name for column in old.preparation.columns_]
    check_flag(both, name="both")
    frame, _ = typed_table(check_rows(table))
    old.preparation.check_columns(list(frame.columns))
    old.preparation.encode(frame)  # refuses columns of another kind
    kept = [
        name
        for name, role in old.roles.items()
        if name in needed or (role in ("label", "row id") and name in frame)
    ]
    ids = next((name for name in kept if old.roles[name] == "row id"), None)
    frame = frame[kept]
    notes: list[str] = []
    if both:
        frame, notes = _stacked(old.table[kept], frame, ids)
    made = make_dataset(frame, getattr(table, "name", old.name), notes=notes)
    rules = dict(old.settings)
    rules["roles"] = {name: old.roles[name] for name in kept}
    for rule in ("transforms", "weights"):
        rules[rule] = {k: v for k, v in rules[rule].items() if k in kept}
    return prepare(made, **rules, progress=progress, cancel=cancel)


def check_rows(table: Any) -> Any:
    """Return a table that is in memory.

    Raises DataError for the name of a file, a file or its bytes.
    """
    if isinstance(table, (str, bytes, os.PathLike)) or hasattr(table, "read"):
        raise DataError(
            f"table is {table!r:.60}; give a DataFrame or a Dataset, as load_table "
            "returns it for a file."
        )
    return table


def _stacked(
    old: pd.DataFrame, new: pd.DataFrame, ids: str | None
) -> tuple[pd.DataFrame, list[str]]:
    """Append the rows of one table that do not return to those of another."""
    back = old[ids].isin(new[ids]) if ids else pd.Series(False, old.index)
    notes: list[str] = []
    if n := int(back.sum()):
        rows = count(n, "row returns", "rows return")
        notes = [f"{rows} by id and {'counts' if n == 1 else 'count'} once, as now."]
    return pd.concat([old[~back.to_numpy()], new], ignore_index=True), notes
