"""How often the number of clusters is right: `select_k`, PAC alone, gap statistic.

Planted groups (k = 3, 5 and 8, equal and unequal sizes, 2 to 10 columns) and tables
without any (uniform, Gaussian, correlated, skewed). Right means the planted k, or no
answer where nothing is planted; PAC alone always answers.

    python -m benchmarks.select_k [--samples 240] [--subsamples 30] [--seed 0]
                                  [--kind planted|noise|both]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

from clusterlens import select_k
from clusterlens.compute._validation import FloatArray
from clusterlens.compute.pool._k_curves import uniform_box

KS = range(2, 11)
PLANTED = [  # k, columns, ratio of the sizes of successive groups, least distance
    (3, 2, 1.0, 4.5),
    (3, 5, 0.6, 4.5),
    (3, 10, 1.0, 4.0),
    (3, 2, 0.6, 5.0),
    (5, 2, 1.0, 4.5),
    (5, 5, 0.75, 4.5),
    (5, 10, 0.75, 4.0),
    (8, 2, 1.0, 5.0),
    (8, 5, 0.85, 5.0),
    (8, 10, 1.0, 4.0),
]
NOISE = [
    (kind, columns)
    for kind in ("uniform", "gaussian", "correlated", "rectangle", "lognormal")
    for columns in (2, 6)
]


def planted(
    k: int, columns: int, ratio: float, apart: float, n: int, rng: np.random.Generator
) -> FloatArray:
    """Gaussian groups of unit variance (n, columns), centres at least `apart` apart."""
    centres = np.zeros((k, columns))
    while np.min(_distances(centres)) < apart:
        centres = rng.uniform(-1, 1, centres.shape) * apart * max(1, k ** (1 / columns))
    sizes = ratio ** np.arange(k)
    groups = rng.choice(k, n, p=sizes / sizes.sum())
    return centres[groups] + rng.standard_normal((n, columns))


def _distances(centres: FloatArray) -> FloatArray:
    """Distances of the pairs of centres (k, columns)."""
    first, second = np.triu_indices(len(centres), 1)
    return np.linalg.norm(centres[first] - centres[second], axis=1)


def noise(kind: str, columns: int, n: int, rng: np.random.Generator) -> FloatArray:
    """A table (n, columns) without groups."""
    if kind == "uniform":
        return rng.random((n, columns))
    if kind == "rectangle":
        return rng.random((n, columns)) * np.linspace(1, 3, columns)
    if kind == "lognormal":
        return rng.lognormal(0.0, 0.7, (n, columns))
    normal = rng.standard_normal((n, columns))
    if kind == "correlated":
        return normal @ rng.standard_normal((columns, columns))
    return normal


def gap_statistic(X: FloatArray, rng: np.random.Generator, n_draws: int = 20) -> int:
    """Number of clusters by Tibshirani, Walther & Hastie (2001), uniform in the box.

    The smallest k whose gap reaches that of k + 1 less its standard error; 1 is "none".
    """
    numbers = range(1, KS.stop + 1)
    tables = [X, *(uniform_box(X, rng) for _ in range(n_draws))]
    within = np.array([[_log_scatter(one, k) for k in numbers] for one in tables])
    gap = within[1:].mean(axis=0) - within[0]
    error = within[1:].std(axis=0) * np.sqrt(1 + 1 / n_draws)
    for k in range(len(gap) - 1):
        if gap[k] >= gap[k + 1] - error[k + 1]:
            return numbers[k]
    return numbers[-1]


def _log_scatter(X: FloatArray, k: int) -> float:
    """Logarithm of the sum of squared distances to the centres of k-means."""
    return float(np.log(KMeans(k, n_init=2, random_state=0).fit(X).inertia_))


def tables(n: int, seed: int) -> Iterator[tuple[str, int | None, FloatArray]]:
    """Yield name, planted number (None: nothing) and standardised table."""
    for at, (k, columns, ratio, apart) in enumerate(PLANTED):
        sizes = "equal" if ratio == 1 else "unequal"
        X = planted(k, columns, ratio, apart, n, np.random.default_rng([seed, at]))
        yield f"{k} groups, {sizes} sizes, {columns} columns", k, _standard(X)
    for at, (kind, columns) in enumerate(NOISE):
        X = noise(kind, columns, n, np.random.default_rng([seed, 100 + at]))
        yield f"{kind}, {columns} columns", None, _standard(X)


def _standard(X: FloatArray) -> FloatArray:
    """Columns of mean 0 and variance 1."""
    return (X - X.mean(axis=0)) / X.std(axis=0)


def main() -> None:
    """Print the answers and the shares of right ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=240)
    parser.add_argument("--subsamples", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=("planted", "noise", "both"), default="both")
    asked = parser.parse_args()
    start, rows = time.perf_counter(), []
    for name, k, X in tables(asked.samples, asked.seed):
        if asked.kind == ("noise" if k else "planted"):
            continue
        found = select_k(X, KS, asked.seed, n_resamples=asked.subsamples)
        gap = gap_statistic(X, np.random.default_rng(asked.seed))
        answers = {
            "select_k": found.k,
            "PAC alone": int(found.n_clusters[found.data.pac.argmin()]),
            "gap statistic": None if gap == 1 else gap,
        }
        rows.append({"planted": k, **answers})
        shown = ", ".join(f"{title} {answer}" for title, answer in answers.items())
        print(f"{name}: {shown}   p {found.p_value.min():.2f}", flush=True)
    answers = pd.DataFrame(rows).astype("Int64")
    is_planted = answers["planted"].notna()
    print(
        f"\nright answers, {asked.samples} samples, seed {asked.seed}, "
        f"{time.perf_counter() - start:.0f} s"
    )
    for title in ("select_k", "PAC alone", "gap statistic"):
        right = answers[title].eq(answers["planted"]).fillna(False)
        right |= answers[title].isna() & ~is_planted
        print(
            f"{title:14} planted {right[is_planted].sum()} of {is_planted.sum()}, "
            f"none planted {right[~is_planted].sum()} of {(~is_planted).sum()}"
        )


if __name__ == "__main__":
    main()
