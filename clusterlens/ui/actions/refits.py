"""Action: refit a segmentation on the new table, or on both tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from clusterlens.compute.assigning.refitting import Refit, refit
from clusterlens.compute.assigning.segmentation import Segmentation
from clusterlens.compute.formatting import count
from clusterlens.compute.table.preparing_again import prepare_again
from clusterlens.ui.actions.action import NAME_LENGTH, Action, Values, limited
from clusterlens.ui.actions.lines import Lines, call, new_run
from clusterlens.ui.actions.partitions import labels_in_python
from clusterlens.ui.actions.pools import fitted, fitting
from clusterlens.ui.actions.runs import weight_models
from clusterlens.ui.actions.tables import rules_of
from clusterlens.ui.state.analysis import (
    Analysis,
    AnalysisResult,
    ClusterName,
    KeptPartition,
    Run,
    Succession,
    new_run_id,
)
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.links import plain_ids
from clusterlens.ui.state.literals import literal
from clusterlens.ui.state.partitions import chosen_labels, number_of
from clusterlens.ui.state.shapes import TEXT, choice, record
from clusterlens.ui.widgets.palette import clusters_of


def refit_segmentation(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Start again from another table; clusters that remain keep their names."""
    kept, run = _kept(analysis, values["of"])
    name = limited(" ".join(str(values["name"]).split()), NAME_LENGTH, "the name")
    if not name or any(one.name == name for one in analysis.segmentations):
        raise ValueError(f"the name {name!r} is empty or taken; give another one.")
    if analysis.new_table is None:
        raise ValueError("there is no new table; drop one on New rows first.")
    both = values["rows"] == "both"
    old = kept.result.dataset
    job.begin_stage("Preparing the table", unit="%")
    dataset = prepare_again(
        old,
        analysis.new_table,
        both=both,
        progress=job.report,
        cancel=job.cancelled,
    )
    job.begin_stage("Fit the pool again", unit="models")
    ensemble = fitted(dataset.X, list(run.pool), run, job)
    number = analysis.runs_made + 1
    made = Run(
        new_run_id(),
        f"run {number}",
        dataset,
        run.pool,
        run.random_state,
        weight_models(ensemble, run.votes, job),
        votes=run.votes,
        preset=run.preset,
    )
    again = Analysis(
        table=replace(dataset, prepared=None),
        preparation={k: v for k, v in rules_of(dataset).items() if k != "roles"},
        dataset=dataset,
        runs_made=number,
        score=analysis.score,
        link_weight=analysis.link_weight,
        note=analysis.note,
    ).with_run(made)
    partition = _made_alike(kept.result, run, made)
    chosen, labels = chosen_labels(again, partition, **job.kernels)
    job.begin_stage("Match the clusters")
    names = {number_of(k): text for k, text in kept.names}
    older = Segmentation(old, kept.labels, names, cancel=job.cancelled)
    found = refit(older, dataset, labels, cancel=job.cancelled)
    if gone := len(analysis.links) + len(analysis.unsure):
        job.notify(
            "info",
            f"{count(gone, 'link or pair', 'links or pairs')} of the table before "
            "went with it; undo brings them back.",
        )
    result = _result(made, chosen.values(dataset), chosen.title(ensemble), found)
    own = tuple((k, text) for k, text in kept.names if k in result.clusters)
    succeeding = KeptPartition(name, result, own, _succession(kept, values, found))
    return replace(
        again,
        result=result,
        cluster_names=tuple(_names(result, own)),
        segmentations=(*analysis.segmentations, succeeding),
    )


def _kept(analysis: Analysis, name: str) -> tuple[KeptPartition, Run]:
    """Return a segmentation by its name, and its run."""
    for kept in analysis.segmentations:
        if kept.name == name:
            break
    else:
        raise ValueError(f"no segmentation is called {name!r}; keep the result first.")
    run = next((r for r in analysis.runs if r.id == kept.result.run_id), None)
    if run is None or not run.pool:
        raise ValueError(
            f"the run of {name!r} is gone or has no pool that could be fitted again; "
            "undo what took it away, or load the new table on Data and run a pool."
        )
    return kept, run


