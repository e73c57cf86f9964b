"""Drift: comparison of the new table with the clustered one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute._run.options import raise_if_cancelled
from clusterlens.compute.assigning.assigner import ALPHA
from clusterlens.compute.assigning.drift import Drift
from clusterlens.compute.assigning.migrating import Migration, migration
from clusterlens.compute.assigning.segmentation import Segmentation
from clusterlens.compute.formatting import percent
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import node
from clusterlens.ui.pages.new_rows.nodes import NewCells
from clusterlens.ui.state.analysis import KeptPartition
from clusterlens.ui.widgets.words import number

# Fewer rows cannot show that a table is unchanged.
FEWEST_ROWS = 30
# Smallest change of the share of gaps that is reported.
_LEAST_GAPS = 0.02


@dataclass(frozen=True, eq=False)
class Drifted:
    """Comparison of both tables, with each column in its own units.

    Parameters
    ----------
    drift : Drift
        Shares, columns, rows nowhere, verdict.
    columns : dict of str to (str, str, str)
        For each column the reported quantity, its value then and now: the mean of a
        number, the share of the level that changed most, or the gaps.
    n_rows : int
        Number of assigned rows of the new table.
    returned : Migration or None
        Clusters then and now of the rows in both tables; None if row ids do not
        identify them.
    """

    drift: Drift
    columns: dict[str, tuple[str, str, str]]
    n_rows: int
    returned: Migration | None = None

    @property
    def is_conclusive(self) -> bool:
        """Return whether there are enough rows for a verdict."""
        return self.n_rows >= FEWEST_ROWS or self.drift.verdict == "refit"


@node("idle", "Comparing the tables")
def drifted(
    job: Job,
    segmentation: Segmentation,
    kept_partition: KeptPartition,
    new_table: Dataset,
    new_cells: NewCells,
    assigned: pd.DataFrame,
) -> Drifted:
    """Compare both tables; linear in the number of rows."""
    found = segmentation.drift_typed(new_cells.frame, assigned, alpha=ALPHA)
    raise_if_cancelled(job.cancelled)
    dataset, names = kept_partition.result.dataset, list(segmentation.columns)
    then = dataset.table[dataset.positions >= 0]
    now = new_cells.frame
    columns = {name: then_and_now(then[name], now[name]) for name in names}
    return Drifted(
        found,
        columns,
        int(assigned["cluster"].notna().sum()),
        returned(segmentation, kept_partition, new_table, assigned),
    )


def returned(
    segmentation: Segmentation,
    kept: KeptPartition,
    new_table: Dataset,
    assigned: pd.DataFrame,
) -> Migration | None:
    """Follow the rows by the column of row ids; None if no row is in both tables."""
    ids = new_table.table.get(segmentation.kept.row_id)
    if ids is None or not assigned.index.equals(pd.Index(ids)):
        return None
    dataset = kept.result.dataset
    used = dataset.positions >= 0
    before = pd.Series(kept.labels[dataset.positions[used]], dataset.table.index[used])
    found = migration(before, assigned)
    return found if found.n_returned else None


def then_and_now(then: pd.Series, now: pd.Series) -> tuple[str, str, str]:
    """Return the quantity of a column that changed, and its values then and now.

    This quantity adds most to the stability index, which decides whether a column has
    moved: the mean of numbers and dates, which adds about d squared if it moves by d
    spreads, otherwise the share of a level; or the share of the gaps.
    """
    gaps = [float(one.isna().mean()) for one in (then, now)]
    change, index = _largest_change(then, now)
    is_other = abs(gaps[1] - gaps[0]) > _LEAST_GAPS
    if is_other and _index(gaps[0], gaps[1], len(then), len(now)) > index:
        return "gaps", percent(gaps[0]), percent(gaps[1])
    return change


def _index(then: Any, now: Any, n_then: int, n_now: int) -> Any:
    """Return the contribution of each share to the index, smoothed by half a row."""
    then, now = then + 0.5 / max(n_then, 1), now + 0.5 / max(n_now, 1)
    return (now - then) * np.log(now / then)


def _largest_change(
    then: pd.Series, now: pd.Series
) -> tuple[tuple[str, str, str], float]:
    """Return quantity and values of a column without its gaps, and its index."""
    kinds = pd.api.types
    if all(map(kinds.is_datetime64_any_dtype, (then, now))):
        found = "mean", f"{then.mean():%Y-%m-%d}", f"{now.mean():%Y-%m-%d}"
        return found, float((now.mean() - then.mean()) / then.std()) ** 2
    if all(
        kinds.is_numeric_dtype(one) and not kinds.is_bool_dtype(one)
        for one in (then, now)
    ):
        spread = float(then.std())
        old_mean, new_mean = float(then.mean()), float(now.mean())
        change = abs(new_mean - old_mean) / spread if spread > 0 else 0.0
        return ("mean", _mean(old_mean, spread), _mean(new_mean, spread)), change**2
    old, new = (
        one.astype(object).map(str, na_action="ignore").value_counts(normalize=True)
        for one in (then, now)
    )
    both = pd.DataFrame({"then": old, "now": new}).fillna(0.0)
    if not len(both):
        return ("", "–", "–"), 0.0
    index = _index(both["then"], both["now"], len(then), len(now))
    level, shares = index.idxmax(), both.loc[index.idxmax()]
    found = f"= {level}", percent(shares["then"]), percent(shares["now"])
    return found, float(index.max())


def _mean(mean: float, spread: float) -> str:
    """Format a mean with decimals that suit the spread of its column."""
    if spread > 0:
        mean = round(mean, 2 - math.floor(math.log10(spread)))
    return number(mean)
