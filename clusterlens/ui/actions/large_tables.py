"""Actions on large tables: draw landmarks, label all rows, open a complete run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow.parquet as pq

from clusterlens.compute._run.options import Cancelled, RunOptions
from clusterlens.compute.formatting import count
from clusterlens.compute.scale.labelling import Given, label_all
from clusterlens.compute.scale.labels import FOLDER as LABELS
from clusterlens.compute.scale.landmark_table import MOST_LANDMARKS, sample_table
from clusterlens.compute.scale.run import N_LANDMARKS
from clusterlens.compute.scale.run_landmarks import (
    landmarks_of_run,
    models_of_run,
    open_table_of_run,
    unreadable_rule,
)
from clusterlens.compute.scale.source import ParquetSource, open_source
from clusterlens.compute.scale.stages import FEWEST_LANDMARKS, MODELS
from clusterlens.ui.actions.action import Action, Values
from clusterlens.ui.actions.lines import Lines, call, keywords, new_run
from clusterlens.ui.actions.runs import take_prepared, write_prepared
from clusterlens.ui.actions.tables import begin, write_table
from clusterlens.ui.state.analysis import Analysis, LargeTable, Run, new_run_id
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.literals import literal
from clusterlens.ui.state.shapes import SEED, TEXT, flag, integer, record
from clusterlens.ui.widgets.palette import file_labels

# Seed of the draw, unless another one is given.
_SEED = 0


def load_landmarks(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Draw landmarks of a table on the server's disk, and begin an analysis of them."""
    name, rule = values["name"], _rule(values.get("skips", False))
    path = job.server.tables.find(name)
    job.begin_stage(f"Draw landmarks of {path.name}", unit="rows")
    opened = open_source(path, rule)
    table, left = sample_table(
        opened,
        path.name,
        values.get("n_landmarks", N_LANDMARKS),
        values.get("random_state", _SEED),
        rule,
        RunOptions(progress=job.report, cancel=job.cancelled),
    )
    large = LargeTable(name, left.n_rows, opened.digest, values.get("skips", False))
    return replace(begin(table, job), large=large)


def open_large(job: Any, large: LargeTable) -> ParquetSource:
    """Open a large table again; ValueError if it has changed since."""
    path = job.server.tables.find(large.name)
    opened = open_source(path, _rule(large.skips))
    if opened.digest != large.files:
        raise ValueError(
            f"{large.name!r} has changed since its landmarks were drawn; open it again "
            "on Data."
        )
    return opened


def _rule(skips: bool) -> str:
    return "skip" if skips else "stop"


def _write_landmarks(lines: Lines, step: Step, before: Analysis) -> None:
    values = step.values
    given = {
        "n_landmarks": values.get("n_landmarks", N_LANDMARKS),
        "random_state": values.get("random_state", _SEED),
    }
    if values.get("skips"):
        given["unreadable"] = "skip"
    source = _write_source(lines, values["name"])
    write_table(lines, step, call("cl.draw_landmarks", source, *keywords(given)))


def _write_source(lines: Lines, name: str) -> str:
    """Return the constant with the name of the table; the user adds the path."""
    inside = PurePosixPath(name).name
    return lines.constant("SOURCE", inside, "  # its path on the server")


