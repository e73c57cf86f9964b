"""Exports of new rows: the table with its clusters, files, a part of the report."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from clusterlens.compute._run.folder_locks import working_folder
from clusterlens.compute.assigning.few_columns import TypingTool
from clusterlens.compute.assigning.rules import ClusterRules
from clusterlens.compute.assigning.segmentation import COLUMNS, Segmentation
from clusterlens.compute.formatting import count, percent
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.export import free_name
from clusterlens.ui.state.analysis import Analysis, KeptPartition
from clusterlens.ui.state.partitions import number_of
from clusterlens.ui.widgets.toolkit import safe

SEGMENTATION_SUFFIX = ".lens"


def assigned_rows(table: Dataset, assigned: pd.DataFrame) -> pd.DataFrame:
    """Add the clusters of rows to a table, and leave its own columns unchanged.

    Parameters
    ----------
    table : Dataset
        The new table.
    assigned : DataFrame of shape (n_rows, 5 or more)
        As `Segmentation.assign` gives it for this table; details are left out.
    """
    columns = list(table.table.columns)
    names = {name: free_name(name, columns) for name in COLUMNS}
    added = assigned[list(COLUMNS)].rename(columns=names).set_axis(table.table.index)
    return pd.concat([table.table, added], axis=1)


def segmentation_bytes(segmentation: Segmentation) -> bytes:
    """Write a segmentation as the file that `load_segmentation` opens."""
    return _written(segmentation.save, SEGMENTATION_SUFFIX)


def workbook_bytes(tool: TypingTool) -> bytes:
    """Write a typing tool as a workbook with formulas."""
    return _written(tool.to_excel, ".xlsx")


def _written(write: Callable[[Path], None], suffix: str) -> bytes:
    """Return the content that a function writes to a file."""
    with working_folder() as folder:
        path = folder / f"file{suffix}"
        write(path)
        return path.read_bytes()


def console_line(segmentation: str, table: str) -> str:
    """Return the shell command that assigns the rows of a file of any length.

    Parameters
    ----------
    segmentation, table : str
        Names of the files; special characters become "-".
    """
    given = re.sub(r"[^\w.-]+", "-", table).lstrip("-") or "table.csv"
    stem = given.rsplit(".", 1)[0]
    return f"clusterlens assign {segmentation} {given} -o {stem}-assigned.parquet"


def write_kept(
    analysis: Analysis, read: KeptPartition | None, rules: ClusterRules | None
) -> str:
    """List the kept partitions, the table assigned last, and one partition's rules."""
    rows = "".join(
        f"<tr><td>{safe(one.name)}</td><td>{safe(one.result.title)}</td>"
        f"<td>{count(len(set(one.result.clusters.tolist()) - {-1}), 'cluster')}</td>"
        f"<td>{count(len(one.result.clusters), 'row')}</td></tr>"
        for one in analysis.segmentations
    )
    placed = ""
    if analysis.new_table is not None:
        table = analysis.new_table
        placed = (
            f"<p>Placed last: {safe(table.name)}, {count(len(table.table), 'row')}; "
            "the script places them again.</p>"
        )
    return (
        "<table><tr><th>name</th><th>partition</th><th>clusters</th><th>of</th></tr>"
        f"{rows}</table>{placed}{_rules(read, rules)}"
    )


def _rules(read: KeptPartition | None, found: ClusterRules | None) -> str:
    """Write the rules of a partition with their precision and recall."""
    if read is None or found is None:
        return ""
    names = {number_of(k): name for k, name in read.names}
    lines = "".join(
        f"<li><b>{safe(names.get(rule.cluster, f'cluster {rule.cluster}'))}</b>: "
        + (
            f"{safe(rule.text) or 'any row'}; of these {percent(rule.precision)} are "
            f"in it, finds {percent(rule.recall)}</li>"
            if rule.is_good
            else "no short rule</li>"
        )
        for rule in found.rules
    )
    counted = count(int(found.assigned.sum()), "row")
    return (
        f"<p>Rules of {safe(read.name)} put {percent(found.right)} of {counted} that "
        f"they were not made of into their cluster.</p><ul>{lines}</ul>"
    )
