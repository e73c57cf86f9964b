"""Findings: the results on screen, gathered for the report and other files."""

from __future__ import annotations

from typing import Any

from clusterlens.ui.exports.document import SECTIONS, Findings
from clusterlens.ui.results.export_evidence import stopped_checks
from clusterlens.ui.results.result_verdict import mark_unfinished
from clusterlens.ui.session import Session

# Results that a report requires and waits for.
NEEDED = (
    "ranking",
    "rows",
    "agreement",
    "export_partition",
    "clusters",
    "binarised_at",
    "projection",
    "link_states",
    "export_verdict",
)
# Results that a report includes if they are ready.
WELCOME = (
    *("robustness", "null_check", "export_profiles", "export_stability", "k_selection"),
    *("weighted_ensemble", "answers", "leads", "copies_of_leader", "joined"),
    "likeness_to_leader",
    *("kept_partition", "cluster_rules", "export_separation", "export_distributions"),
    *("all_rows", "all_rows_names"),
)


def gather(session: Session) -> Findings | None:
    """Return the content of a report, None if a required result is missing."""
    found = {name: session.derived.get(name) for name in (*NEEDED, *WELCOME)}
    if not all(found[name].ready for name in NEEDED):
        return None
    values = {name: result.value for name, result in found.items()}
    return Findings(
        session.history.steps[: session.history.cursor + 1],
        ranking=values["ranking"],
        rows=values["rows"],
        agreement=values["agreement"],
        export_partition=values["export_partition"],
        threshold=values["binarised_at"],
        projection=values["projection"],
        verdict=mark_unfinished(values["export_verdict"], stopped_checks(found)),
        links=values["link_states"],
        robustness=values["robustness"],
        null=values["null_check"],
        profiles=values["export_profiles"],
        stability=values["export_stability"],
        numbers=values["k_selection"],
        distributions=values["export_distributions"],
        checks={
            name: one.check
            for name, one in found.items()
            if one.check and (one.ready or one.stopped)
        },
        weighted_ensemble=values["weighted_ensemble"],
        answers=values["answers"],
        leads=values["leads"],
        near_copies=values["copies_of_leader"],
        likeness=values["likeness_to_leader"],
        joined=values["joined"],
        kept=values["kept_partition"],
        rules=values["cluster_rules"],
        all_rows=values["all_rows"],
        all_rows_names=values["all_rows_names"] or {},
        without=frozenset(session.view_state.report_without),
        asked={key: _asked(session, key) for key in session.view_state.report_with},
        has_classes=session.view_state.label_source != "labels"
        or session.analysis.selected_run.dataset.labels_true is not None,
    )


def _asked(session: Session, key: str) -> Any:
    """Return the result of a requested section, or the reason why there is none."""
    result = session.derived.get(SECTIONS[key].node)
    if result.ready:
        return result.value
    if result.error is not None:
        return result.failure
    return {
        "pending": "Still being computed.",
        "empty": "This section would be empty.",
    }.get(result.state, "The computation was cancelled.")
