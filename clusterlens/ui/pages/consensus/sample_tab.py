"""Tab of the inspected sample: its values and the votes of the models."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.formatting import whole
from clusterlens.ui.components.commands import find_in_matrices, link_from
from clusterlens.ui.components.tab import Tab, row_link, share_bar
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.results.inspector import Place, SampleReading
from clusterlens.ui.results.result import DisplayedPartition
from clusterlens.ui.widgets.palette import (
    DISAGREEMENT_COLOURS,
    cluster_colour,
    cluster_name,
)
from clusterlens.ui.widgets.toolkit import link, mark, safe
from clusterlens.ui.widgets.words import number

SHOWN_VALUES = 40
SHOWN_CLUSTERS = 6


class SampleTab(Tab):
    """Disagreement, clusters, values and neighbours of the inspected sample."""

    needs = ("sample_reading", "ensemble", "displayed_partition")
    also = ("model_names",)
    css = "cl-inspected"
    empty = (
        "<b>No sample picked.</b> Click a point of the map or a cell of a matrix to "
        "see its values and what the models say about it."
    )

    def do(self, what: str) -> Any:
        """Begin a link at the sample, find it, or handle a common button."""
        if what == "link":
            link_from(self.session)
        elif what == "find":
            find_in_matrices(self.session)
        else:
            super().do(what)

    def show(
        self,
        sample_reading: SampleReading,
        ensemble: Ensemble,
        displayed_partition: DisplayedPartition,
        model_names: Result,
    ) -> None:
        """Write the facts about the sample."""
        read, names = sample_reading, model_names.value or {}
        colour = cluster_colour(read.cluster)
        chip = mark(
            colour,
            f"{safe(cluster_name(read.cluster, names))} of "
            f"{safe(displayed_partition.title)}",
        )
        stops = ", ".join(DISAGREEMENT_COLOURS)
        self.text.body = (
            f"<p><b style='font-size:16px'>Row {safe(read.row_id)}</b> "
            f"<span class='pill'>{chip}</span>"
            f"{link('Link from here', 'link', css='cl-link-here')} · "
            f"{link('Find in matrices', 'find', css='cl-find-here')}</p>"
            f"<h3>Disagreement of the pool<span class='right'>{read.disagreement:.2f}"
            "</span></h3>"
            f"<div class='scale' style='background:linear-gradient(90deg,{stops})'>"
            f"<div style='left:{100 * read.disagreement:.1f}%'></div></div>"
            "<p class='muted between'><span>all models agree</span><span>more than "
            f"{read.percentile:.0%} of the samples</span><span>evenly split</span></p>"
            "<h3>Goes with <small>mean consensus of the pool</small></h3><table>"
            + "".join(
                f"<tr><td class='cut'>"
                f"{mark(cluster_colour(k), safe(cluster_name(k, names)))}</td>"
                f"<td>{share_bar(share, cluster_colour(k))}</td>"
                f"<td class='number'>{share:.2f}</td></tr>"
                for k, share in read.goes_with[:SHOWN_CLUSTERS]
            )
            + "</table><h3>Values <small>band: middle 80% of its cluster</small></h3>"
            f"<table>{''.join(_value(p, colour) for p in read.values[:SHOWN_VALUES])}"
            f"</table>{_more(len(read.values) - SHOWN_VALUES)}"
            "<h3>Most often together with <small>in the pool</small></h3>"
            "<table data-roving='map'>"
            + "".join(
                f"<tr><td class='cut'>{row_link(i, row)}</td><td>"
                f"{share_bar(votes / ensemble.n_votes, '#5b6169')}</td>"
                f"<td class='number'>{whole(votes)} of "
                f"{whole(ensemble.n_votes)}</td></tr>"
                for i, row, votes in read.company
            )
            + "</table>"
        )


def _more(count: int) -> str:
    return f"<p class='muted'>and {count} more columns</p>" if count > 0 else ""


def _value(place: Place, colour: str) -> str:
    """Write a value relative to the middle range of its cluster."""
    picture = ""
    if place.at is not None and place.low is not None and place.high is not None:
        wide = 100 * (place.high - place.low)
        picture = (
            "<div class='band'><div style='left:"
            f"{100 * place.low:.1f}%;width:{wide:.1f}%;background:{colour}'></div>"
            f"<i style='left:{100 * place.at:.1f}%'></i></div>"
        )
    return (
        f"<tr><td class='cut' title='{safe(place.column)}'>{safe(place.column)}</td>"
        f"<td>{picture}</td>"
        f"<td class='number'><b>{safe(number(place.value, spread=place.spread))}</b>"
        "</td></tr>"
    )