def _made_alike(result: AnalysisResult, run: Run, new: Run) -> Mapping[str, Any]:
    """Return the definition of the partition in the new run.

    It is the model of the same name, otherwise a consensus with as many clusters.
    Links, votes from answers and given labels belong to the old rows and are not used.
    """
    made = result.made
    if made["kind"] == "model":
        name = run.ensemble.names[made["model"]]
        if name in new.ensemble.names:
            return {"kind": "model", "model": new.ensemble.names.index(name)}
    k = made.get("k") or len(np.unique(result.clusters[result.clusters >= 0]))
    method = made.get("method", "bisecting-kmeans")
    return {"kind": "consensus", "k": int(k), "method": method, "obeys": False}


def _result(
    run: Run, made: Mapping[str, Any], title: str, found: Refit
) -> AnalysisResult:
    """Make the refitted partition the result; labels are numbers on screen plus 1."""
    clusters = clusters_of(found.labels)
    rows = found.matches.dropna(subset="now")
    now = {
        int(number): int(label)
        for number, label in zip(rows["now"], _labels(found), strict=True)
    }
    numbers = {label: number - 1 for label, number in now.items()}
    if (clusters < 0).any():
        numbers[-1] = -1
    pairs = tuple(sorted(numbers.items()))
    return AnalysisResult(
        run.id, run.dataset, made, title, clusters, pairs, (), "New rows"
    )


def _labels(found: Refit) -> list[int]:
    """Return the label of each new cluster, in the order of the matches."""
    stays = found.matches.loc[found.matches["state"] == "stays", "then"].tolist()
    fresh = set(np.unique(found.labels).tolist()) - {-1, *stays}
    return [*stays, *sorted(fresh)]


def _names(
    result: AnalysisResult, own: tuple[tuple[int, str], ...]
) -> list[ClusterName]:
    """Return the given names of clusters together with their rows."""
    ids = plain_ids(result.dataset.row_ids)
    return [
        ClusterName(text, tuple(ids[at] for at in np.flatnonzero(result.clusters == k)))
        for k, text in own
    ]


def _succession(kept: KeptPartition, values: Values, found: Refit) -> Succession:
    """Return the names of the clusters that stayed, vanished or are new."""
    named = found.matches.groupby("state")["name"].agg(tuple).to_dict()
    return Succession(
        kept.name, values["rows"], *(named.get(s, ()) for s in ("stays", "gone", "new"))
    )


def _write_refit(lines: Lines, step: Step, before: Analysis) -> None:
    run, one = new_run(step, before), step.analysis.segmentations[-1]
    base, _ = _kept(before, step.values["of"])
    old, table = lines.dataset(base.result.run_id), lines.name("new_table")
    lines.change_table()
    dataset = lines.prepared(run.dataset.settings)
    more = ["both=True"] if step.values["rows"] == "both" else []
    lines.assign(dataset, call("cl.prepare_again", old, table, *more))
    lines.assign(lines.name("table"), dataset)
    lines.begin(run, dataset, fitting(lines, dataset, run, run.pool))
    lines.let_vote(run)
    labels, kept = lines.name("labels"), lines.name("kept")
    n_found = len([label for label, _ in one.result.numbers if label >= 0])
    lines.assign(labels, labels_in_python(lines, one.result.made, n_found, run, ()))
    refitted = lines.name("refitted")
    again = call("cl.refit", f"{kept}[{literal(base.name)}]", dataset, labels)
    lines.assign(refitted, again)
    lines.assign(lines.name("clusters"), f"{refitted}.labels.tolist()")
    lines.assign(kept, f"{refitted}.segmentation", f"[{literal(one.name)}]")


ACTIONS = {
    "refit": Action(
        "Refit on the new table",
        refit_segmentation,
        record({"of": TEXT, "rows": choice("new", "both"), "name": TEXT}),
        slow=True,
        python=_write_refit,
    ),
}
