"""Actions on partitions: keep, import and name them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.importing import load_partitions
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.actions.action import NAME_LENGTH, Action, Values, limited
from clusterlens.ui.actions.lines import Lines, call, new_run
from clusterlens.ui.actions.runs import (
    joined,
    noise_in_python,
    take_prepared,
    weight_models,
    write_joined,
    write_prepared,
)
from clusterlens.ui.jobs.reading import read_in_process
from clusterlens.ui.state.analysis import (
    Analysis,
    AnalysisResult,
    ClusterName,
    Link,
    Run,
    new_run_id,
)
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.links import (
    PlainId,
    links_as_lists,
    links_obeyed,
    plain_ids,
)
from clusterlens.ui.state.literals import literal
from clusterlens.ui.state.partitions import (
    MOST_LABEL,
    Kind,
    choice_from,
    chosen_labels,
    named,
    names_of,
    number_of,
    refuse_large_labels,
)
from clusterlens.ui.state.shapes import (
    COUNT,
    ROW_IDS,
    TEXT,
    ShapeError,
    choice,
    flag,
    integer,
    key,
    record,
    row,
    sequence,
)
from clusterlens.ui.widgets.palette import label_title

KEPT_FAMILIES = {"consensus": "consensus", "group": "group", "labels": "given labels"}


def keep_partition(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Add a partition to the models of a copy of the run, without a vote.

    It is derived from the models or from the analyst's opinion, so a vote would count
    these twice.
    """
    run = analysis.run
    choice, labels = chosen_labels(analysis, values["partition"], **job.kernels)
    if run is None or choice.kind == "model":
        raise ValueError("this partition is a model already; choose another one.")
    if choice.kind == "result":
        raise ValueError(
            "the result is kept beside the run already; to put it among the models, "
            "choose the partition that it was made of."
        )
    name = str(values["name"]).strip()
    if not name or name in run.ensemble.names:
        raise ValueError(
            f"the name {name!r} is empty or taken; give the partition one of its own."
        )
    spec = {"clusterer": choice.kind, **choice.values(run.dataset)}
    spec.pop("rows", None)
    kept = Ensemble([labels], [name], [KEPT_FAMILIES[choice.kind]], specs=[spec])
    number = analysis.runs_made + 1
    obeyed = links_as_lists(analysis.links) if choice.obeys else {}
    copy = replace(
        run,
        id=new_run_id(),
        name=f"{run.name} + {name}",
        ensemble=joined(run.ensemble, kept, votes=False),
        kept=(*run.kept, {**values, **obeyed}),
    )
    return replace(analysis, runs_made=number).with_run(copy)


def _write_kept(lines: Lines, step: Step, before: Analysis) -> None:
    run, made = new_run(step, before), step.values["partition"]
    base = lines.base(run, before)
    models, found = lines.ensemble(base.id), run.ensemble
    n_found = int(found.n_codes[-1])
    links = links_obeyed(run, before.links)
    labels = labels_in_python(lines, made, n_found, base, links)
    name, family = literal(found.names[-1]), literal(found.families[-1])
    means = [] if found.noise == "cluster" else [f"noise={literal(found.noise)}"]
    kept = call("cl.Ensemble", f"[{labels}]", f"[{name}]", f"[{family}]", *means)
    silent = f"with_weights([*{models}.weights, 0])"
    lines.begin(run, lines.dataset(base.id), f"{models}.concat({kept}).{silent}")


