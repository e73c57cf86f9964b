"""Actions on the table: read and prepare it."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import pandas as pd

from clusterlens.compute.notes import as_note
from clusterlens.compute.table.dataset import Dataset, prepare
from clusterlens.compute.table.examples import load_example
from clusterlens.compute.table.reading import (
    DECIMAL_NAMES,
    ENCODING_NAMES,
    SEPARATOR_NAMES,
    load_part,
)
from clusterlens.ui.actions.action import Action, Values
from clusterlens.ui.actions.lines import Lines, call, keywords
from clusterlens.ui.jobs.reading import read_in_process
from clusterlens.ui.state.analysis import Analysis, Link
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.links import (
    plain_ids,
    rows_without,
    shown_rows,
)
from clusterlens.ui.state.literals import literal
from clusterlens.ui.state.shapes import (
    LONG_TEXT,
    RULES,
    TEXT,
    any_of,
    choice,
    key,
    nothing,
    record,
)

# Options of the format of text, if they are given rather than detected.
WRITING = {
    "decimal": any_of(nothing, choice(*DECIMAL_NAMES)),
    "encoding": any_of(nothing, choice(*ENCODING_NAMES)),
}
_RULES = inspect.signature(prepare).parameters


def load_file(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Read an uploaded file, stored by the session under its SHA-256.

    "part" selects one of several sheets or arrays, by default the usual one or the
    first. For text it is the separator, which is detected by default.
    """
    table, part, parts = read_table(values, job)
    return replace(begin(table, job), part=part, parts=parts)


def read_table(
    values: Values, job: Any
) -> tuple[Dataset, tuple[str, ...], tuple[str, ...]]:
    """Read an uploaded file as a table; return its part and the names of all parts.

    The parts of text are the separators that may divide its cells.
    """
    name, part = values["name"], values.get("part")
    job.begin_stage(f"Read {name}", unit="MB")
    content, how = job.files[values["sha256"]], _writing(values)
    table, parts, chosen = read_in_process(job, name, content, load_part, part, **how)
    if separator := _separator(table):
        return table, ("separator", separator), tuple(SEPARATOR_NAMES)
    return table, tuple(*chosen.items()), parts.names


def _writing(values: Values) -> dict[str, str]:
    """Return the given options of the format of a text, without its separator."""
    return {name: values[name] for name in WRITING if values.get(name)}


def _separator(table: Dataset) -> str | None:
    """Return the separator of the text that a table was read from, or None."""
    for note in map(as_note, table.reading_notes):
        if note.kind == "text read":
            return str(note.numbers["separator"])
    return None


def chosen_part(step: Step, part: tuple[str, ...]) -> dict[str, str]:
    """Return the given options of a step's file as arguments, without detected ones."""
    found_out = part[:1] == ("separator",) and not step.values.get("part")
    chosen = {part[0]: part[1]} if part and not found_out else {}
    return chosen | _writing(step.values)


def _write_file(lines: Lines, step: Step, before: Analysis) -> None:
    part = chosen_part(step, step.analysis.part)
    given = keywords({"name": step.values["name"], **part})
    write_table(lines, step, call("cl.load_table", lines.file("FILE", step), *given))


