"""Results of the lab for the report: CNS, saved pairs, class labels.

These nodes are watched only after their section is requested.
"""

from __future__ import annotations

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import Node, node
from clusterlens.ui.pages.fuzzy.nodes import (
    MODELS,
    Choices,
    adjusted,
    fuzzy_choices,
    fuzzy_ndc,
)
from clusterlens.ui.results.lab import (
    Labelled,
    SavedPair,
    SavedPairs,
    Smoothing,
)
from clusterlens.ui.state.analysis import SoftTable


@node()
def report_choices(
    samples: Dataset | None,
    ensemble: Ensemble | None,
    memberships: tuple[SoftTable, ...],
) -> Choices | None:
    """Return the partitions that can be compared, without the toy example."""
    return fuzzy_choices("table", samples, ensemble, memberships)


@node("idle", "Comparing the saved pairs")
def report_fuzzy(
    job: Job,
    report_choices: Choices,
    fuzzy_pairs: tuple[tuple[str, str], ...],
    view_fuzzy_precision: float,
) -> SavedPairs | None:
    """Compare the partitions of every saved pair under all random models."""
    if not fuzzy_pairs:
        return None
    known = {one.key: one.title for one in report_choices.listed}
    there = [pair for pair in fuzzy_pairs if known.keys() >= set(pair)]
    pairs = []
    for done, (u, v) in enumerate(there):
        job.report(done, len(there))
        sides = report_choices.make[u](), report_choices.make[v]()
        pairs.append(
            SavedPair(
                known[u],
                known[v],
                sides[0].n_samples,
                fuzzy_ndc(job, *sides, view_fuzzy_precision),
                {
                    model: adjusted(job, *sides, view_fuzzy_precision, model)
                    for model in MODELS
                },
            )
        )
    return SavedPairs(tuple(pairs), len(fuzzy_pairs) - len(there))


NODES = {
    "report_cns": Node(
        (
            "prepared_projection",
            "cns_exact",
            "cns_summary",
            "cns_automatic",
            "view.cns_metric",
            "view.cns_certain",
            "cns_criterion~",
        ),
        Smoothing,
    ),
    "report_labels": Node(
        (
            "named_labels",
            "label_check",
            "label_evidence",
            "label_agreement?",
            "label_verdict",
            "label_grounds",
        ),
        Labelled,
    ),
}
