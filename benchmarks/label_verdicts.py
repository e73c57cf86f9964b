"""Verdicts on class labels beside a nearest-neighbour classifier and the pool.

    python -m benchmarks.label_verdicts --data FOLDER --out FOLDER [--max-samples 6000]

FOLDER holds labelled tables (CSV or Parquet, last column "label"), also in subfolders.
Each is standardised and evaluated by the rule of the page; classes of fewer than five
samples are left out. Beside the verdict stand Cohen's kappa of a nearest-neighbour
classifier (five folds) and the highest adjusted Rand index that clusterings reach: the
quick pool, and the cuts of the single-linkage tree, which finds groups of any shape
with a gap. Rows are appended to label_verdicts.csv, smallest tables first; a second
call adds the missing ones. At the end it prints them as a table, and how often a yes
is right: with the rule of the page, without borders, and with thresholds fitted to the
other tables.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.metrics import adjusted_rand_score, cohen_kappa_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from clusterlens.compute.indices.agreement_reached import pool_agreement
from clusterlens.compute.indices.borders import border_ratios
from clusterlens.compute.indices.class_match import label_match
from clusterlens.compute.indices.evidence import label_evidence
from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.ranking.ranking import rank_partitions
from clusterlens.ui.results.label_verdict import (
    APART,
    DENSE,
    GAP,
    MIXED,
    REACHED,
    TOUCHING,
    density_gain,
    weigh,
)

MOST_COLUMNS = 100
DBCV_SAMPLE = 3_000
# Thresholds to fit: the gain below which round classes touch, and the ratio of a gap.
CHOICES = (
    (0.0, 0.1, 0.2, 0.25, 0.3, TOUCHING, 0.4, 0.5),
    (0.8, 0.9, GAP, 1.1, 1.25, 1.5, 2.0, np.inf),
)


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return features and class numbers of a table."""
    table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    return table.iloc[:, :-1].to_numpy(float), pd.factorize(table["label"])[0]


def name_of(path: Path) -> str:
    """Name a table by its folder and its file."""
    return f"{path.parent.name}/{path.name.split('.')[0]}"


def tables(folder: Path, most: int) -> list[Path]:
    """Return the complete labelled tables that are not too large, smallest first."""
    found = []
    for path in folder.rglob("*.*"):
        if ".labels." in path.name or not path.name.endswith((".csv.gz", ".parquet")):
            continue
        X, labels = read(path)
        is_whole = bool(np.isfinite(X).all()) and labels.max() > 0
        if is_whole and len(X) <= most and X.shape[1] <= MOST_COLUMNS:
            found.append((X.size, path))
    return [path for _, path in sorted(found)]


def measure(path: Path) -> dict[str, object]:
    """Evaluate one table; score a classifier and clusterings against its labels."""
    X, labels = read(path)
    X = StandardScaler().fit_transform(X)
    counts = np.bincount(labels)
    kept = counts[labels] >= 5
    X, labels = X[kept], labels[kept]
    check = label_match(X, labels, n_permutations="adaptive", n_jobs=1)
    few = DBCV_SAMPLE if len(X) > DBCV_SAMPLE else None
    evidence = label_evidence(
        X, labels, n_permutations="adaptive", sample_size=few, n_jobs=1
    )
    borders = border_ratios(X, labels, sample_size=few)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    predicted = cross_val_predict(KNeighborsClassifier(1), X, labels, cv=folds)
    ensemble = run_pool(X, "quick", random_state=0, n_jobs=1)
    agreement = pool_agreement(ensemble, labels, rank_partitions(ensemble))
    verdict = weigh(check, borders, evidence, agreement)
    cuts = cut_tree(linkage(X), range(2, 3 * len(counts) + 1)).T
    single = max(adjusted_rand_score(labels, cut) for cut in cuts)
    scores = check.pairs["score"].dropna()
    return {
        "name": name_of(path),
        "n": len(X),
        "d": X.shape[1],
        "classes": len(np.unique(labels)),
        "answer": verdict.answer,
        "round": verdict.round,
        "dense": verdict.dense,
        "lowest": scores.min(),
        "apart": (scores >= APART).mean(),
        "mixed": (scores <= MIXED).mean(),
        "gain": density_gain(evidence),
        "border": borders["ratio"].min(),
        "kappa": cohen_kappa_score(labels, predicted),
        "reached": max(agreement.values.max(), single),
    }


def as_markdown(rows: pd.DataFrame) -> str:
    """Write the rows as a table, in the order of verdict and agreement reached."""
    lines = [
        "| table | n x d | classes | verdict | lowest pair | density | border | kappa "
        "| reached |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows.sort_values(["answer", "reached"], ascending=False).itertuples():
        lines.append(
            f"| {row.name} | {row.n} x {row.d} | {row.classes} | {row.answer} | "
            f"{row.lowest:.2f} | {row.gain:.2f} | {row.border:.2f} | {row.kappa:.2f} | "
            f"{row.reached:.2f} |"
        )
    return "\n".join(lines)


def is_yes(rows: pd.DataFrame, touching: float, gap: float) -> pd.Series:
    """Return which tables the rule answers with a yes, by its thresholds."""
    separate = (rows["apart"] == 1) & (rows["gain"] >= touching)
    return separate | (rows["gain"] >= DENSE[0]) | (rows["border"] >= gap)


def rates(rows: pd.DataFrame) -> str:
    """Report how often a yes agrees with the clusterings, for three rules."""
    # A table may be there under two names, with its rows in another order.
    same = rows.assign(border=rows["border"].round(6))
    rows = rows[~same.duplicated(["n", "d", "classes", "border"])].reset_index()
    found = rows["reached"] >= REACHED[0]
    choices = list(product(*CHOICES))
    right = np.array([is_yes(rows, *choice) == found for choice in choices])
    fitted = []
    for held_out in rows.index:
        of_others = np.delete(right, held_out, axis=1).sum(axis=1)
        best = np.flatnonzero(of_others == of_others.max())
        fitted.append(right[best, held_out].mean())
    answers = {
        "the rule of the page": is_yes(rows, TOUCHING, GAP),
        "without borders": is_yes(rows, TOUCHING, np.inf),
    }
    lines = [
        f"{name}: {(yes == found).mean():.2f} right of {len(rows)} tables; "
        f"{(yes & ~found).sum()} yes too many, {(~yes & found).sum()} too few"
        for name, yes in answers.items()
    ]
    lines.append(f"fitted without the table: {np.mean(fitted):.2f} right")
    return "\n".join(lines)


def main() -> None:
    """Measure the tables that are not measured yet, and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--max-samples", type=int, default=6000)
    options = parser.parse_args()
    out = options.out / "label_verdicts.csv"
    out.parent.mkdir(parents=True, exist_ok=True)
    known = set(pd.read_csv(out)["name"]) if out.exists() else set()
    for path in tables(options.data, options.max_samples):
        if name_of(path) not in known:
            row = pd.DataFrame([measure(path)])
            row.to_csv(out, mode="a", header=not out.exists(), index=False)
    rows = pd.read_csv(out)
    print(as_markdown(rows), rates(rows), sep="\n\n")


if __name__ == "__main__":
    main()
