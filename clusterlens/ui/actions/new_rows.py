"""Actions on new rows: keep the result for other tables, and load one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from clusterlens.ui.actions.action import NAME_LENGTH, Action, Values, limited
from clusterlens.ui.actions.lines import Lines, call, keywords
from clusterlens.ui.actions.tables import WRITING, chosen_part, read_table
from clusterlens.ui.state.analysis import Analysis, KeptPartition
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.literals import ScriptError, literal
from clusterlens.ui.state.partitions import names_of, number_of
from clusterlens.ui.state.shapes import LONG_TEXT, TEXT, any_of, key, nothing, record


def keep_segmentation(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Keep the present result, with its names, for other tables."""
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


def _write_segmentation(lines: Lines, step: Step, before: Analysis) -> None:
    if not step.analysis.segmentations:
        raise ScriptError(f"the log does not say what {step.title!r} kept.")
    one, kept = step.analysis.segmentations[-1], lines.name("kept")
    if not lines.has(kept):
        lines.assign(kept, "{}")
    dataset, clusters = lines.dataset(one.result.run_id), lines.name("clusters")
    names = literal({number_of(shown): name for shown, name in one.names})
    made = call("cl.Segmentation", dataset, clusters, names)
    lines.assign(kept, made, f"[{literal(one.name)}]")


def take_new_table(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Read an uploaded file as the table of new rows."""
    if not analysis.segmentations:
        raise ValueError("no segmentation is kept; keep the result on New rows first.")
    table, part, parts = read_table(values, job)
    return replace(analysis, new_table=table, new_part=part, new_parts=parts)


def _write_new_table(lines: Lines, step: Step, before: Analysis) -> None:
    part = chosen_part(step, step.analysis.new_part)
    given = keywords({"name": step.values["name"], **part})
    table = call("cl.load_table", lines.file("NEW_FILE", step), *given)
    lines.assign(lines.name("new_table"), table)


ACTIONS = {
    "keep segmentation": Action(
        "Keep the result for new rows",
        keep_segmentation,
        record({"name": TEXT}),
        slow=True,
        python=_write_segmentation,
    ),
    "take new table": Action(
        "Read the new table",
        take_new_table,
        record(
            {"name": TEXT, "sha256": key},
            {"part": any_of(nothing, LONG_TEXT), **WRITING},
        ),
        slow=True,
        python=_write_new_table,
    ),
}
