"""How often the number of clusters is right: `select_k`, PAC alone, gap statistic.

Groups on a line, on a circle and in blobs (2, 3, 4, 5 and 8 of them, neighbours 6 to
1,000 standard deviations apart, in 2 and 4 columns, as they are and standardised), and
tables without groups. Right means the planted number, or no answer where nothing is
planted; PAC alone always answers. Standardising can make groups so flat that k-means
does not find them even if it is given their number; these tables are counted apart.

    python -m benchmarks.select_k [--rounds 40] [--samples 200] [--subsamples 30]
                                  [--draws 39] [--seed 0] [--jobs 1] [--gap]
                                  [--kind planted|noise|both]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pandas as pd
from scipy.stats import binomtest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from clusterlens import select_k
from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.pool._k_curves import uniform_box

KS = range(2, 11)
SHAPES = ("line", "circle", "blobs")
NUMBERS = (2, 3, 4, 5, 8)
APART = (6.0, 8.0, 12.0, 1000.0)
NOISE = ("uniform", "gaussian", "disc", "exponential", "t(3)")


def planted(
    shape: str, k: int, apart: float, columns: int, n: int, rng: np.random.Generator
) -> tuple[FloatArray, IntArray]:
    """Gaussian groups of unit variance, neighbours `apart` apart: table and groups."""
    axes = np.linalg.qr(rng.standard_normal((columns, 2)))[0].T
    if shape == "line":
        centres = apart * np.arange(k)[:, None] * axes[0]
    elif shape == "circle":
        angle = 2 * np.pi * (np.arange(k) / k + rng.random())
        around = np.column_stack([np.cos(angle), np.sin(angle)])
        centres = apart / (2 * np.sin(np.pi / k)) * around @ axes
    else:
        centres = np.zeros((k, columns))
        while np.min(_distances(centres)) < apart:
            centres = rng.uniform(-1, 1, centres.shape) * apart * k ** (1 / columns)
    groups = rng.permutation(np.arange(n) % k)
    return centres[groups] + rng.standard_normal((n, columns)), groups


def _distances(centres: FloatArray) -> FloatArray:
    """Return distances of the pairs of centres (k, columns)."""
    first, second = np.triu_indices(len(centres), 1)
    return np.linalg.norm(centres[first] - centres[second], axis=1)


def noise(kind: str, columns: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Return a table (n, columns) without groups."""
    shape = (n, columns)
    if kind == "uniform":
        return rng.random(shape)
    if kind == "exponential":
        return rng.exponential(size=shape)
    if kind == "t(3)":
        return rng.standard_t(3, shape)
    normal = rng.standard_normal(shape)
    if kind == "disc":
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        return normal * rng.random((n, 1)) ** (1 / columns)
    return normal


def gap_statistic(X: FloatArray, rng: np.random.Generator, n_draws: int = 20) -> int:
    """Return the number of clusters by Tibshirani, Walther & Hastie (2001).

    It is the smallest k with a gap of at least that of k + 1 less its standard error; 1
    is "none".
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


def tables(
    n: int, rounds: int, seed: int
) -> Iterator[tuple[str, int | None, bool, FloatArray]]:
    """Yield name, planted number (None: nothing), whether k-means finds it, table.

    A round has a table of each shape and number, and two or three of each noise.
    """
    for at in range(rounds):
        columns, standardised = (2, 4)[at % 2], at // 2 % 2 == 1
        for row, (shape, k) in enumerate((s, k) for s in SHAPES for k in NUMBERS):
            rng = np.random.default_rng([seed, at, row])
            apart = APART[(at // 4 + row) % len(APART)]
            X, groups = planted(shape, k, apart, columns, n, rng)
            X = _standard(X) if standardised else X
            own = KMeans(k, n_init=10, random_state=0).fit(X).labels_
            yield shape, k, adjusted_rand_score(groups, own) > 0.9, X
        for row, kind in enumerate(NOISE * 5):
            if row % 2 == at % 2:
                rng = np.random.default_rng([seed, at, 100 + row])
                yield kind, None, True, noise(kind, columns, n, rng)


def _standard(X: FloatArray) -> FloatArray:
    """Return columns of mean 0 and variance 1."""
    return (X - X.mean(axis=0)) / X.std(axis=0)


def report(answers: pd.DataFrame) -> None:
    """Print the shares of right answers, with 95 % intervals (Wilson)."""
    for name, some in answers.groupby(["table", "planted"], dropna=False, sort=False):
        shares = []
        for title in answers.columns[3:]:
            right = some[title].eq(some["planted"])
            right |= some[title].isna() & some["planted"].isna()
            asked = right[some["found by k-means"]]
            test = binomtest(int(asked.sum()), max(len(asked), 1))
            low, high = test.proportion_ci(method="wilson")
            shares.append(
                f"{title} {asked.sum()} of {len(asked)} ({low:.0%} to {high:.0%})"
            )
            if len(asked) < len(some):
                left = right[~some["found by k-means"]]
                shares[-1] += f" + {left.sum()} of {len(left)} hidden from k-means"
        print(*name, *shares, sep="   ", flush=True)


def main() -> None:
    """Print the wrong answers and the shares of right ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--subsamples", type=int, default=30)
    parser.add_argument("--draws", type=int, default=39)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--kind", choices=("planted", "noise", "both"), default="both")
    parser.add_argument("--gap", action="store_true", help="gap statistic as well")
    asked = parser.parse_args()
    start, rows = time.perf_counter(), []
    with suppress(KeyboardInterrupt):  # report progress
        for row in _answers(asked):
            rows.append(row)
    print(f"{asked.samples} samples, seed {asked.seed}")
    report(pd.DataFrame(rows).astype({"planted": "Int64", "select_k": "Int64"}))
    print(f"{time.perf_counter() - start:.0f} s")


def _answers(asked: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Yield the answers for each table; print the wrong ones."""
    for name, k, findable, X in tables(asked.samples, asked.rounds, asked.seed):
        if asked.kind == ("noise" if k else "planted"):
            continue
        run = {"n_resamples": asked.subsamples, "n_jobs": asked.jobs}
        found = select_k(X, KS, asked.seed, n_draws=1, level=0.5, **run)
        if (found.data.valley > 0).any():  # else no copy can change the answer: none
            found = select_k(X, KS, asked.seed, n_draws=asked.draws, **run)
        row = {"table": name, "planted": k, "found by k-means": findable}
        row["select_k"] = found.k if found.level < 0.5 else None
        row["PAC alone"] = int(found.n_clusters[found.data.pac.argmin()])
        if asked.gap:
            gap = gap_statistic(X, np.random.default_rng(asked.seed))
            row["gap statistic"] = None if gap == 1 else gap
        if row["select_k"] != k:
            print("wrong:", *row.values(), np.round(found.data.valley, 1), flush=True)
        yield row


if __name__ == "__main__":
    main()
