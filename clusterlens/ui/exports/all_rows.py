"""Results for all rows of a large table as markup: sizes, ranking, error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from clusterlens.compute.formatting import count, percent, whole
from clusterlens.compute.scale.result import ScaledRun
from clusterlens.ui.widgets.palette import NOWHERE_COLOUR, cluster_colour, clusters_of
from clusterlens.ui.widgets.toolkit import mark, quoting, safe, table_of


def cluster_mark(run: ScaledRun, label: int, name: str) -> str:
    """Return the name of a cluster after its dot, by its label in the files."""
    cluster = clusters_of(np.array(label), first=run.first_label)
    return mark(cluster_colour(int(cluster)), safe(name))


def write_all_rows(run: ScaledRun, names: Mapping[int, str]) -> str:
    """Write everything for the report."""
    sizes = write_sizes(run, names, {})
    about = f"{write_size(run.n_landmarks, run.n_rows)} {write_error(run)}"
    return f"<p>{about}</p>{sizes}{write_models(run)}"


def write_size(n_landmarks: int, n_rows: int) -> str:
    """Write how many landmarks stand for how many rows."""
    if n_landmarks == n_rows:
        return f"All {count(n_rows, 'row')} are landmarks."
    landmarks, rows = count(n_landmarks, "landmark"), count(n_rows, "row")
    return f"{landmarks} stand for {rows}."


def write_error(run: ScaledRun) -> str:
    """Write the error of the landmarks, and which groups they show."""
    value, least = run.consensus_error
    error = "No error of the landmarks was measured."
    if not math.isnan(value):
        error = (
            "The same partition fitted to 19 samples of other rows agrees with it by "
            f"an adjusted Rand index of {value:.3f} (median), at least {least:.3f}. A "
            "fit to all rows agrees at least so much with a chance of 95%, if it "
            "differs as the samples do; settings that count rows (min_cluster_size) "
            "mean another model there."
        )
    smallest = count(int(run.smallest_seen[0]), "row")
    return f"{error} Landmarks show groups of {smallest} and more with a chance of 95%."


def write_sizes(
    run: ScaledRun, names: Mapping[int, str], shares: Mapping[int, float]
) -> str:
    """Write a line per cluster, the rows without one, and notes.

    Parameters
    ----------
    run : ScaledRun
        Results for all rows.
    names : mapping of int to str
        Name of each cluster by its label in the files.
    shares : mapping of int to float
        Share of the landmarks in each cluster, if known.
    """
    texts = {} if run.profiles is None else run.profiles.texts
    total = run.n_labelled
    sizes: dict[int, int] = dict(run.clusters.itertuples(index=False))
    lines = [
        _line(
            cluster_mark(run, label, name),
            sizes[label],
            total,
            "" if label not in shares else percent(shares[label]),
            texts.get(label, ""),
        )
        for label, name in names.items()
    ]
    far = mark(NOWHERE_COLOUR, "nowhere")
    why = "too far from its cluster for a row like the landmarks"
    lines.append(_line(far, run.n_nowhere, total, "", why))
    if missing := run.n_rows - total:
        why = "no value in any column in use"
        lines.append(_line("no label", missing, run.n_rows, "", why))
    heads = (
        "<th>cluster</th><th class='number'>rows</th><th class='number'>of all</th>"
        "<th class='number'>of landmarks</th><th>all rows of it differ in</th>"
    )
    notes = "".join(f"<li>{quoting(note)}</li>" for note in run.notes)
    return f"{table_of(heads, ''.join(lines))}<ul>{notes}</ul>"


def _line(name: str, rows: int, total: int, of_landmarks: str, text: str) -> str:
    return (
        f"<tr><td>{name}</td><td class='number'>{whole(rows)}</td><td class='number'>"
        f"{percent(rows / total)}</td><td class='number'>{of_landmarks}</td>"
        f"<td>{safe(text)}</td></tr>"
    )


def write_models(run: ScaledRun) -> str:
    """Write a line per model, the one closest to the consensus first."""
    models: Iterable[Any] = run.models.itertuples()
    lines = "".join(
        f"<tr><td>{safe(row.model)}</td><td class='number'>{row.clusters}</td>"
        f"<td class='number'>{_interval(row.score, row.score_low, row.score_high)}"
        f"</td><td class='number'>{_at_least(row.ari, row.ari_least)}</td></tr>"
        for row in models
    )
    heads = (
        "<th>model</th><th class='number'>clusters</th><th class='number'>DISCOTEC"
        "</th><th class='number'>fit to other rows</th>"
    )
    return table_of(heads, lines)


def _interval(value: float, low: float, high: float) -> str:
    """Write a value with the ends of its interval, if it has one."""
    ends = "" if low == high else f" <span class='muted'>{low:.3f}–{high:.3f}</span>"
    return f"{value:.3f}{ends}"


def _at_least(value: float, least: float) -> str:
    """Write a median with the smallest value."""
    if math.isnan(value):
        return "<span class='muted'>not measured</span>"
    return f"{value:.3f} <span class='muted'>≥ {least:.3f}</span>"
