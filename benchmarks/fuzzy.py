"""Adjusted agreement of fuzzy partitions: the published experiments, and the budgets.

    python benchmarks/fuzzy.py toy        # nine points: values and ranks of the paper
    python benchmarks/fuzzy.py indices    # the nine points by other indices
    python benchmarks/fuzzy.py errors     # Monte-Carlo error (section 5.3)
    python benchmarks/fuzzy.py factorial  # values over the design factors (section 5.4)
    python benchmarks/fuzzy.py speed      # the time budgets

`errors` and `factorial` run a subset, some minutes on two cores; `--full` runs the
published design (`factorial` takes many hours). Rows go to a CSV file as they are
finished; run again, finished rows are skipped. Plots and CSV files go to --out.

`indices` adjusts other concordance indices (section 4.1): NDC with the L2 and the
maximum norm (for three clusters the L1 norm again), and Brouwer's. No printed values
are known for them; the L1 norm stands beside, and `toy` has its printed values.

Reference: R. DeWolfe, J. L. Andrews, "Random models for fuzzy clustering similarity
measures", Adv. Data Anal. Classif. (2025), doi 10.1007/s11634-025-00625-w.

The design follows the published scripts. Both partitions start as the same hard
partition; a share of the rows, the same in both, is replaced by independent Dirichlet
draws (one- sided: in the first partition only, and the second one is the fixed
reference). The share `imbalance` of the clusters has 80 % of the points and of the
precision, the sum of the Dirichlet parameters.

Hard rows leave exact zeros beside soft ones. The published code lets a zero remove its
column from the fit, and becomes the categorical model if every column has one; here
memberships are floored. `fit*` and `sym*` follow the published rule. On such rows the
two rules differ clearly, and the published rule stays near permutation.
"""

import argparse
import csv
import itertools
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute.fuzzy._expected_difference import Observed, expected_difference
from clusterlens.compute.fuzzy._pair_distances import PairWalk
from clusterlens.compute.fuzzy.adjusted import (
    adjusted_brouwer,
    adjusted_ndc,
    adjusted_rand,
)
from clusterlens.compute.fuzzy.concordance import ndc
from clusterlens.compute.fuzzy.dirichlet import DirichletFit, fit_dirichlet
from clusterlens.compute.fuzzy.partition import FuzzyPartition

mpl.use("Agg")
import matplotlib.pyplot as plt

REFERENCE = Path(__file__).parents[1] / "tests" / "reference" / "fuzzy.json"
MODELS = {"perm": "permutation", "fit": "fit", "sym": "sym", "flat": "flat"}
INDICES = {
    "L1": adjusted_ndc,
    "L2": partial(adjusted_ndc, norm=2),
    "max": partial(adjusted_ndc, norm=np.inf),
    "brouwer": adjusted_brouwer,
}
PAPER_QUADRUPLES = 1_000_000


def toy(out: Path, full: bool) -> None:
    """Print values of the ten comparisons of nine points, and their order."""
    data = json.loads(REFERENCE.read_text(encoding="utf-8"))["toy"]
    sides = {name: FuzzyPartition(rows) for name, rows in data["matrices"].items()}
    rows = []
    for key, (a, b) in data["comparison_ids"].items():
        row = {
            "id": int(key),
            "pair": f"{a} - {b}",
            "ndc": float(ndc(sides[a], sides[b])),
        }
        i, j = data["names"].index(a), data["names"].index(b)
        for short, model in MODELS.items():
            result = adjusted_ndc(sides[a], sides[b], model, precision=1e-4)
            row[short], row[f"{short}_error"] = result.value, result.standard_error
            printed = data[short].get("two_sided", {}).get("published_csv")
            row[f"{short}_published"] = printed[i][j] if printed else np.nan
            if short != "perm":
                row.update(one_sided(data, sides, a, b, short))
        rows.append(row)
    table = pd.DataFrame(rows).set_index("id")
    table.to_csv(out / "fuzzy_toy.csv")
    print(table[["pair", "ndc", *MODELS]].round(5).to_string())
    print("\nLargest difference from the published result files (10^6 samples):")
    published = table.dropna(axis=1).columns.str.endswith("_published")
    for column in table.dropna(axis=1).columns[published]:
        ours = table[column.removesuffix("_published")]
        print(
            f"  {column.removesuffix('_published'):14} "
            f"{(ours - table[column]).abs().max():.4f}"
        )
    print("\nOrder of the comparisons, most to least similar (ours above Table 2):")
    for short in ("ndc", *MODELS):
        ours = table[short].round(9).sort_values(ascending=False, kind="stable").index
        print(f"  {short:5} ours  {' '.join(f'{i:3}' for i in ours)}")
        paper = data["ranks_printed_in_paper_table_2"][short]
        print(f"        paper {' '.join(f'{i:3}' for i in paper)}")
    print("Comparisons 1 and 10 tie exactly under perm (1/13).")


