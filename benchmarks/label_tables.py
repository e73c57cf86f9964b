"""Summaries of the label experiments: correlations, seconds, stability, ranks.

`truth` has a row per data set and technique, with the best value of each external
index; `measures` one per data set and measure. Both have the seconds that it took.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from benchmarks.label_measures import CLASSIFIERS

# Name in the tables -> name and definition in the library.
EXTERNAL = {
    "ami": ("ami", "arithmetic"),
    "arand": ("ari", "textbook"),
    "vm": ("v-measure", "textbook"),
    "nmi": ("nmi", "geometric"),
}
N_TECHNIQUES = 9  # number of techniques in `label_truth`
PAPER_SETS = 96
N_DRAWS = 1000
SETS_PER_DRAW = 10
# Jeon et al. 2025, Table 1: Spearman correlation with the truth by AMI, adjusted Rand,
# V-measure and NMI with geometric mean.
PUBLISHED = {
    "CH_btwn": (0.7893, 0.7981, 0.7022, 0.6561),
    "DBI": (0.7091, 0.7513, 0.5719, 0.5015),
    "I": (0.5668, 0.5957, 0.6086, 0.6454),
    "XBI": (0.6201, 0.7019, 0.4934, 0.4446),
    "CHI": (0.5923, 0.6222, 0.4487, 0.3810),
    "SI": (0.5648, 0.6800, 0.4549, 0.4208),
    "DI": (0.4026, 0.3534, 0.5366, 0.5979),
    "svm": (0.5427, 0.6235, 0.4625, 0.4827),
    "knn": (0.4876, 0.5810, 0.3974, 0.4094),
    "mlp": (0.4405, 0.5386, 0.3600, 0.3761),
    "nb": (0.4126, 0.5276, 0.3157, 0.3130),
    "rf": (0.4893, 0.5741, 0.3991, 0.3889),
    "lr": (0.4456, 0.5382, 0.3666, 0.3873),
    "lda": (0.4999, 0.5726, 0.3945, 0.3606),
    "ensemble": (0.5922, 0.6748, 0.4614, 0.4099),
}


def correlations(
    truth: pd.DataFrame, measures: pd.DataFrame
) -> tuple[pd.DataFrame, pd.Index]:
    """Return correlations beside the printed ones, and the complete data sets."""
    best = truth.groupby("name")[list(EXTERNAL)].max()[has_all_techniques(truth)]
    values = measures.pivot(index="name", columns="measure", values="value")
    values["ensemble"] = values[list(CLASSIFIERS)].max(axis=1, skipna=False)
    names = best.index.intersection(values.dropna().index)
    rows = []
    for measure in dict.fromkeys([*PUBLISHED, *values.columns]):
        row: dict[str, object] = {"measure": measure}
        printed = PUBLISHED.get(measure, (np.nan,) * len(EXTERNAL))
        for key, given in zip(EXTERNAL, printed, strict=True):
            own = spearmanr(values.loc[names, measure], best.loc[names, key]).statistic
            row |= {key: own, f"{key} printed": given, f"{key} gap": own - given}
        without = [
            spearmanr(
                values.loc[names.drop(name), measure], best.loc[names.drop(name), "ami"]
            ).statistic
            for name in names
        ]
        rows.append(
            row | {"ami without one set, min": min(without), "max": max(without)}
        )
    return pd.DataFrame(rows), names


def has_all_techniques(truth: pd.DataFrame) -> pd.Series:
    """Return whether the truth of each data set is complete."""
    return truth.groupby("name").size() == N_TECHNIQUES


def seconds_by_set(truth: pd.DataFrame, measures: pd.DataFrame) -> pd.DataFrame:
    """Return seconds of measures, classifiers and truth on complete data sets."""
    seconds = measures.pivot(index="name", columns="measure", values="seconds")
    seconds["ensemble"] = seconds[list(CLASSIFIERS)].sum(axis=1, skipna=False)
    seconds["truth"] = truth.groupby("name")["seconds"].sum()[has_all_techniques(truth)]
    return seconds.dropna()


def technique_ranks(scores: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the rank of each technique (row) by its mean on each group."""
    means = pd.DataFrame({key: part.mean() for key, part in scores.items()})
    return means.rank(ascending=False)


def stabilities(scores: pd.DataFrame) -> dict[tuple[str, str], float]:
    """max(p, 1 - p) for each pair of techniques, ties split in half.

    At most half of the data sets are drawn: all of them would be the same every time.
    """
    rng = np.random.default_rng(0)
    size = min(SETS_PER_DRAW, len(scores) // 2)
    draws = np.array(
        [
            scores.to_numpy()[rng.choice(len(scores), size, replace=False)].mean(axis=0)
            for _ in range(N_DRAWS)
        ]
    )
    result = {}
    for a, b in combinations(range(scores.shape[1]), 2):
        share = np.mean((np.sign(draws[:, a] - draws[:, b]) + 1) / 2)
        result[scores.columns[a], scores.columns[b]] = max(share, 1 - share)
    return result
