"""Does the default pool of a large table hold a model that finds groups of any shape?

    python -m benchmarks.pool_shapes --data FOLDER        # about ten minutes
    python -m benchmarks.pool_shapes --data FOLDER --out rows.jsonl  # resumes
    python -m benchmarks.pool_shapes --data FOLDER --quick --sets wut/circles

A row gives the model with the highest adjusted Rand index in the default pool of 3,000
rows of a set, where every method runs in its plain form, and of more than 50,000, where
scalable forms take over. The second should be above 0.9 wherever the first is. --quick
takes only DBSCAN, HDBSCAN and single linkage of that pool, which find other shapes.

Of the research sets with more than 50,000 rows none has groups that are not convex. So
sets with such groups are enlarged: rows are drawn with replacement and moved by a
Gaussian as wide as the distance to the third row of their group. Labels of rows that
the source calls noise count as a group.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.pool.specs import pool_grids

SETS = ["sipu/birch1", "sipu/birch2"]
SHAPES = ["fcps/chainlink", "fcps/wingnut", "fcps/lsun3d", "graves/ring"]
SHAPES += ["graves/parabolic", "graves/zigzag", "other/hdbscan", "sipu/jain"]
SHAPES += ["sipu/spiral", "sipu/aggregation", "sipu/flame", "wut/circles", "wut/smile"]
SHAPES += ["wut/labirynth", "wut/trapped_lovers", "wut/windows", "wut/z2", "wut/x2"]
LARGE, SMALL = 51_000, 3_000
REACHED = 0.9


def read(data: Path, name: str) -> tuple[Any, Any]:
    """Return features (n, d), scaled to deviation 1, and labels (n,) of a set."""
    table = pd.read_csv(data / f"{name}.csv.gz")
    X = table.drop(columns="label").to_numpy(float)
    return (X - X.mean(0)) / X.std(0), pd.factorize(table["label"])[0]


def enlarged(X: Any, labels: Any, n: int) -> tuple[Any, Any]:
    """Draw so many rows from the groups, smoothed."""
    width = np.empty(len(X))
    for group in np.unique(labels):
        rows = np.flatnonzero(labels == group)
        k = min(4, len(rows))
        distances, _ = NearestNeighbors(n_neighbors=k).fit(X[rows]).kneighbors(X[rows])
        width[rows] = distances[:, -1] / np.sqrt(X.shape[1])
    rng = np.random.default_rng(0)
    rows = rng.integers(0, len(X), n)
    return X[rows] + width[rows, None] * rng.normal(size=(n, X.shape[1])), labels[rows]


def best(X: Any, labels: Any, quick: bool) -> tuple[str, float, float]:
    """Return name and index of the model nearest to the labels, and pool seconds."""
    start = time.perf_counter()
    grids, _ = pool_grids("default", len(X))
    pool = quick_part(grids) if quick else grids
    ensemble = run_pool(X, pool, n_jobs=-1, memory_limit=8e9)
    scores = [adjusted_rand_score(labels, found) for found in ensemble.labels]
    at = int(np.argmax(scores))
    return ensemble.names[at], scores[at], time.perf_counter() - start


def quick_part(grids: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return entries of a pool that find groups of any shape."""
    kept = [grid for grid in grids if "DBSCAN" in grid["clusterer"]]
    trees = (grid for grid in grids if grid["clusterer"] == "agglomerative")
    return kept + [{**grid, "linkage": ["single"]} for grid in trees]


def measure(data: Path, name: str, quick: bool) -> dict[str, Any]:
    """Compare the pool on a part of a set with the pool on the whole set."""
    X, labels = read(data, name)
    if len(X) < LARGE:
        X, labels = enlarged(X, labels, LARGE)
    part = np.random.default_rng(1).permutation(len(X))[:SMALL]
    plain, reached, _ = best(X[part], labels[part], quick)
    model, found, seconds = best(X, labels, quick)
    kept = found > REACHED or reached <= REACHED
    return {
        "set": name,
        "n": len(X),
        "plain": plain,
        "plain_ari": round(reached, 3),
        "model": model,
        "ari": round(found, 3),
        "seconds": round(seconds, 1),
        "kept": kept,
    }


def main() -> None:
    """Measure the sets that are not there yet, and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sets", nargs="*", default=SETS + SHAPES)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows: dict[str, dict[str, Any]] = {}
    if given.out and given.out.exists():
        lines = map(json.loads, given.out.read_text().splitlines())
        rows = {row["set"]: row for row in lines}
    for name in given.sets:
        if name not in rows:
            rows[name] = measure(given.data, name, given.quick)
            if given.out:
                with given.out.open("a") as file:
                    file.write(json.dumps(rows[name]) + "\n")
        row = rows[name]
        print(
            f"{row['set']:<22}{row['n']:>8,}  plain {row['plain_ari']:.3f} "
            f"{row['plain']:<34} pool {row['ari']:.3f} {row['model']:<34}"
            f"{row['seconds']:>6.1f} s  {'' if row['kept'] else 'LOST'}",
            flush=True,
        )
    reached = [row for row in rows.values() if row["plain_ari"] > REACHED]
    kept = sum(row["ari"] > REACHED for row in reached)
    print(
        f"{kept} of {len(reached)} sets that plain methods find are found when large."
    )


if __name__ == "__main__":
    main()
