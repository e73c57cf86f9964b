"""Rules of clusters: the share of held-out rows that they put into their own cluster.

    python -m benchmarks.rules rules [--data FOLDER] [--seeds 5]
    python -m benchmarks.rules typing [--data FOLDER] [--questions 6]
    python -m benchmarks.rules noise [--seeds 100]

`rules`: rules of at most four conditions for the classes of a table and for its k-means
clusters, as many as there are classes, on prepared features. Printed per table are the
means over `seeds` of the share of the held-out rows that good rules put into their own
cluster, into another one and into none, and the mean number of conditions; beside them
the share that a decision tree of depth four gets right, for all clusters at once and
fitted to the same share of the rows.

`typing`: the typing tool for the same partitions: columns of the table, questions used,
their accuracy by nested cross-validation, that of one question, of a linear
discriminant of all columns, and the share of the largest cluster.

`noise`: labels that have nothing to do with the columns, as many rows of each. Printed
are the accuracy of the typing tool, the share `right` of the good rules, and the recall
and precision of rules, each as stated less that on 20,000 new rows, with its standard
error over as many tables as there are seeds.

FOLDER holds labelled tables, as <collection>/<name>.csv.gz or .parquet.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import KFold, cross_val_score, train_test_split
from sklearn.tree import DecisionTreeClassifier

import clusterlens as cl

FOLDS = KFold(5, shuffle=True, random_state=0)
BUNDLED = ("iris", "wine", "breast cancer", "customers", "blobs")
FILES = (
    *("uci/zoo", "uci/dermatology", "uci/ecoli", "uci/glass", "uci/yeast"),
    *("uci/banknote", "uci/segmentation", "uci/wdbc", "clm96/dry_bean"),
    *("clm96/wireless_indoor_localization", "clm96/date_fruit", "clm96/raisin"),
    *("sipu/s1", "sipu/aggregation", "fcps/lsun3d"),
)
# Means and standard deviations by species, and rows by island: Horst, Hill, Gorman,
# palmerpenguins (2020), doi 10.5281/zenodo.3960218.
PENGUINS = {
    "Adelie": ((38.8, 2.66), (18.3, 1.22), (190, 6.54), (3701, 459)),
    "Chinstrap": ((48.8, 3.34), (18.4, 1.14), (196, 7.13), (3733, 384)),
    "Gentoo": ((47.5, 3.08), (15.0, 0.98), (217, 6.48), (5076, 504)),
}
ISLANDS = {
    "Adelie": {"Biscoe": 44, "Dream": 56, "Torgersen": 52},
    "Chinstrap": {"Dream": 68},
    "Gentoo": {"Biscoe": 124},
}


def main() -> None:
    """Run the requested measurements."""
    parser = argparse.ArgumentParser(description="Rules of clusters.")
    parser.add_argument("what", choices=["rules", "typing", "noise"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--questions", type=int, default=6)
    given = parser.parse_args()
    if given.what == "rules":
        rules(given.data, given.seeds)
    elif given.what == "noise":
        noise(given.seeds, given.questions)
    else:
        typing(given.data, given.questions)


def typing(folder: Path | None, n_questions: int) -> None:
    """Print what few questions reach, beside all columns and a guess."""
    print(f"{'table':30}{'of':>9}{'K':>4}{'columns':>9}{'asked':>7}", end="")
    print(f"{'accuracy':>10}{'one':>8}{'all':>8}{'guess':>8}")
    for ds, kind, labels in partitions(folder):
        labels = np.unique(labels, return_inverse=True)[1]
        tool = cl.typing_tool(ds, labels, n_questions)
        reached = tool.accuracy["accuracy"]
        asked = len(tool.questions)
        whole = cross_val_score(LinearDiscriminantAnalysis(), ds.X, labels, cv=FOLDS)
        guess = np.bincount(labels).max() / len(labels)
        print(f"{ds.name:30}{kind:>9}{len(tool.clusters):4}", end="")
        print(f"{len(ds.encoded.columns):9}{asked:7}{reached[asked - 1]:10.3f}", end="")
        print(f"{reached[0]:8.3f}{whole.mean():8.3f}{guess:8.3f}", flush=True)


def noise(n_seeds: int, n_questions: int) -> None:
    """Print the figures of tool and rules on noise, less their figures on new rows."""
    for n, k in ((100, 2), (300, 3)):
        found = [flattered(n, k, seed, n_questions) for seed in range(n_seeds)]
        rows = pd.DataFrame(found)
        for name in rows:
            known = rows[name].dropna()
            print(f"{n:4} rows, {k} labels, {name:12}{known.mean():8.3f}", end="")
            print(f" +- {known.sem():.3f} ({len(known)} tables)", flush=True)


def flattered(n: int, k: int, seed: int, n_questions: int) -> dict[str, float]:
    """Return figures of one table of noise, as stated less those on new rows."""
    rng = np.random.default_rng(seed)
    table, fresh = (
        pd.DataFrame(rng.normal(size=(m, 6))).add_prefix("x") for m in (n, 20_000)
    )
    labels, new = np.arange(n) % k, np.arange(20_000) % k
    ds = cl.prepare(table)
    tool = cl.typing_tool(ds, labels, n_questions, random_state=seed)
    asked = len(tool.questions)
    rules = cl.describe_clusters(ds, labels, random_state=seed)
    right = (rules.predict(fresh).fillna(-1) == new).mean()
    recalls, precisions = [], []
    for rule in rules.rules:
        met = np.ones(len(fresh), bool)
        for one in rule.conditions:
            met &= one.holds(fresh[one.source.name].to_numpy())
        recalls.append(rule.recall - met[new == rule.cluster].mean())
        precisions.append(rule.precision - (new[met] == rule.cluster).mean())
    return {
        "accuracy": tool.accuracy["accuracy"].iloc[asked - 1]
        - (tool.predict(fresh) == new).mean(),
        "right": rules.right - right,
        "recall": float(np.mean(recalls)),
        "precision": float(np.mean(precisions)),
    }


def rules(folder: Path | None, n_seeds: int) -> None:
    """Print how many held-out rows rules put where."""
    print(f"{'table':30}{'of':>9}{'K':>4}{'right':>8}{'wrong':>8}{'none':>8}", end="")
    print(f"{'length':>8}{'good':>7}{'tree':>8}")
    for ds, kind, labels in partitions(folder):
        found = [measured(ds, labels, seed) for seed in range(n_seeds)]
        right, wrong, none, length, good, tree = np.mean(found, axis=0)
        n_clusters = len(np.unique(labels))
        print(f"{ds.name:30}{kind:>9}{n_clusters:4}", end="")
        print(f"{right:8.3f}{wrong:8.3f}{none:8.3f}{length:8.2f}", end="")
        print(f"{good:7.2f}{tree:8.3f}", flush=True)


def measured(ds: cl.Dataset, labels: np.ndarray, seed: int) -> tuple[float, ...]:
    """Return shares right, wrong and none, conditions, good rules, and the tree's."""
    rules = cl.describe_clusters(ds, labels, random_state=seed)
    n = rules.assigned.sum()
    none = rules.assigned[:, -1].sum() / n
    frame = rules.to_frame()
    return (
        rules.right,
        1 - rules.right - none,
        none,
        frame["n_conditions"].mean(),
        frame["good"].mean(),
        tree_accuracy(ds.X, labels, seed),
    )


