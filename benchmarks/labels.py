"""Label match: the experiments of Jeon et al. (2025), beside the published values.

    python -m benchmarks.labels match       --data FOLDER --out FOLDER
    python -m benchmarks.labels correlation --data FOLDER --out FOLDER [--minutes 110]
    python -m benchmarks.labels time        --out FOLDER
    python -m benchmarks.labels stability   --out FOLDER
    python -m benchmarks.labels ablation    --out FOLDER [--mixtures 100]

`match` scores all data sets with 100 permutations. `correlation` (their 5.2) measures
each set by CH_btwn, within-data-set indices and tuned classifiers
(`label_measures`), finds the approximate truth (`label_truth`) and ranks the
measures by Spearman correlation with it. "ensemble" is the highest accuracy of the
classifiers on each data set, as in the paper. "CH_btwn min" and "max" aggregate the
pairs of classes in these ways instead of by their mean (axiom B3). `time` (figure 3)
compares the seconds of the measures and of the truth in that run. `stability` (their 6,
figure 4) asks whether a ranking of techniques survives another choice of data sets, and
ranks the techniques. `ablation` (their 5.1) varies size and dimension of Gaussian
mixtures.

By default `correlation` takes the sets of at most 6000 samples, smallest first, and
stops after --minutes. The classifiers take most of the time; --trials lowers the number
of settings tried per classifier. Results are appended to CSV files; a second call adds
the missing ones.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.label_measures import CLASSIFIERS, N_TRIALS, measure_functions
from benchmarks.label_tables import (
    EXTERNAL,
    PAPER_SETS,
    correlations,
    seconds_by_set,
    stabilities,
    technique_ranks,
)
from benchmarks.label_truth import TECHNIQUES, best_scores
from benchmarks.mixtures import ablation_rows, ablation_table
from clusterlens.compute.indices.class_match import label_match

mpl.use("Agg")
import matplotlib.pyplot as plt


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return features and class numbers of one data set."""
    table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    return table.iloc[:, :-1].to_numpy(float), pd.factorize(table["label"], sort=True)[
        0
    ]


def files_by_size(folder: Path) -> list[Path]:
    """Data sets of a folder, smallest first."""
    return sorted(folder.glob("*.*"), key=lambda path: len(read(path)[1]))


def name_of(path: Path) -> str:
    """Return the name of a data set without its endings."""
    return path.name.split(".")[0]


class Table:
    """A CSV file that grows row by row and knows which keys it has."""

    def __init__(self, path: Path, keys: list[str]) -> None:
        self.path, self.keys = path, keys
        path.parent.mkdir(parents=True, exist_ok=True)

    def read(self) -> pd.DataFrame:
        """Return all rows so far."""
        return pd.read_csv(self.path) if self.path.exists() else pd.DataFrame()

    def has(self, *values: object) -> bool:
        """Return whether a row with these keys exists."""
        rows = self.read()
        same = rows[self.keys] == list(values) if len(rows) else rows
        return bool(same.all(axis=1).any())

    def append(self, row: dict[str, object]) -> None:
        """Write one row at once, so that nothing is lost when the run is stopped."""
        frame = pd.DataFrame([row])
        frame.to_csv(self.path, mode="a", header=not self.path.exists(), index=False)


def run_match(data: Path, out: Path) -> None:
    """Score every data set with 100 permutations."""
    table = Table(out / "match.csv", ["name"])
    for path in files_by_size(data):
        if table.has(name_of(path)):
            continue
        X, labels = read(path)
        start = time.perf_counter()
        check = label_match(X, labels, n_permutations=100)
        seconds = time.perf_counter() - start
        table.append(
            {
                "name": name_of(path),
                "n": X.shape[0],
                "d": X.shape[1],
                "classes": labels.max() + 1,
                "score": check.score,
                "standard_error": check.standard_error,
                "seconds": seconds,
            }
        )
    rows = table.read()
    print(rows.to_string(index=False))
    print(f"{len(rows)} data sets in {rows['seconds'].sum():.1f} s (at most 30 s)")


