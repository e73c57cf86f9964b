"""Verdict on classes: whether centres, density and the pool show them as clusters.

Round groups: yes if every pair of classes is separate; in part if most pairs are and
few are like random classes. Dense groups: yes if there is a gap at the border of every
pair of classes; else by the share of the way that their DBCV covers from shuffled
labels to 1. Classes are clusters if either is "yes", in part if either is "in part",
else hardly. Round classes that touch are clusters in part if their DBCV covers less
than a third of the way and some border has no gap: a square cut in two has separate
centres and no gap. The pool is shown as well, but decides nothing. On tables without
clusters k-means covers at most 0.2 of the way (uniform noise, two columns).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from clusterlens.compute.formatting import count, whole
from clusterlens.compute.indices.agreement_reached import PoolAgreement
from clusterlens.compute.indices.class_match import LabelCheck
from clusterlens.compute.indices.evidence import LabelEvidence
from clusterlens.compute.indices.label_anchors import LABEL_ANCHORS
from clusterlens.ui.widgets.words import fixed

Light = Literal["yes", "in part", "no", "unknown"]
# Scores of separate pairs, and of pairs like random classes.
APART = 0.6
MIXED = 0.1
# Round groups in part: least share of separate pairs, largest share of random ones.
_MOST, _FEW = 1 / 2, 1 / 4
# Gains over shuffled labels, and agreements, that count as yes and as in part.
DENSE = (0.5, 0.25)
REACHED = (0.7, 0.4)
# Gain below which round classes without a gap touch, and least border ratio of a gap
# (benchmarks/results/label_verdicts.md).
TOUCHING = 1 / 3
GAP = 1
_DBCV = {anchor.example: anchor.dbcv for anchor in LABEL_ANCHORS}
LIGHTS: dict[Light, str] = {
    "yes": "yes",
    "in part": "in part",
    "no": "hardly",
    "unknown": "not known yet",
}
LIGHT_COLOURS: dict[Light, str] = {
    "yes": "#0b7d7d",
    "in part": "#c79a2a",
    "no": "#b5562b",
    "unknown": "#8a949c",
}
CONCLUSIONS = {
    "Yes": (
        "all pairs stand apart around their centres; clusterings of this table may be "
        "judged by these labels."
    ),
    "Yes, but not each around a centre": (
        "judge clusterings by these labels only if they can find groups of odd shape."
    ),
    "Not decided yet": (
        "wait until density has been measured: groups need not lie around a centre."
    ),
    "Only in part": (
        "do not judge clusterings by all of these labels; look at the pairs with low "
        "scores, and at those with little gap between them (DBCV)."
    ),
    "Hardly": (
        "do not judge clusterings of this table by these labels. They may still be "
        "good classes: a classifier can use boundaries that no cluster has."
    ),
}


@dataclass(frozen=True)
class LabelVerdict:
    """Verdict on classes, with its grounds.

    Parameters
    ----------
    answer : str
        Verdict in a few words.
    round, dense, pool : Light
        Grades by centres, by density, and by the models of the pool.
    """

    answer: str
    round: Light
    dense: Light
    pool: Light


def weigh(
    check: LabelCheck,
    borders: pd.DataFrame,
    evidence: LabelEvidence | None,
    agreement: PoolAgreement | None,
) -> LabelVerdict:
    """Grade centres, density and the pool; the answer depends on the first two.

    Until density is measured, the answer for round classes depends on centres alone.
    """
    of_centres = _of_centres(check)
    of_density = _of_density(borders, evidence)
    of_pool = grade(_highest(agreement), *REACHED) if agreement else "unknown"
    touching = (
        evidence is not None
        and density_gain(evidence) < TOUCHING
        and not _has_gaps(borders)
    )
    answer = _answer(
        of_centres, of_density, measured=evidence is not None, touching=touching
    )
    return LabelVerdict(answer, of_centres, of_density, of_pool)


def _highest(agreement: PoolAgreement) -> float:
    return float(agreement.values.max())


def _of_centres(check: LabelCheck) -> Light:
    scores = check.pairs["score"].dropna()
    apart, mixed = (scores >= APART).mean(), (scores <= MIXED).mean()
    if apart == 1:
        return "yes"
    return "in part" if apart >= _MOST and mixed <= _FEW else "no"


def density_gain(evidence: LabelEvidence) -> float:
    """Return the place of DBCV between shuffled labels (0) and its maximum (1)."""
    chance = float(evidence.shuffled["dbcv"].mean())
    return (float(evidence.dbcv) - chance) / (1 - chance)


def _has_gaps(borders: pd.DataFrame) -> bool:
    return bool((borders["ratio"] >= GAP).all())


def _of_density(borders: pd.DataFrame, evidence: LabelEvidence | None) -> Light:
    if _has_gaps(borders):
        return "yes"
    gain = density_gain(evidence) if evidence else np.nan
    return "unknown" if np.isnan(gain) else grade(gain, *DENSE)


def grade(value: float, yes: float, part: float) -> Light:
    """Grade a value by the least values that count as yes and as in part."""
    if value >= yes:
        return "yes"
    return "in part" if value >= part else "no"


def _answer(centres: Light, density: Light, *, measured: bool, touching: bool) -> str:
    if centres == "yes":
        return "Only in part" if touching else "Yes"
    if density == "yes":
        return "Yes, but not each around a centre"
    # Groups of any shape may still be dense.
    if not measured:
        return "Not decided yet"
    return "Only in part" if "in part" in (centres, density) else "Hardly"


def verdict_grounds(
    verdict: LabelVerdict,
    check: LabelCheck,
    borders: pd.DataFrame,
    evidence: LabelEvidence | None,
    agreement: PoolAgreement | None,
) -> Sequence[tuple[str, Light, str]]:
    """Return each kind of evidence for classes: title, grade, and reason."""
    return (
        ("Round groups", verdict.round, _centres(check)),
        ("Dense groups", verdict.dense, _density(evidence) + _borders(borders)),
        ("The pool", verdict.pool, _pool(agreement)),
    )


def _centres(check: LabelCheck) -> str:
    scores = check.pairs["score"].dropna()
    if len(scores) == 1:
        return (
            f"The only pair scores {fixed(scores.iloc[0])}; {APART:g} or more is "
            f"apart, {MIXED:g} or less is as random classes."
        )
    apart, mixed = int((scores >= APART).sum()), int((scores <= MIXED).sum())
    differ = 0 < apart < len(scores) or 0 < mixed < len(scores)
    hidden = f" The mean, {fixed(check.score)}, hides it." if differ else ""
    return (
        f"{whole(apart)} of {whole(len(scores))} pairs score {APART:g} or more, "
        f"{whole(mixed)} are as random classes ({MIXED:g} or less). In part "
        f"takes half of the pairs, and at most a quarter as random.{hidden}"
    )


def _density(found: LabelEvidence | None) -> str:
    if found is None:
        return "It is being measured (DBCV), or was not asked for."
    if found.dbcv.reason:
        return f"Not measured (DBCV): {found.dbcv.reason}."
    return (
        f"{fixed(found.dbcv)} (DBCV) against {fixed(found.shuffled['dbcv'].mean())} of "
        f"these labels shuffled, {max(density_gain(found), 0):.0%} of the way to 1: "
        f"{DENSE[1]:.0%} is in part, {DENSE[0]:.0%} yes; iris has "
        f"{fixed(_DBCV['iris'])}, nested rings {fixed(_DBCV['rings'])}. It finds "
        "groups of any shape, which the score of round groups (CH<sub>btwn</sub>) "
        "cannot: nested rings score 0 there."
    )


def _borders(found: pd.DataFrame) -> str:
    gaps, lowest = int((found["ratio"] >= GAP).sum()), found["ratio"].min()
    return (
        f" Gaps: {gaps} of {count(len(found), 'pair')}. At the border of such a pair "
        "the other class is at least as far away as the fifth row of the own class "
        f"(lowest ratio {fixed(lowest)}; gaps at all borders are a yes)."
    )


def _pool(found: PoolAgreement | None) -> str:
    if found is None:
        return "Not compared yet, or there is no run to compare with."
    return (
        f"The highest of {whole(len(found.values))} models reaches ARI "
        f"{fixed(_highest(found))}, picked knowing the labels."
    )
