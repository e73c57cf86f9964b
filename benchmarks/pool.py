"""The default pool: gain from sharing, families kept, estimates against measurements.

    python -m benchmarks.pool                     # all rows, some 20 minutes
    python -m benchmarks.pool --out rows.jsonl    # goes on where it was stopped
    python -m benchmarks.pool --rows 10000x10 100000x2
    python -m benchmarks.pool --estimates         # estimate against truth, no more
    python -m benchmarks.pool --laws              # each cost law against its jobs
    python -m benchmarks.pool --libraries         # trees of other libraries

Data are eight overlapping Gaussian groups; with --estimates also twenty groups far
apart, and noise, as fits take longest where there is nothing to be found. The machine
is calibrated first, if it is not yet; each run then improves the calibration.

--laws makes the jobs of a pool one after the other in this process and prints their
processor time beside the laws without the calibration of the machine, and the laws that
are off by more than a twentieth of the pool. It is more reliable than --estimates on a
machine in use.

A row gives, for one size: seconds of wall and processor time of `run_pool` and of the
same models fitted one by one by their estimators (up to n=10,000) with the same number
of processes, their ratio, whether the partitions are equal, the families kept, the
estimate over the wall time, and the peak memory of the largest worker. On a machine in
use, ratios are more reliable than seconds, and the ratio of the estimated to the
measured processor time of all jobs, starts of workers included, is more reliable than
the ratio of wall times.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import fastcluster
import numpy as np
from joblib import Parallel, delayed
from numba import set_num_threads
from scipy.cluster import hierarchy
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from clusterlens.compute._run.options import RunOptions
from clusterlens.compute.estimators.neighbors import neighbor_table
from clusterlens.compute.pool._fitting import run_job
from clusterlens.compute.pool._jobs import START_SECONDS, in_which_workers, pool_jobs
from clusterlens.compute.pool.calibration import calibrate
from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.compute.pool.paces import Paces, known_paces
from clusterlens.compute.pool.pool import estimate_pool, run_pool
from clusterlens.compute.pool.sharing import Shelf
from clusterlens.compute.pool.spanning import grown_tree
from clusterlens.compute.pool.specs import plan_pool
from clusterlens.compute.warm import compile_kernels

SIZES = ["1000x2", "1000x10", "1000x50", "10000x2", "10000x10", "10000x50"]
SIZES += ["100000x2", "100000x10"]
ESTIMATES = ["groups:1000x2", "noise:1000x10", "apart:1000x50", "noise:3000x10"]
ESTIMATES += ["apart:10000x2", "groups:10000x10", "noise:10000x50", "noise:30000x2"]
ESTIMATES += ["groups:30000x10", "apart:30000x50", "groups:100000x2"]
ESTIMATES += ["apart:100000x10", "groups:100000x50"]
# One by one takes too long above.
MAX_ALONE = 10_000


LAWS = [
    f"{kind}:{size}"
    for size in ("1000x2", "1000x10", "1000x50", "10000x2", "10000x10", "10000x50")
    for kind in ("groups", "apart", "noise")
]
LAWS += ["moons:10000x2", "skewed:10000x10", "uniform:10000x2", "noise:30000x2"]
LAWS += ["groups:30000x10", "apart:30000x50", "groups:100000x2", "moons:100000x2"]
LAWS += ["apart:100000x10", "noise:100000x10", "groups:100000x50"]


def data(n: int, d: int, kind: str = "groups") -> Any:
    """Gaussian groups, overlapping or far apart, or data without such groups."""
    rng = np.random.default_rng(0)
    if kind == "noise":
        return rng.normal(size=(n, d))
    if kind == "uniform":
        return rng.uniform(size=(n, d))
    if kind == "skewed":
        return rng.lognormal(size=(n, d))
    if kind == "moons":
        moons = make_moons(n, noise=0.06, random_state=0)[0]
        return np.column_stack([moons, 0.1 * rng.normal(size=(n, d - 2))])
    centers, spread = (8, 2.5) if kind == "groups" else (20, 0.7)
    return make_blobs(n, d, centers=centers, cluster_std=spread, random_state=0)[0]


def measure(case: str, n_jobs: int, alone: bool) -> dict[str, Any]:
    """Run the pool on data of one size, and where small, its models one by one."""
    kind, _, size = case.rpartition(":")
    n, d = map(int, size.split("x"))
    X = data(n, d, kind or "groups")
    estimate = estimate_pool(X, n_jobs=n_jobs, memory_limit=8e9)
    starting = _start_seconds(X, n_jobs)
    start, processor = time.perf_counter(), _processor_seconds()
    ensemble = run_pool(X, n_jobs=n_jobs, memory_limit=8e9)
    row: dict[str, Any] = {
        "size": case,
        "n_jobs": n_jobs,
        "models": ensemble.n_partitions,
        "families": dict(Counter(ensemble.families)),
        "wall": time.perf_counter() - start,
        "processor": _processor_seconds() - processor,
        "estimate": estimate.seconds,
        "estimated fits": sum(estimate.family_seconds.values()),
        "peak_gb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6,
    }
    row["estimate / wall"] = row["estimate"] / row["wall"]
    estimated = row["estimated fits"] + starting
    row["estimate / processor"] = estimated / row["processor"]
    if alone and n <= MAX_ALONE:
        row |= _alone(X, ensemble, n_jobs, row)
    return row


def measure_laws(case: str) -> dict[str, Any]:
    """Make the jobs of the pool in this process, and compare them with their laws."""
    kind, _, size = case.rpartition(":")
    n, d = map(int, size.split("x"))
    X = np.ascontiguousarray(data(n, d, kind or "groups"))
    jobs, _ = pool_jobs(plan_pool("default", X, 0), 8e9, Paces())
    shelf = Shelf(X)
    predicted: Counter[str] = Counter()
    took: Counter[str] = Counter()
    for job in jobs:
        start = time.process_time()
        run_job(shelf, job)
        took[job.law] += time.process_time() - start
        predicted[job.law] += job.seconds
    total = sum(took.values())
    off = {law: (predicted[law], took[law]) for law in took}
    return {
        "size": case,
        "said": sum(predicted.values()),
        "took": total,
        "off": {
            law: [round(seconds, 2) for seconds in pair]
            for law, pair in off.items()
            if abs(pair[0] - pair[1]) > total / 20
        },
    }


def _start_seconds(X: Any, n_jobs: int) -> float:
    """Return the estimated processor seconds to start the workers of a pool."""
    paces = known_paces()
    start = START_SECONDS * paces.common
    jobs, _ = pool_jobs(plan_pool("default", X, 0), 8e9, paces)
    return start * in_which_workers(jobs, RunOptions(n_jobs), False, start)


def _alone(X: Any, ensemble: Any, n_jobs: int, row: dict[str, Any]) -> dict[str, Any]:
    """Fit the same models one by one in as many processes."""
    start = time.perf_counter()
    fits = Parallel(n_jobs=n_jobs)(delayed(_fit)(X, spec) for spec in ensemble.specs)
    wall = time.perf_counter() - start
    seconds = np.array([seconds for _, seconds in fits])
    scores = [
        adjusted_rand_score(labels, found)
        for labels, (found, _) in zip(ensemble.labels, fits, strict=True)
    ]
    by_family = {
        family: round(
            float(
                seconds[np.array(ensemble.families) == family].sum()
                / ensemble.seconds[np.array(ensemble.families) == family].sum()
            ),
            2,
        )
        for family in dict.fromkeys(ensemble.families)
    }
    return {
        "alone_wall": wall,
        "alone_processor": float(seconds.sum()),
        "ratio_wall": wall / row["wall"],
        "ratio_processor": float(seconds.sum()) / row["processor"],
        "ratio_by_family": by_family,
        "equal": sum(score == 1.0 for score in scores),
        "least_ari": min(scores),
    }


def _fit(X: Any, spec: dict[str, Any]) -> tuple[Any, float]:
    """Return labels of one model alone, with one thread, and its processor seconds."""
    parameters = {key: value for key, value in spec.items() if key != "clusterer"}
    model = CLUSTERERS[spec["clusterer"]].make(**parameters)
    start = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = model.fit_predict(X)
    return labels, time.process_time() - start


def _processor_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(
            resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
    )


def compare_libraries() -> None:
    """Print processor seconds of one thread for trees of several libraries."""
    # Compiles as it is imported: half a minute, the first time on a machine.
    from fast_hdbscan.hdbscan import compute_minimum_spanning_tree

    set_num_threads(1)
    compile_kernels()
    compute_minimum_spanning_tree(data(500, 2), min_samples=4)
    with threadpool_limits(1):
        X = data(10_000, 10)
        for linkage in ("ward", "average", "complete"):
            _time(f"SciPy {linkage}", lambda how=linkage: hierarchy.linkage(X, how))
            _time(
                f"fastcluster {linkage}",
                lambda how=linkage: fastcluster.linkage(X, how),
            )
        _time(
            "fastcluster ward, vectors", lambda: fastcluster.linkage_vector(X, "ward")
        )
        for n, d in ((30_000, 2), (30_000, 10), (10_000, 50)):
            Y = data(n, d)
            _time(
                f"scikit-learn HDBSCAN {n}x{d}",
                lambda Y=Y: HDBSCAN(len(Y) // 2, min_samples=5, copy=True).fit(Y),
            )
            _time(
                f"fast_hdbscan tree {n}x{d}",
                lambda Y=Y: compute_minimum_spanning_tree(Y, min_samples=4),
            )
            table = _time(
                f"table of 15 neighbours {n}x{d}", lambda Y=Y: neighbor_table(Y, 15)
            )
            _time(
                f"tree grown from it {n}x{d}",
                lambda Y=Y, t=table: grown_tree(Y, 0, t, min_samples=5),
            )


def _time(name: str, function: Any) -> Any:
    """Print the processor seconds of a call; return its result."""
    start = time.process_time()
    found = function()
    print(f"{name:40} {time.process_time() - start:8.2f} s", flush=True)
    return found


def main() -> None:
    """Measure the rows that are not there yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="*")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--n-jobs", type=int, default=-1)
    parser.add_argument("--estimates", action="store_true")
    parser.add_argument("--laws", action="store_true")
    parser.add_argument("--libraries", action="store_true")
    given = parser.parse_args()
    if given.libraries:
        compare_libraries()
        return
    if given.laws:
        compile_kernels()
    else:
        calibrate()
    n_jobs = RunOptions(n_jobs=given.n_jobs).n_workers
    rows: dict[str, dict[str, Any]] = {}
    if given.out and given.out.exists():
        lines = map(json.loads, given.out.read_text().splitlines())
        rows = {row["size"]: row for row in lines}
    cases = LAWS if given.laws else ESTIMATES if given.estimates else SIZES
    for case in given.rows or cases:
        if case in rows:
            continue
        rows[case] = (
            measure_laws(case)
            if given.laws
            else measure(case, n_jobs, not given.estimates)
        )
        for key, value in rows[case].items():
            print(
                f"{key:>18}: {value:.3g}"
                if isinstance(value, float)
                else f"{key:>18}: {value}"
            )
        print(flush=True)
        if given.out:
            with given.out.open("a") as file:
                file.write(json.dumps(rows[case]) + "\n")
    (_summarise_laws if given.laws else _summarise)(list(rows.values()))


def _summarise(rows: list[dict[str, Any]]) -> None:
    """Print estimates against truth, and how many are within a factor of two."""
    for row in rows:
        print(
            f"{row['size']:>16}  estimated {row['estimate']:7.1f} s  took "
            f"{row['wall']:7.1f} s  ratio {row['estimate / wall']:.2f}  of processor "
            f"time {row['estimate / processor']:.2f}"
        )
    for truth in ("wall", "processor"):
        near = sum(0.5 <= row[f"estimate / {truth}"] <= 2 for row in rows)
        print(f"{near} of {len(rows)} estimates of {truth} time within a factor of two")


def _summarise_laws(rows: list[dict[str, Any]]) -> None:
    """Print the laws against the processor time of all jobs."""
    for row in rows:
        print(
            f"{row['size']:>16}  said {row['said']:7.1f} s  took {row['took']:7.1f} s  "
            f"ratio {row['said'] / row['took']:.2f}"
        )
    near = sum(0.5 <= row["said"] / row["took"] <= 2 for row in rows)
    print(f"{near} of {len(rows)} within a factor of two")


if __name__ == "__main__":
    main()