def run_correlation(
    data: Path, out: Path, minutes: float, max_samples: int, n_trials: int
) -> None:
    """Measure data sets and find their truth until the time is over; then correlate."""
    deadline = time.monotonic() + 60 * minutes
    truth = Table(out / "truth.csv", ["name", "technique"])
    measures = Table(out / "measures.csv", ["name", "measure"])
    paths = files_by_size(data)
    for done, path in enumerate(paths, 1):
        X, labels = read(path)
        if len(X) > max_samples or time.monotonic() > deadline:
            break
        for technique in TECHNIQUES:
            if not truth.has(name_of(path), technique) and time.monotonic() < deadline:
                start = time.perf_counter()
                row = best_scores(technique, X, labels)
                row["seconds"] = time.perf_counter() - start
                truth.append({"name": name_of(path), "technique": technique} | row)
        for measure, compute in measure_functions(n_trials).items():
            if not measures.has(name_of(path), measure) and time.monotonic() < deadline:
                start = time.perf_counter()
                row = {"value": compute(X, labels)}
                row["seconds"] = time.perf_counter() - start
                row["trials"] = n_trials if measure in CLASSIFIERS else 0
                measures.append({"name": name_of(path), "measure": measure} | row)
        left = (deadline - time.monotonic()) / 60
        print(
            f"{done} of {len(paths)} sets: {name_of(path)} ({len(X)} samples), "
            f"{left:.0f} minutes left",
            flush=True,
        )
    report_correlation(truth.read(), measures.read(), out)


def report_correlation(truth: pd.DataFrame, measures: pd.DataFrame, out: Path) -> None:
    """Correlate each measure with the truth over the complete data sets."""
    table, names = correlations(truth, measures)
    table.to_csv(out / "correlation.csv", index=False)
    print(
        f"Spearman correlation with the truth over {len(names)} data sets "
        f"(the paper: {PAPER_SETS}, of which not all can be had)"
    )
    print(table.round(3).to_string(index=False))
    trials = measures.loc[measures["measure"].isin(CLASSIFIERS), "trials"]
    print(
        f"classifiers: the best of {trials.min()} to {trials.max()} random settings "
        f"(the paper: of {N_TRIALS}, most by Bayesian optimisation); ensemble: the "
        "highest of them on each data set"
    )
    print("min, max of axiom B3, and what is adjusted: no value is printed")
    plot_correlation(table, len(names), out / "correlation.png")


def plot_correlation(table: pd.DataFrame, n_sets: int, path: Path) -> None:
    """Our correlations as bars, the printed ones as marks."""
    figure, axes = plt.subplots(1, len(EXTERNAL), figsize=(13, 6), sharey=True)
    for key, axis in zip(EXTERNAL, axes, strict=True):
        axis.barh(table["measure"], table[key], color="#4477aa", label="here")
        axis.plot(table[f"{key} printed"], table["measure"], "k|", ms=12, label="paper")
        axis.set_title(key)
    axes[0].invert_yaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="upper left", ncols=2)
    figure.suptitle(f"Spearman correlation with the approximate truth, {n_sets} sets")
    save(figure, path)


def run_time(out: Path) -> None:
    """Print median seconds of each measure and of the truth, and ratios to CH_btwn."""
    seconds = seconds_by_set(
        *(pd.read_csv(out / f"{t}.csv") for t in ("truth", "measures"))
    )
    median = seconds.median().sort_values()
    table = pd.DataFrame(
        {"median seconds": median, "over CH_btwn": median / median["CH_btwn"]}
    )
    print(f"{len(seconds)} data sets; the values of figure 3 are drawn, not printed")
    print(table.round(4).to_string())
    figure, axis = plt.subplots(figsize=(7, 6))
    axis.boxplot([seconds[name] for name in median.index], orientation="horizontal")
    axis.set_yticks(range(1, len(median) + 1), median.index)
    axis.set(xscale="log", xlabel="seconds")
    save(figure, out / "time.png")


