"""INDICES: every internal and external index by name, with its properties.

Several famous names stand for different formulas, so each index lists its definitions:
"textbook" is the formula of the literature, "paper" the formula of Ohl & Lindsten, who
computed their tables with version 2.0.0 of the package permetrics. The formulas are in
`_scatter` (linear time), `_distances` and `_dbcv` (quadratic time, linear memory),
`_external` and scikit-learn. A new index is one function there and one entry here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from sklearn.metrics import (
    adjusted_rand_score,
    normalized_mutual_info_score,
    v_measure_score,
)

from clusterlens.compute.indices import _distances as pairs
from clusterlens.compute.indices import _external as external
from clusterlens.compute.indices import _scatter as scatter
from clusterlens.compute.indices._clusters import Undefined
from clusterlens.compute.indices._dbcv import dbcv, dbcv_squared

Range = tuple[float, float]
Cost = Literal["linear", "quadratic"]
_ANY: Range = (-math.inf, math.inf)
_POSITIVE: Range = (0.0, math.inf)
_UNIT: Range = (0.0, 1.0)
_SIGNED_UNIT: Range = (-1.0, 1.0)


@dataclass(frozen=True)
class Definition:
    """One formula of an index: a function of clusters or of two code vectors."""

    function: Callable[..., float]
    range: Range = _POSITIVE
    cost: Cost = "linear"

    def measure(self, *given: Any) -> tuple[float, str]:
        """Return the value, or its limit or NaN if undefined, and the reason."""
        try:
            return float(self.function(*given)), ""
        except Undefined as undefined:
            return float(undefined.limit), str(undefined)


@dataclass(frozen=True)
class Index:
    """Properties of an index.

    Attributes
    ----------
    title : str
        Its name in the literature.
    kind : {"internal", "external"}
        Whether it needs features or a reference partition.
    direction : {"max", "min"}
        Whether large or small values are good.
    reference : str
        Where it was proposed.
    definitions : mapping of str to Definition
        Its formulas; the first is the default.
    aliases : tuple of str
        Other accepted names.
    """

    title: str
    kind: Literal["internal", "external"]
    direction: Literal["max", "min"]
    reference: str
    definitions: Mapping[str, Definition]
    aliases: tuple[str, ...] = ()

    @property
    def greater_is_better(self) -> bool:
        """Whether large values are good."""
        return self.direction == "max"

    @property
    def range(self) -> Range:
        """Least and greatest value of the first definition."""
        return next(iter(self.definitions.values())).range

    @property
    def cost(self) -> Cost:
        """Growth of the time of the first definition with the number of samples."""
        return next(iter(self.definitions.values())).cost


def _quadratic(
    function: Callable[..., float], value_range: Range = _POSITIVE
) -> Definition:
    """Return a formula that compares all pairs of samples."""
    return Definition(function, value_range, "quadratic")


def _agreed(formula: Definition) -> dict[str, Definition]:
    """Return one formula under both names."""
    return {"textbook": formula, "paper": formula}


def _normalised(
    function: Callable[..., float], value_range: Range
) -> dict[str, Definition]:
    """Return one formula for each mean of the two entropies."""
    return {
        mean: Definition(partial(function, average_method=mean), value_range)
        for mean in ("arithmetic", "geometric", "max", "min")
    }


INDICES: dict[str, Index] = {
    "BHI": Index(
        "Ball-Hall",
        "internal",
        "min",
        "Ball & Hall 1965, ISODATA, Stanford Research Institute",
        {
            "textbook": Definition(scatter.ball_hall),
            "paper": Definition(scatter.ball_hall_paper),
        },
        aliases=("ball-hall",),
    ),
    "BRI": Index(
        "Banfield-Raftery",
        "internal",
        "min",
        "Banfield & Raftery 1993, doi:10.2307/2532201",
        {
            "textbook": Definition(scatter.banfield_raftery, _ANY),
            "paper": Definition(scatter.banfield_raftery_paper, _ANY),
        },
        aliases=("banfield-raftery",),
    ),
    "CHI": Index(
        "Calinski-Harabasz",
        "internal",
        "max",
        "Calinski & Harabasz 1974, doi:10.1080/03610927408827101",
        _agreed(Definition(scatter.calinski_harabasz)),
        aliases=(
            "calinski-harabasz",
            "variance-ratio",
        ),
    ),
    "CI": Index(
        "C index",
        "internal",
        "min",
        "Hubert & Levin 1976, doi:10.1037/0033-2909.83.6.1072",
        _agreed(_quadratic(pairs.c_index, _UNIT)),
        aliases=("c-index",),
    ),
    "DBI": Index(
        "Davies-Bouldin",
        "internal",
        "min",
        "Davies & Bouldin 1979, doi:10.1109/TPAMI.1979.4766909",
        _agreed(Definition(scatter.davies_bouldin)),
        aliases=("davies-bouldin",),
    ),
    "DHI": Index(
        "mean distance within over between; not Duda & Hart's split test",
        "internal",
        "min",
        "Ohl & Lindsten",
        {"paper": _quadratic(pairs.dhi_paper)},
    ),
    "DI": Index(
        "Dunn",
        "internal",
        "max",
        "Dunn 1974, doi:10.1080/01969727408546059",
        _agreed(_quadratic(pairs.dunn))
        | {"first-two-classes": _quadratic(pairs.dunn_first_two_classes)},
        aliases=("dunn",),
    ),
    "DRI": Index(
        "determinant ratio (Scott-Symons)",
        "internal",
        "max",
        "Scott & Symons 1971, doi:10.2307/2529003",
        {
            "textbook": Definition(scatter.det_ratio, (1.0, math.inf)),
            "paper": Definition(scatter.det_ratio_paper),
        },
        aliases=(
            "det-ratio",
            "scott-symons",
        ),
    ),
    "HI": Index(
        "scatter about the own over the nearest mean; Hartigan's own index is LSRI",
        "internal",
        "min",
        "Ohl & Lindsten",
        {"paper": Definition(scatter.hartigan_paper)},
    ),
    "KDI": Index(
        "K squared times determinant of W",
        "internal",
        "min",
        "Marriott 1971, doi:10.2307/2528592",
        {
            "textbook": Definition(scatter.ksq_det_w),
            "paper": Definition(scatter.ksq_det_w_paper, _ANY),
        },
        aliases=("ksq-det-w",),
    ),
    "LDRI": Index(
        "log determinant ratio",
        "internal",
        "max",
        "Scott & Symons 1971, doi:10.2307/2529003",
        {
            "textbook": Definition(scatter.log_det_ratio),
            "paper": Definition(scatter.log_det_ratio_paper, _ANY),
        },
        aliases=("log-det-ratio",),
    ),
    "LSRI": Index(
        "log sum-of-squares ratio (Hartigan)",
        "internal",
        "max",
        "Hartigan 1975, Clustering Algorithms, Wiley",
        _agreed(Definition(scatter.log_ss_ratio, _ANY)),
        aliases=(
            "log-ss-ratio",
            "hartigan",
        ),
    ),
    "McRao": Index(
        "McClain-Rao",
        "internal",
        "min",
        "McClain & Rao 1975, Journal of Marketing Research 12:456-460",
        _agreed(_quadratic(pairs.mcclain_rao)),
        aliases=("mcclain-rao",),
    ),
    "PBM": Index(
        "Pakhira-Bandyopadhyay-Maulik",
        "internal",
        "max",
        "Pakhira, Bandyopadhyay & Maulik 2004, doi:10.1016/j.patcog.2003.06.005",
        _agreed(Definition(scatter.pbm)),
    ),
    "SI": Index(
        "silhouette",
        "internal",
        "max",
        "Rousseeuw 1987, doi:10.1016/0377-0427(87)90125-7",
        {
            "textbook": _quadratic(pairs.silhouette, _SIGNED_UNIT),
            "paper": _quadratic(pairs.silhouette_paper, _SIGNED_UNIT),
        },
        aliases=("silhouette",),
    ),
    "WGSS": Index(
        "within-group sum of squares",
        "internal",
        "min",
        "Ward 1963, doi:10.1080/01621459.1963.10500845",
        _agreed(Definition(scatter.wgss)),
        aliases=("inertia",),
    ),
    "XBI": Index(
        "Xie-Beni",
        "internal",
        "min",
        "Xie & Beni 1991, doi:10.1109/34.85677",
        {
            "textbook": Definition(scatter.xie_beni),
            "paper": Definition(scatter.xie_beni_paper),
            "desgraupes": _quadratic(pairs.xie_beni_desgraupes),
        },
        aliases=("xie-beni",),
    ),
    "WG": Index(
        "Wemmert-Gancarski",
        "internal",
        "max",
        "Wemmert, Gancarski & Korczak 2000, Int. J. Artificial Intelligence Tools 9",
        {
            "textbook": Definition(scatter.wemmert_gancarski, _UNIT),
            "paper": Definition(scatter.wemmert_gancarski_paper),
        },
        aliases=("wemmert-gancarski",),
    ),
    "I": Index(
        "I index with power 2; the same formula as PBM",
        "internal",
        "max",
        "Maulik & Bandyopadhyay 2002, doi:10.1109/TPAMI.2002.1114856",
        {"textbook": Definition(scatter.pbm)},
        aliases=("i-index",),
    ),
    "DBCV": Index(
        "density-based cluster validity",
        "internal",
        "max",
        "Moulavi et al. 2014, doi:10.1137/1.9781611973440.96",
        {
            "textbook": _quadratic(dbcv, _SIGNED_UNIT),
            "squared": _quadratic(dbcv_squared, _SIGNED_UNIT),
        },
    ),
    "ari": Index(
        "adjusted Rand index",
        "external",
        "max",
        "Hubert & Arabie 1985, doi:10.1007/BF01908075",
        {"textbook": Definition(adjusted_rand_score, (-0.5, 1.0))},
        aliases=("adjusted-rand",),
    ),
    "ami": Index(
        "adjusted mutual information",
        "external",
        "max",
        "Vinh, Epps & Bailey 2010, JMLR 11:2837-2854",
        _normalised(external.adjusted_information, (-math.inf, 1.0)),
        aliases=("adjusted-mutual-info",),
    ),
    "nmi": Index(
        "normalised mutual information",
        "external",
        "max",
        "Strehl & Ghosh 2002, JMLR 3:583-617",
        _normalised(normalized_mutual_info_score, _UNIT),
        aliases=(
            "normalized-mutual-info",
            "normalised-mutual-info",
        ),
    ),
    "v-measure": Index(
        "V-measure",
        "external",
        "max",
        "Rosenberg & Hirschberg 2007, EMNLP-CoNLL, 410-420",
        {"textbook": Definition(v_measure_score, _UNIT)},
    ),
    "accuracy": Index(
        "matched accuracy",
        "external",
        "max",
        "Kuhn 1955, doi:10.1002/nav.3800020109",
        {"textbook": Definition(external.matched_accuracy, _UNIT)},
    ),
    "pairwise-f": Index(
        "pairwise F1",
        "external",
        "max",
        "Manning, Raghavan & Schuetze 2008, Introduction to Information Retrieval",
        {"textbook": Definition(external.pairwise_f, _UNIT)},
        aliases=("pairwise-f1",),
    ),
}


def index_name(kind: Literal["internal", "external"], name: str) -> str:
    """Return the key in INDICES of an index named by key or alias.

    Case does not matter; blanks and underscores count as hyphens.
    """
    known = {
        _plain(each): key
        for key, index in INDICES.items()
        if index.kind == kind
        for each in (key, *index.aliases)
    }
    if isinstance(name, str) and _plain(name) in known:
        return known[_plain(name)]
    allowed = ", ".join(
        f"{key!r} ({', '.join(index.aliases)})" if index.aliases else repr(key)
        for key, index in INDICES.items()
        if index.kind == kind
    )
    raise ValueError(f"name is {name!r}; give one of {allowed}.")


def _plain(name: str) -> str:
    """Normalise a name for comparison."""
    return name.lower().replace("_", "-").replace(" ", "-")
