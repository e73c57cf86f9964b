"""INDICES: every internal and external index under its name, and what to know of it.

Several famous names stand for different formulas, so each index lists its definitions:
"textbook" is that of the literature, "paper" that of Ohl & Lindsten, whose tables rest
on version 2.0.0 of the package permetrics. The formulas are in `scatter_indices`
(linear time), `distance_indices` and `dbcv` (quadratic time, linear memory) and
`external_indices`; a new index is one function there and one entry here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from clusterlens.compute import distance_indices as pairs
from clusterlens.compute import external_indices as external
from clusterlens.compute import scatter_indices as scatter
from clusterlens.compute.dbcv import dbcv, dbcv_squared

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
    range: Range
    cost: Cost = "linear"


@dataclass(frozen=True)
class Index:
    """What is known about an index.

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
        Its formulas; the first is the default of external indices.
    symmetric : bool
        Whether an external index may swap its two partitions.
    """

    title: str
    kind: Literal["internal", "external"]
    direction: Literal["max", "min"]
    reference: str
    definitions: Mapping[str, Definition]
    symmetric: bool = True

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


def _internal(
    title: str,
    direction: Literal["max", "min"],
    reference: str,
    **definitions: tuple[Callable[..., float], Range, Cost],
) -> Index:
    """Entry of an internal index."""
    return Index(
        title,
        "internal",
        direction,
        reference,
        {key.replace("_", "-"): Definition(*d) for key, d in definitions.items()},
    )


def _external(
    title: str,
    reference: str,
    value_range: Range,
    function: Callable[..., float],
    *normalisations: str,
    symmetric: bool = True,
) -> Index:
    """Entry of an external index, with one definition per normalisation."""
    formulas: dict[str, Callable[..., float]] = {
        key: partial(function, normalisation=key) for key in normalisations
    } or {"textbook": function}
    definitions = {key: Definition(f, value_range) for key, f in formulas.items()}
    return Index(title, "external", "max", reference, definitions, symmetric)


def _same(
    function: Callable[..., float], value_range: Range, cost: Cost = "linear"
) -> dict[str, tuple[Callable[..., float], Range, Cost]]:
    """One formula for both definitions."""
    both = (function, value_range, cost)
    return {"textbook": both, "paper": both}


_MEANS = ("arithmetic", "geometric", "max", "min")

INDICES: dict[str, Index] = {
    "BHI": _internal(
        "Ball-Hall",
        "min",
        "Ball & Hall 1965",
        textbook=(scatter.ball_hall, _POSITIVE, "linear"),
        paper=(scatter.ball_hall_paper, _POSITIVE, "linear"),
    ),
    "BRI": _internal(
        "Banfield-Raftery",
        "min",
        "Banfield & Raftery 1993, doi:10.2307/2532201",
        textbook=(scatter.banfield_raftery, _ANY, "linear"),
        paper=(scatter.banfield_raftery_paper, _ANY, "linear"),
    ),
    "CHI": _internal(
        "Calinski-Harabasz",
        "max",
        "Calinski & Harabasz 1974, doi:10.1080/03610927408827101",
        **_same(scatter.calinski_harabasz, _POSITIVE),
    ),
    "CI": _internal(
        "C index",
        "min",
        "Hubert & Levin 1976, doi:10.1037/0033-2909.83.6.1072",
        **_same(pairs.c_index, _UNIT, "quadratic"),
    ),
    "DBI": _internal(
        "Davies-Bouldin",
        "min",
        "Davies & Bouldin 1979, doi:10.1109/TPAMI.1979.4766909",
        **_same(scatter.davies_bouldin, _POSITIVE),
    ),
    "DHI": _internal(
        "mean distance within over between; not Duda & Hart's split test",
        "min",
        "Ohl & Lindsten",
        paper=(pairs.dhi_paper, _POSITIVE, "quadratic"),
    ),
    "DI": _internal(
        "Dunn",
        "max",
        "Dunn 1974, doi:10.1080/01969727408546059",
        **_same(pairs.dunn, _POSITIVE, "quadratic"),
        first_two_classes=(pairs.dunn_first_two_classes, _POSITIVE, "quadratic"),
    ),
    "DRI": _internal(
        "determinant ratio (Scott-Symons)",
        "max",
        "Scott & Symons 1971, doi:10.2307/2529003",
        textbook=(scatter.det_ratio, (1.0, math.inf), "linear"),
        paper=(scatter.det_ratio_paper, _POSITIVE, "linear"),
    ),
    "HI": _internal(
        "scatter about the own over the nearest mean; Hartigan's own index is LSRI",
        "min",
        "Ohl & Lindsten",
        paper=(scatter.hartigan_paper, _POSITIVE, "linear"),
    ),
    "KDI": _internal(
        "K squared times determinant of W",
        "min",
        "Marriott 1971, doi:10.2307/2528592",
        textbook=(scatter.ksq_det_w, _POSITIVE, "linear"),
        paper=(scatter.ksq_det_w_paper, _ANY, "linear"),
    ),
    "LDRI": _internal(
        "log determinant ratio",
        "max",
        "Scott & Symons 1971, doi:10.2307/2529003",
        textbook=(scatter.log_det_ratio, _POSITIVE, "linear"),
        paper=(scatter.log_det_ratio_paper, _ANY, "linear"),
    ),
    "LSRI": _internal(
        "log sum-of-squares ratio (Hartigan)",
        "max",
        "Hartigan 1975, Clustering Algorithms, Wiley",
        **_same(scatter.log_ss_ratio, _ANY),
    ),
    "McRao": _internal(
        "McClain-Rao",
        "min",
        "McClain & Rao 1975, doi:10.1177/002224377501200410",
        **_same(pairs.mcclain_rao, _POSITIVE, "quadratic"),
    ),
    "PBM": _internal(
        "Pakhira-Bandyopadhyay-Maulik",
        "max",
        "Pakhira, Bandyopadhyay & Maulik 2004, doi:10.1016/j.patcog.2003.06.005",
        **_same(scatter.pbm, _POSITIVE),
    ),
    "SI": _internal(
        "silhouette",
        "max",
        "Rousseeuw 1987, doi:10.1016/0377-0427(87)90125-7",
        textbook=(pairs.silhouette, _SIGNED_UNIT, "quadratic"),
        paper=(pairs.silhouette_paper, _SIGNED_UNIT, "quadratic"),
    ),
    "WGSS": _internal(
        "within-group sum of squares",
        "min",
        "Ward 1963, doi:10.1080/01621459.1963.10500845",
        **_same(scatter.wgss, _POSITIVE),
    ),
    "XBI": _internal(
        "Xie-Beni",
        "min",
        "Xie & Beni 1991, doi:10.1109/34.85677",
        textbook=(scatter.xie_beni, _POSITIVE, "linear"),
        paper=(scatter.xie_beni_paper, _POSITIVE, "linear"),
        desgraupes=(pairs.xie_beni_desgraupes, _POSITIVE, "quadratic"),
    ),
    "WG": _internal(
        "Wemmert-Gancarski",
        "max",
        "Wemmert, Gancarski & Korczak 2000, doi:10.1142/S0218213000000057",
        textbook=(scatter.wemmert_gancarski, _UNIT, "linear"),
        paper=(scatter.wemmert_gancarski_paper, _POSITIVE, "linear"),
    ),
    "I": _internal(
        "I index with power 2; the same formula as PBM",
        "max",
        "Maulik & Bandyopadhyay 2002, doi:10.1109/TPAMI.2002.1114856",
        textbook=(scatter.pbm, _POSITIVE, "linear"),
    ),
    "DBCV": _internal(
        "density-based cluster validity",
        "max",
        "Moulavi et al. 2014, doi:10.1137/1.9781611973440.96",
        textbook=(dbcv, _SIGNED_UNIT, "quadratic"),
        squared=(dbcv_squared, _SIGNED_UNIT, "quadratic"),
    ),
    "ari": _external(
        "adjusted Rand index",
        "Hubert & Arabie 1985, doi:10.1007/BF01908075",
        (-0.5, 1.0),
        external.adjusted_rand,
    ),
    "ami": _external(
        "adjusted mutual information",
        "Vinh, Epps & Bailey 2010, JMLR 11:2837-2854",
        (-math.inf, 1.0),
        external.adjusted_mutual_info,
        *_MEANS,
    ),
    "nmi": _external(
        "normalised mutual information",
        "Strehl & Ghosh 2002, JMLR 3:583-617",
        _UNIT,
        external.normalised_mutual_info,
        *_MEANS,
    ),
    "v-measure": _external(
        "V-measure",
        "Rosenberg & Hirschberg 2007, EMNLP-CoNLL, 410-420",
        _UNIT,
        external.v_measure,
    ),
    "accuracy": _external(
        "matched accuracy",
        "Kuhn 1955, doi:10.1002/nav.3800020109",
        _UNIT,
        external.matched_accuracy,
    ),
    "pairwise-f": _external(
        "pairwise F1",
        "Manning, Raghavan & Schuetze 2008, Introduction to Information Retrieval",
        _UNIT,
        external.pairwise_f,
    ),
}
