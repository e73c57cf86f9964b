"""Card of the seeds that walks from one sample stop at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clusterlens.compute.estimators.cns.live import LiveSolution
from clusterlens.compute.formatting import count, percent
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.components.card import Card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.widgets.palette import cluster_colour
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, mark, safe

MOST_SEEDS = 12


class CNSReading(Card):
    """Share of seed stops at each seed, with the membership beside it."""

    needs = ("view.cns_sample", "cns_displayed_solution", "dataset")
    empty = "<p>Click a sample on the map to read where its walks stop.</p>"

    def build(self) -> Any:
        self._text = Text(css_classes=["cl-absorption"], scrolls=True)
        return card("Sample", self._text, note=self.status, css="cl-cns-reading")

    def prepare(self, results: Mapping[str, Result]) -> None:
        """Show nothing if no sample is selected."""
        if results["view.cns_sample"].state == "empty":
            self._text.body = ""

    def show(
        self, cns_sample: int, cns_displayed_solution: LiveSolution, dataset: Dataset
    ) -> None:
        """Write the sentence and a row for each seed, the likeliest first."""
        name = safe(dataset.row_ids[cns_sample])
        self._text.body = f"<p class='muted'>row {name}</p>" + (
            _undecided(cns_displayed_solution)
            if cns_displayed_solution.undecided[cns_sample]
            else _absorption(cns_displayed_solution, cns_sample)
        )


def _undecided(solution: LiveSolution) -> str:
    return (
        "<p>No walk that starts here stops at a seed: the sample is <b>undecided</b>, "
        f"and each membership is 1/K = {1 / solution.n_clusters:.3f}.</p>"
    )


def _absorption(solution: LiveSolution, at: int) -> str:
    shares, memberships = solution.seed_shares[at], solution.memberships[at]
    order = np.argsort(-shares, kind="stable")
    first = int(order[0])
    more = solution.n_clusters - MOST_SEEDS
    rows = "".join(
        f"<tr><td class='name'>{mark(cluster_colour(k), f'seed {k + 1}')}</td>"
        f"<td style='width:35%'><div class='track'><div style='width:{shares[k]:.1%};"
        f"background:{cluster_colour(k)}'></div></div></td>"
        f"<td class='number'><b>{shares[k]:.2f}</b></td>"
        f"<td class='number'>{memberships[k]:.3f}</td></tr>"
        for k in order[:MOST_SEEDS].tolist()
    )
    others = (
        f"<p class='muted'>and {count(more, 'seed')} less likely</p>"
        if more > 0
        else ""
    )
    return (
        f"<p>Of the random walks from this row that end at a seed, "
        f"<b>{percent(shares[first])}</b> end at <b>seed {first + 1}</b>.</p>"
        "<table><tr><th></th><th colspan='2' title='absorption probability'>where they "
        "end</th>"
        f"<th class='number'>membership</th></tr>{rows}</table>{others}"
        f"<p class='muted'>{solution.stop_share[at]:.1%} of the walks stop at a seed; "
        "the others count for every cluster alike, which draws each membership to "
        f"1/K = {1 / solution.n_clusters:.3f}.</p>"
    )