def indices(out: Path, full: bool) -> None:
    """Print the ten comparisons by every index, as it is and adjusted by each model."""
    data = json.loads(REFERENCE.read_text(encoding="utf-8"))["toy"]
    sides = {name: FuzzyPartition(rows) for name, rows in data["matrices"].items()}
    pairs = [(sides[a], sides[b]) for a, b in data["comparison_ids"].values()]
    table = compare_indices(pairs, precision=1e-3)
    table.index += 1
    table.to_csv(out / "fuzzy_indices.csv")
    print("rows: the comparisons of `toy`; no values of L2, max, brouwer are printed")
    print(table.round(3).to_string())
    print("\nlargest difference of an adjusted value from that of the L1 norm:")
    adjusted = table.drop(columns="observed", level="value")
    for name in list(INDICES)[1:]:
        gaps = (adjusted[name] - adjusted["L1"]).abs().max()
        print(f"  {name:8}", "  ".join(f"{m} {gap:.3f}" for m, gap in gaps.items()))


def compare_indices(
    pairs: list[tuple[FuzzyPartition, FuzzyPartition]], precision: float
) -> pd.DataFrame:
    """Observed and adjusted values of each pair (row) by every index."""
    rows = []
    for u, v in pairs:
        row = {}
        for name, adjust in INDICES.items():
            for short, model in MODELS.items():
                result = adjust(u, v, model, precision=precision)
                row[name, "observed"] = result.observed
                row[name, short] = result.value
        rows.append(row)
    table = pd.DataFrame(rows)
    table.columns = pd.MultiIndex.from_tuples(table.columns, names=["index", "value"])
    return table


def one_sided(
    data: dict, sides: dict[str, FuzzyPartition], a: str, b: str, short: str
) -> dict[str, float]:
    """Return values with either side fixed, beside the published ones [row fixed]."""
    published = data[short]["one_sided_row_fixed_column_random"]["published_csv"]
    i, j = data["names"].index(a), data["names"].index(b)
    row = {}
    for fixed, value in (("u", published[i][j]), ("v", published[j][i])):
        result = adjusted_ndc(sides[a], sides[b], MODELS[short], fixed, precision=1e-4)
        row[f"{short}_fixed_{fixed}"] = result.value
        row[f"{short}_fixed_{fixed}_published"] = value
    return row