def run_stability(out: Path) -> None:
    """Measure how often technique A beats B over random choices of ten data sets."""
    truth = pd.read_csv(out / "truth.csv").pivot(
        index="name", columns="technique", values="ami"
    )
    truth = truth.dropna()
    measures = pd.read_csv(out / "measures.csv").query("measure == 'CH_btwn'")
    order = measures.set_index("name")["value"].reindex(truth.index).sort_values()
    size = min(20, len(order) // 2)
    sets = {
        "top": order.index[-size:],
        "all": order.index,
        "bottom": order.index[:size],
    }
    rows = [
        {"sets": key, "first": a, "second": b, "stability": value}
        for key, names in sets.items()
        for (a, b), value in stabilities(truth.loc[names]).items()
    ]
    table = pd.DataFrame(rows)
    table.to_csv(out / "stability.csv", index=False)
    print(f"top and bottom {size} of {len(order)} data sets by CH_btwn (the paper: 20)")
    print(
        "figure 4a: stability for pairs of techniques (the paper: near 1 for top only)"
    )
    print(table.groupby("sets")["stability"].describe().loc[list(sets)].round(3))
    ranks = technique_ranks({key: truth.loc[names] for key, names in sets.items()})
    print("figure 4b: rank of each technique by its mean AMI (drawn, not printed)")
    print(ranks.to_string())
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5))
    axes[0].boxplot([table.query("sets == @key")["stability"] for key in sets])
    axes[0].set_xticks(range(1, 4), sets)
    axes[0].set_ylabel("stability of the ranking of two techniques")
    ranks.T.plot(ax=axes[1], marker="o")
    axes[1].set(ylabel="rank by mean AMI", ylim=(len(ranks) + 0.5, 0.5))
    axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, out / "stability.png")


def run_ablation(out: Path, mixtures: int) -> None:
    """Vary size and dimension of Gaussian mixtures; print the mean relative change."""
    table = Table(out / "ablation.csv", ["mixture"])
    for mixture in range(mixtures):
        if table.has(mixture):
            continue
        for row in ablation_rows(mixture):
            table.append({"mixture": mixture} | row)
        print(f"mixture {mixture + 1} of {mixtures}", flush=True)
    summary = ablation_table(table.read())
    summary.to_csv(out / "ablation_summary.csv", index=False)
    print(summary.round(3).to_string(index=False))
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for axis, (axiom, part) in zip(axes, summary.groupby("axiom"), strict=True):
        axis.bar(part["variant"], part["change"], color="#4477aa")
        axis.plot(part["variant"], part["printed, about"], "k_", ms=30)
        axis.set_title(axiom)
    save(figure, out / "ablation.png")


def save(figure: plt.Figure, path: Path) -> None:
    """Write a figure and say where."""
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(f"figure: {path}")


def main(arguments: Iterable[str] | None = None) -> None:
    """Read the command line and run one experiment."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ("match", "correlation", "time", "stability", "ablation")
    parser.add_argument("experiment", choices=names)
    parser.add_argument("--data", type=Path, help="folder of labelled data sets")
    parser.add_argument("--out", type=Path, required=True, help="folder of results")
    parser.add_argument("--minutes", type=float, default=110.0)
    parser.add_argument("--max-samples", type=int, default=6000)
    parser.add_argument("--trials", type=int, default=N_TRIALS)
    parser.add_argument("--mixtures", type=int, default=100)
    chosen = parser.parse_args(arguments)
    if chosen.experiment in ("match", "correlation") and chosen.data is None:
        parser.error(f"{chosen.experiment} needs --data")
    # On tables this small the threads of k-means and of BLAS mostly wait.
    with threadpool_limits(1):
        if chosen.experiment == "match":
            run_match(chosen.data, chosen.out)
        elif chosen.experiment == "correlation":
            run_correlation(
                chosen.data,
                chosen.out,
                chosen.minutes,
                chosen.max_samples,
                chosen.trials,
            )
        elif chosen.experiment == "time":
            run_time(chosen.out)
        elif chosen.experiment == "stability":
            run_stability(chosen.out)
        else:
            run_ablation(chosen.out, chosen.mixtures)


if __name__ == "__main__":
    main()
