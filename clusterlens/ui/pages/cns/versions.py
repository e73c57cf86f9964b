"""Card of the three published versions and their choices, for both distances."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clusterlens.ui.components.card import Card
from clusterlens.ui.pages.cns.study_nodes import Versions
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, link
from clusterlens.ui.widgets.words import fixed, number


class CNSVersions(Card):
    """A row for each version and distance, on request."""

    needs = ("cns_versions",)
    also = ("view.cns_version", "run?", "dataset?")

    def build(self) -> Any:
        self._text = Text(does=self._do, css_classes=["cl-cns-versions"], scrolls=True)
        return card(
            "Published versions", self._text, note=self.status, css="cl-cns-published"
        )

    def _status_text(self, needed: Any) -> str:
        """Offer the comparison before it has been requested."""
        if needed["cns_versions"].state == "declined":
            words = link("Fit all three, both distances", "retry", css="cl-versions")
            return (
                f"<p>{words} <span class='how'>revised (here), v2 (of the tables in "
                "the paper), v1: each chooses by itself.</span></p>"
            )
        return super()._status_text(needed)

    def prepare(self, results: Any) -> None:
        """Remove the rows of another table."""
        if not results["cns_versions"].ready:
            self._text.body = ""

    def show(self, cns_versions: Versions, cns_version: Any, **more: Any) -> None:
        """Write the table; each row can be shown on the map and added to the pool."""
        versions: Iterable[Any] = cns_versions.table.itertuples()
        rows = "".join(
            f"<tr><td>{_name(row, cns_version.value)}</td>"
            f"<td class='number'>{row.n_clusters}{_occupied(row)}</td>"
            f"<td class='number'>{row.n_neighbors}</td>"
            f"<td class='number'>{number(row.alpha)}</td>"
            f"<td class='number'>{fixed(row.criterion)}</td>"
            f"<td class='number'>{fixed(row.ari)}</td>"
            f"<td>{link('+ pool', f'add {row.version} {row.metric}')}</td></tr>"
            for row in versions
        )
        self._text.body = (
            "<table data-roving='map'><tr><th></th>"
            "<th class='number'>K</th><th class='number'>k</th>"
            "<th class='number'>alpha</th><th class='number'>crit.</th>"
            f"<th class='number'>ARI</th><th></th></tr>{rows}</table><p class='muted'>"
            "A name shows its result on the map, once more the setting. ARI with the "
            "first row. Criteria of v1 are on a scale of their own.</p>"
        )

    async def _do(self, what: str) -> None:
        verb, version, metric = what.split()
        view_state, key = self.session.view_state, f"{version} {metric}"
        if verb == "add":
            await self.session.act("add CNS", version=version, metric=metric)
        else:
            shown = "" if view_state.cns_version == key else key
            view_state.param.update(cns_version=shown, cns_step=None)


def _name(row: Any, shown: str) -> str:
    """Write the button that shows a version on the map."""
    key = f"{row.version} {row.metric}"
    pressed = str(key == shown).lower()
    return (
        f"<button class='link' data-do='show {key}' aria-pressed='{pressed}'>"
        f"{'● ' if key == shown else ''}{row.version} {row.metric[:6]}</button>"
    )


def _occupied(row: Any) -> str:
    """Write how many seeds own a sample, unless all do."""
    if row.n_occupied == row.n_clusters:
        return ""
    return f" <span class='warn'>({row.n_occupied} owned)</span>"
