"""Actions on new rows: keeping the result for other tables, and taking one in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from clusterlens.compute.table.reading import load_table
from clusterlens.ui.actions.action import NAME_LENGTH, Action, Values, limited
from clusterlens.ui.state.analysis import Analysis, KeptPartition
from clusterlens.ui.state.partitions import names_of
from clusterlens.ui.state.shapes import TEXT, key, record


def keep_segmentation(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Keep the result as it is now, with its names, for other tables."""
    result = analysis.result
    if result is None:
        raise ValueError("there is no result to keep; choose one on Clusters.")
    name = limited(" ".join(str(values["name"]).split()), NAME_LENGTH, "the name")
    if not name or any(kept.name == name for kept in analysis.segmentations):
        raise ValueError(
            f"the name {name!r} is empty or taken; give the segmentation one of its "
            "own."
        )
    found = names_of(result.clusters, result.dataset.row_ids, analysis.cluster_names)
    names = tuple((k, called.text) for k, called in found.items() if called.is_own)
    kept = KeptPartition(name, result, tuple(sorted(names)))
    return replace(analysis, segmentations=(*analysis.segmentations, kept))


def take_new_table(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Read an uploaded file as the table whose rows are to be placed."""
    if not analysis.segmentations:
        raise ValueError("no segmentation is kept; keep the result on New rows first.")
    content, name = job.files[values["sha256"]], values["name"]
    megabytes = len(content) // 1_000_000
    job.enter(f"Read {name}", unit="MB")
    table = load_table(
        content,
        name=name,
        progress=lambda done, total: job.report(megabytes * done // total, megabytes),
        cancel=job.cancelled,
    )
    return replace(analysis, new_table=table)


ACTIONS = {
    "keep segmentation": Action(
        "Keep the result for new rows",
        keep_segmentation,
        record({"name": TEXT}),
        slow=True,
    ),
    "take new table": Action(
        "Read the new table",
        take_new_table,
        record({"name": TEXT, "sha256": key}),
        slow=True,
    ),
}
