"""Actions on runs: selection, votes, score, threshold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.voting import VoteBy, vote_weights
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.actions.action import NAME_LENGTH, Action, Values, limited
from clusterlens.ui.actions.lines import Lines
from clusterlens.ui.state.analysis import Analysis, Run
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.literals import literal
from clusterlens.ui.state.shapes import (
    COUNT,
    LONG_TEXT,
    SCORE,
    TEXT,
    VOTES,
    any_of,
    nothing,
    record,
)

NOTE_LENGTH = 2000


def read_run(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Select another run, at the mean rule."""
    return _read(analysis, _known(analysis, values["id"]).id)


def rename_run(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Rename a run."""
    name = limited(str(values["name"]).strip(), NAME_LENGTH, "the name")
    if not name:
        raise ValueError("the name of a run is empty; give it at least one letter.")
    renamed = replace(_known(analysis, values["id"]), name=name)
    if any(run.name == name and run.id != renamed.id for run in analysis.runs):
        raise ValueError(f"another run is called {name!r}; choose another name.")
    runs = tuple(renamed if run.id == renamed.id else run for run in analysis.runs)
    return replace(analysis, runs=runs)


def delete_run(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Remove a run from the analysis."""
    gone = _known(analysis, values["id"])
    left = tuple(run for run in analysis.runs if run.id != gone.id)
    remaining = replace(analysis, runs=left)
    if analysis.run_id != gone.id:
        return remaining
    return _read(remaining, left[-1].id if left else None)


def _known(analysis: Analysis, run_id: str) -> Run:
    for run in analysis.runs:
        if run.id == run_id:
            return run
    raise ValueError(f"run {run_id!r} is not in this analysis; choose one that is.")


def _read(analysis: Analysis, run_id: str | None) -> Analysis:
    return replace(analysis, run_id=run_id, threshold=None)


def set_score(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Rank by another score."""
    return replace(analysis, score=values["score"])


def set_threshold(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Set the number of models that must agree; None is the mean rule."""
    threshold, ensemble = values["threshold"], analysis.ensemble
    if ensemble is None:
        raise ValueError("there is no run to set a threshold of; run a pool first.")
    if threshold is not None and not 0 <= threshold <= ensemble.n_votes + 1:
        raise ValueError(
            f"threshold is {threshold}; give a number of votes from 0 to "
            f"{ensemble.n_votes + 1}."
        )
    return replace(analysis, threshold=threshold)


def count_fully(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Count the agreements of the run exactly, whatever the cost."""
    if analysis.run is None:
        raise ValueError("there is no run to count; run a pool first.")
    return replace(analysis, counted_fully=analysis.counted_fully | {analysis.run.id})


def weigh_models(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Set the vote weights of the run."""
    run = analysis.run
    if run is None:
        raise ValueError("there is no run whose models could vote; run a pool first.")
    ensemble = weight_models(run.ensemble, values["by"], job)
    changed = replace(run, ensemble=ensemble, votes=values["by"])
    runs = tuple(changed if one is run else one for one in analysis.runs)
    return replace(analysis, runs=runs, threshold=None)


def _write_votes(lines: Lines, step: Step, before: Analysis) -> None:
    votes = {run.id: run.votes for run in before.runs}
    for run in step.analysis.runs:
        if run.votes != votes.get(run.id):
            lines.weigh(run)


def weight_models(ensemble: Ensemble, by: VoteBy, job: Any) -> Ensemble:
    """Weight the models as `vote_weights` does; models without a vote keep none.

    An ensemble that already has these weights is shared with other sessions, so it is
    returned unchanged.
    """
    weights = vote_weights(ensemble, by, **job.kernels)
    if np.array_equal(weights, ensemble.weights):
        return ensemble
    return ensemble.with_weights(weights)


def joined(first: Ensemble, second: Ensemble, *, votes: bool = True) -> Ensemble:
    """Concatenate two ensembles; the models of the second may have no votes."""
    both = first.concat(second.replace(noise=first.noise))
    silent = np.zeros(len(second))
    return both if votes else both.with_weights([*first.weights, *silent])


def write_joined(lines: Lines, run: Run, base: Run, more: str) -> None:
    """Assign a run as another run with more partitions, and its votes."""
    both = f"{lines.ensemble(base.id)}.concat({more})"
    lines.begin(run, lines.dataset(base.id), both)
    lines.let_vote(run)


def take_prepared(ensemble: Ensemble, dataset: Dataset) -> Ensemble:
    """Keep the samples that the preparation keeps, of labels of all rows of a table."""
    if len(dataset.row_ids) >= ensemble.n_samples:
        return ensemble
    rows = dataset.table.index.get_indexer(pd.Index(dataset.row_ids))
    return ensemble.take_samples(rows)


def write_prepared(code: str, dataset: Dataset, name: str) -> str:
    """Write `take_prepared` of an expression, for a dataset of this name."""
    if len(dataset.row_ids) >= len(dataset.table):
        return code
    return f"{code}.take_samples({name}.table.index.get_indexer({name}.row_ids))"


def noise_in_python(run: Run) -> str:
    """Write the treatment of noise in a run, unless noise is a cluster."""
    noise = run.ensemble.noise
    return "" if noise == "cluster" else f".replace(noise={literal(noise)})"


def write_note(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Set the note of the analyst in the report; an empty text removes it."""
    text = limited(str(values["text"]).strip(), NOTE_LENGTH, "the note")
    return replace(analysis, note=text)


ACTIONS = {
    "read run": Action("Read another run", read_run, record({"id": TEXT})),
    "rename run": Action(
        "Rename the run", rename_run, record({"id": TEXT, "name": TEXT})
    ),
    "delete run": Action("Delete the run", delete_run, record({"id": TEXT})),
    "set score": Action("Set the score", set_score, record({"score": SCORE})),
    "set threshold": Action(
        "Set the agreement needed",
        set_threshold,
        record({"threshold": any_of(nothing, COUNT)}),
        of_run=True,
    ),
    "count fully": Action("Count all pairs", count_fully, record(), of_run=True),
    "weigh models": Action(
        "Set who votes",
        weigh_models,
        record({"by": VOTES}),
        slow=True,
        of_run=True,
        python=_write_votes,
    ),
    "write note": Action("Write a note", write_note, record({"text": LONG_TEXT})),
}
