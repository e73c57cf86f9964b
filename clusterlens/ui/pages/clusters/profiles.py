"""Table of the clusters: size, consensus, stability, distinguishing columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from clusterlens.compute.consensus.cohesion import ClusterConsensus
from clusterlens.compute.formatting import percent, whole
from clusterlens.compute.table.profiles import ClusterProfiles
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.tab import WIDEST_EFFECT
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.clusters.nodes import Chosen
from clusterlens.ui.results.cluster_stability import BOOTSTRAPS, TABLES, StabilityModel
from clusterlens.ui.results.partition_verdict import passing
from clusterlens.ui.widgets.palette import cluster_colour
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import card, link, mark, pmu, safe, select
from clusterlens.ui.widgets.words import fixed, with_minus

SORTS = {
    "what separates most": "all",
    "the cluster in hand": "cluster",
    "their name": "name",
}
MOST_COLUMNS = 40
# Colours of clusters found again more than by chance, and of others.
FOUND, BY_CHANCE = "#0b7d7d", "#b5562b"
ABOVE, BELOW = "#0b8a8a", "#b0712d"
# On a narrow page numbers go before their bars.
_CSS = """
@container (max-width: 1062px) { table.checked .track, table.checked .band {
  display: none; } }
"""
# Percentages of these colours; text stays legible in either theme.
_FAINTEST, _DEEPEST = 5, 75


class ClusterProfilesTable(Card):
    """One row per cluster; a click selects it for the cards below."""

    needs = ("chosen", "chosen_profiles", "chosen_held", "in_hand")
    also = (
        "chosen_answered?",
        "chosen_stability_model",
        "chosen_stability",
        "view.profile_query",
        "view.profile_sort",
    )

    def build(self) -> Any:
        self._table = Text(
            does=self._do,
            scrolls=True,
            styles={"flex": "1 1 0", "min-height": "0"},
            css_classes=["cl-profile-table"],
            stylesheets=[_CSS],
        )
        self._note = Text(does=self._do, styles={"flex": "none"})
        self._query = self.bound(
            "profile_query",
            pmu.TextInput(
                placeholder="find a column",
                size="small",
                width=130,
                margin=0,
                sx={"& .MuiInputBase-root": {"height": "30px", "fontSize": "14px"}},
                css_classes=["cl-profile-query"],
            ),
            value="value_input",
        )
        self._sort = self.bound(
            "profile_sort",
            select(
                "Columns by", SORTS, css="cl-profile-sort", width=195, margin=(0, 6)
            ),
        )
        return card(
            "Clusters",
            self._note,
            self._table,
            note=self.status,
            buttons=[self._sort, self._query],
            css="cl-profile",
        )

    def _do(self, what: str) -> None:
        verb, _, at = what.partition(" ")
        if verb == "cluster":
            self.session.view_state.cluster = int(at)
        elif verb == "stability":
            self.session.derived.ask("chosen_stability")

    def show(
        self,
        chosen: Chosen,
        chosen_profiles: ClusterProfiles,
        chosen_held: ClusterConsensus,
        in_hand: int,
        chosen_answered: Result,
        chosen_stability_model: Result,
        chosen_stability: Result,
        profile_query: Result,
        profile_sort: Result,
    ) -> None:
        """Write the table and its explanation."""
        columns = _columns(
            chosen_profiles, in_hand, profile_query.value, profile_sort.value
        )
        shown = columns[:MOST_COLUMNS]
        hidden = len(columns) - len(shown)
        stable = chosen_stability.value.to_frame() if chosen_stability.ready else None
        stability = _stability_note(chosen, chosen_stability_model, chosen_stability)
        self._note.body = (
            "<p class='muted'><span class='how'>Mean or share in the cluster, original "
            f"units; </span>{_scale()}"
            + (f" · {whole(hidden)} more columns" if hidden else "")
            + f" · {stability}</p>"
        )
        rows = "".join(
            _row(
                k,
                chosen,
                chosen_profiles,
                chosen_held,
                chosen_answered.value,
                stable,
                shown,
                k == in_hand,
            )
            for k in chosen.sizes
        )
        self._table.body = (
            f"<table class='heat {'checked' if chosen_stability.ready else ''}' "
            "data-roving='map'>"
            f"{_heads(shown, stable is not None)}{rows}"
            f"{_total(chosen, chosen_profiles, shown, stable is not None)}</table>"
        )


def _columns(
    profiles: ClusterProfiles, cluster: int, query: str, sort: str
) -> list[str]:
    """Return the names of matching columns in the chosen order."""
    if sort == "cluster":
        names = profiles.top(cluster, len(profiles.columns))["column"].tolist()
    elif sort == "name":
        names = sorted(profiles.columns.index.tolist(), key=str.lower)
    else:
        names = profiles.columns.index.tolist()
    wanted = query.strip().lower()
    return [name for name in names if wanted in str(name).lower()]


def _heads(columns: list[str], stable: bool) -> str:
    cells = "".join(
        f"<th class='cell' title='{safe(name)}'><span>{safe(name)}</span></th>"
        for name in columns
    )
    comes = (
        "<th title='mean bootstrap Jaccard, Hennig 2007'>found again</th>"
        if stable
        else ""
    )
    return (
        "<tr><th>cluster</th><th class='number'>samples</th><th title='share of the "
        "pool’s votes that keep two of its rows together: cluster consensus'>agreement "
        "inside</th>"
        f"<th>nearest</th>{comes}{cells}</tr>"
    )


def _row(
    cluster: int,
    chosen: Chosen,
    profiles: ClusterProfiles,
    held: ClusterConsensus,
    answered: ClusterConsensus | None,
    stable: pd.DataFrame | None,
    columns: list[str],
    front: bool,
) -> str:
    """Write one cluster as markup."""
    size = chosen.sizes[cluster]
    at = int(np.flatnonzero(held.clusters == cluster)[0])
    within = held.within[at]
    name = mark(cluster_colour(cluster), f"<b>{safe(chosen.names[cluster])}</b>")
    together = (
        f"<div class='track'><div style='width:{100 * within:.0f}%;"
        f"background:#0b7d7d'></div></div>{percent(within)}"
        if size > 1
        else "<span title='one sample has no pairs'>–</span>"
    )
    if answered is not None and size > 1:
        together += (
            " <span class='muted' title='with the votes that your answers give'>"
            f"answers {percent(answered.within[at])}</span>"
        )
    rows = profiles.table[profiles.table["cluster"] == cluster].set_index("column")
    cells = "".join(_cell(rows.loc[name]) for name in columns)
    return (
        f"<tr class='{'front' if front else ''}' data-do='cluster {cluster}'>"
        f"<td class='name'><button data-do='cluster {cluster}'>{name}</button></td>"
        f"<td class='number'>{whole(size)} <span class='muted'>"
        f"{percent(size / len(chosen.clusters))}</span></td>"
        f"<td>{together}</td><td>{_nearest(at, held, chosen)}</td>"
        f"{_comes_back(cluster, stable)}{cells}</tr>"
    )


def _nearest(at: int, held: ClusterConsensus, chosen: Chosen) -> str:
    """Name the cluster that the models most often join with this one."""
    if len(held.clusters) < 2:
        return "–"
    others = held.between[at].copy()
    others[at] = -1.0
    near = int(others.argmax())
    k = int(held.clusters[near])
    name = mark(cluster_colour(k), safe(chosen.short_name(k)))
    return (
        f"<span title='{safe(chosen.names[k])}'>{name}</span>"
        f" <span class='muted'>{others[near]:.2f}</span>"
    )


def _comes_back(cluster: int, stable: pd.DataFrame | None) -> str:
    """Write the stability of a cluster, with the value of copies without groups."""
    if stable is None:
        return ""
    if cluster not in stable.index:
        return "<td>–</td>"
    row = stable.loc[cluster]
    low, high = 100 * row["low"], 100 * row["high"]
    colour = FOUND if row["stable"] else BY_CHANCE
    chance, reached = "–", "copies without groups have no cluster as large"
    if row["by_chance"] > 0:
        chance = f"{row['by_chance']:.2f}"
        reached = f"a cluster like it in copies without groups reaches {chance}"
    return (
        f"<td title='{safe(row['reading'])}: 95% of the runs between "
        f"{row['low']:.2f} and {row['high']:.2f}; {reached}'>"
        "<div style='display:flex;gap:6px'>"
        f"<div class='band' style='width:54px;min-width:54px'><div style='left:"
        f"{low:.0f}%;width:{max(high - low, 2):.0f}%;background:{colour}'></div>"
        f"<i style='left:{100 * row['jaccard']:.0f}%'></i></div>"
        f"{row['jaccard']:.2f}<span class='muted'>{chance}</span></div>"
        "</td>"
    )


def _cell(row: Any) -> str:
    """Write a value on the colour of its effect."""
    effect = row["effect"]
    if not np.isfinite(effect):
        return "<td class='cell muted'>–</td>"
    text = safe(with_minus(row["text"]))
    if isinstance(row["level"], str):
        text = f"{safe(row['level'])} {text}"
    size = fixed(effect, signed=True)
    if size == fixed(0):
        return f"<td class='cell' title='{size} sd'>{text}</td>"
    share = min(abs(effect) / WIDEST_EFFECT, 1.0)
    colour = ABOVE if effect > 0 else BELOW
    return (
        f"<td class='cell' style='background:color-mix(in srgb, {colour} "
        f"{_FAINTEST + (_DEEPEST - _FAINTEST) * share:.0f}%, transparent)' "
        f"title='{size} sd'>{text}</td>"
    )


def _total(
    chosen: Chosen, profiles: ClusterProfiles, columns: list[str], stable: bool
) -> str:
    """Write the values of all samples."""
    overall = profiles.table[profiles.table["cluster"] == profiles.clusters[-1]]
    # Each cluster shows its own level of a category, so no single share is comparable.
    numbers = overall[overall["level"].isna()].set_index("column")["overall_text"]
    cells = "".join(
        f"<td class='cell'>{safe(with_minus(numbers.get(name, '')))}</td>"
        for name in columns
    )
    return (
        f"<tr class='muted'><td>all samples</td><td class='number'>"
        f"{whole(len(chosen.clusters))}</td><td></td><td></td>"
        f"{'<td></td>' if stable else ''}{cells}</tr>"
    )


def _scale() -> str:
    bar = f"linear-gradient(90deg,{BELOW},transparent,{ABOVE})"
    return (
        "colour: difference<span class='detail'> from all samples</span>, "
        f"−{WIDEST_EFFECT:g} sd <span "
        f"style='display:inline-block;width:60px;height:8px;background:{bar}'></span> "
        f"+{WIDEST_EFFECT:g} sd"
    )


def _stability_note(
    chosen: Chosen, chosen_stability_model: Result, stability: Result
) -> str:
    """Offer to measure the stability, or describe its measurement."""
    if chosen_stability_model.state == "pending":
        return "stability: looking for the closest model …"
    if not chosen_stability_model.ready:
        return "stability: no model was fitted here, nothing to run again"
    found: StabilityModel = chosen_stability_model.value
    if stability.ready:
        result = stability.value
        of = (
            f", judged by the model closest to it (ARI {fixed(found.agreement)})"
            if found.agreement < 1 or chosen.choice.kind != "model"
            else ""
        )
        return (
            f"found again: {passing(result.stable, result.sizes)} more than "
            f"by chance; mean Jaccard over {len(result.similarities)} bootstrap runs "
            f"({stability.settings}){of}; muted: copies without groups"
        )
    if stability.state == "pending":
        return "drawing the samples again …"
    if stability.state == "failed":
        again = link("try again", "stability")
        return f"stability: {safe(stability.failure)} {again}"
    takes, copies = (
        stability.cost(found.seconds),
        f"{TABLES - 1} copies without groups",
    )
    stopped = stability.stopped
    of = f": {BOOTSTRAPS} resamples of the table and of {copies}"
    return stopped + link(
        f"Check stability<span class='detail'>{of}</span>, {takes}",
        "stability",
        css="cl-check-stability",
        name=f"Check stability{of}, {takes}",
    )
