"""Time and memory of the computational core beside plain NumPy definitions.

Run from the root of the project:

    python -m benchmarks.core            # all sizes, about three minutes
    python -m benchmarks.core --quick    # small sizes, about a minute

Every line is measured in a process of its own with compiled kernels: the median of
several runs, and the peak of the resident memory above its value before the run, labels
included (high-water mark of the operating system, reset before the run; where it cannot
be reset the figure is an upper bound and marked with "<"). The plain NumPy definitions
run on the same labels in the same process, and their results must agree to 1e-9; ratios
therefore belong to one run on one machine. The pass over the pairs also has its
comparisons of two labels per second of processor time, the comparisons of a bare loop
over uint8 labels, and the ratio between the two. Each pair is compared twice, once to
add up its votes and once to add them to each model, and with gaps the samples seen by
both models are counted as well, so the ratio is at least 2, or 4 with gaps.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from clusterlens.compute._run.kernels import kernel
from clusterlens.compute.consensus.tile_source import TileSource, order_by_partition
from clusterlens.compute.consensus.tiles import consensus_tile
from clusterlens.compute.ensemble.agreement import Agreement, count_agreements
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.ranking import rank_partitions
from clusterlens.compute.ranking.scores import discotec, threshold_scores
from clusterlens.compute.ranking.suggestions import suggest_pairs
from clusterlens.compute.warm import compile_kernels

VARIANTS = ("binary", "kl", "tv", "hellinger")
KEEP = 0.4  # share of labels that follow the planted partition
PIXELS = 600
PROCESS = Path("/proc/self")  # where Linux tells and resets the peak of memory


@dataclass(frozen=True)
class Case:
    """What to measure, at which size, and whether NumPy is asked too."""

    task: str
    n_samples: int
    n_partitions: int
    numpy: bool = False
    n_clusters: int = 5  # of each partition: mean agreement 0.2
    repeats: int = 5
    gaps: float = 0.0  # share of the samples that each model left out


@dataclass(frozen=True)
class Cost:
    """Median seconds and peak megabytes above the start."""

    seconds: float
    megabytes: float


FULL = (
    Case("agreement", 2_000, 100, numpy=True),
    Case("agreement", 5_000, 50, numpy=True),
    Case("agreement", 10_000, 100),
    Case("agreement", 20_000, 200, repeats=3),
    Case("agreement", 20_000, 100, n_clusters=250, repeats=3),
    Case("agreement", 10_000, 200, repeats=3),
    Case("agreement", 10_000, 200, repeats=3, gaps=0.2),
    Case("ranking", 20_000, 200),
    Case("suggestions", 20_000, 200, n_clusters=8),
    Case("tile", 2_000, 100, numpy=True, n_clusters=10),
    Case("tile", 5_000, 50, numpy=True, n_clusters=10),
    Case("tile", 100_000, 100, n_clusters=10),
    Case("tile", 1_000_000, 100, n_clusters=10),
)
QUICK = (
    Case("agreement", 1_000, 50, numpy=True),
    Case("agreement", 5_000, 100),
    Case("agreement", 5_000, 100, n_clusters=250),
    Case("agreement", 5_000, 100, gaps=0.2),
    Case("ranking", 5_000, 100),
    Case("tile", 1_000, 50, numpy=True, n_clusters=10),
    Case("tile", 50_000, 100, n_clusters=10),
)


def main() -> None:
    """Measure every case and print one line for each result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    cases = QUICK if parser.parse_args().quick else FULL
    print(_line("what", "n", "T", "time", "memory", "NumPy", "memory", "ratio"))
    spawn = multiprocessing.get_context("spawn")
    for number, case in enumerate(cases, start=1):
        size = f"n={case.n_samples:,} T={case.n_partitions}"
        print(f"[{number}/{len(cases)}] {case.task} {size} ...", file=sys.stderr)
        with ProcessPoolExecutor(1, mp_context=spawn) as process:
            for line in process.submit(measure_case, case).result():
                print(line, flush=True)


def measure_case(case: Case) -> list[str]:
    """Return the result lines of one case."""
    compile_kernels()
    tasks = {
        "agreement": _agreement,
        "ranking": _ranking,
        "suggestions": _suggestions,
        "tile": _tiles,
    }
    return list(tasks[case.task](case))


