"""New rows of labelled sets: whether clusters are kept and "nowhere" finds new groups.

    python -m benchmarks.new_rows --data FOLDER [SET ...]

A partition of 70 % of the rows, by k-means, Ward's linkage and HDBSCAN, is kept and
assigned to the other 30 %. Compared by the adjusted Rand index with the partition of
the same method refitted on all rows, beside 15 nearest neighbours on its labels, and
the method's own way: nearest centre, `approximate_predict`. Both assign noise to some
rows, so HDBSCAN is compared at equal coverage, too. `both`: rows with a cluster in both
methods and in the refitted partition. `equal`: the assigner withholds as many rows as
`approximate_predict`, the least clear first; each method is evaluated on the rows that
it assigns to a cluster, with the noise of the refitted partition as one more label.
`reproduced` is the share of the 70 % that keep their cluster, `error` the expected
calibration error of the held-out shares. For "nowhere" each class of the labels (at
most five) is left out in turn: `roc` is the area under the curve of one minus p,
left-out class against new rows of the other classes, `false` the rate among the latter.

With --drift N each table is split in two N times, k-means of one half is kept, and the
other half is given as it is; with one cluster made a fifth more frequent (`share`: the
test of the shares); with the first column shifted by .3 standard deviations; with 3 %
of the rows moved ten standard deviations away (`new group`). Rates of "refit", or of a
test of the shares with p at most .05.

FOLDER holds files <collection>/<set>.csv.gz, features and then a column `label`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from clusterlens import Segmentation, prepare
from clusterlens.compute.assigning.assigner import Assigned
from clusterlens.compute.assigning.fitting import fit_assigner

SETS = (
    *("iris", "wine", "ecoli", "glass_identification", "dermatology", "yeast"),
    *(
        "banknote_authentication",
        "raisin",
        "wireless_indoor_localization",
        "wine_quality",
    ),
    *("statlog_image_segmentation", "rice_dataset_cammeo_and_osmancik", "date_fruit"),
    *("chainlink", "target", "lsun3d", "aggregation", "spiral", "pathbased", "s2"),
)
ALPHA = 0.05
MOST_CLASSES = 5


def main() -> None:
    """Print a row per set and method, a row per set for nowhere, and the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="sets")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--drift", type=int, default=0, metavar="N")
    given = parser.parse_args()
    tables = {name: read(given.data, name) for name in given.names or SETS}
    kept = pd.DataFrame([r for n, t in tables.items() for r in held_out(n, *t)])
    print(kept.round(3).to_string(index=False))
    print(kept.groupby("method").mean(numeric_only=True).round(3).to_string())
    well = kept.groupby("set")["reproduced"].min() >= 0.99
    print(f"at least 99 % reproduced, all methods: {well.sum()} of {len(well)} sets")
    if given.drift:
        moved = pd.DataFrame([drift(n, *t, given.drift) for n, t in tables.items()])
        print(moved.round(2).to_string(index=False))
        print(moved.mean(numeric_only=True).round(3).to_string())
    strange = pd.DataFrame([left_out_classes(n, *t) for n, t in tables.items()])
    print(strange.round(3).to_string(index=False))
    print(strange.mean(numeric_only=True).round(3).to_string())


