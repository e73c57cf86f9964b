"""Gain of a ranking from an analyst's answers, given by the classes of UCI sets.

Constraints (section 4.4): the classes of m = 5, 10, ..., 50 random samples, all their
pairs as must-links and cannot-links, 50 draws; tau with the adjusted Rand index after
the violated share is added. One draw serves the whole pool (in the published code each
family has its own). Sets of at most 100 samples are left out, as there. "KL, equation
5" charges a broken link by the distance of the variant, which is infinite for KL: all
models that break a link share the last rank. For the other variants that distance is 1,
as in Algorithm 1 and the published code. Tau is undefined where every model breaks a
link. The paper draws these curves and prints no value.

Suggestions: the pairs of `suggest_pairs` against random pairs, with the default score,
on the pool of the paper and on the default pool of the library, ten seeds.

The value of answers to suggestions depends on `constraint_weight`: an answer moves a
model by weight / answers. Ten answers at the default weight 1 make steps of 0.1, while
the quartiles of the score are 0.08 to 0.39 apart: the order then depends mostly on the
ten answers. In a run over nine sets and both pools, tau rose on average at every
weight, from 0.578 without answers to 0.658 (weight 0.2), 0.681 (0.5) and 0.656 (1); it
fell on 1, 6 and 7 of the 18. With ten answers to random pairs it rose to 0.619, 0.630
and 0.605, and was lower than with suggested ones on 17, 16 and 14.

It tends to fall on sets with a good score alone, and on sets where even the model
closest to the classes breaks many answers (`broken`), so that they do not separate good
models from bad ones; rank correlations of the gain with both are about -0.45.

So with ten answers, a weight of 0.2 is safe and 0.5 gains most on average. Answers to
random pairs gain less, but the gap closes with 20 to 40 answers, as suggested pairs are
contested ones and no fair sample of all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from benchmarks.discotec_protocol import (
    Case,
    DataSet,
    Part,
    consensus_metrics,
    correlations,
    data_sets,
    draw_curves,
    fit,
    truth,
)
from clusterlens.compute.ensemble.agreement import Agreement, count_agreements
from clusterlens.compute.ensemble.constraint_files import constraints_from_labels
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.ranking.ranking import TIE_DECIMALS
from clusterlens.compute.ranking.scores import discotec
from clusterlens.compute.ranking.suggestions import suggest_pairs

CONSTRAINED = ("KL", "Binary", "AARI", "ANMI")
OWN_DISTANCE = "KL, equation 5"
LABELLED = range(5, 51, 5)
DRAWS = 50
POOLS: dict[str, Callable[[DataSet], Ensemble]] = {
    "paper": lambda data: fit(data, "free"),
    "default": lambda data: run_pool(data.X, "default", n_jobs=1),
}
ANSWERS = (5, 10, 20, 40)
WEIGHTS = (0.1, 0.2, 0.5, 1.0)
SEEDS = 10
UNKNOWN = -1
WORSE = 0.005  # a tau that falls by less has not changed


def constraint_cases(folder: Path | None) -> Iterator[Case]:
    """Yield one case per UCI set that is large enough."""
    for data in data_sets(folder):
        if data.collection == "UCI" and len(data.X) > 2 * LABELLED[-1]:
            yield (data.name,), partial(constrain, data)


def constrain(data: DataSet) -> pd.DataFrame:
    """Tau of the four scores: rows without constraints, and per m and draw."""
    agreement = count_agreements(fit(data, "free"), n_jobs=1)
    ari = truth(data, agreement.ensemble)
    plain = tau(agreement, ari, CONSTRAINED)
    rows = [{"m": 0, "draw": 0, **plain, OWN_DISTANCE: plain["KL"]}]
    for m in LABELLED:
        for draw in range(DRAWS):
            rng = np.random.default_rng([m, draw])
            chosen = rng.choice(len(data.X), m, replace=False)
            known = np.full(len(data.X), UNKNOWN)
            known[chosen] = data.classes[chosen]
            constraints = constraints_from_labels(known, UNKNOWN)
            scores = tau(agreement, ari, CONSTRAINED, constraints)
            scores[OWN_DISTANCE] = own_distance_tau(agreement, ari, constraints)
            rows.append({"m": m, "draw": draw, **scores})
    return pd.DataFrame(rows)


def tau(
    agreement: Agreement,
    ari: np.ndarray,
    metrics: tuple[str, ...],
    constraints: Constraints | None = None,
    weight: float = 1.0,
) -> dict[str, float]:
    """Tau of some metrics, given constraints and their weight."""
    case = consensus_metrics(agreement, metrics, constraints, weight)
    return correlations(case.assign(ari=ari)).to_dict()


def own_distance_tau(
    agreement: Agreement, ari: np.ndarray, constraints: Constraints
) -> float:
    """Tau of KL with links charged by its own distance; NaN if all models break one."""
    scores = discotec(
        agreement, "kl", constraints=constraints, constraint_cost="distance"
    )
    return kendalltau(-np.round(scores, TIE_DECIMALS), ari).statistic


def report_constraints(rows: pd.DataFrame, out: Path) -> None:
    """Print and draw mean tau over sets against m."""
    shown = [*CONSTRAINED, OWN_DISTANCE]
    per_set = rows.groupby(["set", "m"], sort=False)[shown].mean()
    mean = per_set.groupby("m").mean()
    print(f"mean tau over {rows['set'].nunique()} sets by number of labelled samples")
    print(mean.round(3).to_string())
    undefined = rows[OWN_DISTANCE].isna().groupby(rows["m"]).mean()
    print(f"\nshare of draws in which every model breaks a link ({OWN_DISTANCE})")
    print(undefined.round(3).to_frame().T.to_string(index=False))
    print("\nper set, m = 0, 10, 50")
    few = per_set[per_set.index.get_level_values("m").isin([0, 10, 50])]
    print(few.unstack("m").round(2).to_string())
    draw_curves(mean, "m", out / "discotec_constraints.png")


def suggestion_cases(folder: Path | None) -> Iterator[Case]:
    """Yield one case per pool and UCI set."""
    for pool in POOLS:
        for data in data_sets(folder):
            if data.collection == "UCI":
                yield (pool, data.name), partial(compare, pool, data)


def compare(pool: str, data: DataSet) -> pd.DataFrame:
    """Tau of the default score with answers to suggested and to random pairs.

    `broken` is the share of the answers that the model closest to the classes breaks,
    `spread` the distance between the quartiles of the score.
    """
    ensemble = POOLS[pool](data)
    agreement = count_agreements(ensemble, n_jobs=1)
    ari = truth(data, ensemble)
    plain = consensus_metrics(agreement, ["Binary"])["Binary"]
    about = {
        "best_ari": ari.max(),
        "spread": plain.quantile(0.75) - plain.quantile(0.25),
        "none": tau(agreement, ari, ("Binary",))["Binary"],
    }
    rows = []
    for seed in range(SEEDS):
        asked = {"suggested": suggested(ensemble, seed), "random": drawn(data, seed)}
        for source, pairs in asked.items():
            for n_answers in ANSWERS:
                constraints = answer(data.classes, pairs[:n_answers])
                broken = constraints.violations(ensemble)[ari.argmax()]
                row = {"seed": seed, "source": source, "answers": n_answers, **about}
                for weight in WEIGHTS:
                    with_them = tau(agreement, ari, ("Binary",), constraints, weight)
                    values = {"weight": weight, "tau": with_them["Binary"]}
                    rows.append({**row, "broken": broken, **values})
    return pd.DataFrame(rows)


def suggested(ensemble: Ensemble, seed: int) -> np.ndarray:
    """Return pairs to ask about, (n_pairs, 2); fewer pairs are the first of more."""
    found = suggest_pairs(ensemble, n=max(ANSWERS), random_state=seed)
    return np.array([suggestion.pair for suggestion in found])


def drawn(data: DataSet, seed: int) -> np.ndarray:
    """Distinct random pairs, (n_pairs, 2)."""
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(len(data.X), k=1)
    chosen = rng.choice(len(first), max(ANSWERS), replace=False)
    return np.stack([first[chosen], second[chosen]], axis=1)


def answer(classes: np.ndarray, pairs: np.ndarray) -> Constraints:
    """Return constraints from the classes of both ends."""
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    return Constraints(pairs[same], pairs[~same])


def report_suggestions(rows: pd.DataFrame, out: Path) -> None:
    """Print and draw tau per set and on average, none beside random and suggested."""
    for pool, part in rows.groupby("pool", sort=False):
        cells = part.groupby(["answers", "weight", "source", "set"], sort=False)
        per_set = cells["tau"].mean().unstack("source")
        per_set["none"] = cells["none"].first().groupby(level=[0, 1, 3]).first()
        per_set = per_set[["none", "random", "suggested"]]
        print_sets(pool, part, per_set)
        print_means(pool, per_set)
        mean = per_set.groupby(["answers", "weight"]).mean()
        draw_curves(mean, "answers", out / f"discotec_suggestions_{pool}.png")


def print_sets(pool: str, part: pd.DataFrame, per_set: pd.DataFrame) -> None:
    """Print ten answers set by set."""
    about = part.groupby("set", sort=False)[["best_ari", "spread"]].first()
    ten = part.query("answers == 10 and source == 'suggested'")
    about["broken"] = ten.groupby("set")["broken"].mean()
    for weight in (0.2, 1.0):
        tau_here = per_set.loc[(10, weight)]
        about[["none", f"random w={weight}", f"suggested w={weight}"]] = tau_here
    print(f"\n{pool} pool, ten answers: tau per set, mean of {SEEDS} seeds")
    print(about.round(3).to_string())


def print_means(pool: str, per_set: pd.DataFrame) -> None:
    """Print means over sets with standard errors, also of the paired differences."""
    gain = per_set["suggested"] - per_set["none"]
    per_set = per_set.assign(
        **{
            "suggested - random": per_set["suggested"] - per_set["random"],
            "suggested - none": gain,
        }
    )
    groups = per_set.groupby(["answers", "weight"])
    mean, error = groups.mean(), groups.sem()
    text = mean.map("{:.3f}".format) + "±" + error.map("{:.3f}".format)
    worse = (gain < -WORSE).groupby(["answers", "weight"])
    text["sets worse than none"] = worse.sum().astype(str) + f" of {worse.size().max()}"
    print(f"\n{pool} pool: mean tau over sets ± standard error over sets")
    print(text.to_string())


CONSTRAINTS = Part(["set"], constraint_cases, report_constraints)
SUGGESTIONS = Part(["pool", "set"], suggestion_cases, report_suggestions)
