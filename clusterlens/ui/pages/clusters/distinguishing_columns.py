"""Card of the distinguishing columns of the selected cluster."""

from __future__ import annotations

from typing import Any

from clusterlens.compute.formatting import whole
from clusterlens.ui.components.card import Card
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.clusters.nodes import Chosen, ClusterContrast
from clusterlens.ui.widgets.distributions import picture, write
from clusterlens.ui.widgets.palette import cluster_colour
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import breakable, card, mark, pmu, safe
from clusterlens.ui.widgets.words import fixed, with_minus


class DistinguishingColumns(Card):
    """Distributions in original units; the cluster can be named here."""

    needs = ("chosen", "cluster_contrast", "in_hand")
    also = ("samples",)
    empty = "<b>One cluster only.</b> There is no rest to compare it with."

    def build(self) -> Any:
        self._chosen: Chosen | None = None
        self._cluster: int | None = None
        self._name = pmu.TextInput(
            placeholder="name this cluster",
            size="small",
            width=190,
            margin=0,
            sx={"& .MuiInputBase-root": {"height": "30px", "fontSize": "14px"}},
            css_classes=["cl-cluster-name"],
        )
        self.control(self._name, self._written, self._rename)
        self._head = Text(styles={"flex": "none"})
        self._pictures = Text(
            scrolls=True,
            styles={"flex": "1 1 0", "min-height": "0"},
            css_classes=["cl-distributions"],
        )
        return card(
            "What sets it apart",
            self._head,
            self._pictures,
            note=self.status,
            buttons=[self._name],
            css="cl-apart",
        )

    def prepare(self, results: Any) -> None:
        """Remember the partition and the cluster that a name would apply to."""
        chosen, in_hand = results["chosen"], results["in_hand"]
        if chosen.state != "pending":
            self._chosen, self._cluster = chosen.value, in_hand.value
            self._name.disabled = not self._nameable()
        self._show_controls()

    def _nameable(self) -> bool:
        """Return whether the cluster can be named: noise and given labels cannot."""
        if self._chosen is None or self._cluster is None:
            return False
        return self._cluster >= 0 and self._chosen.choice.kind != "labels"

    def _written(self) -> str:
        """Return the given name of the cluster, empty if there is none."""
        if self._chosen is None or self._cluster is None:
            return ""
        return self._chosen.own_names.get(self._cluster, "")

    async def _rename(self, text: str) -> None:
        chosen, cluster, run = self._chosen, self._cluster, self.session.analysis.run
        if chosen is not None and cluster is not None and run is not None:
            await self.session.act(
                "name cluster",
                partition=chosen.choice.values(run.dataset),
                cluster=chosen.label(cluster),
                name=text,
            )

    def show(
        self,
        chosen: Chosen,
        cluster_contrast: ClusterContrast,
        in_hand: int,
        samples: Result,
    ) -> None:
        """Write the legend and one picture per column."""
        colour = cluster_colour(in_hand)
        name = chosen.names[in_hand]
        self._head.body = (
            "<p class='muted'>"
            f"{mark(colour, f'{safe(name)}, {whole(cluster_contrast.size)}')}&ensp;"
            f"{mark('#9aa1a9', f'the rest, {whole(cluster_contrast.others)}')}&ensp;"
            "<span class='how'>each scaled to its own number; triangles are means; "
            "a + or − marks a tail that is cut</span></p>"
        )
        figures = []
        for column, row in cluster_contrast.columns:
            title = breakable(column.column)
            effect = f"{fixed(row['effect'], 1, signed=True)} sd"
            if column.levels:
                line = (
                    f"{safe(row['level'])} <b>{safe(with_minus(row['text']))}</b> here"
                )
                line += f", rest {safe(with_minus(row['overall_text']))}"
            else:
                line = f"<b>{write(column, column.mean_inside)}</b> here, rest "
                line += write(column, column.mean_outside)
            figures.append(
                f"<figure><figcaption><div class='between'><b>{title}</b>"
                f"<span class='muted name'>{effect}</span></div>"
                f"<div title='mean or share here and in the rest'>{line}</div>"
                "</figcaption>"
                f"{picture(column, colour, name)}</figure>"
            )
        self._pictures.body = f"<div class='small-multiples'>{''.join(figures)}</div>"
