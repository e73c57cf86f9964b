"""What a slow action made, on top of what was done meanwhile."""

from __future__ import annotations

from dataclasses import fields, replace

from clusterlens.ui.state.analysis import Analysis, Run


def merge(base: Analysis, result: Analysis, current: Analysis) -> Analysis:
    """Put what an action changed between base and result on top of current.

    Quick actions and undo may have happened while a slow one was under way; a new
    table replaces everything, a new run joins the runs there are.

    Raises
    ------
    ValueError
        If the table is another one by now.
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
    """Call the run that was made last by another number, as its own is taken."""
    *older, made = analysis.runs
    if made.name == f"run {analysis.runs_made}":
        made = replace(made, name=f"run {number}")
    return replace(analysis, runs=(*older, made), runs_made=number)


def _with_changes(current: Run, base: Run, result: Run) -> Run:
    """Put what became of a run between base and result on top of what it is now."""
    return replace(
        current,
        **{
            field.name: value
            for field in fields(Run)
            if (value := getattr(result, field.name)) is not getattr(base, field.name)
        },
    )
