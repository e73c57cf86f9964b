"""Findings: what a session has on screen, gathered for the report and other files."""

from __future__ import annotations

from clusterlens.ui.exports.document import Findings
from clusterlens.ui.session import Session

# Results without which there is nothing to tell; a report waits for them.
NEEDED = (
    "ranking",
    "rows",
    "agreement",
    "selected",
    "threshold_in_force",
    "clusters",
    "projection",
    "link_states",
)
# Results that it tells where they are there.
WELCOME = ("robustness", "null_check", "profiles")


def gather(session: Session) -> Findings | None:
    """Return what there is to report, None where a result is missing."""
    found = {name: session.derived.get(name) for name in (*NEEDED, *WELCOME)}
    if not all(found[name].ready for name in NEEDED):
        return None
    values = {name: result.value for name, result in found.items()}
    return Findings(
        session.history.steps[: session.history.cursor + 1],
        ranking=values["ranking"],
        rows=values["rows"],
        agreement=values["agreement"],
        selected=values["selected"],
        threshold=values["threshold_in_force"],
        clusters=values["clusters"],
        projection=values["projection"],
        links=values["link_states"],
        robustness=values["robustness"],
        null=values["null_check"],
        profiles=values["profiles"],
        without=frozenset(session.look.report_without),
    )
