"""Genie beside the reference package, on research sets, and its time on a large table.

    python -m benchmarks.genie --data FOLDER      # a minute; needs the extra bench

Each line has the adjusted Rand index of our partition and the partition of the package
(for the threshold 0.3, at the number of classes), the lowest index over thresholds 0.1,
0.3, 0.5 and k = 2 to 12, the index of each with the labels, and the share of edges of
the tree as long as another one: the indices are 1 wherever no lengths are equal.
Features are scaled to standard deviation 1. The last lines are seconds of processor
time on 100,000 x 10.

With --neighbours M the tree uses mutual reachability with M neighbours. Its lengths tie
wherever a core distance decides several edges, so the columns are: the largest
difference of the sorted lengths of both trees, the lowest index between both partitions
each on its own tree, the lowest index with our pass on the tree of the package, and the
share of tied edges. Version 1.3 of the package does not separate leaves, and neither
does this benchmark.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import genieclust
import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute.estimators.genie import genie_labels, genie_merges
from clusterlens.compute.estimators.spanning_trees import Edges, reachability_edges

SETS = ["fcps/chainlink", "fcps/lsun3d", "fcps/hepta", "fcps/atom", "graves/ring"]
SETS += ["graves/parabolic", "graves/zigzag", "other/hdbscan", "sipu/jain"]
SETS += ["sipu/spiral", "sipu/aggregation", "sipu/flame", "wut/circles", "wut/smile"]
SETS += ["wut/x2", "wut/z2", "uci/iris", "uci/wine", "uci/glass", "uci/ecoli"]
THRESHOLDS = (0.1, 0.3, 0.5)


def read(data: Path, name: str) -> tuple[Any, Any]:
    """Return features (n, d), scaled to deviation 1, and labels (n,) of a set."""
    table = pd.read_csv(data / f"{name}.csv.gz").dropna()
    X = table.drop(columns="label").to_numpy(float)
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(0)) / X.std(0), pd.factorize(table["label"])[0]


def reference(X: Any, k: int, threshold: float) -> Any:
    """Return labels (n,) of the package."""
    return genieclust.Genie(k, gini_threshold=threshold).fit_predict(X)


def compare(X: Any, labels: Any) -> list[float]:
    """Return the columns of a line."""
    edges = reachability_edges(X, 1)
    passes = {g: genie_merges(edges, g, False) for g in THRESHOLDS}
    agree = [
        adjusted_rand_score(genie_labels(*passes[g], k, False), reference(X, k, g))
        for g in THRESHOLDS
        for k in range(2, 13)
    ]
    k = labels.max() + 1
    ours, theirs = genie_labels(*passes[0.3], k, False), reference(X, k, 0.3)
    with_labels = [adjusted_rand_score(labels, found) for found in (ours, theirs)]
    return [adjusted_rand_score(ours, theirs), min(agree), *with_labels, tied(edges)]


def compare_reachability(X: Any, neighbours: int) -> list[float]:
    """Return the columns of a line for trees of mutual reachability."""
    edges = reachability_edges(X, neighbours + 1)  # a sample is one of its own
    model = genieclust.Genie(2, M=neighbours).fit(X)
    theirs = np.empty(len(edges), edges.dtype)
    theirs["start"], theirs["end"] = model._tree_i_.T
    theirs["length"] = model._tree_d_
    theirs = theirs[np.lexsort((*np.sort(model._tree_i_).T[::-1], model._tree_d_))]
    apart = np.abs(np.sort(edges["length"]) - theirs["length"]).max()
    lowest = []
    for one in (edges, theirs):
        passes = {g: genie_merges(one, g, False) for g in THRESHOLDS}
        lowest.append(
            min(
                adjusted_rand_score(
                    genie_labels(*passes[g], k, False),
                    genieclust.Genie(k, gini_threshold=g, M=neighbours).fit_predict(X),
                )
                for g in THRESHOLDS
                for k in range(2, 13)
            )
        )
    return [apart, *lowest, tied(edges)]


def tied(edges: Edges) -> float:
    """Return the share of edges as long as another."""
    _, counts = np.unique(edges["length"], return_counts=True)
    return counts[counts > 1].sum() / len(edges)


def print_times() -> None:
    """Print the time of a pass and of a cut, on the tree of 100,000 x 10."""
    rng = np.random.default_rng(0)
    X = (
        rng.normal(size=(100_000, 10))
        + 3 * rng.normal(size=(8, 10))[rng.integers(0, 8, 100_000)]
    )
    edges = reachability_edges(X, 1)
    for threshold in (0.0, *THRESHOLDS, 1.0):
        start = time.process_time()
        merges = genie_merges(edges, threshold, False)
        passed = time.process_time()
        genie_labels(*merges, 8, False)
        print(
            f"100,000 x 10, threshold {threshold}: a pass {passed - start:.2f} s, "
            f"a cut {time.process_time() - passed:.3f} s"
        )


def main() -> None:
    """Print one line per set, then the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--neighbours", type=int)
    chosen = parser.parse_args()
    if chosen.neighbours:
        print(f"{'set':18s} lengths  own tree  same tree  ties")
        for name in chosen.sets:
            X, _ = read(chosen.data, name)
            columns = compare_reachability(X, chosen.neighbours)
            print(f"{name:18s} {'{:7.0e} {:9.3f} {:10.3f} {:5.2f}'.format(*columns)}")
        return
    print(f"{'set':18s} {'0.3':>6s} {'lowest':>6s}  ours theirs  ties")
    for name in chosen.sets:
        columns = compare(*read(chosen.data, name))
        print(
            f"{name:18s} {'{:6.3f} {:6.3f} {:5.2f} {:6.2f} {:5.2f}'.format(*columns)}"
        )
    print_times()


if __name__ == "__main__":
    main()
