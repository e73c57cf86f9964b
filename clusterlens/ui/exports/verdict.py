"""The verdict in the report: paragraph, questions with answers, charts of clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clusterlens.compute.table.distributions import ColumnDistribution
from clusterlens.ui.results.label_verdict import LIGHT_COLOURS
from clusterlens.ui.results.result_verdict import QUESTIONS, Verdict
from clusterlens.ui.state.checks import Check
from clusterlens.ui.widgets.distributions import picture
from clusterlens.ui.widgets.palette import cluster_colour, cluster_name
from clusterlens.ui.widgets.toolkit import breakable, safe, table_of


def write_verdict(verdict: Verdict, checks: Mapping[str, Check], note: str) -> str:
    """Write the paragraph, the note of the analyst, and each question with its answer.

    Parameters
    ----------
    verdict : Verdict
        As the page shows it.
    checks : mapping of str to Check
        Checks that were measured or stopped, by node.
    note : str
        Plain text, empty for none.
    """
    lines = "".join(
        f"<tr><td><span class='dot' style='background:{LIGHT_COLOURS[row.light]}'>"
        f"</span></td><td style='min-width:9em'>{QUESTIONS[row.key].title}</td>"
        f"<td><b>{safe(row.answer)}</b> {safe(row.basis)} <span class='muted'>"
        f"{_settings(checks.get(QUESTIONS[row.key].node))}</span></td></tr>"
        for row in verdict.rows
    )
    written = f"<pre>{safe(note)}</pre>" if note else ""
    table = table_of("<th></th><th>question</th><th>answer</th>", lines)
    colour = LIGHT_COLOURS[verdict.light]
    return (
        f"<p class='answer' style='border-color:{colour}'>{safe(verdict.paragraph)}</p>"
        f"{written}{table}"
    )


def _settings(check: Check | None) -> str:
    """Say how a check was made, or where it was stopped."""
    if check is None:
        return ""
    words = check.settings if check.is_whole else f"Unfinished: {check.stopped}"
    return f"{words}."


def write_deciding(verdict: Verdict) -> str:
    """Name the columns that reproduce most of the clusters, and how many rows."""
    return "".join(
        f"<p>{safe(row.answer)} <span class='muted'>{safe(row.basis)}</span></p>"
        for row in verdict.rows
        if row.key == "columns" and row.basis
    )


def write_charts(
    distributions: Mapping[int, Sequence[ColumnDistribution]], names: Mapping[int, str]
) -> str:
    """Draw the columns that set each cluster apart, in it and in all other rows."""
    charts = []
    for k, columns in distributions.items():
        name, colour = cluster_name(k, names), cluster_colour(k)
        drawn = "".join(
            f"<figure><figcaption>{breakable(column.column)}</figcaption>"
            f"{picture(column, colour, name)}</figure>"
            for column in columns
        )
        title = f"<span class='dot' style='background:{colour}'></span>{safe(name)}"
        charts.append(
            f"<div class='whole'><p>{title}</p><div class='charts'>{drawn}</div></div>"
        )
    if not charts:
        return ""
    note = "In colour the cluster, in grey all other rows; triangles are means."
    return f"{''.join(charts)}<p class='muted'>{note}</p>"