def tree_accuracy(X: np.ndarray, labels: np.ndarray, seed: int) -> float:
    """Return the share of held-out rows that one tree of depth four gets right."""
    n_test = int(0.3 * len(X))
    fit, test = train_test_split(np.arange(len(X)), test_size=n_test, random_state=seed)
    tree = DecisionTreeClassifier(max_depth=4, random_state=seed)
    return float(tree.fit(X[fit], labels[fit]).score(X[test], labels[test]))


def partitions(folder: Path | None) -> Iterator[tuple[cl.Dataset, str, np.ndarray]]:
    """Yield prepared tables with their classes and with k-means clusters."""
    for ds in map(cl.prepare, tables(folder)):
        classes = ds.labels_true
        if classes is not None:
            yield ds, "classes", classes
        k = 4 if classes is None else len(np.unique(classes))
        model = KMeans(k, n_init=10, random_state=0)
        yield ds, "k-means", model.fit_predict(ds.X)


def tables(folder: Path | None) -> Iterator[cl.Dataset]:
    """Yield the tables, not prepared."""
    yield from map(cl.load_example, BUNDLED)
    yield cl.make_dataset(penguins(), "penguins-like", label="species")
    for name in FILES if folder is not None else ():
        path = next(folder.glob(f"{name}.*"))
        yield cl.load_table(path, name=name.split("/")[1])


def penguins() -> pd.DataFrame:
    """Three species with the published sizes of penguins, drawn independently."""
    rng = np.random.default_rng(0)
    names = ("bill length", "bill depth", "flipper length", "body mass")
    parts = []
    for species, sizes in PENGUINS.items():
        islands = np.repeat(list(ISLANDS[species]), list(ISLANDS[species].values()))
        n = len(islands)
        part = {
            name: rng.normal(*size, n).round(1)
            for name, size in zip(names, sizes, strict=True)
        }
        sex = rng.choice(["female", "male"], n)
        parts.append(
            pd.DataFrame({"species": species, "island": islands, "sex": sex, **part})
        )
    table = pd.concat(parts, ignore_index=True)
    table.loc[[3, 271], list(names)] = np.nan
    table.loc[rng.choice(len(table), 9, replace=False), "sex"] = None
    return table


if __name__ == "__main__":
    main()