def read(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return standardised features without gaps, and the labels."""
    path = next(folder.rglob(f"{name}.csv.gz"))
    table = pd.read_csv(path).dropna()
    labels = pd.factorize(table.pop("label"), sort=True)[0]
    return StandardScaler().fit_transform(table), labels


def held_out(name: str, X: np.ndarray, labels: np.ndarray) -> Iterator[dict]:
    """Yield the results on 30 % of the rows under partitions of the others."""
    import hdbscan

    k = len(np.unique(labels))
    train, test = train_test_split(np.arange(len(X)), test_size=0.3, random_state=0)
    methods = {
        "k-means": lambda: KMeans(k, n_init=10, random_state=0),
        "ward": lambda: AgglomerativeClustering(k),
        "hdbscan": lambda: hdbscan.HDBSCAN(15, prediction_data=True),
    }
    for method, make in methods.items():
        fitted = make().fit(X[train])
        whole = make().fit(X).labels_[test]
        assigner = fit_assigner(X[train], fitted.labels_.astype(np.int64))
        assigned = assigner.assign(X[test])
        voting = KNeighborsClassifier(15).fit(X[train], fitted.labels_)
        own = np.full(len(test), np.nan)
        if method == "k-means":
            own = fitted.predict(X[test])
        if method == "hdbscan":
            own = hdbscan.approximate_predict(fitted, X[test])[0]
        yield {
            "set": name,
            "method": method,
            "rule": assigner.rule,
            "reproduced": assigner.reproduced,
            "error": assigner.calibration_error,
            "assigner": adjusted_rand_score(whole, assigned.cluster),
            "knn": adjusted_rand_score(whole, voting.predict(X[test])),
            "own": np.nan if np.isnan(own).any() else adjusted_rand_score(whole, own),
        } | (equally_covered(whole, assigned, own) if method == "hdbscan" else {})


def equally_covered(whole: np.ndarray, assigned: Assigned, own: np.ndarray) -> dict:
    """Compare two that withhold rows where both, and as many rows each, are given."""
    own_given = own >= 0
    both = own_given & (assigned.cluster >= 0) & (whole >= 0)
    forced = np.where(assigned.cluster < 0, assigned.other, assigned.cluster)
    sure = np.where(assigned.cluster < 0, -assigned.clearness, assigned.clearness)
    first = np.argsort(-sure, kind="stable")[: own_given.sum()]
    return {
        "assigner, both": adjusted_rand_score(whole[both], assigned.cluster[both]),
        "own, both": adjusted_rand_score(whole[both], own[both]),
        "assigner, equal": adjusted_rand_score(whole[first], forced[first]),
        "own, equal": adjusted_rand_score(whole[own_given], own[own_given]),
        "assigner, noise": (assigned.cluster < 0).mean(),
        "own, noise": (~own_given).mean(),
    }


def left_out_classes(name: str, X: np.ndarray, labels: np.ndarray) -> dict:
    """Return how well rows of a left-out class are separated."""
    areas, alarms = [], []
    for c in np.unique(labels)[:MOST_CLASSES]:
        inside = np.flatnonzero(labels != c)
        train, test = train_test_split(inside, test_size=0.3, random_state=0)
        assigner = fit_assigner(X[train], labels[train])
        usual = assigner.assign(X[test]).p
        strange = assigner.assign(X[labels == c]).p
        new = np.repeat([0, 1], [len(usual), len(strange)])
        areas.append(roc_auc_score(new, 1 - np.r_[usual, strange]))
        alarms.append((usual <= ALPHA).mean())
    return {"set": name, "roc": np.mean(areas), "false": np.mean(alarms)}


def drift(name: str, X: np.ndarray, labels: np.ndarray, n_splits: int) -> dict:
    """Return how often halves of a table, unchanged and changed, give an alarm."""
    k = len(np.unique(labels))
    table = pd.DataFrame(X).add_prefix("x")
    rates = dict.fromkeys(("false", "share, false", "share", "shift", "new group"), 0.0)
    for seed in range(n_splits):
        rng = np.random.default_rng(seed)
        first, second = np.array_split(rng.permutation(len(X)), 2)
        dataset = prepare(table.iloc[first])
        found = KMeans(k, n_init=3, random_state=seed).fit(dataset.X).labels_
        seg = Segmentation(dataset, found)
        other = table.iloc[second]
        plain = seg.drift(other)
        largest = plain.shares["now"].idxmax()
        inside = (seg.assign(other)["cluster"] == largest).to_numpy()
        weights = np.where(
            inside, 1.2, 1 - 0.2 * inside.sum() / max(1, (~inside).sum())
        )
        drawn = rng.choice(len(other), len(other), p=weights / weights.sum())
        shifted = other.assign(x0=other["x0"] + 0.3 * table["x0"].std())
        new = other.copy()
        new.iloc[: round(0.03 * len(new))] += 10.0
        again = other.iloc[drawn].reset_index(drop=True)
        rates["false"] += plain.verdict == "refit"
        rates["share, false"] += plain.shares_p <= ALPHA
        rates["share"] += seg.drift(again).shares_p <= ALPHA
        rates["shift"] += seg.drift(shifted).verdict == "refit"
        rates["new group"] += seg.drift(new).verdict == "refit"
    return {"set": name, "rows": len(X)} | {n: r / n_splits for n, r in rates.items()}


if __name__ == "__main__":
    main()
