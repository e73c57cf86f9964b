"""Seconds of each plot: on iris, on 20,000 rows and on 1,000,000 rows.

    python -m benchmarks.plots                      # iris and 20,000 rows
    python -m benchmarks.plots --rows 1000000       # those of any size only

A plot is made from its result, which is not timed, then drawn by Bokeh and by
Matplotlib. Everything is done once before, so that no time of compiling or importing is
in it; the figure is the median of three.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import holoviews as hv
import numpy as np
import pandas as pd

import clusterlens as cl

_SMALL = 20_000
_REPEATS = 3


def main() -> None:
    """Print a line for each table and plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[150, _SMALL])
    hv.extension("bokeh", "matplotlib", logo=False)
    for rows in parser.parse_args().rows:
        for name, make in plots(*table(rows)).items():
            make()
            hv.render(make(), backend="bokeh")
            hv.render(make(), backend="matplotlib")
            made = seconds(make)
            bokeh = seconds(lambda make=make: hv.render(make(), backend="bokeh"))
            files = seconds(lambda make=make: hv.render(make(), backend="matplotlib"))
            print(
                f"{rows:>9,} rows  {name:<12} {made:6.2f} s, with Bokeh {bokeh:6.2f}, "
                f"with Matplotlib {files:6.2f}",
                flush=True,
            )


def table(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features (n, 4) and classes (n,): iris, or three Gaussian groups."""
    if rows == 150:
        iris = cl.prepare(cl.load_example("iris"))
        return iris.X, iris.labels_true
    rng = np.random.default_rng(0)
    classes = np.sort(rng.integers(0, 3, rows))
    return rng.normal(size=(rows, 4)) + 4 * np.eye(3, 4)[classes], classes


def plots(X: np.ndarray, classes: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Compute a result of each kind that can be had for so many rows."""
    rng = np.random.default_rng(0)
    n = len(X)
    labels = [np.where(rng.random(n) < p, rng.integers(0, 3, n), classes) for p in
              np.linspace(0.05, 0.6, 20)]  # fmt: skip
    ensemble = cl.Ensemble(labels)
    counted = cl.count_agreements if n <= _SMALL else cl.estimate_agreements
    agreement = counted(ensemble)
    ranking, models = cl.rank_partitions(agreement), cl.map_models(ensemble)
    dataset = cl.prepare(pd.DataFrame(X, columns=list("abcd")))
    drift = cl.Segmentation(dataset, classes).drift(dataset.table + 0.2)
    made: dict[str, Callable[[], Any]] = {
        "consensus": lambda: cl.plot_consensus(ensemble),
        "ranking": lambda: cl.plot_ranking(ranking),
        "models": lambda: cl.plot_models(models, ranking),
        "threshold": lambda: cl.plot_threshold(agreement),
        "drift": lambda: cl.plot_drift(drift),
    }
    if n > _SMALL:  # CNS, many fits and class pairs are not for so many rows
        return made
    graph = cl.CNSGraph(X, 20)
    solution, projection = graph.solve(10, 0.1, 3), cl.project(X)
    grid, check = graph.criterion_grid(), cl.label_match(X, classes, random_state=0)
    how = {"n_resamples": 5, "n_draws": 4, "level": 0.2, "n_jobs": 1}
    selection = cl.select_k(X[:: max(n // 500, 1)], [2, 3], **how)
    return made | {
        "criterion": lambda: cl.plot_criterion(grid),
        "memberships": lambda: cl.plot_memberships(projection, solution),
        "class pairs": lambda: cl.plot_class_pairs(check),
        "k evidence": lambda: cl.plot_k_evidence(selection),
    }


def seconds(do: Callable[[], Any]) -> float:
    """Return the median seconds of a few calls."""
    times = []
    for _ in range(_REPEATS):
        start = perf_counter()
        do()
        times.append(perf_counter() - start)
    return median(times)


if __name__ == "__main__":
    main()
