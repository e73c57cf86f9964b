"""Results of the lab for the report: CNS, saved pairs, class labels.

These nodes are watched only after their section is requested.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.estimators.cns.criterion import CriterionGrid
from clusterlens.compute.estimators.cns.live import LiveSolution
from clusterlens.compute.fuzzy.concordance import NDC
from clusterlens.compute.indices.class_match import LabelCheck
from clusterlens.compute.indices.evidence import LabelEvidence
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.jobs.derived import Node, node
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.pages.cns.nodes import Automatic, Summary
from clusterlens.ui.pages.fuzzy.nodes import (
    MODELS,
    Adjusted,
    Choices,
    adjusted,
    fuzzy_choices,
    fuzzy_ndc,
)
from clusterlens.ui.pages.labels.nodes import Grounds, Reached
from clusterlens.ui.results.evaluated_labels import EvaluatedLabels
from clusterlens.ui.results.label_verdict import LabelVerdict
from clusterlens.ui.results.partition_verdict import PartitionVerdict
from clusterlens.ui.state.analysis import SoftTable


@dataclass(frozen=True, eq=False)
class Smoothing:
    """CNS at the setting in force.

    Parameters
    ----------
    projection : Projection
        Map of the samples.
    solution, summary : LiveSolution, Summary
        Memberships, and their summary.
    automatic : Automatic
        Setting chosen automatically.
    metric : str
        Metric of the neighbours.
    certain : float
        Samples lie between clusters below this share of seed stops.
    grid : CriterionGrid or None
        Criterion of other settings; None while it is computed.
    """

    projection: Projection
    solution: LiveSolution
    summary: Summary
    automatic: Automatic
    metric: str
    certain: float
    grid: CriterionGrid | None


@dataclass(frozen=True, eq=False)
class SavedPair:
    """Two soft partitions with their agreement.

    Parameters
    ----------
    u, v : str
        Titles of the sides.
    n_samples : int
        Number of samples.
    ndc : NDC
        Concordance, unadjusted.
    values : dict of str to Adjusted
        Adjusted values under every random model.
    """

    u: str
    v: str
    n_samples: int
    ndc: NDC
    values: Mapping[str, Adjusted]


@dataclass(frozen=True, eq=False)
class SavedPairs:
    """The saved pairs, and the number of pairs with missing partitions."""

    pairs: tuple[SavedPair, ...]
    n_missing: int


@dataclass(frozen=True, eq=False)
class Labelled:
    """The evaluated classes with all evidence."""

    labels: EvaluatedLabels
    check: LabelCheck
    evidence: LabelEvidence
    reached: Reached | None
    verdict: LabelVerdict | PartitionVerdict
    grounds: Grounds


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