def open_run(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Open a complete run: its landmarks, their models, and the labels of all rows.

    The page prepares the landmarks by rules that it learns from them, so the features
    differ slightly from those of the run.
    """
    run_name, tables = values["name"], job.server.tables
    folder = tables.find_run(run_name)
    name = tables.table_of(folder)
    job.begin_stage(f"Read the landmarks of {folder.name}", unit="rows")
    opened = open_table_of_run(folder, tables.find(name))
    options = RunOptions(progress=job.report, cancel=job.cancelled)
    table = landmarks_of_run(folder, opened, folder.name, options)
    found = models_of_run(folder, len(table.table))
    skips = unreadable_rule(folder) == "skip"
    begun = replace(
        begin(table, job),
        large=LargeTable(name, opened.n_rows, opened.digest, skips),
        labelled=(run_name, f"the run {folder.name}"),
    )
    if begun.dataset is None:
        return begun
    found = take_prepared(found, begun.dataset)
    kept = {"name": folder.name, "models": found.n_partitions}
    run = Run(new_run_id(), folder.name, begun.dataset, (), 0, found, (kept,))
    return replace(begun, runs_made=1).with_run(run)


def _write_run(lines: Lines, step: Step, before: Analysis) -> None:
    analysis, where = step.analysis, "  # its path on the server"
    if analysis.large is None:
        return
    source = _write_source(lines, analysis.large.name)
    out = lines.constant("RUN", PurePosixPath(step.values["name"]).name, where)
    write_table(lines, step, call("cl.read_landmarks", out, source))
    if analysis.dataset is None:
        return
    run, dataset = new_run(step, before), lines.prepared(analysis.dataset.settings)
    models = call("cl.load_ensemble", f'{out} + "/{MODELS}"')
    lines.begin(run, dataset, write_prepared(models, analysis.dataset, dataset))


def given_of(analysis: Analysis) -> tuple[Given, Run]:
    """Return landmarks, models and partition to label all rows by, and their run.

    Raises
    ------
    ValueError
        If there is no result, or not one of all landmarks.
    """
    result = analysis.result
    if analysis.large is None or analysis.table is None:
        raise ValueError(
            "this table is in memory as a whole; all its rows have labels."
        )
    if result is None:
        raise ValueError("there is no result; choose one on Clusters.")
    run = next((run for run in analysis.runs if run.id == result.run_id), None)
    if run is None:
        raise ValueError("the run of the result was deleted; choose another result.")
    if len(run.dataset.table) != len(analysis.table.table):
        raise ValueError(
            "the result is of a part of the landmarks; choose one of all of them."
        )
    labels = file_labels(result.clusters)
    return Given(run.dataset, run.ensemble, labels), run


def labels_digest(given_digest: str, run: Run, large: LargeTable) -> str:
    """Return the SHA-256 of everything that the labels of all rows depend on.

    `given_digest` stands for the landmarks, their models and the partition. A table
    that is written anew has other labels, also if its landmarks are the same.
    """
    pool = [dict(spec) for spec in run.pool]
    facts = (given_digest, large.files, large.skips, pool, run.random_state)
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def label_large(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Label all rows of the large table by the result and the models of its run."""
    given, run = given_of(analysis)
    large, result = analysis.large, analysis.result
    assert large, "given_of checks this"
    assert result, "given_of checks this"
    opened = open_large(job, large)
    digest = labels_digest(given.digest, run, large)
    out = job.server.tables.labels(large.name, digest)
    with job.server.tables.writing(out):
        try:
            label_all(
                opened,
                out,
                given,
                [dict(spec) for spec in run.pool] or None,
                run.random_state,
                RunOptions(progress=job.report, cancel=job.cancelled),
                unreadable=_rule(large.skips),
                workers=job.workers,
                enter=job.begin_stage,
            )
        except Cancelled:
            job.left = _left_words(out)
            raise
    return replace(analysis, labelled=(digest, result.title))


def _left_words(out: Path) -> str:
    """Describe what a cancelled labelling keeps on the disk; empty for nothing."""
    files = list((out / LABELS).glob("part-*"))
    if not (files or out.exists()):
        return ""
    kept = "What was read and fitted is"
    if files:
        n_rows = sum(pq.read_metadata(file).num_rows for file in files)
        kept = f"The finished labels of {count(n_rows, 'row')} are"
    return f"{kept} kept on the disk; “Label all rows” goes on from there."


def _write_labels(lines: Lines, step: Step, before: Analysis) -> None:
    analysis = step.analysis
    if analysis.result is None or analysis.large is None:
        return
    run_id = analysis.result.run_id
    run = lines.run(run_id)
    source = _write_source(lines, analysis.large.name)
    pool = lines.constant("POOL", [dict(spec) for spec in run.pool])
    folder = literal(f"{PurePosixPath(analysis.large.name).stem}-labels")
    of_run = (lines.dataset(run_id), lines.ensemble(run_id), lines.name("clusters"))
    given = keywords({"random_state": run.random_state})
    made = call("cl.label_rows", source, folder, *of_run, pool, *given)
    lines.assign(lines.name("labelled"), made)


ACTIONS = {
    "load landmarks": Action(
        "Draw landmarks",
        load_landmarks,
        record(
            {"name": TEXT},
            {
                "n_landmarks": integer(FEWEST_LANDMARKS, MOST_LANDMARKS),
                "random_state": SEED,
                "skips": flag,
            },
        ),
        slow=True,
        python=_write_landmarks,
    ),
    "open run": Action(
        "Open a run", open_run, record({"name": TEXT}), slow=True, python=_write_run
    ),
    "label rows": Action(
        "Label all rows", label_large, record(), slow=True, python=_write_labels
    ),
}
