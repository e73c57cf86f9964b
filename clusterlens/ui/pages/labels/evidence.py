"""Card that compares each cluster with clusters of copies without groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from clusterlens.compute.formatting import count, whole
from clusterlens.compute.pool.separation import ClusterSeparation
from clusterlens.compute.pool.stability import ClusterStability
from clusterlens.ui.components.card import Card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.results.evaluated_labels import EvaluatedLabels
from clusterlens.ui.widgets.palette import cluster_colour
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import badge, card, mark, safe

EVIDENCE_CSS = """
table { width: 100%; }
td, th { white-space: nowrap; }
td:first-child { max-width: 130px; overflow: hidden; text-overflow: ellipsis; }
.scale { position: relative; display: inline-block; width: 62px; height: 9px;
  margin-right: 6px; border-radius: 3px;
  background: color-mix(in srgb, currentColor 12%, transparent); }
.scale div { position: absolute; left: 0; top: 0; bottom: 0; border-radius: 3px;
  background: #b5562b; }
.scale.passes div { background: #0b7d7d; }
.scale i { position: absolute; top: -3px; bottom: -3px; width: 2px;
  background: currentColor; }
@container (max-width: 400px) {
  table { font-size: .857em; }
  td, th { padding: 3px 4px; }
  th { white-space: normal; }
  .scale { width: 22px; margin-right: 4px; }
}
"""


class ClusterEvidence(Card):
    """A row for each cluster: stability and separation, with values of copies."""

    needs = ("named_labels",)
    also = ("labels_stability", "labels_separation")

    def build(self) -> Any:
        self._how = Text(styles={"flex": "none"})
        self._table = Text(
            css_classes=["cl-cluster-evidence"],
            stylesheets=[":host { container-type: inline-size; }" + EVIDENCE_CSS],
            scrolls=True,
        )
        return card(
            "More than by chance?",
            self._how,
            self._table,
            note=self.status,
            css="cl-cluster-evidence-card",
        )

    def prepare(self, results: Any) -> None:
        """Show the card for clusters, not for given classes."""
        labels = results["named_labels"]
        if labels.ready:
            self.view.visible = labels.value.noun == "cluster"
        else:
            self._table.body = ""

    def show(
        self,
        named_labels: EvaluatedLabels,
        labels_stability: Result,
        labels_separation: Result,
    ) -> None:
        """Write the table with the available results."""
        if named_labels.noun == "class":
            return
        self._how.body = _how(labels_separation.value)
        again, apart = _again(labels_stability.value), _apart(labels_separation.value)
        rows = "".join(
            f"<tr><td title='{safe(named_labels.name(k))}'>"
            f"{mark(cluster_colour(k), safe(named_labels.name(k)))}</td>"
            f"<td class='number'>{whole(size)}</td>"
            f"{again.get(k) or _missing(labels_stability)}"
            f"{apart.get(k) or _missing(labels_separation)}</tr>"
            for k, size in named_labels.sizes.items()
        )
        self._table.body = (
            "<table><tr><th>cluster</th><th class='number'>rows</th>"
            "<th title='bootstrap Jaccard, Hennig 2007'>found again</th>"
            "<th title='k-nearest-neighbour consistency'>neighbours inside</th></tr>"
            f"{rows}</table>"
        )


def _how(found: ClusterSeparation | None) -> str:
    """Explain the table."""
    sample = ""
    if found is not None and found.n_compared < found.sizes.sum():
        rows = f"neighbours of {count(found.n_compared, 'row')}"
        sample = f" {badge(rows, kind='estimate')}"
    return (
        "<p class='how'>Bar: this table. Line: what clusters of copies without groups "
        f"reach (null reference). Brown: no more than by chance.{sample}</p>"
    )


def _again(found: ClusterStability | None) -> dict[int, str]:
    """Return the cell of each cluster with its stability."""
    if found is None:
        return {}
    rows: Iterable[Any] = found.to_frame().itertuples()
    return {
        row.Index: _scale(row.jaccard, row.by_chance, row.stable, row.reading)
        for row in rows
    }


def _apart(found: ClusterSeparation | None) -> dict[int, str]:
    """Return the cell of each cluster with its separation."""
    if found is None:
        return {}
    readings = ("not apart", "apart")
    rows: Iterable[Any] = found.to_frame().itertuples()
    return {
        row.Index: _scale(
            row.consistency, row.by_chance, row.apart, readings[row.apart]
        )
        for row in rows
    }


def _missing(result: Result) -> str:
    return f"<td class='muted'>{'…' if result.state == 'pending' else '–'}</td>"


def _scale(value: float, chance: float, passes: bool, reading: str) -> str:
    """Draw a share with the copies' share."""
    if not np.isfinite(value):
        return "<td class='muted' title='too few rows'>–</td>"
    reached = f"{chance:.0%}" if chance else "–"
    copies = f"in copies up to {reached}" if chance else "copies have none as large"
    words = f"{reading}: {value:.0%}, {copies}"
    return (
        f"<td title='{words}'><span class='scale{' passes' if passes else ''}' "
        f"role='img' aria-label='{words}'><div style='width:{100 * value:.0f}%'></div>"
        f"<i style='left:{100 * chance:.0f}%'></i></span><b>{value:.0%}</b> "
        f"<span class='muted'>{reached}</span></td>"
    )
