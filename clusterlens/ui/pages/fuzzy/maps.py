"""Card of both membership maps, their disagreement, and one sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from clusterlens.compute.formatting import count, whole
from clusterlens.compute.fuzzy.comparison import SampleDiscordance
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.on_map import taps
from clusterlens.ui.figures.keyboard_control import with_keyboard_control
from clusterlens.ui.figures.membership_map import MembershipMap
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.fuzzy.nodes import HIDDEN, Maps, Side
from clusterlens.ui.widgets.palette import DISCORDANCE_COLOURS, cluster_colour
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.style import COLUMN
from clusterlens.ui.widgets.toolkit import badge, card, mark, pn, safe
from clusterlens.ui.widgets.words import fixed

_TITLES = (
    "<b>U</b> <span class='how'>hue: cluster, strength: membership</span>",
    "<b>V</b> <span class='how'>hues matched to U, for the eye only</span>",
    "<b>Where they disagree</b> <span class='how'>on average</span>",
)
_MOST = 8


class FuzzyMaps(Card):
    """Three maps with one view; a click selects a sample."""

    needs = ("fuzzy_maps", "fuzzy_sides", "fuzzy_discordance", "projection")
    also = ("view.fuzzy_sample?", "fuzzy_hidden", "nearest", "samples")
    empty = "<p>Maps need a table: the toy example has none.</p>"

    def build(self) -> Any:
        view_state = self.session.view_state
        self._tap = taps(
            self.session, "nearest", lambda at: setattr(view_state, "fuzzy_sample", at)
        )
        # A shared range, so that all maps zoom together; the first one reports it.
        made = (self.view_handler("fuzzy_view"), self._tap)
        first = MembershipMap(*made)
        others = [MembershipMap(*made, beside=first) for _ in _TITLES[1:]]
        self._figures = [first, *others]
        places, self._steerings = zip(
            *map(with_keyboard_control, self._figures), strict=True
        )
        columns = [
            pn.Column(
                Text(f"<p>{title}</p>", styles={"flex": "none"}),
                place,
                sizing_mode="stretch_both",
                margin=0,
                styles={**COLUMN, "flex": "1 1 0"},
            )
            for title, place in zip(_TITLES, places, strict=True)
        ]
        row = pn.Row(
            *columns,
            sizing_mode="stretch_both",
            margin=0,
            styles={
                "display": "flex",
                "gap": "8px",
                "min-height": "0",
                "flex": "1 1 0",
            },
        )
        self._text = Text(
            css_classes=["cl-fuzzy-sample"],
            scrolls=True,
            sizing_mode="stretch_width",
            styles={"flex": "0 0 92px", "min-height": "0"},
        )
        return card(
            "Memberships on the map",
            row,
            self._text,
            note=self.status,
            css="cl-fuzzy-maps",
        )

    def _status_text(self, needed: Mapping[str, Result]) -> str:
        """Say nothing if only the size is missing: a hidden card never gets a size."""
        waits = (
            self.session.view_state.fuzzy_case == "table" and needed["projection"].ready
        )
        if waits and needed["fuzzy_maps"].state == "empty":
            return ""
        return super()._status_text(needed)

    def show(
        self,
        fuzzy_maps: Maps,
        fuzzy_sides: tuple[Side, Side],
        fuzzy_discordance: SampleDiscordance,
        projection: Projection,
        fuzzy_sample: Result,
        fuzzy_hidden: Result,
        samples: Result,
        **more: Result,
    ) -> None:
        """Show the pictures and the text below."""
        at = fuzzy_sample.value
        place = None if at is None else projection.coordinates[at]
        for figure, picture in zip(self._figures, fuzzy_maps.pictures, strict=True):
            figure.show_map(picture, self.session.view_state.fuzzy_view)
            figure.ring(place)
        names = samples.value.row_ids
        for steering, words in zip(
            self._steerings, _spoken(fuzzy_maps, fuzzy_sides, len(names)), strict=True
        ):
            steering.words = words
        hidden = bool(fuzzy_hidden.value)
        self._text.body = _legend(fuzzy_maps, fuzzy_discordance, hidden) + _reading(
            fuzzy_sides, fuzzy_discordance, names, at, hidden
        )


def _spoken(maps: Maps, sides: tuple[Side, Side], n_samples: int) -> tuple[str, ...]:
    """Describe the three maps for screen readers."""
    of = [
        f"memberships of {name} in {count(side.partition.n_clusters, 'cluster')}"
        for name, side in zip("UV", sides, strict=True)
    ]
    of.append(f"where both disagree, discordance up to {maps.darkest:.2f}")
    return tuple(f"Map of {count(n_samples, 'sample')}: {words}." for words in of)


def _legend(maps: Maps, found: SampleDiscordance, hidden: bool) -> str:
    mean = HIDDEN if hidden else f"{found.values.mean():.3f}"
    drawn = (
        ""
        if found.exact
        else badge(f"from {whole(found.n_others)} others", kind="estimate")
    )
    return (
        "<p><span class='muted'>discordance 0</span> <span style='display:inline-block;"
        "width:90px;height:9px;background:linear-gradient(90deg,"
        f"{','.join(DISCORDANCE_COLOURS)})'></span> <span class='muted'>"
        f"{maps.darkest:.2f}; its mean, {mean}, is 1 − NDC</span> "
        f"{drawn}</p>"
    )


def _reading(
    sides: tuple[Side, Side],
    found: SampleDiscordance,
    names: Any,
    at: int | None,
    hidden: bool,
) -> str:
    """Write both rows of the clicked sample, by default of the most discordant."""
    clicked = at is not None
    row = at if at is not None else int(np.argmax(found.values))
    how = "" if clicked else " differs most"
    bars = "".join(
        f"<p><b>{name}</b> {_row(side, row)}</p>"
        for name, side in zip("UV", sides, strict=True)
    )
    more = "" if clicked else " <span class='muted'>Click to read another.</span>"
    return (
        f"<p><b>row {safe(names[row])}</b>{how}, discordance "
        f"{HIDDEN if hidden else fixed(float(found.values[row]))}.{more}</p>{bars}"
    )


def _row(side: Side, at: int) -> str:
    """Write the memberships of a sample, the largest first."""
    values = side.partition.memberships[at]
    order = np.argsort(-values, kind="stable")[:_MOST]
    return "&ensp;".join(
        mark(cluster_colour(int(side.hues[k])), f"{values[k]:.2f}")
        for k in order.tolist()
    )
