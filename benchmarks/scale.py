"""Anytime ranking and tiles up to a million samples, coverage of intervals, and Dask.

    python -m benchmarks.scale                        # all parts, about half an hour
    python -m benchmarks.scale --parts anytime tiles --max-samples 100000
    python -m benchmarks.scale --parts coverage --replicates 200
    python -m benchmarks.scale --report               # only the table and the plots

"anytime": 100 planted partitions; seconds from bare labels to the first ranking with
intervals, then to every later look, with the mean half-width of the intervals for the
scores and the share of neighbours that are separated. "tiles": preparing, then tiles of
600 x 600 pixels at three zooms. "coverage": how often intervals of a nominal 95 % at a
fixed size of the sample hold the exact score (mean and worst model) and all exact
differences of neighbours, over 2,000 draws from fixed populations. "dask": the exact
agreement pass on two local workers with one thread each, against two threads.

Every case runs in a process of its own with compiled kernels. Finished cases are kept
in scale.csv, one line per figure, and not run again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import pandas as pd

from clusterlens.compute.consensus.tile_source import TileSource, order_by_partition
from clusterlens.compute.consensus.tiles import consensus_tile
from clusterlens.compute.ensemble.agreement import count_agreements
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.progressive import FIRST_SIZE, rank_progressively
from clusterlens.compute.ranking.scores import discotec
from clusterlens.compute.warm import compile_kernels

Figures = Iterator[tuple[str, float]]

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
N_PARTITIONS = 100
N_CLUSTERS = 10
BUDGET = 50_000_000_000  # comparisons of one anytime ranking
REPEATS = 5
KEY = ["part", "case", "n_samples"]

SCORES = ("binary", "kl")
EXACT_SAMPLES = 100_000  # largest exact pass; ten times as many take 100 times as long

FIXED_SIZES = (500, FIRST_SIZE)
POPULATION = 10_000
FEW_PARTITIONS = 10


def main() -> None:
    """Run the missing cases, then print and draw the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--max-samples", type=int, default=SIZES[-1])
    parser.add_argument("--replicates", type=int, default=2_000)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--report", action="store_true", help="run nothing")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = arguments.out / "scale.csv"
    if not arguments.report:
        cases = [
            (part, *case)
            for part in arguments.parts
            for case in PARTS[part][1](arguments)
        ]
        run_missing(cases, results)
    if results.exists():
        report(pd.read_csv(results), arguments.out)


def run_missing(cases: list[tuple[str, str, int]], results: Path) -> None:
    """Run the cases that the results do not hold yet, each in a fresh process."""
    done = set()
    if results.exists():
        done = set(pd.read_csv(results)[KEY].itertuples(index=False, name=None))
    spawn = multiprocessing.get_context("spawn")
    for number, case in enumerate(cases, start=1):
        print(f"[{number}/{len(cases)}] {' '.join(map(str, case))}", file=sys.stderr)
        if case in done:
            continue
        with ProcessPoolExecutor(1, mp_context=spawn) as process:
            figures = process.submit(run_case, *case).result()
        frame = pd.DataFrame(
            [(*case, *figure) for figure in figures], columns=[*KEY, "figure", "value"]
        )
        frame.to_csv(results, mode="a", header=not results.exists(), index=False)


def run_case(part: str, case: str, n_samples: int) -> list[tuple[str, float]]:
    """Return figures of one case."""
    return list(PARTS[part][0](case, n_samples))


def planted(
    n_samples: int, n_partitions: int = N_PARTITIONS, seed: int = 0
) -> np.ndarray:
    """Return labels that keep from 20 to 90 % of one planted partition."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, N_CLUSTERS, n_samples, dtype=np.uint8)
    labels = np.empty((n_partitions, n_samples), dtype=np.uint8)
    for row, keep in zip(labels, np.linspace(0.2, 0.9, n_partitions), strict=True):
        noise = rng.integers(0, N_CLUSTERS, n_samples, dtype=np.uint8)
        row[:] = np.where(rng.random(n_samples) < keep, truth, noise)
    return labels


def unrelated(n_samples: int, n_partitions: int, seed: int = 0) -> np.ndarray:
    """Return unrelated partitions: samples hardly differ in their costs."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, N_CLUSTERS, (n_partitions, n_samples))


