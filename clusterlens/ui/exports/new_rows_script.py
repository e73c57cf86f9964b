"""Script of what is kept for other tables, and of where the rows of one belong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

from clusterlens.ui.pages.new_rows.nodes import number_of
from clusterlens.ui.state.analysis import AnalysisResult, KeptPartition
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.literals import literal

_KEPT = '''

def kept(ds, ens):
    """Return what is kept for other tables, by name.{others}"""
    return {{{entries}
    }}
'''
_ENTRY = """
        {name}: cl.Segmentation(
            ds,
            [{numbers}[label] for label in {labels}.tolist()],
            {names},
        ),"""
_ASSIGNED = '''

def assigned(kept):
    """Say where the rows of the new table belong, by the name of what is kept."""
    table = cl.load_table(NEW_FILE, name={name})
    return {{name: one.assign(table) for name, one in kept.items()}}
'''
_MAIN = """
    for k, rows in enumerate(assigned(kept(ds, ens)).values(), 1):
        with open(f"assigned-{k}.csv", "wb") as file:
            file.write(cl.to_csv_bytes(rows, index=True))"""


def kept_parts(
    steps: Sequence[Step], run_id: str, labels: Callable[[AnalysisResult], str]
) -> dict[str, str]:
    """Return the parts of a script about new rows; empty where nothing is kept.

    Parameters
    ----------
    steps : sequence of Step
        Those in force, oldest first.
    run_id : str
        The run that the script makes; what is kept of another one is only counted.
    labels : callable
        Writes the labels of a result as an expression.

    Returns
    -------
    parts : dict of str to str
        "new file", a constant; "kept", functions; "assign", lines of `main`.
    """
    analysis = steps[-1].analysis
    here = [one for one in analysis.segmentations if one.result.run_id == run_id]
    parts = dict.fromkeys(("new file", "kept", "assign"), "")
    if not here:
        return parts
    others = len(analysis.segmentations) - len(here)
    parts["kept"] = _KEPT.format(
        others=f" Of other runs: {others} more." if others else "",
        entries="".join(_entry(one, labels(one.result)) for one in here),
    )
    name = _new_table(steps)
    if name is not None:
        place = literal(PurePath(name).name or name)
        parts["new file"] = f"\nNEW_FILE = {place}"
        parts["kept"] += _ASSIGNED.format(name=literal(name))
        parts["assign"] = _MAIN
    return parts


def _entry(one: KeptPartition, labels: str) -> str:
    """Write one partition as an entry of a dictionary."""
    numbers: dict[int, Any] = {
        label: number_of(shown) for label, shown in one.result.numbers
    }
    names = {number_of(shown): name for shown, name in one.names}
    return _ENTRY.format(
        name=literal(one.name),
        numbers=literal(numbers),
        labels=labels,
        names=literal(names),
    )


def _new_table(steps: Sequence[Step]) -> str | None:
    """Name of the file of the new table, None where there is none."""
    table = steps[-1].analysis.new_table
    for step in reversed(steps):
        if step.kind == "take new table" and step.analysis.new_table is table:
            return str(step.values["name"])
    return None