def errors(out: Path, full: bool) -> None:
    """Measure the spread of repeated estimates, against plain pairing of quadruples."""
    n_pairs, n_repeats = (10, 100) if full else (1, 10)
    factors = {
        "clusters": (2, 50),
        "points": (100, 1000),
        "imbalance": (0.8, 0.2),
        "rate": (0.5, 1.0),
        "precision": (0.1, 1.0, 1.5),
        "pair": range(n_pairs),
        "model": ("fit", "sym"),
    }

    def cell(key: dict) -> dict:
        rng = np.random.default_rng([key["pair"], key["clusters"], key["points"]])
        U, V = two_partitions(key, rng)
        start = time.perf_counter()
        runs = [
            adjusted_ndc(U, V, key["model"], random_state=r) for r in range(n_repeats)
        ]
        seconds = (time.perf_counter() - start) / n_repeats
        values = np.array([run.value for run in runs])
        plain_error, plain_seconds = plain_pairing(U, V, key["model"], rng)
        slope = (1 - runs[0].observed) / (1 - runs[0].expected) ** 2
        return {
            "mean": values.mean(),
            "largest_error": np.abs(values - values.mean()).max(),
            "spread": values.std(ddof=1),
            "stated_error": np.mean([run.standard_error for run in runs]),
            "seconds": seconds,
            "paper_spread": plain_error * slope,
            "paper_seconds": plain_seconds,
        }

    table = run_cells(out / f"fuzzy_errors{'_full' * full}.csv", factors, cell)
    table = table[(table["mean"] > 0) & (table["spread"] > 0)]
    gain = (
        table["paper_spread"]
        * table["paper_seconds"] ** 0.5
        / (table["spread"] * table["seconds"] ** 0.5)
    )
    print(f"{len(table)} cells with a positive mean. Flat is exact: no error.")
    print(table.groupby("model")[["largest_error", "spread", "stated_error"]].max())
    print(
        f"share of errors below 0.01: {(table['largest_error'] < 0.01).mean():.4f} "
        "(paper: 0.995); largest: "
        f"{table['largest_error'].max():.5f} (paper: 0.02)"
    )
    print(
        "standard error of 10^6 quadruples over ours at equal time, "
        "median and 5 % / 95 % quantiles:",
        gain.quantile([0.5, 0.05, 0.95]).round(1).tolist(),
    )
    figure, axes = plt.subplots(figsize=(6, 4))
    axes.loglog(table["paper_spread"], table["spread"], ".")
    axes.axline((1e-4, 1e-4), (1e-3, 1e-3), color="0.6")
    axes.set(
        xlabel="standard error of 10^6 quadruples", ylabel="spread of our estimates"
    )
    figure.savefig(out / "fuzzy_errors.png", dpi=150, bbox_inches="tight")


def plain_pairing(
    U: FuzzyPartition, V: FuzzyPartition, model: str, rng: np.random.Generator
) -> tuple[float, float]:
    """Standard error and seconds of E from 10^6 quadruples, from a part of them."""
    part = 20_000
    start = time.perf_counter()
    x, y = (
        drawn_distances(fit_dirichlet(side, symmetric=model == "sym"), part, rng)
        for side in (U, V)
    )
    error = np.abs(x - y).std() / PAPER_QUADRUPLES**0.5
    return error, (time.perf_counter() - start) * PAPER_QUADRUPLES / part


def drawn_distances(
    fit: DirichletFit, n_pairs: int, rng: np.random.Generator
) -> np.ndarray:
    """Return distances of independent pairs of rows of a fitted distribution."""
    if fit.kind == "categorical":
        labels = rng.choice(len(fit.mean), size=(2, n_pairs), p=fit.mean)
        return (labels[0] != labels[1]) * 1.0
    rows = rng.dirichlet(np.maximum(fit.alpha, 1e-300), (2, n_pairs))
    return np.abs(rows[0] - rows[1]).sum(axis=1) / 2


