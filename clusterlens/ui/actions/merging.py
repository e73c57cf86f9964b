"""Merge of the result of a slow action with later changes."""

from __future__ import annotations

from dataclasses import fields, replace

from clusterlens.ui.state.analysis import Analysis, Run


def merge(base: Analysis, result: Analysis, current: Analysis) -> Analysis:
    """Apply the changes from base to result to the current analysis.

    Quick actions and undo may have changed the analysis during a slow action. A new
    table replaces everything; a new run is added to the runs.

    Raises
    ------
    ValueError
        If the table has been replaced meanwhile.
    """
    if current is base or result.table is not base.table:
        return result
    if current.table is not base.table:
        raise ValueError("another table was put in force meanwhile; do it again.")
    if result.runs_made > base.runs_made and current.runs_made > base.runs_made:
        result = _numbered(result, current.runs_made + 1)
    changed = {
        field.name: getattr(result, field.name)
        for field in fields(Analysis)
        if getattr(result, field.name) is not getattr(base, field.name)
    }
    if "run_id" in changed or result.ensemble is not base.ensemble:
        changed["threshold"] = result.threshold
    if "runs" in changed:
        new = {run.id: run for run in result.runs if run not in base.runs}
        old = {run.id: run for run in base.runs}
        stayed = tuple(
            _with_changes(run, old[run.id], new[run.id])
            if run.id in new and run.id in old
            else new.get(run.id, run)
            for run in current.runs
        )
        known = {run.id for run in (*base.runs, *current.runs)}
        changed["runs"] = (*stayed, *(r for k, r in new.items() if k not in known))
    return replace(current, **changed)


def _numbered(analysis: Analysis, number: int) -> Analysis:
    """Rename the latest run, if its number is taken."""
    *older, made = analysis.runs
    if made.name == f"run {analysis.runs_made}":
        made = replace(made, name=f"run {number}")
    return replace(analysis, runs=(*older, made), runs_made=number)


def _with_changes(current: Run, base: Run, result: Run) -> Run:
    """Apply the changes of a run from base to result to the current run."""
    return replace(
        current,
        **{
            field.name: value
            for field in fields(Run)
            if (value := getattr(result, field.name)) is not getattr(base, field.name)
        },
    )