def load_bundled(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Load a bundled example."""
    return begin(load_example(values["name"]), job)


def _write_example(lines: Lines, step: Step, before: Analysis) -> None:
    write_table(lines, step, call("cl.load_example", literal(step.values["name"])))


def write_table(lines: Lines, step: Step, code: str) -> None:
    lines.assign(lines.name("table"), code)
    _write_preparation(lines, step, Analysis())


def begin(table: Dataset, job: Any) -> Analysis:
    """Begin an analysis of a table, prepared by the default rules if possible."""
    try:
        dataset = _prepared(table, job)
    except ValueError as error:
        job.notify("warning", f"The table was read but not prepared: {error}")
        return Analysis(table=table)
    return Analysis(table=table, dataset=dataset)


def _prepared(table: Dataset, job: Any, **rules: Any) -> Dataset:
    """Prepare a table, with progress and cancellation."""
    job.begin_stage("Preparing the table", unit="%")
    return prepare(table, progress=job.report, cancel=job.cancelled, **rules)


def prepare_table(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Turn the table into numbers; values are the roles and rules that change."""
    if analysis.table is None:
        raise ValueError("no table is loaded; load one on the Data page.")
    given = {**analysis.preparation, **values}
    roles = {**analysis.preparation.get("roles", {}), **values.get("roles", {})}
    guessed = analysis.table.roles
    given["roles"] = {
        name: role for name, role in roles.items() if role != guessed.get(name)
    }
    for rule in ("transforms", "weights"):
        given |= _of_columns(analysis.preparation, values, rule)
    dataset = _prepared(analysis.table, job, **given)
    links = _renamed(analysis.links, rows_of(analysis), dataset.table.index)
    renamed = replace(analysis, links=links)
    _tell_of_links(renamed, dataset, job)
    return replace(renamed, preparation=given, dataset=dataset, cns=None)


def _write_preparation(lines: Lines, step: Step, before: Analysis) -> None:
    dataset = step.analysis.dataset
    if dataset is None or lines.has(name := lines.prepared(dataset.settings)):
        return
    given = keywords(rules_of(dataset))
    lines.assign(name, call("cl.prepare", lines.name("table"), *given))


def rules_of(dataset: Dataset) -> dict[str, Any]:
    """Return the rules of a prepared table that are not defaults, as plain values."""
    return {
        rule: list(value) if isinstance(value, tuple) else value
        for rule, value in dataset.settings.items()
        if (value or None) != _RULES[rule].default
    }


def rows_of(analysis: Analysis) -> pd.Index:
    """Return the row ids of all rows of the table, by the present id column."""
    named = analysis.dataset or analysis.table
    if named is None:
        raise ValueError("no table is loaded; load one on the Data page.")
    return named.table.index


def _renamed(
    links: tuple[Link, ...], before: pd.Index, after: pd.Index
) -> tuple[Link, ...]:
    """Rename the rows of links if another column names the rows."""
    if not links or before.equals(after):
        return links
    new = dict(zip(plain_ids(before), plain_ids(after), strict=True))
    return tuple(replace(k, a=new.get(k.a, k.a), b=new.get(k.b, k.b)) for k in links)


def _tell_of_links(analysis: Analysis, dataset: Dataset, job: Any) -> None:
    """Warn about linked rows that a preparation leaves out."""
    if analysis.links:
        places = {row: k for k, row in enumerate(plain_ids(dataset.row_ids))}
        gone = rows_without(analysis.links, places)
        if gone:
            job.notify(
                "warning",
                f"This preparation leaves out rows with links: {shown_rows(gone)}. "
                "Their links are kept and count again once the rows are back.",
            )


def _of_columns(before: Values, values: Values, rule: str) -> dict[str, Any]:
    """Merge a rule of single columns; None or a new role removes an entry."""
    kept = {**before.get(rule, {}), **values.get(rule, {})}
    other = set(values.get("roles", {})) - set(values.get(rule, {}))
    kept = {k: v for k, v in kept.items() if v is not None and k not in other}
    return {rule: kept} if kept or rule in before else {}


ACTIONS = {
    "load file": Action(
        "Read the file",
        load_file,
        record({"name": TEXT, "sha256": key}, {"part": any_of(nothing, LONG_TEXT)}),
        slow=True,
        python=_write_file,
    ),
    "load example": Action(
        "Load the example",
        load_bundled,
        record({"name": TEXT}),
        slow=True,
        python=_write_example,
    ),
    "prepare": Action(
        "Prepare the table",
        prepare_table,
        RULES,
        slow=True,
        python=_write_preparation,
    ),
}
