"""Scripts: what a page shows as calls of the library, for "copy as Python"."""

from __future__ import annotations

from collections.abc import Iterable
from pprint import pformat

from clusterlens.ui.history import Step
from clusterlens.ui.session import Session

_LOADS = ("load file", "load example")


def table_lines(session: Session) -> list[str]:
    """Lines that make `dataset`, the prepared table."""
    analysis = session.analysis
    given = dict(analysis.preparation)
    options = "".join(f", {name}={value!r}" for name, value in given.items())
    return [
        "import clusterlens as cl",
        "",
        f"table = {_load(session.history.done)}",
        f"dataset = cl.prepare(table{options})",
    ]


def _load(steps: Iterable[Step]) -> str:
    """The call that loads the table; a file is named as it was when it was dropped."""
    loads = [step for step in steps if step.kind in _LOADS and step.values]
    if not loads:
        return 'cl.load_table("table.csv")'
    kind, name = loads[-1].kind, loads[-1].values["name"]
    load = "load_table" if kind == "load file" else "load_example"
    return f"cl.{load}({name!r})"


def run_lines(session: Session) -> list[str]:
    """Lines that make `ensemble`, the partitions of the run that is read."""
    run = session.analysis.run
    if run is None:
        return []
    pool = pformat([dict(entry) for entry in run.pool], width=84, sort_dicts=False)
    return [
        f"pool = {pool}",
        f"ensemble = cl.run_pool(dataset.X, pool, random_state={run.random_state})",
    ]
