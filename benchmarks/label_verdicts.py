"""Verdicts on class labels beside a nearest-neighbour classifier and the pool.

    python -m benchmarks.label_verdicts --data FOLDER --out FOLDER [--max-samples 6000]

FOLDER holds labelled tables (CSV or Parquet, last column "label"), also in subfolders.
Each is standardised and evaluated by the rule of the page; classes of fewer than five
samples are left out. Beside the verdict stand Cohen's kappa of a nearest-neighbour
classifier (five folds) and the highest adjusted Rand index that the quick pool reaches.
Rows are appended to label_verdicts.csv, smallest tables first; a second call adds the
missing ones. At the end it prints them as a table.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import cohen_kappa_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from clusterlens.compute.indices.agreement_reached import pool_agreement
from clusterlens.compute.indices.class_match import label_match
from clusterlens.compute.indices.evidence import label_evidence
from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.ranking.ranking import rank_partitions
from clusterlens.ui.nodes.verdict import APART, MIXED, density_gain, weigh

MOST_COLUMNS = 100
DBCV_SAMPLE = 3_000


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return features and class numbers of a table."""
    table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    return table.iloc[:, :-1].to_numpy(float), pd.factorize(table["label"])[0]


def name_of(path: Path) -> str:
    """Name a table by its folder and its file."""
    return f"{path.parent.name}/{path.name.split('.')[0]}"


def tables(folder: Path, most: int) -> list[Path]:
    """Return the labelled tables of a folder that are not too large, smallest first."""
    found = []
    for path in folder.rglob("*.*"):
        if ".labels." in path.name or not path.name.endswith((".csv.gz", ".parquet")):
            continue
        X, labels = read(path)
        if len(X) <= most and X.shape[1] <= MOST_COLUMNS and labels.max() > 0:
            found.append((X.size, path))
    return [path for _, path in sorted(found)]


def measure(path: Path) -> dict[str, object]:
    """Judge one table and measure what a classifier and the pool reach."""
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
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    predicted = cross_val_predict(KNeighborsClassifier(1), X, labels, cv=folds)
    ensemble = run_pool(X, "quick", random_state=0, n_jobs=1)
    agreement = pool_agreement(ensemble, labels, rank_partitions(ensemble))
    verdict = weigh(check, evidence, agreement)
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
        "kappa": cohen_kappa_score(labels, predicted),
        "pool": agreement.values.max(),
    }


def as_markdown(rows: pd.DataFrame) -> str:
    """Write the rows as a table, in the order of verdict and pool."""
    lines = [
        "| table | n x d | classes | verdict | lowest pair | density | kappa | pool |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows.sort_values(["answer", "pool"], ascending=False).itertuples():
        lines.append(
            f"| {row.name} | {row.n} x {row.d} | {row.classes} | {row.answer} | "
            f"{row.lowest:.2f} | {row.gain:.2f} | {row.kappa:.2f} | {row.pool:.2f} |"
        )
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
    print(as_markdown(pd.read_csv(out)))


if __name__ == "__main__":
    main()
