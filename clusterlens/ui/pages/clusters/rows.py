"""Rows of the selected cluster, the least or the most typical first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusterlens.compute.formatting import count, whole
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.export import attach_labels
from clusterlens.compute.table.profiles import ClusterProfiles
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.saving import SaveButton
from clusterlens.ui.exports.rows import rows_to_csv
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.clusters.nodes import Chosen, Members
from clusterlens.ui.state.view_parameters import Brush
from clusterlens.ui.widgets.palette import cluster_colour
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, link, mark, safe, select
from clusterlens.ui.widgets.words import number

SHOWN_ROWS = 200
SHOWN_COLUMNS = 5


class ClusterRows(Card):
    """Members with their own and their next cluster, and the main columns."""

    needs = ("chosen", "members", "in_hand", "samples", "chosen_profiles")
    also = ("view.inspected?",)

    def build(self) -> Any:
        self._rows = Text(
            does=self._do,
            scrolls=True,
            styles={"flex": "1 1 0", "min-height": "0"},
            css_classes=["cl-cluster-rows"],
        )
        self._head = Text(does=self._do, styles={"flex": "none"})
        self._order = self.bound(
            "typical_first",
            select(
                "First",
                {"least typical": False, "most typical": True},
                css="cl-rows-order",
                width=150,
            ),
        )
        self._name = "members.csv"
        self._download = SaveButton(
            self.session,
            "Rows",
            self._csv,
            margin=(0, 0, 0, 6),
            css_classes=["cl-members-download"],
        )
        return card(
            "Rows",
            self._head,
            self._rows,
            note=self.status,
            buttons=[self._order, self._download.view],
            css="cl-rows",
        )

    def _do(self, what: str) -> None:
        verb, _, at = what.partition(" ")
        found = self.session.derived.get("members")
        if verb == "inspect":
            self.session.view_state.param.update(inspected=int(at), tab="sample")
        elif verb == "brush" and found.ready:
            self.session.view_state.brush = Brush(
                _ascending(found.value.positions), "cluster"
            )

    def show(
        self,
        chosen: Chosen,
        members: Members,
        in_hand: int,
        samples: Dataset,
        chosen_profiles: ClusterProfiles,
        inspected: Result,
    ) -> None:
        """Write the first rows; the file holds all."""
        total = len(members.positions)
        shown = members.positions[:SHOWN_ROWS]
        top = chosen_profiles.top(in_hand, 2 * SHOWN_COLUMNS)["column"]
        columns = list(dict.fromkeys(top))[:SHOWN_COLUMNS]
        values = samples.table.loc[samples.row_ids[shown], columns]
        more = f" · the first {SHOWN_ROWS} shown" if total > SHOWN_ROWS else ""
        self._name = f"{samples.name} - {chosen.names[in_hand]}.csv".replace("/", "-")
        name = mark(cluster_colour(in_hand), safe(chosen.names[in_hand]))
        doubtful = ""
        if members.doubtful:
            verb = "goes" if members.doubtful == 1 else "go"
            doubtful = f" · {whole(members.doubtful)} {verb} with another cluster more"
        self._head.body = (
            f"<p class='muted'>{name} · {count(total, 'row')}, "
            f"{link('select them', 'brush')}{more}{doubtful}</p>"
        )
        heads = "".join(f"<th class='number'>{safe(c)}</th>" for c in columns)
        body = "".join(
            _row(k, members, chosen, values.index[k], cells, inspected.value)
            for k, cells in enumerate(values.itertuples(index=False, name=None))
        )
        self._rows.body = (
            "<table class='rows' data-roving='map'><tr><th>row</th>"
            "<th class='number'>with own</th>"
            f"<th>next</th>{heads}</tr>{body}</table>"
        )

    def _csv(self) -> tuple[str, Callable[[], bytes]]:
        """Return the name and the maker of the file of members, in order."""
        found = self.session.derived.get("members").value
        samples = self.session.analysis.selected_run.dataset

        def make() -> bytes:
            rows = attach_labels(samples, {}).loc[samples.row_ids[found.positions]]
            rows = rows.assign(**{"consensus with own cluster": found.own})
            return rows_to_csv(rows)

        return self._name, make


def _row(
    k: int,
    members: Members,
    chosen: Chosen,
    row_id: object,
    cells: Any,
    inspected: int | None,
) -> str:
    """Write one member as markup."""
    at, beside = int(members.positions[k]), int(members.next_cluster[k])
    nearest = "–"
    if members.next_consensus[k] > 0:
        name = safe(chosen.short_name(beside))
        nearest = (
            f"{mark(cluster_colour(beside), name)} <span class='muted'>"
            f"{members.next_consensus[k]:.2f}</span>"
        )
    values = "".join(f"<td class='number'>{safe(number(v))}</td>" for v in cells)
    bold = " style='font-weight:700'" if at == inspected else ""
    return (
        f"<tr{bold}><td>{link(safe(row_id), f'inspect {at}')}</td>"
        f"<td class='number'>{members.own[k]:.2f}</td><td>{nearest}</td>{values}</tr>"
    )


def _ascending(positions: Any) -> Any:
    ordered = positions.copy()
    ordered.sort()
    return ordered
