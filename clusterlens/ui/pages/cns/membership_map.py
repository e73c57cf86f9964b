"""Card of the samples by their likeliest seed, paler the less certain it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterlens.compute.formatting import count, whole
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.on_map import taps
from clusterlens.ui.figures.keyboard_control import with_keyboard_control
from clusterlens.ui.figures.membership_map import MembershipMap
from clusterlens.ui.figures.sample_map import LEGEND_ENTRIES
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.cns.nodes import Fitted
from clusterlens.ui.plots.axes import arrows
from clusterlens.ui.plots.samples import Picture
from clusterlens.ui.results.lab import Summary
from clusterlens.ui.widgets.palette import NOISE_COLOUR, PALE, cluster_colour
from clusterlens.ui.widgets.scripted import Text
from clusterlens.ui.widgets.toolkit import badge, card, link, mark


class Memberships(Card):
    """Map that follows the sliders."""

    needs = ("cns_picture", "cns_solution", "prepared_projection")
    also = ("cns_summary", "cns_shown?", "view.cns_sample?", "cns_nearest")

    def build(self) -> Any:
        view_state = self.session.view_state
        self._tap = taps(
            self.session,
            "cns_nearest",
            lambda at: setattr(view_state, "cns_sample", at),
        )
        self._figure = MembershipMap(self.view_handler("cns_view"), self._tap)
        self._legend = Text(
            css_classes=["cl-membership-legend"], styles={"flex": "none"}
        )
        self._how = Text(does=self._back, css_classes=["cl-membership-how"])
        place, self._steering = with_keyboard_control(self._figure)
        return card(
            "Membership map",
            self._how,
            place,
            self._legend,
            note=self.status,
            css="cl-membership-map",
        )

    def show(
        self,
        cns_picture: Picture,
        cns_solution: Any,
        prepared_projection: Projection,
        cns_summary: Result,
        cns_shown: Result,
        cns_sample: Result,
        cns_nearest: Result,
    ) -> None:
        """Show the picture, the seeds and the walks of a sample."""
        self._figure.show_map(cns_picture, self.session.view_state.cns_view)
        xy = prepared_projection.coordinates[:, :2]
        version: Fitted | None = cns_shown.value
        seeds = xy[cns_solution.seeds if version is None else version.seeds]
        self._figure.star(seeds)
        at = cns_sample.value
        colours = [cluster_colour(k) for k in range(len(seeds))]
        if at is None or version is not None:
            self._figure.walk(None, seeds, np.empty(0), colours)
        else:
            self._figure.walk(xy[at], seeds, cns_solution.seed_shares[at], colours)
        preview = version is None and cns_solution.preview
        marked = f"{badge('preview', kind='estimate')} " if preview else ""
        self._how.body = f"<p class='how'>{marked}{_how(version)}</p>"
        if version is not None:
            self._steering.words = _words_of(version)
            self._legend.body = _legend_of(version)
        elif cns_summary.ready:
            self._steering.words = _words(cns_summary.value)
            self._legend.body = _legend(cns_summary.value, prepared_projection)

    def _back(self, what: str) -> None:
        """Show the setting in force again."""
        self.session.view_state.cns_version = ""


def _how(version: Fitted | None) -> str:
    """Explain the map, and name the version if it is not the setting in force."""
    if version is None:
        return (
            "Hue: likeliest seed; the paler, the less certain. ★ seeds. Click a sample "
            "to see where its walks stop."
        )
    back = link("back to the setting", "back", css="cl-version-back")
    of = badge(f"{version.title}, chosen by itself", kind="estimate")
    return f"{of} Hues as in the setting where clusters match. {back}"


def _in_line(entries: list[str], undecided: int) -> str:
    """Write the first entries side by side, the number of others, and undecided."""
    shown = [f"<span class='name'>{entry}</span>" for entry in entries[:LEGEND_ENTRIES]]
    more = len(entries) - LEGEND_ENTRIES
    shown += [f"and {more} more"] * (more > 0)
    shown += [mark(NOISE_COLOUR, f"undecided {whole(undecided)}")] * (undecided > 0)
    return "&ensp;".join(shown)


def _legend_of(version: Fitted) -> str:
    """Write the clusters of a published version."""
    sizes = version.sizes.tolist()
    undecided = int((version.labels < 0).sum())
    entries = [
        mark(
            cluster_colour(int(hue)),
            f"{k + 1} <span class='muted'>{whole(size)}</span>",
        )
        for k, (hue, size) in enumerate(zip(version.hues, sizes, strict=True))
    ]
    return f"<p>{_in_line(entries, undecided)}</p>"


def _words_of(version: Fitted) -> str:
    """Describe the map of a published version for screen readers."""
    sizes = version.sizes.tolist()
    undecided = int((version.labels < 0).sum())
    return (
        f"Map of memberships of version {version.title}: "
        f"{count(len(sizes), 'cluster')} of {', '.join(map(str, sizes))} samples, "
        f"{undecided} undecided."
    )


def _words(summary: Summary) -> str:
    """Describe the map for screen readers."""
    sizes = ", ".join(map(str, summary.sizes.tolist()))
    return (
        f"Map of memberships: {count(summary.solution.n_clusters, 'cluster')} of "
        f"{sizes} samples, {summary.between} samples between clusters, "
        f"{summary.undecided} undecided."
    )


def _legend(summary: Summary, projection: Projection) -> str:
    entries = [
        mark(cluster_colour(k), f"{k + 1} <span class='muted'>{whole(size)}</span>")
        for k, size in enumerate(summary.sizes.tolist())
    ]
    shown = _in_line(entries, summary.undecided)
    return (
        f"<p>{shown}&ensp;<span class='muted'>torn</span> <span style='display:"
        "inline-block;width:80px;height:9px;background:linear-gradient(90deg,"
        f"{PALE},{cluster_colour(0)})'></span> <span class='muted'>certain&ensp;"
        f"</span>{arrows(projection, 'the')}</p>"
    )
