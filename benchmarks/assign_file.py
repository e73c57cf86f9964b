"""Assignment of a large file from the console: seconds, processor time, memory.

    python -m benchmarks.assign_file [--rows N]

Eight Gaussian groups that overlap, in 10 features; 100,000 rows of them are clustered
and N others (1,000,000) assigned by `clusterlens assign`, a process of its own from
start to end. Three partitions: `drawn`, the groups that rows come from; `likeliest`,
the groups predicted by a mixture model, with the most prototypes; `k-means`, separated
by centres. `right` is the share of the new rows that get their cluster.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from clusterlens import Segmentation, prepare

GROUPS, FEATURES, KEPT, WARM = 8, 10, 100_000, 1_000
# The process measures itself: the memory of its parent would count otherwise.
COMMAND = """
import runpy, time
try:
    runpy.run_module("clusterlens", run_name="__main__", alter_sys=True)
finally:
    with open("/proc/self/status") as status:
        most = next(int(s.split()[1]) for s in status if s.startswith("VmHWM"))
    print(f"processor {time.process_time():.1f} s, {most / 1024:.0f} MB")
"""
HERE = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}


def main() -> None:
    """Print a line per partition."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000, metavar="N")
    n_rows = parser.parse_args().rows
    rng = np.random.default_rng(0)
    shape = (GROUPS, FEATURES, FEATURES)
    rotation = np.linalg.qr(rng.normal(size=shape))[0]
    stretched = rotation * rng.uniform(0.4, 1.6, (GROUPS, 1, FEATURES))
    middles = rng.normal(size=(GROUPS, FEATURES))

    def draw(n: int) -> tuple[pd.DataFrame, np.ndarray]:
        groups = rng.integers(0, GROUPS, n)
        X = rng.normal(size=(n, FEATURES))
        for group in range(GROUPS):
            mine = groups == group
            X[mine] = middles[group] + X[mine] @ stretched[group]
        return pd.DataFrame(X).add_prefix("x"), groups

    (old, groups), (new, drawn) = draw(KEPT), draw(n_rows)
    first = old.iloc[:20_000]
    mixture = GaussianMixture(GROUPS, random_state=0).fit(first)
    dataset = prepare(old)
    means = KMeans(GROUPS, n_init=1, random_state=0).fit(np.asarray(dataset.X))
    placed = means.predict(np.asarray(dataset.preparation.transform(new)))
    for name, labels, truth in (
        ("drawn", groups, drawn),
        ("likeliest", mixture.predict(old), mixture.predict(new)),
        ("k-means", means.labels_, placed),
    ):
        segmentation = Segmentation(dataset, labels.astype(np.int64))
        print(name, segmentation, segmentation.assigner.rule)
        print("   " + run(segmentation, new, truth), flush=True)


def run(segmentation: Segmentation, new: pd.DataFrame, truth: np.ndarray) -> str:
    """Return a line with the cost of the command once kernels are on disk."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        segmentation.save(place / "kept.lens")
        for n in (WARM, len(new)):
            new.iloc[:n].to_parquet(place / f"{n}.parquet", index=False)
            command = [sys.executable, "-c", COMMAND, "assign", "kept.lens"]
            command += [f"{n}.parquet", "-o", f"told-{n}.parquet"]
            start = time.perf_counter()
            done = subprocess.run(
                command, cwd=place, env=HERE, stdout=subprocess.PIPE, text=True
            )
            took = time.perf_counter() - start
            done.check_returncode()
        found = pd.read_parquet(place / f"told-{n}.parquet")["cluster"]
    right = f"right {(found == truth).mean():.3f}"
    return f"{took:.1f} s, {done.stdout.splitlines()[-1]}, {right}"


if __name__ == "__main__":
    main()
