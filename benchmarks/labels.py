"""Label match: the experiments of Jeon et al. (2025), beside the published values.

    python benchmarks/labels.py match       --data FOLDER --out FOLDER
    python benchmarks/labels.py correlation --data FOLDER --out FOLDER [--minutes 110]
    python benchmarks/labels.py stability   --out FOLDER
    python benchmarks/labels.py ablation    --out FOLDER [--mixtures 100]

`match` scores all data sets with 100 permutations. `correlation` (their 5.2) measures
each set by CH_btwn, within-data-set indices and classifiers, finds the approximate
truth (`label_truth`) and ranks the measures by Spearman correlation with it.
`stability` (their 6) asks whether a ranking of techniques survives another choice of
data sets. `ablation` (their 5.1) varies size and dimension of Gaussian mixtures.

By default `correlation` takes the sets of at most 6000 samples, smallest first, and
stops after --minutes: 57 of the 65 sets at hand, about an hour of one core. Results are
appended to CSV files; a second call does what is missing.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from label_truth import EXTERNAL, TECHNIQUES, best_scores
from mixtures import ablation_rows, ablation_table
from scipy.stats import spearmanr
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from clusterlens.compute.indices.class_match import ADJUSTED_MEASURES, label_match
from clusterlens.compute.indices.indices import INDICES, internal_index

mpl.use("Agg")
import matplotlib.pyplot as plt

# Jeon et al. 2025, Table 1: Spearman correlation with the truth by AMI, adjusted Rand,
# V-measure and NMI with geometric mean.
PUBLISHED = {
    "CH_btwn": (0.7893, 0.7981, 0.7022, 0.6561),
    "DBI": (0.7091, 0.7513, 0.5719, 0.5015),
    "I": (0.5668, 0.5957, 0.6086, 0.6454),
    "XBI": (0.6201, 0.7019, 0.4934, 0.4446),
    "CHI": (0.5923, 0.6222, 0.4487, 0.3810),
    "SI": (0.5648, 0.6800, 0.4549, 0.4208),
    "DI": (0.4026, 0.3534, 0.5366, 0.5979),
    "svm": (0.5427, 0.6235, 0.4625, 0.4827),
    "knn": (0.4876, 0.5810, 0.3974, 0.4094),
    "mlp": (0.4405, 0.5386, 0.3600, 0.3761),
    "nb": (0.4126, 0.5276, 0.3157, 0.3130),
    "rf": (0.4893, 0.5741, 0.3991, 0.3889),
    "lr": (0.4456, 0.5382, 0.3666, 0.3873),
    "lda": (0.4999, 0.5726, 0.3945, 0.3606),
    "ensemble": (0.5922, 0.6748, 0.4614, 0.4099),
}
WITHIN = ("CHI", "DBI", "XBI", "DI", "I", "SI")
CLASSIFIERS = {
    "svm": lambda: SVC(),
    "knn": lambda: KNeighborsClassifier(),
    "mlp": lambda: MLPClassifier(max_iter=200, random_state=0),
    "nb": lambda: GaussianNB(),
    "rf": lambda: RandomForestClassifier(random_state=0),
    "lr": lambda: LogisticRegression(max_iter=200),
    "lda": lambda: LinearDiscriminantAnalysis(),
}
N_DRAWS = 1000
SETS_PER_DRAW = 10


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Features and class numbers of one data set."""
    table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    return table.iloc[:, :-1].to_numpy(float), pd.factorize(table["label"], sort=True)[
        0
    ]


def files_by_size(folder: Path) -> list[Path]:
    """Data sets of a folder, smallest first."""
    return sorted(folder.glob("*.*"), key=lambda path: len(read(path)[1]))


def name_of(path: Path) -> str:
    """Name of a data set without its endings."""
    return path.name.split(".")[0]


class Table:
    """A CSV file that grows row by row and knows which keys it has."""

    def __init__(self, path: Path, keys: list[str]) -> None:
        self.path, self.keys = path, keys
        path.parent.mkdir(parents=True, exist_ok=True)

    def read(self) -> pd.DataFrame:
        """All rows so far."""
        return pd.read_csv(self.path) if self.path.exists() else pd.DataFrame()

    def has(self, *values: object) -> bool:
        """Whether a row with these keys is there."""
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


def run_correlation(data: Path, out: Path, minutes: float, max_samples: int) -> None:
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
        for measure, compute in measure_functions().items():
            if not measures.has(name_of(path), measure) and time.monotonic() < deadline:
                start = time.perf_counter()
                row = {"value": compute(X, labels)}
                row["seconds"] = time.perf_counter() - start
                measures.append({"name": name_of(path), "measure": measure} | row)
        left = (deadline - time.monotonic()) / 60
        print(
            f"{done} of {len(paths)} sets: {name_of(path)} ({len(X)} samples), "
            f"{left:.0f} minutes left",
            flush=True,
        )
    report_correlation(truth.read(), measures.read(), out)


