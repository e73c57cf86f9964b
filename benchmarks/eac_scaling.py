"""Time and peak memory of evidence accumulation over the number of samples.

    python -m benchmarks.eac_scaling                    # 1,000 to 1,000,000 samples
    python -m benchmarks.eac_scaling --max-samples 100000
    python -m benchmarks.eac_scaling --report           # only the table and the plot

100 planted partitions; k-means on the one-hot rows with 20 clusters and 3 restarts, the
bisecting tree with 20 leaves, single linkage from the spanning tree, average linkage on
the matrix, and a naive NumPy co-association matrix as the bar. Methods with n x n cost
run up to 10,000 samples (single linkage 30,000). Every case runs in a process of its
own with compiled kernels; memory is the peak above its value before the run, labels
included. Finished cases are kept in eac_scaling.csv and not run again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

from clusterlens.compute.consensus.criteria import density
from clusterlens.compute.consensus.kmeans import consensus_kmeans
from clusterlens.compute.consensus.maximum_tree import agreement_tree
from clusterlens.compute.consensus.partition import consensus_partition
from clusterlens.compute.consensus.tree import consensus_tree
from clusterlens.compute.ensemble.ensemble import Ensemble

N_PARTITIONS = 100
N_CLUSTERS = 20
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
STATUS = Path("/proc/self/status")


def naive_co_association(ensemble: Ensemble) -> np.ndarray:
    """Return the n x n matrix by its definition."""
    matrix = np.zeros((ensemble.n_samples,) * 2)
    for labels in ensemble.labels:
        matrix += labels[:, None] == labels
    return matrix / ensemble.n_partitions


# method -> (function, largest number of samples)
TASKS: dict[str, tuple[Callable[[Ensemble], object], int]] = {
    "k-means": (lambda e: consensus_kmeans(e, N_CLUSTERS, n_init=3), SIZES[-1]),
    "bisecting tree": (lambda e: consensus_tree(e, N_CLUSTERS), SIZES[-1]),
    "density": (lambda e: density(e, e.labels[0]), SIZES[-1]),
    "single linkage": (lambda e: agreement_tree(e).cut(N_CLUSTERS), 30_000),
    "average linkage": (
        lambda e: consensus_partition(e, N_CLUSTERS, "average"),
        10_000,
    ),
    "naive matrix": (naive_co_association, 10_000),
}


def main() -> None:
    """Run the missing cases, then print and draw the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--max-samples", type=int, default=SIZES[-1])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--report", action="store_true", help="run nothing")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = arguments.out / "eac_scaling.csv"
    if not arguments.report:
        run_missing(arguments.max_samples, results)
    if results.exists():
        report(pd.read_csv(results), arguments.out / "eac_scaling.png")


def run_missing(max_samples: int, results: Path) -> None:
    """Measure the cases that the results do not hold yet, small ones first."""
    cases = [
        (task, n)
        for n in SIZES
        for task, (_, limit) in TASKS.items()
        if n <= min(limit, max_samples)
    ]
    done = set()
    if results.exists():
        known = pd.read_csv(results)[["task", "n_samples"]]
        done = set(known.itertuples(index=False, name=None))
    spawn = multiprocessing.get_context("spawn")
    for number, case in enumerate(cases, start=1):
        if case in done:
            continue
        with ProcessPoolExecutor(1, mp_context=spawn) as process:
            row = process.submit(measure, *case).result()
        frame = pd.DataFrame([row])
        frame.to_csv(results, mode="a", header=not results.exists(), index=False)
        print(f"[{number}/{len(cases)}] {row}", file=sys.stderr, flush=True)


def measure(task: str, n_samples: int) -> dict[str, object]:
    """Time and peak memory of one task, kernels compiled beforehand."""
    run, _ = TASKS[task]
    run(planted(300))
    ensemble = planted(n_samples)
    _ = ensemble.codes
    before = _reset_peak()
    start = perf_counter()
    run(ensemble)
    seconds = perf_counter() - start
    return {
        "task": task,
        "n_samples": n_samples,
        "seconds": round(seconds, 4),
        "megabytes": round(_memory("VmHWM") - before, 1),
    }


def planted(n_samples: int, seed: int = 0) -> Ensemble:
    """Return partitions that keep 30 to 90 % of the labels of one planted partition."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, N_CLUSTERS, n_samples, dtype=np.uint8)
    labels = np.empty((N_PARTITIONS, n_samples), np.uint8)
    for row in labels:
        kept = rng.random(n_samples) < rng.uniform(0.3, 0.9)
        noise = rng.integers(0, N_CLUSTERS, n_samples, dtype=np.uint8)
        row[:] = np.where(kept, truth, noise)
    return Ensemble(labels)


def _reset_peak() -> float:
    """Start the high-water mark again where the system can; memory now in MB."""
    if STATUS.exists():
        STATUS.with_name("clear_refs").write_text("5")
    return _memory("VmRSS")


def _memory(field: str) -> float:
    """Resident memory in MB: now (VmRSS) or at most (VmHWM)."""
    if not STATUS.exists():
        scale = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6
    lines = STATUS.read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(field))
    return int(line.split()[1]) * 1024 / 1e6


def report(results: pd.DataFrame, path: Path) -> None:
    """Print and draw both measures over the number of samples."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, cards = pyplot.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    for axes, measured in zip(cards, ("seconds", "megabytes"), strict=True):
        table = results.pivot(index="n_samples", columns="task", values=measured)
        print(f"\n{measured}\n{table.reindex(columns=list(TASKS)).to_string()}")
        table.reindex(columns=list(TASKS)).plot(
            ax=axes, loglog=True, marker="o", ylabel=measured
        )
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