def import_partitions(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Read partitions of other tools as a new run, or with the models of this one."""
    dataset, run = analysis.dataset, analysis.run
    if dataset is None:
        raise ValueError("no table is prepared; load one on the Data page.")
    name, content = values["name"], job.files[values["sha256"]]
    job.begin_stage(f"Read {name}", unit="MB")
    found = read_in_process(job, name, content, load_partitions, dataset.table.index)
    refuse_large_labels(found)
    if found.notes:
        job.notify("info", " ".join(found.notes))
    found = take_prepared(found, dataset)
    mixed = bool(values["mixed"]) and run is not None and run.dataset is dataset
    base = run if mixed else None
    number = analysis.runs_made + 1
    made = Run(
        new_run_id(),
        f"{base.name} + {values['name']}" if base else str(values["name"]),
        dataset,
        base.pool if base else (),
        base.random_state if base else 0,
        weight_models(joined(base.ensemble, found), base.votes, job) if base else found,
        (*(base.kept if base else ()), {**values, "models": found.n_partitions}),
        votes=base.votes if base else "models",
        preset=base.preset if base else None,
    )
    return replace(analysis, runs_made=number).with_run(made)


def _write_imported(lines: Lines, step: Step, before: Analysis) -> None:
    run = new_run(step, before)
    dataset, ensemble = lines.prepared(run.dataset.settings), run.ensemble
    title = literal(ensemble.specs[-1].get("source", step.values["name"]))
    files = f"{{{title}: {lines.file('PARTITIONS', step)}}}"
    found = call("cl.load_partitions", files, f"{dataset}.table.index")
    found = write_prepared(found, run.dataset, dataset)
    if len(run.kept) == 1 and not run.pool:
        lines.begin(run, dataset, found)
    else:
        more = found + noise_in_python(run)
        write_joined(lines, run, lines.base(run, before), more)


def name_cluster(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Name a cluster of a partition; an empty name removes its name."""
    _, labels = chosen_labels(analysis, values["partition"], **job.kernels)
    run = analysis.run
    rows = np.flatnonzero(labels == values["cluster"])
    if run is None or not len(rows):
        raise ValueError(f"there is no cluster {values['cluster']} to name.")
    text = limited(" ".join(str(values["name"]).split()), NAME_LENGTH, "the name")
    every = plain_ids(run.dataset.row_ids)
    ids = [every[at] for at in rows]
    names = named(analysis.cluster_names, text, ids, every)
    return replace(analysis, cluster_names=names)


def choose_result(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Make a partition the result.

    Names stay with clusters that share most of their rows. `numbers` lists the number
    on screen of each label, so that colours stay.
    """
    choice, labels = chosen_labels(analysis, values["partition"], **job.kernels)
    run = analysis.run
    if run is None or choice.kind == "result":
        raise ValueError("this partition is the result already; choose another one.")
    found = np.unique(labels)
    numbers = dict(values["numbers"])
    if not numbers.keys() >= set(found.tolist()):
        raise ValueError(
            "the partition has clusters without a number; choose it again."
        )
    clusters = np.array([numbers[k] for k in found.tolist()])[
        np.searchsorted(found, labels)
    ]
    every = plain_ids(run.dataset.row_ids)
    names = analysis.cluster_names
    if choice.kind == "labels":
        names = (*_label_names(run.dataset, labels, every), *names)
    for cluster, called in names_of(clusters, run.dataset.row_ids, names).items():
        rows = [every[at] for at in np.flatnonzero(clusters == cluster)]
        if not called.is_own:
            names = (*names, ClusterName(called.text, tuple(rows)))
    result = AnalysisResult(
        run.id,
        run.dataset,
        choice.values(run.dataset),
        choice.title(run.ensemble),
        clusters,
        tuple(sorted(numbers.items())),
        analysis.links,
        str(values["on"]),
    )
    return replace(analysis, result=result, cluster_names=names)


def _write_result(lines: Lines, step: Step, before: Analysis) -> None:
    if (result := step.analysis.result) is not None:
        run = lines.run(result.run_id)
        write_clusters(lines, result.made, result.numbers, run, result.links)


def write_clusters(
    lines: Lines,
    made: Mapping[str, Any],
    numbers: Sequence[tuple[int, int]],
    run: Run,
    links: Sequence[Link],
) -> None:
    """Assign the labels of a partition, and its clusters by their numbers on screen.

    Parameters
    ----------
    lines : Lines
        Lines so far.
    made : dict
        Definition of the partition, the plain values of a `Choice`.
    numbers : sequence of (int, int)
        Each original label, with its number on screen.
    run : Run
        Run of the partition.
    links : sequence of Link
        Links that the partition may obey.
    """
    labels = lines.name("labels")
    lines.assign(labels, labels_in_python(lines, made, len(numbers), run, links))
    shown = lines.constant("NUMBERS", {k: number_of(number) for k, number in numbers})
    lines.assign(lines.name("clusters"), f"[{shown}[k] for k in {labels}.tolist()]")


def labels_in_python(
    lines: Lines,
    made: Mapping[str, Any],
    n_found: int,
    run: Run,
    links: Sequence[Link],
) -> str:
    """Write the labels of a partition of a run as an expression."""
    choice, rows = choice_from(made, run.dataset), made.get("rows", ())
    ensemble, dataset = lines.ensemble(run.id), lines.dataset(run.id)
    return choice.python(run.ensemble, n_found, rows, links, ens=ensemble, ds=dataset)


def _label_names(
    samples: Dataset, labels: np.ndarray, every: Sequence[PlainId]
) -> Iterator[ClusterName]:
    """Name the rows of each given label by the label."""
    for label in np.unique(labels[labels >= 0]).tolist():
        rows = tuple(every[at] for at in np.flatnonzero(labels == label).tolist())
        yield ClusterName(label_title(samples.label_names[label]), rows)


# As written by `Choice.values`.
_PARTITION = record(
    {"kind": choice(*get_args(Kind))},
    {
        **{"k": COUNT, "method": TEXT, "obeys": flag, "model": COUNT},
        **{"rows": ROW_IDS, "votes": sequence(COUNT)},
    },
)


def PARTITION(value: Any) -> None:
    """Check a partition of a run; a model has its position, a group its rows."""
    _PARTITION(value)
    needed = {"model": "model", "group": "rows"}.get(value["kind"], "kind")
    if needed not in value:
        raise ShapeError(f"a mapping with {needed!r}", value)


ACTIONS = {
    "keep partition": Action(
        "Keep the partition",
        keep_partition,
        record({"partition": PARTITION, "name": TEXT}),
        slow=True,
        of_run=True,
        python=_write_kept,
    ),
    "import partitions": Action(
        "Read the partitions",
        import_partitions,
        record({"name": TEXT, "sha256": key, "mixed": flag}),
        slow=True,
        python=_write_imported,
    ),
    "name cluster": Action(
        "Name the cluster",
        name_cluster,
        record({"partition": PARTITION, "cluster": integer(), "name": TEXT}),
        slow=True,
        of_run=True,
    ),
    "choose result": Action(
        "Choose the result",
        choose_result,
        record(
            {
                "partition": PARTITION,
                "numbers": sequence(row(integer(), integer(-1, MOST_LABEL))),
                "on": TEXT,
            }
        ),
        slow=True,
        of_run=True,
        python=_write_result,
    ),
}
