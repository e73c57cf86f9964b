"""Results of CNS, fuzzy partitions and given labels, which the report shows as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from clusterlens.compute.estimators.cns.criterion import CriterionGrid
from clusterlens.compute.estimators.cns.live import LiveSolution
from clusterlens.compute.fuzzy.adjusted import AdjustedIndex
from clusterlens.compute.fuzzy.concordance import NDC
from clusterlens.compute.indices.agreement_reached import PoolAgreement
from clusterlens.compute.indices.class_match import LabelCheck
from clusterlens.compute.indices.evidence import LabelEvidence
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.results.evaluated_labels import EvaluatedLabels
from clusterlens.ui.results.label_verdict import LabelVerdict, Light
from clusterlens.ui.results.partition_verdict import PartitionVerdict

# Sides of a pair whose partition is fixed under a random model; None for neither.
SIDES: tuple[Literal["u", "v"] | None, ...] = (None, "u", "v")
Adjusted = Mapping[Literal["u", "v"] | None, AdjustedIndex]


@dataclass(frozen=True)
class Setting:
    """Neighbourhood size, stopping probability and number of seeds."""

    n_neighbors: int
    alpha: float
    n_clusters: int


@dataclass(frozen=True)
class Automatic:
    """The best setting of the default grid, and its criterion."""

    setting: Setting
    criterion: float


@dataclass(frozen=True, eq=False)
class Summary:
    """Summary of a solution.

    Parameters
    ----------
    solution : LiveSolution
        Summarised solution.
    sizes : array of int, shape (n_clusters,)
        Number of decided samples by likeliest seed.
    between, undecided, tied : int
        Samples between clusters, samples that reach no seed, and samples with several
        likeliest seeds.
    counts : array of int, shape (CERTAINTY_BINS,)
        Number of decided samples by certainty, from 1/K to 1.
    criterion : float
        Gain in clarity of this setting.
    error_bound : float
        Bound on the error of all memberships.
    """

    solution: LiveSolution
    sizes: np.ndarray
    between: int
    undecided: int
    tied: int
    counts: np.ndarray
    criterion: float
    error_bound: float


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


@dataclass(frozen=True, eq=False)
class Reached:
    """Agreement of the pool with the classes, and with merged classes."""

    given: PoolAgreement
    merged: PoolAgreement | None

    @property
    def now(self) -> PoolAgreement:
        """Agreement with the classes as evaluated."""
        return self.merged or self.given


@dataclass(frozen=True, eq=False)
class Grounds:
    """Grounds of a verdict, with its conclusion.

    Parameters
    ----------
    lines : sequence of (str, Light, str)
        Each kind of evidence: title, grade, and reason, as markup.
    conclusion : str
        Recommended use.
    """

    lines: Sequence[tuple[str, Light, str]]
    conclusion: str
