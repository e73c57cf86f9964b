"""Script: an analysis as Python that gives the same labels and scores elsewhere.

The script repeats the log: the lines that actions write for their steps
(`ui.actions.lines`), and the ranking and rows that follow. Pages append their own calls
to the same lines. Text that comes from the analysis is written by `literal`, or by
`comment` below the first lines, where a comment cannot declare the file's encoding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from textwrap import indent

from clusterlens import __version__
from clusterlens.compute.ranking.ranking import SCORES
from clusterlens.ui.actions import ACTIONS
from clusterlens.ui.actions.lines import Lines, call, comment, keywords
from clusterlens.ui.actions.partitions import write_clusters
from clusterlens.ui.exports.rows import file_stem, membership_columns
from clusterlens.ui.results.result import ExportPartition
from clusterlens.ui.state.analysis import Analysis, Run
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.links import links_as_json
from clusterlens.ui.state.literals import ScriptError, literal
from clusterlens.ui.state.partitions import SEED, number_of, position_in_python
from clusterlens.ui.widgets.palette import cluster_name

_FOUND = ("dataset", "ensemble", "ranking", "clusters", "rows")
_LOADING = ("load file", "load example", "load landmarks", "open run")


def script_lines(steps: Sequence[Step]) -> Lines:
    """Return the Python lines of the steps in force for the latest table.

    Raises
    ------
    ScriptError
        If the log lacks a step without which others cannot be done.
    """
    lines, before = Lines(), Analysis()
    loaded = [k for k, step in enumerate(steps) if step.kind in _LOADING]
    for step in steps[loaded[-1] if loaded else 0 :]:
        action = ACTIONS.get(step.kind)
        if action is not None and action.python is not None:
            action.python(lines, step, before)
        before = step.analysis
    return lines


def write_script(
    steps: Sequence[Step], partition: ExportPartition, *, exact: bool = True
) -> str:
    """Write the steps of the latest table as a script.

    Parameters
    ----------
    steps : sequence of Step
        Steps in force, oldest first.
    partition : ExportPartition
        Partition to write.
    exact : bool, default True
        Whether all agreements are counted; otherwise they are estimated as in the app.

    Returns
    -------
    script : str
        Its function `analyse` returns a dictionary: "dataset", "ensemble" and
        "ranking", "clusters", the cluster of each sample by its number on the page, and
        "rows", the table with them; if partitions are kept for other tables, "kept" has
        the segmentations and "assigned" the clusters of the rows of the new table; if
        the rows of a large table were labelled, "labelled" has the results.

    Raises
    ------
    ScriptError
        If there is no run, or the log lacks a step that is needed.
    """
    analysis = steps[-1].analysis
    run = analysis.run
    if run is None or analysis.table is None:
        raise ScriptError("there is no run to repeat; run a pool first.")
    lines = script_lines(steps)
    of_run = lines.dataset(run.id), lines.ensemble(run.id)
    _write_ranking(lines, analysis, run, exact)
    _write_rows(lines, partition)
    found = dict(zip(_FOUND, (*of_run, *map(lines.name, _FOUND[2:])), strict=True))
    if lines.has(kept := lines.name("kept")):
        found["kept"] = kept
        if lines.has(table := lines.name("new_table")):
            found["assigned"] = lines.name("assigned")
            placed = f"{{name: one.assign({table}) for name, one in {kept}.items()}}"
            lines.assign(found["assigned"], placed)
    if lines.has(labelled := lines.name("labelled")):
        found["labelled"] = labelled
    constants, calls = lines.written(found.values())
    return _TEMPLATE.format(
        about=_about(analysis, run),
        constants="\n".join(constants),
        lines=indent("\n".join(calls), "    "),
        found="".join(f'        "{name}": {name},\n' for name in found),
        file=literal(f"{file_stem(analysis.table.name)}-labels.csv"),
        assign=_ASSIGN if "assigned" in found else "",
    )


def write_card(
    steps: Sequence[Step], wanted: Callable[[Lines], Iterable[str]], *then: str
) -> str:
    """Write calls of a page after the lines of the log that they need.

    Parameters
    ----------
    steps : sequence of Step
        Steps in force, oldest first.
    wanted : callable
        Returns the names of the variables that the calls use.
    *then : str
        The calls.

    Raises
    ------
    ScriptError
        If the log lacks the step that made a variable.
    """
    lines = script_lines(steps)
    constants, calls = lines.written(wanted(lines))
    return "\n".join(["import clusterlens as cl", "", *constants, *calls, *then])


_TEMPLATE = '''\
"""An analysis of ClusterLens: its labels and scores, made again."""

{about}
import clusterlens as cl

{constants}


def analyse():
    """Load, prepare, cluster, count and rank, as the app did."""
{lines}
    return {{
{found}    }}


def main():
    found = analyse()
    print(found["ranking"].to_frame().head(10).to_string())
    with open({file}, "wb") as file:
        file.write(cl.to_csv_bytes(found["rows"], index=True)){assign}


if __name__ == "__main__":
    main()
'''
_ASSIGN = """
    for k, rows in enumerate(found["assigned"].values(), 1):
        with open(f"assigned-{k}.csv", "wb") as file:
            file.write(cl.to_csv_bytes(rows, index=True))"""


def _about(analysis: Analysis, run: Run) -> str:
    """Write a comment with the version, the table and the run, whatever their names."""
    table = analysis.table.name if analysis.table is not None else ""
    words = f"ClusterLens {__version__} · {table} · {run.name}"
    if run.preset:
        words += f", {run.preset_words}"
    if analysis.links:
        words += f", {len(analysis.links)} links"
    return comment(words)


def _write_ranking(lines: Lines, analysis: Analysis, run: Run, exact: bool) -> None:
    """Add the lines that count agreements and rank the models."""
    ensemble, agreement = lines.ensemble(run.id), lines.name("agreement")
    counted = (
        call("cl.count_agreements", ensemble)
        if exact
        else call("cl.estimate_agreements", ensemble, "None", literal(SEED))
    )
    lines.assign(agreement, counted)
    options = keywords({"score": analysis.score})
    if analysis.threshold is not None and SCORES[analysis.score].uses_threshold:
        options += keywords({"threshold": analysis.threshold})
    if analysis.links:
        text = lines.constant(
            "LINKS", links_as_json(analysis.links, analysis.unsure), "  # by row id"
        )
        rows, links = f"{lines.dataset(run.id)}.row_ids", lines.name("links")
        lines.assign(links, f'cl.constraints_from_json({text}, {rows}, missing="skip")')
        options.append(f"constraints={links}")
        options += keywords({"constraint_weight": analysis.link_weight})
    lines.assign(lines.name("ranking"), call("cl.rank_partitions", agreement, *options))


def _write_rows(lines: Lines, partition: ExportPartition) -> None:
    """Add the lines of the exported clusters and of the table with them."""
    if not partition.is_result:
        run = lines.run(partition.run_id)
        write_clusters(lines, partition.made, partition.numbers, run, partition.links)
    clusters = lines.name("clusters")
    names = {
        number_of(k): cluster_name(k, partition.names) for _, k in partition.numbers
    }
    called = f"[{lines.constant('NAMES', names)}[k] for k in {clusters}]"
    columns = f'"cluster": {clusters}, "cluster name": {called}'
    if partition.memberships is not None:
        ensemble, model = lines.ensemble(partition.run_id), partition.made["model"]
        of = position_in_python(lines.run(partition.run_id).ensemble, model, ensemble)
        memberships = lines.name("memberships", partition.run_id)
        lines.assign(memberships, f"{ensemble}.memberships[{of}]")
        at = lines.constant(
            "COLUMNS", membership_columns(partition.clusters, partition.memberships)
        )
        columns += f", **{{name: {memberships}[:, k] for name, k in {at}.items()}}"
    dataset = lines.dataset(partition.run_id)
    lines.assign(
        lines.name("rows"), call("cl.attach_labels", dataset, f"{{{columns}}}")
    )