def measure_functions() -> dict[str, Callable[[np.ndarray, np.ndarray], float]]:
    """Every measure of a labelled data set, higher being better."""

    def within(name: str) -> Callable[[np.ndarray, np.ndarray], float]:
        sign = 1 if INDICES[name].greater_is_better else -1
        return lambda X, labels: sign * internal_index(name, scaled(X), labels)

    def adjusted(name: str) -> Callable[[np.ndarray, np.ndarray], float]:
        return lambda X, labels: label_match(X, labels, measure=name).score

    def accuracy(name: str) -> Callable[[np.ndarray, np.ndarray], float]:
        return lambda X, labels: cross_validated(CLASSIFIERS[name](), X, labels)

    return (
        {"CH_btwn": lambda X, labels: label_match(X, labels).score}
        | {name: within(name) for name in WITHIN}
        | {f"{name} adjusted": adjusted(name) for name in ADJUSTED_MEASURES}
        | {name: accuracy(name) for name in CLASSIFIERS}
    )


def scaled(X: np.ndarray) -> np.ndarray:
    """The whole table divided by its largest absolute entry (the I index needs it)."""
    return X / max(np.abs(X).max(), 1e-300)


def cross_validated(model: object, X: np.ndarray, labels: np.ndarray) -> float:
    """Mean accuracy in five folds on standardised features."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        # Small classes and unfinished optimisation are part of the comparison.
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        pipeline = make_pipeline(StandardScaler(), model)
        return float(cross_val_score(pipeline, X, labels, cv=folds).mean())


def report_correlation(truth: pd.DataFrame, measures: pd.DataFrame, out: Path) -> None:
    """Correlate each measure with the truth over the complete data sets."""
    best = truth.groupby("name")[list(EXTERNAL)].max()
    best = best[truth.groupby("name").size() == len(TECHNIQUES)]
    values = measures.pivot(index="name", columns="measure", values="value")
    values["ensemble"] = values[list(CLASSIFIERS)].mean(axis=1)
    names = best.index.intersection(values.dropna().index)
    rows = []
    for measure in dict.fromkeys([*PUBLISHED, *values.columns]):
        ours = {
            key: spearmanr(values.loc[names, measure], best.loc[names, key]).statistic
            for key in EXTERNAL
        }
        printed = dict(zip(EXTERNAL, PUBLISHED.get(measure, [np.nan] * 4), strict=True))
        without = [
            spearmanr(
                values.loc[names.drop(name), measure], best.loc[names.drop(name), "ami"]
            ).statistic
            for name in names
        ]
        rows.append(
            {"measure": measure}
            | ours
            | {f"{key} printed": value for key, value in printed.items()}
            | {"ami without one set, min": min(without), "max": max(without)}
        )
    table = pd.DataFrame(rows)
    table.to_csv(out / "correlation.csv", index=False)
    print(f"Spearman correlation with the truth over {len(names)} data sets")
    print(table.round(3).to_string(index=False))
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


def run_stability(out: Path) -> None:
    """How often technique A beats B over random choices of ten data sets."""
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
    print(f"top and bottom {size} of {len(order)} data sets by CH_btwn")
    print(table.groupby("sets")["stability"].describe().loc[list(sets)].round(3))
    figure, axis = plt.subplots()
    axis.boxplot([table.query("sets == @key")["stability"] for key in sets])
    axis.set_xticks(range(1, 4), sets)
    axis.set_ylabel("stability of the ranking of two techniques")
    save(figure, out / "stability.png")


def stabilities(scores: pd.DataFrame) -> dict[tuple[str, str], float]:
    """max(p, 1 - p) for each pair of techniques, ties split in half."""
    rng = np.random.default_rng(0)
    size = min(SETS_PER_DRAW, len(scores))
    draws = np.array(
        [
            scores.to_numpy()[rng.choice(len(scores), size, replace=False)].mean(axis=0)
            for _ in range(N_DRAWS)
        ]
    )
    result = {}
    for a, b in combinations(range(scores.shape[1]), 2):
        share = np.mean((np.sign(draws[:, a] - draws[:, b]) + 1) / 2)
        result[scores.columns[a], scores.columns[b]] = max(share, 1 - share)
    return result


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
    names = ("match", "correlation", "stability", "ablation")
    parser.add_argument("experiment", choices=names)
    parser.add_argument("--data", type=Path, help="folder of labelled data sets")
    parser.add_argument("--out", type=Path, required=True, help="folder of results")
    parser.add_argument("--minutes", type=float, default=110.0)
    parser.add_argument("--max-samples", type=int, default=6000)
    parser.add_argument("--mixtures", type=int, default=100)
    chosen = parser.parse_args(arguments)
    if chosen.experiment in ("match", "correlation") and chosen.data is None:
        parser.error(f"{chosen.experiment} needs --data")
    # On tables this small the threads of k-means and of BLAS mostly wait.
    with threadpool_limits(1):
        if chosen.experiment == "match":
            run_match(chosen.data, chosen.out)
        elif chosen.experiment == "correlation":
            run_correlation(chosen.data, chosen.out, chosen.minutes, chosen.max_samples)
        elif chosen.experiment == "stability":
            run_stability(chosen.out)
        else:
            run_ablation(chosen.out, chosen.mixtures)


if __name__ == "__main__":
    main()
