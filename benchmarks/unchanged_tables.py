"""Stated rates of "nowhere" and of drift, on tables that did not change.

    python -m benchmarks.unchanged_tables [METHOD ...] --out FILE
        [--tables 100] [--rows 400 1000 4000] [--minutes 60]

Two tables of as many rows are drawn from the same groups, six round ones that overlap
in two (even tables) or five features, with a share of the rows `scattered` over all of
them. One is partitioned and kept, the other given. Each pair of tables is one line of
FILE (CSV), so a second call adds the missing pairs. Tables are taken in turn from all
methods and shares, so that a run that is stopped has as many of each.

Printed for each method, number of rows and share of scattered rows: `noise`, the share
of noise in the partition; `nowhere`, the mean rate of rows of the other table that
belong nowhere, stated as at most 0.05, among rows of clusters that are large enough to
judge (`judged` is their share), with its standard error; `refit`, the tables with this
verdict, and `shares`, the tables with p at most .05 for the shares, both stated as at
most 0.05; `repeated`, the mean adjusted Rand index of the clustering that was repeated.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors

from clusterlens import Segmentation, prepare

ALPHA = 0.05
CELL = ["method", "rows", "scattered"]
KEYS = [*CELL, "seed"]
VALUES = ("noise", "nowhere", "judged", "refit", "shares", "repeated")


def main() -> None:
    """Try tables until all are there or the time is over, and print the rates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--rows", type=int, nargs="+", default=[400, 1000, 4000])
    parser.add_argument("--minutes", type=float, default=60)
    given = parser.parse_args()
    deadline = time.monotonic() + 60 * given.minutes
    found = pd.read_csv(given.out) if given.out.exists() else pd.DataFrame(columns=KEYS)
    known = set(found[KEYS].itertuples(index=False, name=None))
    methods = given.methods or list(METHODS)
    for n in given.rows:
        for seed, method, share in product(range(given.tables), methods, SCATTERED):
            key = (method, n, share, seed)
            if time.monotonic() > deadline:
                break
            if key not in known:
                row = dict(zip(KEYS, key, strict=True)) | unchanged(
                    METHODS[method], n, share, seed
                )
                is_first = not given.out.exists()
                pd.DataFrame([row]).to_csv(
                    given.out, mode="a", header=is_first, index=False
                )
    print(rates(pd.read_csv(given.out)).to_string(index=False))


def rates(tables: pd.DataFrame) -> pd.DataFrame:
    """Return the rates of each method, number of rows and share of scattered rows."""
    cells = tables.dropna(subset="nowhere").groupby(CELL, sort=False)
    return (
        cells.agg(
            tables=("seed", "size"),
            noise=("noise", "mean"),
            nowhere=("nowhere", "mean"),
            error=("nowhere", "sem"),
            judged=("judged", "mean"),
            refit=("refit", "sum"),
            shares=("shares", "sum"),
            repeated=("repeated", "mean"),
        )
        .reset_index()
        .round(3)
    )


def unchanged(
    method: Callable[[np.ndarray, int], np.ndarray], n: int, scattered: float, seed: int
) -> dict[str, float]:
    """Return the drift of an unchanged table, nothing where there are no clusters."""
    rng = np.random.default_rng(seed)
    n_features = 5 if seed % 2 else 2
    centres = rng.normal(size=(6, n_features)) * (2 if seed % 2 else 3)
    tables = []
    for _ in range(2):
        X = centres[rng.integers(6, size=n)] + rng.normal(size=(n, n_features))
        some = rng.random(n) < scattered
        low, high = centres.min() - 4, centres.max() + 4
        X[some] = rng.uniform(low, high, size=(some.sum(), n_features))
        tables.append(pd.DataFrame(X).add_prefix("x"))
    dataset = prepare(tables[0])
    labels = method(dataset.X, seed)
    if labels.max() < 0:
        return dict.fromkeys(VALUES, np.nan)
    seg = Segmentation(dataset, labels)
    drift = seg.drift(tables[1])
    found = seg.assign(tables[1])["cluster"]
    able = seg.assigner.clusters[seg.assigner.can_judge(ALPHA)]
    return {
        "noise": (labels < 0).mean(),
        "nowhere": drift.nowhere,
        "judged": found[found >= 0].isin(able.tolist()).mean(),
        "refit": int(drift.verdict == "refit"),
        "shares": int(drift.shares_p <= ALPHA),
        "repeated": seg.assigner.repeated,
    }


def dbscan(X: np.ndarray, seed: int) -> np.ndarray:
    """Cluster so that 60 % of the rows are cores of ten neighbours."""
    reach = NearestNeighbors(n_neighbors=10).fit(X).kneighbors(X)[0][:, -1]
    return DBSCAN(eps=np.quantile(reach, 0.6), min_samples=10).fit_predict(X)


METHODS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "k-means": lambda X, seed: KMeans(6, random_state=seed).fit_predict(X),
    "mixture": lambda X, seed: GaussianMixture(6, random_state=seed).fit_predict(X),
    "ward": lambda X, seed: AgglomerativeClustering(6).fit_predict(X),
    "dbscan": dbscan,
    "hdbscan-5": lambda X, seed: HDBSCAN(5, copy=True).fit_predict(X),
    "hdbscan-15": lambda X, seed: HDBSCAN(15, copy=True).fit_predict(X),
}
SCATTERED = (0.0, 0.2, 0.4, 0.6)


if __name__ == "__main__":
    main()
