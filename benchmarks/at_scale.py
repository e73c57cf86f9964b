"""A pool on a table beyond memory: rate, memory, growth, error, and kills.

    python -m benchmarks.at_scale --rows 1000000 10000000     # rate, memory, growth
    python -m benchmarks.at_scale --compare 1000000           # with fits in memory
    python -m benchmarks.at_scale --cover 200000 --repeats 20 # does the error hold?
    python -m benchmarks.at_scale --kills 1000000             # kill -9 at five moments
    python -m benchmarks.at_scale --prepare 1000000           # with prepare in memory

The table is made here: 20 columns, 17 of numbers in correlated pairs, two of
categories, one of ids; nine groups from 40% down to .1% of the rows, 5% noise, 3% gaps.
Every run is a process of its own with one thread per core; seconds are processor time.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.metrics import adjusted_rand_score

import clusterlens as cl

SHARES = (0.4, 0.2, 0.15, 0.1, 0.06, 0.025, 0.01, 0.004, 0.001)
NUMBERS, NOISE, GAPS = 17, 0.05, 0.03
ROW_GROUP = 250_000
POOL = [
    {"clusterer": "k-means", "n_clusters": [3, 5, 8, 12]},
    {"clusterer": "Gaussian mixture", "n_components": [3, 5, 8]},
    {"clusterer": "agglomerative", "n_clusters": [3, 5, 8]},
    {"clusterer": "HDBSCAN", "min_cluster_size": [50, 200]},
]
CHILD = """
import json, resource, sys, time
import clusterlens as cl
from benchmarks.at_scale import POOL
source, out, settings = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
pool = POOL if settings.pop("pool", "own") == "own" else "default"
start = time.perf_counter()
run = cl.run_at_scale(source, out, pool, row_id="id", **settings)
own = resource.getrusage(resource.RUSAGE_SELF)
children = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({
    "seconds": time.perf_counter() - start,
    "processor": own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime,
    "megabytes": own.ru_maxrss / 1024,
}))
"""


def main() -> None:
    """Run the chosen parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[])
    parser.add_argument("--compare", type=int)
    parser.add_argument("--cover", type=int)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--kills", type=int)
    parser.add_argument("--prepare", type=int)
    parser.add_argument("--landmarks", type=int, default=20_000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    settings = {"n_landmarks": given.landmarks}
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        place = Path(folder)
        if given.rows:
            growth(place, given.rows, settings)
        if given.prepare:
            preparation(place, given.prepare)
        if given.compare:
            compare(place, given.compare, settings)
        if given.kills:
            kills(place, given.kills, settings)
        if given.cover:
            cover(place, given.cover, given.repeats, settings)


def make_table(target: Path, n_rows: int, seed: int = 0) -> Path:
    """Write a table of so many rows, a row group at a time."""
    rng = np.random.default_rng(seed)
    middles = rng.normal(scale=3, size=(len(SHARES), NUMBERS))
    mixing = np.eye(NUMBERS) + 0.6 * np.eye(NUMBERS, k=1)
    likely = rng.dirichlet(np.ones(5), (2, len(SHARES)))
    sums = np.cumsum(np.array(SHARES) / sum(SHARES))
    writer = None
    for start in range(0, n_rows, ROW_GROUP):
        n = min(ROW_GROUP, n_rows - start)
        group = np.minimum(np.searchsorted(sums, rng.random(n)), len(SHARES) - 1)
        X = middles[group] + rng.normal(size=(n, NUMBERS)) @ mixing
        noise = rng.random(n) < NOISE
        X[noise] = rng.uniform(-10, 10, (noise.sum(), NUMBERS))
        X[rng.random(X.shape) < GAPS] = np.nan
        columns = {f"x{j}": X[:, j] for j in range(NUMBERS)}
        for j, chances in enumerate(likely):
            codes = (rng.random((n, 1)) > chances.cumsum(axis=1)[group]).sum(axis=1)
            columns[f"kind{j}"] = np.array(list("abcdef"))[codes]
        columns["id"] = np.arange(start, start + n) * 7 + 3
        table = pa.table({k: pa.array(v, from_pandas=True) for k, v in columns.items()})
        writer = writer or pq.ParquetWriter(target, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return target


def in_process(source: Path, out: Path, settings: dict) -> dict[str, float]:
    """Run in a process of its own; return its seconds and megabytes."""
    command = [sys.executable, "-c", CHILD, str(source), str(out), json.dumps(settings)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def growth(folder: Path, sizes: list[int], settings: dict) -> None:
    """Print time and memory of each size, and of a row more between sizes."""
    before: tuple[int, float] | None = None
    for n in sizes:
        source = make_table(folder / f"{n}.parquet", n)
        took = in_process(source, folder / f"out-{n}", settings)
        line = f"{n:>11,} rows: {took['processor']:.0f} s of processor, "
        line += f"{took['seconds']:.0f} s, {took['megabytes']:.0f} MB"
        if before is not None:
            more = (took["processor"] - before[1]) / (n - before[0])
            line += f"; {1e6 * more:.1f} s per 1,000,000 further rows"
        print(line, flush=True)
        before = n, took["processor"]


def preparation(folder: Path, n_rows: int) -> None:
    """Print how far the streamed preparation is from the one in memory."""
    from clusterlens.compute._run.options import RunOptions
    from clusterlens.compute.scale.first_pass import first_pass
    from clusterlens.compute.scale.source import open_source
    from clusterlens.compute.table.streamed_preparation import StreamedPreparation

    path = make_table(folder / "prepared.parquet", n_rows)
    found = first_pass(open_source(path), np.arange(1), "stop", RunOptions())
    learnt = StreamedPreparation(found.stream)
    streamed = learnt.fit().preparation
    whole = cl.prepare(pd.read_parquet(path)).preparation
    spread = streamed.fill_values_ - whole.fill_values_
    print(f"{n_rows:,} rows: medians off by at most {np.abs(spread).max():.2g}")
    for note in learnt.notes:
        if getattr(note, "kind", "") == "sketched":
            print("  " + note)
    names = streamed.get_feature_names_out() == whole.get_feature_names_out()
    print(f"  features equal: {names.all()}")


def labels_of(run: cl.ScaledRun) -> pd.DataFrame:
    """Return the labels of all rows."""
    return pd.concat(map(pd.read_parquet, run.files), ignore_index=True)


def compare(folder: Path, n_rows: int, settings: dict) -> None:
    """Print the adjusted Rand index with fits in memory, and of those with a seed."""
    source = make_table(folder / "compared.parquet", n_rows)
    run = cl.run_at_scale(source, folder / "compared", POOL, row_id="id", **settings)
    X = cl.prepare(pd.read_parquet(source))
    fits = [cl.run_pool(X, POOL, seed, memory_limit=4e9) for seed in (0, 1)]
    found = labels_of(run)
    own = [dict(zip(fit.names, fit.labels, strict=True)) for fit in fits]
    for name, column, shown, least in zip(
        *(run.models[c] for c in ("model", "column", "ari", "ari_least")), strict=True
    ):
        if name in own[0] and name in own[1]:
            true = adjusted_rand_score(own[0][name], found[column])
            seeds = adjusted_rand_score(own[0][name], own[1][name])
            print(
                f"{name:<28} {true:.3f} to the fit in memory, {seeds:.3f} between two "
                f"seeds of it; shown {shown:.3f}, at least {least:.3f}"
            )
        else:
            print(f"{name:<28} not fitted in memory; shown {shown:.3f}")


def cover(folder: Path, n_rows: int, repeats: int, settings: dict) -> None:
    """Print how often the index with a fit in memory is at least the smallest shown."""
    pool = [{"clusterer": "k-means", "n_clusters": [3, 5, 8]}]
    above = total = 0
    for seed in range(repeats):
        source = make_table(folder / f"cover-{seed}.parquet", n_rows, seed)
        out = folder / f"cover-{seed}"
        run = cl.run_at_scale(source, out, pool, seed, row_id="id", **settings)
        fit = cl.run_pool(cl.prepare(pd.read_parquet(source)), pool, seed)
        own, found = dict(zip(fit.names, fit.labels, strict=True)), labels_of(run)
        for row in run.models.itertuples():
            true = adjusted_rand_score(own[row.model], found[row.column])
            total += 1
            above += true >= row.ari_least
        source.unlink()
        shutil.rmtree(out)
        print(
            f"{seed + 1} tables: {above} of {total} at least the smallest index shown",
            flush=True,
        )


def kills(folder: Path, n_rows: int, settings: dict) -> None:
    """Kill runs at five moments, go on, and compare all files."""
    source = make_table(folder / "killed.parquet", n_rows)
    whole = folder / "whole"
    in_process(source, whole, settings)
    marks = ("run.json", "landmarks.parquet", "models.parquet", "labels", "last")
    for mark in marks:
        out = folder / f"killed-{mark}"
        command = [sys.executable, "-c", CHILD, str(source), str(out)]
        process = subprocess.Popen(
            [*command, json.dumps(settings)], stdout=subprocess.DEVNULL
        )
        while process.poll() is None and not _reached(out, whole, mark):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        left = len(list(out.rglob("*.parquet")))
        in_process(source, out, settings)
        print(
            f"killed after {mark}, {left} files: equal {_equal(out, whole)}", flush=True
        )


def _reached(out: Path, whole: Path, mark: str) -> bool:
    n_parts = len(list((out / "labels").glob("part-*.parquet")))
    if mark == "labels":
        return n_parts >= 1
    if mark == "last":
        return n_parts == len(list((whole / "labels").glob("part-*.parquet")))
    return (out / mark).exists()


def _equal(one: Path, other: Path) -> bool:
    files = [
        {str(f.relative_to(top)): f.read_bytes() for f in top.rglob("*") if f.is_file()}
        for top in (one, other)
    ]
    return files[0] == files[1]


if __name__ == "__main__":
    main()
