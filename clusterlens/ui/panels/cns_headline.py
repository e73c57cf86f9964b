"""What CNS finds at the setting in force, in two lines."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.derived import Result
from clusterlens.ui.kit import Text, badge, card, link
from clusterlens.ui.nodes.cns import BETWEEN, Summary
from clusterlens.ui.panels.live import LivePanel
from clusterlens.ui.words import count, number


class CNSHeadline(LivePanel):
    """Clusters, samples between them, criterion, and how exact all of it is."""

    needs = ("dataset", "cns_summary")
    also = ("cns_automatic",)
    empty = (
        "<p>CNS smooths a prepared table over its nearest neighbours. "
        f"{link('Load a table on Data', 'data', css='cl-to-data')}</p>"
    )

    def build(self) -> Any:
        self._text = Text(css_classes=["cl-cns-summary"])
        return card(
            "", self._text, note=self.status, css="cl-cns-headline", fills=False
        )

    def _retry(self, what: str) -> None:
        if what == "data":
            self.session.look.page = "data"
        else:
            super()._retry(what)

    def prepare(self, results: Any) -> None:
        """Say nothing of a table that is gone."""
        if results["dataset"].state == "empty":
            self._text.body = ""

    def show(self, dataset: Any, cns_summary: Summary, cns_automatic: Result) -> None:
        """Write the counts, the criterion and the bound."""
        n = len(dataset.X)
        best = (
            f", at the automatic choice {cns_automatic.value.criterion:.3f}"
            if cns_automatic.ready
            else ""
        )
        found = count(cns_summary.solution.n_clusters, "cluster")
        self._text.body = (
            f"<p style='font-size:15px'><b>{found}</b>; "
            f"{cns_summary.between:,} of {n:,} samples lie between clusters"
            f"{_undecided(cns_summary)}. Criterion <b>{cns_summary.criterion:.3f}</b>"
            f"{best}.</p><p>{_exactness(cns_summary)} <span class='muted'>The "
            "criterion compares settings on this table; it is no test that clusters "
            f"exist. Between clusters: less than {BETWEEN:.0%} of the seed stops at "
            f"one seed.</span></p>{_empty_seeds(cns_summary)}"
        )


def _undecided(summary: Summary) -> str:
    if not summary.undecided:
        return ", none is undecided"
    return f", <b>{summary.undecided:,} undecided</b> (they reach no seed)"


def _exactness(summary: Summary) -> str:
    bound = f"no membership is off by more than {number(summary.error_bound)}, proven"
    if summary.solution.preview:
        return badge(f"preview: {bound}", kind="estimate")
    return badge(bound)


def _empty_seeds(summary: Summary) -> str:
    """Warn of seeds that no sample is closest to, and of a single cluster."""
    if summary.solution.n_clusters == 1:
        return "<p class='warn'>One cluster: no clarity is gained.</p>"
    idle = int((summary.sizes == 0).sum())
    if not idle:
        return ""
    own = "owns no sample" if idle == 1 else "own no sample"
    seeds = count(idle, "seed")
    return f"<p class='warn'>{seeds} {own}; K is above what is occupied.</p>"