def factorial(out: Path, full: bool) -> None:
    """Average the adjusted values over the factors of the design."""
    powers = 2 ** np.arange(1, 8)
    factors = {
        "sides": ("two", "one"),
        "clusters": powers.tolist() if full else (2, 16, 128),
        "points": (64 * powers).tolist() if full else (512, 2048),
        "imbalance": (0.8, 0.6, 0.4, 0.2) if full else (0.8, 0.2),
        "precision": (0.0, 0.01, 0.1, 1.0, 1.5),
        "rate": (0.2, 0.4, 0.6, 0.8, 1.0),
        "run": range(5 if full else 1),
    }

    def cell(key: dict) -> dict:
        rng = np.random.default_rng(
            [key["run"], key["clusters"], key["points"], int(100 * key["rate"])]
        )
        is_one_sided = key["sides"] == "one"
        U, V = two_partitions(key, rng, is_one_sided)
        fixed = "v" if is_one_sided else None
        row = {"ndc": float(ndc(U, V))}
        for short, model in MODELS.items():
            result = adjusted_ndc(U, V, model, fixed, precision=2e-3)
            row[short], row[f"{short}_error"] = result.value, result.standard_error
        for short in ("fit", "sym"):
            row[f"{short}*"] = published_value(
                U, V, short == "sym", row["ndc"], is_one_sided
            )
        return row

    table = run_cells(out / f"fuzzy_factorial{'_full' * full}.csv", factors, cell)
    names = [name for name in factors if name not in ("sides", "run")]
    for sides, part in table.groupby("sides"):
        figure, axes = plt.subplots(1, len(names), figsize=(16, 3.2), sharey=True)
        for axis, name in zip(axes, names, strict=True):
            means = part.groupby(name)[["ndc", *MODELS, "fit*", "sym*"]].mean()
            print(f"\n{sides}-sided, mean by {name}:\n{means.round(3).to_string()}")
            means.plot(ax=axis, marker="o", legend=False)
            if name in ("clusters", "points"):
                axis.set_xscale("log", base=2)
        axes[-1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
        figure.savefig(
            out / f"fuzzy_factorial_{sides}.png", dpi=150, bbox_inches="tight"
        )
    print_shape(table[table["sides"] == "two"])


def print_shape(table: pd.DataFrame) -> None:
    """Say whether the two-sided means have the shape that the paper describes."""

    models = ["perm", "fit*", "sym*", "flat"]

    def moves(column: str, factor: str, sign: int) -> bool:
        means = table.groupby(factor)[column].mean()
        return bool(sign * (means.iloc[-1] - means.iloc[0]) > 0)

    def gap(factor: str) -> float:
        means = table.groupby(factor)[models].mean()
        return float((means["fit*"] - means["perm"]).abs().max())

    widest = max(map(gap, ("clusters", "points", "imbalance", "precision", "rate")))
    facts = {
        f"fit* and perm within 0.07 of each other (widest: {widest:.3f})": widest
        <= 0.07,
        "flat rises with the number of clusters": moves("flat", "clusters", 1),
        "sym* falls with the number of clusters": moves("sym*", "clusters", -1),
        "all fall with the randomise rate": all(moves(m, "rate", -1) for m in models),
        "sym* and flat rise with balance": all(
            moves(m, "imbalance", 1) for m in ("sym*", "flat")
        ),
    }
    print("\nShape described in the paper, two-sided:")
    for fact, holds in facts.items():
        print(f"  {'yes' if holds else 'NO '}  {fact}")


def two_partitions(
    key: dict, rng: np.random.Generator, one_sided: bool = False
) -> tuple[FuzzyPartition, FuzzyPartition]:
    """Make two copies of a hard partition with a share of the rows drawn at random."""
    n_clusters, n_points = key["clusters"], key["points"]
    large = int(key["imbalance"] * n_clusters)
    n_large_points = int(np.ceil(0.8 * n_points)) if large else 0
    labels = np.arange(n_points)
    labels[:n_large_points] %= max(large, 1)
    labels[n_large_points:] = large + labels[n_large_points:] % (n_clusters - large)
    weights = np.full(n_clusters, 0.2 / (n_clusters - large))
    weights[:large] = 0.8 / max(large, 1)
    drawn = rng.permutation(n_points)[: round(key["rate"] * n_points)]
    copies = []
    for is_random in (True, not one_sided):
        rows = np.eye(n_clusters)[labels]
        if is_random and key["precision"] == 0:
            p = weights / weights.sum()
            rows[drawn] = np.eye(n_clusters)[rng.choice(n_clusters, len(drawn), p=p)]
        elif is_random:
            rows[drawn] = rng.dirichlet(key["precision"] * weights, len(drawn))
        copies.append(FuzzyPartition(rows))
    return copies[0], copies[1]


def published_fit(partition: FuzzyPartition, symmetric: bool) -> DirichletFit:
    """Fit as the published code does: categorical if every column has a zero."""
    rows = partition.occupied
    if not (rows == 0).any(axis=0).all():
        return fit_dirichlet(partition, symmetric, floor=1e-300)
    mean = np.full(rows.shape[1], 1 / rows.shape[1]) if symmetric else rows.mean(axis=0)
    return DirichletFit(mean, 0.0)


def published_value(
    U: FuzzyPartition, V: FuzzyPartition, symmetric: bool, observed: float, fixed: bool
) -> float:
    """Adjust an observed NDC by the expectation under the published fits."""
    rng, walk = np.random.default_rng(0), PairWalk()
    x = published_fit(U, symmetric)
    y = Observed(V, rng, walk) if fixed else published_fit(V, symmetric)
    chance = expected_difference(x, y, lambda value: 1e-3 * value, rng, walk)
    return 1 - (1 - observed) / chance.value


def run_cells(path: Path, factors: dict, cell: Callable[[dict], dict]) -> pd.DataFrame:
    """Run every combination of factors that is not in the CSV file at path yet."""
    names = list(factors)
    done = set()
    if path.exists():
        done = set(map(tuple, pd.read_csv(path)[names].astype(str).to_numpy()))
    keys = [
        dict(zip(names, key, strict=True))
        for key in itertools.product(*factors.values())
    ]
    open_keys = [key for key in keys if tuple(map(str, key.values())) not in done]
    with path.open("a", newline="", encoding="utf-8") as file:
        for i, row in enumerate(finished(open_keys, cell), start=1):
            writer = csv.DictWriter(file, fieldnames=list(row))
            if file.tell() == 0:
                writer.writeheader()
            writer.writerow(row)
            file.flush()
            print(
                f"\r{len(keys) - len(open_keys) + i}/{len(keys)}",
                end="",
                file=sys.stderr,
            )
    print(file=sys.stderr)
    return pd.read_csv(path)


def finished(keys: list[dict], cell: Callable[[dict], dict]) -> Iterator[dict]:
    """Yield the factors and results of each cell."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*expects a concordance")
        for key in keys:
            yield {**key, **cell(key)}


def speed(out: Path, full: bool) -> None:
    """Print the time of the budgets: medians of seven runs after a warm-up.

    Processor seconds of all threads are less affected by other load on the machine.
    """
    rng = np.random.default_rng(0)
    base = rng.dirichlet(np.full(10, 0.3), 2000)
    other = (base + rng.dirichlet(np.full(10, 0.6), 2000)) / 2
    large = [rng.dirichlet(np.full(5, alpha), 10_000) for alpha in (0.4, 0.6)]
    labels = rng.integers(0, 300, (2, 200_000))

    def every_model(fixed: tuple = (None,)) -> float:
        results = [
            adjusted_ndc(base, other, model, side)
            for model in MODELS.values()
            for side in fixed
        ]
        return max(result.standard_error for result in results)

    cases = {
        "all models, n=2000 K=10 (1 s)": every_model,
        "all models, two- and one-sided": lambda: every_model((None, "u", "v")),
        "exact NDC, n=10,000 K=5 (2 s)": lambda: ndc(*large).standard_error,
        "adjusted permutation, n=10,000 K=5": lambda: adjusted_ndc(*large).error_bound,
        "hard permutation against scikit-learn, n=200,000": lambda: abs(
            adjusted_rand(*labels).value - adjusted_rand_score(*labels)
        ),
    }
    rows = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*expects a concordance")
        for name, run in cases.items():
            seconds, cpu_seconds = [], []
            for _ in range(8):
                start, cpu_start = time.perf_counter(), time.process_time()
                error = run()
                seconds.append(time.perf_counter() - start)
                cpu_seconds.append(time.process_time() - cpu_start)
            rows.append(
                {
                    "case": name,
                    "seconds": np.median(seconds[1:]),
                    "cpu_seconds": np.median(cpu_seconds[1:]),
                    "error": error,
                }
            )
    table = pd.DataFrame(rows)
    table.to_csv(out / "fuzzy_speed.csv", index=False)
    print(table.to_string(index=False))


STUDIES = {
    "toy": toy,
    "indices": indices,
    "errors": errors,
    "factorial": factorial,
    "speed": speed,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--full", action="store_true", help="the published design")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    STUDIES[arguments.study](arguments.out, arguments.full)