def planted_ensemble(case: Case, seed: int = 0) -> Ensemble:
    """Return partitions that each keep a part of one planted partition."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, case.n_clusters, case.n_samples, dtype=np.uint8)
    labels = np.empty((case.n_partitions, case.n_samples), dtype=np.uint8)
    for row in labels:
        noise = rng.integers(0, case.n_clusters, case.n_samples, dtype=np.uint8)
        row[:] = np.where(rng.random(case.n_samples) < KEEP, truth, noise)
    missing = rng.random(labels.shape) < case.gaps if case.gaps else None
    ensemble = Ensemble(labels, missing=missing)
    _ = ensemble.codes_and_gaps  # made once, before anything is measured
    return ensemble


def _agreement(case: Case) -> Iterator[str]:
    """Compute all four variants and every threshold, from labels to scores."""
    ensemble = planted_ensemble(case)
    ours, cost = _measure(lambda: _all_scores(ensemble), case.repeats)
    agreement = f"agreement pass, mean {ours[1].mean:.2f}"
    agreement += f", gaps {case.gaps:.0%}" if case.gaps else ""
    compared = case.n_partitions * case.n_samples * (case.n_samples - 1) // 2
    rate, bare = compared / _processor_seconds(ensemble, case.repeats), bare_rate()
    yield (
        f"  {rate:.2g} comparisons a processor second, bare loop {bare:.2g}: "
        f"{bare / rate:.1f} times"
    )
    if not case.numpy:
        yield _row(agreement, case, cost)
        return
    theirs, numpy_cost = _measure(lambda: numpy_scores(ensemble.labels), 1)
    for variant in VARIANTS:
        _check_equal(ours[0][variant], theirs[variant], variant)
    yield _row(agreement, case, cost, numpy_cost)


def bare_rate() -> float:
    """Return comparisons per processor second of a loop that only counts equal labels.

    Over 256 columns in the first-level cache; the best of five.
    """
    rng = np.random.default_rng(0)
    rows, columns = (
        rng.integers(0, 5, size, dtype=np.uint8) for size in (1_000_000, 256)
    )
    counts = np.zeros(len(columns), np.uint8)
    count = partial(_count_equal, rows, columns, counts)
    return len(rows) * len(columns) / _least_processor_seconds(count, 5)


def _processor_seconds(ensemble: Ensemble, repeats: int) -> float:
    """Return processor seconds of the pass over the pairs."""
    count = partial(count_agreements, ensemble, n_jobs=1)
    return _least_processor_seconds(count, repeats)


def _least_processor_seconds(function: Callable[[], Any], repeats: int) -> float:
    """Least processor time of several runs after a first, which compiles."""
    function()
    seconds = []
    for _ in range(repeats):
        start = process_time()
        function()
        seconds.append(process_time() - start)
    return min(seconds)


@kernel()
def _count_equal(rows, columns, counts):  # type: ignore[no-untyped-def]
    """Count how often each column equals a row."""
    for i in range(rows.shape[0]):
        for k in range(columns.shape[0]):
            counts[k] += 1 if columns[k] == rows[i] else 0


def _all_scores(ensemble: Ensemble) -> tuple[dict[str, Any], Agreement]:
    """Return scores of all variants and thresholds, with the agreements behind them."""
    agreement = count_agreements(ensemble)
    scores: dict[str, Any] = {v: discotec(agreement, v) for v in VARIANTS}
    return scores | {"thresholds": threshold_scores(agreement)}, agreement


def _ranking(case: Case) -> Iterator[str]:
    """Rank after a moved threshold, another variant, and a new constraint."""
    agreement = count_agreements(planted_ensemble(case))
    pairs = np.random.default_rng(0).integers(0, case.n_samples, (50, 2))
    changes: dict[str, dict[str, Any]] = {
        "new threshold": {"threshold": agreement.threshold + 1},
        "new variant": {"score": "discotec-kl"},
        "new constraints": {"constraints": Constraints(must_link=pairs)},
    }
    for name, change in changes.items():
        rank = partial(rank_partitions, agreement, **change)
        cost = _measure(lambda r=rank: r().to_frame(), case.repeats)[1]
        yield _row(f"ranking after {name}", case, cost)


def _suggestions(case: Case) -> Iterator[str]:
    """Time the next six questions after each of eight answers, in processor seconds."""
    ensemble = planted_ensemble(case)
    for weight in ("evidence", 1.0):
        asked, seconds = list[tuple[int, int]](), list[float]()
        for _ in range(9):
            known = Constraints(cannot_link=asked)
            start = process_time()
            found = suggest_pairs(ensemble, known, 6, constraint_weight=weight)
            seconds.append(process_time() - start)
            asked.append(found[0].pair)
        first, *later = (1e3 * one for one in seconds)
        yield (
            f"  six questions, {weight}: {first:.0f} ms of the processor at first, "
            f"{median(later):.0f} ms after an answer, at most {max(later):.0f}"
        )


def _tiles(case: Case) -> Iterator[str]:
    """Draw tiles of 600 x 600 pixels at several zooms, grouped by a partition."""
    ensemble = planted_ensemble(case)
    order = order_by_partition(ensemble, 0).order
    source, cost = _measure(lambda: TileSource(ensemble, order), 1)
    yield _row("preparing tiles", case, cost)
    size = case.n_samples
    for kind in ("consensus", "binarised"):
        for zoom in (1, 10, 100):
            side = size // zoom
            spans = ((size - side) // 2, (size + side) // 2), (0, side)
            view = partial(
                consensus_tile, source, *spans, shape=(PIXELS, PIXELS), kind=kind
            )
            tile, cost = _measure(view, case.repeats)
            name = f"{'' if tile.exact else 'sampled '}{kind} tile, zoom {zoom}"
            if not (case.numpy and zoom == 1 and kind == "consensus"):
                yield _row(name, case, cost)
                continue
            labels = ensemble.labels[:, order]
            theirs, numpy_cost = _measure(partial(numpy_tile, labels, tile), 1)
            _check_equal(tile.values, theirs, name, 1e-6)  # single precision
            yield _row(name, case, cost, numpy_cost)


def numpy_scores(labels: np.ndarray) -> dict[str, np.ndarray]:
    """Return scores of the four variants by their definitions, on the full matrices."""
    consensus = np.zeros((labels.shape[1],) * 2)
    for row in labels:
        consensus += row[:, None] == row
    consensus /= len(labels)
    binarised = consensus >= consensus.mean()
    scores: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    for row in labels:
        joined = row[:, None] == row
        agreeing = np.where(joined, consensus, 1 - consensus)
        scores["kl"].append(-np.log(agreeing).mean())
        scores["tv"].append(1 - agreeing.mean())
        scores["hellinger"].append(1 - np.sqrt(agreeing).mean())
        scores["binary"].append((joined != binarised).mean())
    return {variant: np.array(values) for variant, values in scores.items()}


def numpy_tile(labels: np.ndarray, tile: Any) -> np.ndarray:
    """Return the mean consensus of the pixels of a tile from its part of the matrix."""
    rows, cols = labels[:, slice(*tile.rows)], labels[:, slice(*tile.cols)]
    matrix = np.zeros((rows.shape[1], cols.shape[1]))
    for a, b in zip(rows, cols, strict=True):
        matrix += a[:, None] == b
    edges = tile.row_edges - tile.rows[0], tile.col_edges - tile.cols[0]
    sums = np.add.reduceat(matrix, edges[0][:-1], axis=0)
    sums = np.add.reduceat(sums, edges[1][:-1], axis=1)
    return sums / np.outer(*map(np.diff, edges)) / len(labels)


def _measure(function: Callable[[], Any], repeats: int) -> tuple[Any, Cost]:
    """Result, median time and peak memory of a function; repeated after a first run."""
    _reset_peak()
    before = _resident("VmRSS")
    if repeats > 1:
        function()
    seconds = []
    for _ in range(repeats):
        start = perf_counter()
        result = function()
        seconds.append(perf_counter() - start)
    return result, Cost(median(seconds), max(_resident("VmHWM") - before, 0))


def _reset_peak() -> None:
    """Let the high-water mark of memory start again, where the system can."""
    if PROCESS.exists():
        (PROCESS / "clear_refs").write_text("5")


def _resident(field: str) -> float:
    """Resident memory in MB: now (VmRSS) or the most so far (VmHWM)."""
    if not PROCESS.exists():
        scale = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6
    for line in (PROCESS / "status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024 / 1e6
    raise OSError(f"{PROCESS / 'status'} has no field {field}.")


def _check_equal(ours: Any, theirs: Any, what: str, tolerance: float = 1e-9) -> None:
    """Stop if two results differ by more than the tolerance."""
    error = float(np.abs(np.asarray(ours) - np.asarray(theirs)).max())
    if error > tolerance:
        raise SystemExit(f"{what}: differs from NumPy by {error:.1e}.")


def _row(what: str, case: Case, cost: Cost, numpy: Cost | None = None) -> str:
    """Format one result."""
    bound = "" if PROCESS.exists() else "<"
    cells = [f"{cost.seconds * 1e3:,.1f} ms", f"{bound}{cost.megabytes:,.0f} MB"]
    if numpy is None:
        cells += ["", "", ""]
    else:
        cells += [
            f"{numpy.seconds * 1e3:,.0f} ms",
            f"{bound}{numpy.megabytes:,.0f} MB",
            f"{numpy.seconds / cost.seconds:,.0f} x",
        ]
    return _line(what, f"{case.n_samples:,}", str(case.n_partitions), *cells)


def _line(*cells: str) -> str:
    """Align cells in columns."""
    widths = (36, 10, 5, 12, 9, 12, 9, 8)
    first, *others = zip(cells, widths, strict=True)
    return f"{first[0]:<{first[1]}}" + "".join(f"{c:>{w}}" for c, w in others)


if __name__ == "__main__":
    main()