def few_hard(n_samples: int, n_partitions: int, seed: int = 0) -> np.ndarray:
    """Return partitions that differ on one sample in ten only, with skewed costs."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, N_CLUSTERS, n_samples)
    hard = rng.random(n_samples) < 0.1
    return np.where(hard, unrelated(n_samples, n_partitions, seed + 1), truth)


POPULATIONS = {"planted": planted, "unrelated": unrelated, "few hard": few_hard}


def anytime(case: str, n_samples: int) -> Figures:
    """Yield seconds and widths of the looks at one ensemble."""
    compile_kernels()
    list(rank_progressively(Ensemble(planted(FIRST_SIZE + 1)), exact=False))
    labels = planted(n_samples)
    yield "seconds from labels to first look", _first_look(labels)
    ensemble = Ensemble(labels)
    _ = ensemble.codes
    start = perf_counter()
    for look in rank_progressively(
        ensemble, f"discotec-{case}", max_comparisons=BUDGET
    ):
        name = "exact" if look.exact else f"{look.n_compared}"
        apart = look.differences > look.difference_half_widths
        yield f"seconds to look {name}", perf_counter() - start
        yield f"mean half-width of look {name}", look.half_widths.mean()
        yield f"neighbours told apart at look {name}", apart.mean()


def _first_look(labels: np.ndarray) -> float:
    """Return the median seconds from labels to the first ranking with intervals."""
    seconds = []
    for _ in range(REPEATS):
        start = perf_counter()
        next(rank_progressively(Ensemble(labels)))
        seconds.append(perf_counter() - start)
    return median(seconds)


def tiles(case: str, n_samples: int) -> Figures:
    """Yield seconds for tiles of one kind, samples grouped by the best partition."""
    compile_kernels()
    ensemble = Ensemble(planted(n_samples))
    order = order_by_partition(ensemble, N_PARTITIONS - 1).order
    start = perf_counter()
    source = TileSource(ensemble, order)
    yield "seconds to prepare", perf_counter() - start
    yield "megabytes prepared", source.nbytes / 1e6
    for zoom in (1, 10, 100):
        side = n_samples // zoom
        spans = ((n_samples - side) // 2, (n_samples + side) // 2), (0, side)
        view = partial(consensus_tile, source, *spans, kind=case)
        exact = view().exact
        seconds = []
        for _ in range(REPEATS):
            start = perf_counter()
            view()
            seconds.append(perf_counter() - start)
        yield f"seconds for a tile at zoom {zoom}", median(seconds)
        yield f"exact at zoom {zoom}", float(exact)


def coverage(case: str, size: int) -> Figures:
    """Return the share of draws with intervals that hold the exact values."""
    population, score, replicates = case.split(", ")
    ensemble = Ensemble(POPULATIONS[population](POPULATION, FEW_PARTITIONS))
    exact = discotec(count_agreements(ensemble), score)
    draws = int(replicates.split()[0])
    held, joint = np.zeros(FEW_PARTITIONS), 0
    for seed in range(draws):
        (look,) = rank_progressively(
            ensemble,
            f"discotec-{score}",
            first_size=size,
            max_comparisons=0,
            random_state=seed,
        )
        low, high = look.intervals.T
        held += (low <= exact) & (exact <= high)
        error = np.diff(exact[look.ranking.order]) - look.differences
        joint += bool((np.abs(error) <= look.difference_half_widths).all())
    yield "coverage of scores, mean of models", held.mean() / draws
    yield "coverage of scores, worst model", held.min() / draws
    yield "joint coverage of differences", joint / draws


def dask(case: str, n_samples: int) -> Figures:
    """Return seconds of the exact pass here and on local workers, with kernels."""
    from distributed import Client, LocalCluster

    n_workers = int(case.split()[0])
    local = {
        "n_workers": n_workers,
        "threads_per_worker": 1,
        "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0",
    }
    with LocalCluster(**local) as cluster, Client(cluster) as client:
        passes = {
            "local": partial(count_agreements, n_jobs=n_workers),
            "Dask": partial(count_agreements, client=client),
        }
        warm = partial(count_agreements, Ensemble(planted(1_000)), n_jobs=1)
        warm()
        client.run(warm)
        ensemble = Ensemble(planted(n_samples))
        _ = ensemble.codes
        seconds: dict[str, list[float]] = {name: [] for name in passes}
        tables = {}
        for _ in range(REPEATS):
            for name, count in passes.items():
                start = perf_counter()
                tables[name] = count(ensemble)
                seconds[name].append(perf_counter() - start)
    medians = {name: median(each) for name, each in seconds.items()}
    for name, value in medians.items():
        yield f"seconds {name}", value
    yield "Dask over local", medians["Dask"] / medians["local"]
    joint = tables["local"].joint_counts == tables["Dask"].joint_counts
    yield "equal", float(joint.all())


def _sizes(cases: tuple[str, ...], arguments: argparse.Namespace) -> list:
    """Return the cases at all requested sizes, small ones first."""
    return [(c, n) for n in SIZES if n <= arguments.max_samples for c in cases]


def _exact_sizes(cases: tuple[str, ...], arguments: argparse.Namespace) -> list:
    """Return the cases at the requested sizes within reach of an exact pass."""
    return [case for case in _sizes(cases, arguments) if case[1] <= EXACT_SAMPLES]


def _draws(arguments: argparse.Namespace) -> list:
    """Populations, scores and fixed sizes, with the number of draws."""
    return [
        (f"{population}, {score}, {arguments.replicates} draws", size)
        for size in FIXED_SIZES
        for population in POPULATIONS
        for score in SCORES
    ]


# part -> (figures of a case, cases)
PARTS: dict[str, tuple[Callable[[str, int], Figures], Callable]] = {
    "anytime": (anytime, partial(_sizes, ("binary", "kl"))),
    "tiles": (tiles, partial(_sizes, ("consensus", "binarised"))),
    "coverage": (coverage, _draws),
    "dask": (dask, partial(_exact_sizes, ("2 workers",))),
}


def report(results: pd.DataFrame, out: Path) -> None:
    """Print every figure, and draw time over samples where matplotlib is there."""
    for (part, case), some in results.groupby(["part", "case"], sort=False):
        table = some.pivot_table(index="figure", columns="n_samples", values="value")
        print(f"\n{part}: {case}\n{table.to_string(float_format='{:,.4f}'.format)}")
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("\nNo plot: the extra 'bench' brings matplotlib.", file=sys.stderr)
        return
    for part in ("anytime", "tiles", "dask"):
        timed = results[(results["part"] == part)]
        timed = timed[timed["figure"].str.startswith("seconds")]
        if timed.empty:
            continue
        figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
        for name, line in timed.groupby(["case", "figure"], sort=False):
            axes.loglog(
                line["n_samples"], line["value"], marker="o", label=" ".join(name)
            )
        axes.set(xlabel="samples", ylabel="seconds", title=part)
        axes.legend(fontsize="x-small")
        figure.savefig(out / f"scale_{part}.png", dpi=150)
        plt.close(figure)


if __name__ == "__main__":
    main()
