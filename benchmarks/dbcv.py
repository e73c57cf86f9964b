"""DBCV beside the values of its authors' program and of `hdbscan`, rows shuffled.

    python -m benchmarks.dbcv --data FOLDER

FOLDER holds `dataset_1.txt` to `dataset_4.txt` of github.com/pajaskowiak/dbcv: two
coordinates and a class, 0 for noise. Their published values are of squared distances;
the examples of the library are judged on plain ones. Every value is taken for the rows
as given and in ten other orders. The table goes to `benchmarks/dbcv.csv`, a minute.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from hdbscan.validity import validity_index

import clusterlens as cl

# Values of the MATLAB program, as github.com/FelSiq/DBCV prints them.
PUBLISHED = (0.8576, 0.8103, 0.6319, 0.8688)
EXAMPLES = ("blobs", "moons", "rings", "iris", "wine", "breast cancer")
N_ORDERS = 10


def cases(folder: Path) -> Iterator[tuple[str, str, float, np.ndarray, np.ndarray]]:
    """Yield name, metric, published value, features and labels of each data set."""
    for number, published in enumerate(PUBLISHED, 1):
        table = np.loadtxt(folder / f"dataset_{number}.txt")
        labels = table[:, 2].astype(int)
        labels[labels == 0] = -1
        X = np.ascontiguousarray(table[:, :2])
        yield f"dataset_{number}", "sqeuclidean", published, X, labels
    for name in EXAMPLES:
        ds = cl.prepare(cl.load_example(name))
        labels = pd.factorize(np.asarray(ds.labels_true))[0]
        yield name, "euclidean", np.nan, ds.X, labels


def in_all_orders(
    judge: Callable[[np.ndarray, np.ndarray], float], X: np.ndarray, labels: np.ndarray
) -> tuple[float, float, float]:
    """Return the value for the rows as given, the least and the greatest found."""
    orders = [np.arange(len(X))]
    orders += [np.random.default_rng(s).permutation(len(X)) for s in range(N_ORDERS)]
    values = [judge(np.ascontiguousarray(X[order]), labels[order]) for order in orders]
    return values[0], min(values), max(values)


def main() -> None:
    """Read the command line, make the table and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    rows = []
    for name, metric, published, X, labels in cases(parser.parse_args().data):
        definition = "squared" if metric == "sqeuclidean" else "textbook"
        ours = in_all_orders(
            lambda X, labels, definition=definition: float(
                cl.internal_index("DBCV", X, labels, definition=definition)
            ),
            X,
            labels,
        )
        theirs = in_all_orders(
            lambda X, labels, metric=metric: validity_index(X, labels, metric=metric),
            X,
            labels,
        )
        rows.append((name, metric, published, *ours, *theirs))
    columns = ["data", "metric", "published", "found", "found_least", "found_greatest"]
    columns += ["hdbscan", "hdbscan_least", "hdbscan_greatest"]
    table = pd.DataFrame(rows, columns=columns).round(4)
    table.to_csv(Path(__file__).with_suffix(".csv"), index=False)
    print(table.to_string(index=False))


if __name__ == "__main__":
    main()
