"""Which models should vote? Presets beside each other on labelled research sets.

    python -m benchmarks.crowd fit --data FOLDER --keep FOLDER
    python -m benchmarks.crowd compare --keep FOLDER
    python -m benchmarks.crowd compare --keep FOLDER --chosen "version 2"
    python -m benchmarks.crowd leaders --keep FOLDER --sets chooses
    python -m benchmarks.crowd cost

`fit` runs all candidate models on every set once and keeps their labels; it resumes.
`compare` takes each preset from them. A fixed seed splits the sets into halves: one
half chooses the preset, and the other half, printed for the chosen preset alone,
evaluates the choice. For each preset it prints means over the sets of adjusted Rand
indices with the labels: for the leader (the model closest to the consensus, number of
clusters unknown), with equal votes and with equal votes of the families, for the best
model, the mean model, and the consensus partition at the leader's number of clusters;
then the share of the sets where the leader is worse than the leader of the first preset
by more than 0.05.

`leaders` prints the leader of version 2 for each score and each weighting of the votes,
beside the leader of version 1 by the default score and equal votes: mean, gain with an
interval over the sets (2,000 resamples, 95%) and the share of resamples with a gain of
at least 0.05. Then the same for the consensus partition at the leader's number of
clusters, and for the closest cut. `--sets` selects a half, or all sets.

Features are scaled to standard deviation 1; rows with missing values are left out, and
labels of rows that a source calls noise count as a group. `cost` prints the seconds of
processor time of each preset on 10,000 x 10.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute.consensus.closest import closest_cut
from clusterlens.compute.consensus.partition import consensus_partition
from clusterlens.compute.ensemble.agreement import count_agreements
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.pool.preset_versions import FORMER_PRESETS, sized_grids
from clusterlens.compute.pool.presets import POOLS
from clusterlens.compute.ranking.ranking import SCORES, rank_partitions
from clusterlens.compute.ranking.voting import VOTES, vote_weights

HALVES_SEED = 28
FEWEST = 30  # rows without missing values
NUMBERS = [2, 3, 4, 5, 6, 8, 10]
THRESHOLDS = [0.1, 0.3, 0.5]
FIRST = [dict(grid) for grid in FORMER_PRESETS["default", 1]]


def genie(
    n_clusters: Sequence[int], min_samples: int = 1, thresholds: Sequence[float] = ()
) -> dict[str, Any]:
    """Return a grid of Genie."""
    return {
        "clusterer": "Genie",
        "gini_threshold": list(thresholds or THRESHOLDS),
        "n_clusters": list(n_clusters),
        "min_samples": min_samples,
    }


def communities(*resolutions: float) -> dict[str, Any]:
    """Return a grid of communities."""
    return {"clusterer": "communities", "resolution": list(resolutions)}


def spherical(*numbers: int) -> dict[str, Any]:
    """Return a grid of spherical k-means."""
    return {"clusterer": "spherical k-means", "n_clusters": list(numbers)}


def without(*clusterers: str) -> list[dict[str, Any]]:
    """Return the first preset without some clusterers."""
    return [grid for grid in FIRST if grid["clusterer"] not in clusterers]


FEW = [2, 3, 5, 8]
PRESETS: dict[str, list[dict[str, Any]]] = {
    "version 1": FIRST,
    "+ Genie": [*FIRST, genie(FEW)],
    "+ Genie, all k": [*FIRST, genie(NUMBERS)],
    "+ Genie 0.3, all k": [*FIRST, genie(NUMBERS, 1, [0.3])],
    "+ Genie, core of 5": [*FIRST, genie(FEW, 5)],
    "+ communities": [*FIRST, communities(0.05, 0.1, 0.2, 0.5, 1.0)],
    "+ few communities": [*FIRST, communities(0.05, 0.1, 0.2)],
    "+ spherical": [*FIRST, spherical(*FEW)],
    "+ Genie, communities": [*FIRST, genie(FEW), communities(0.05, 0.1, 0.2, 0.5, 1.0)],
    "+ Genie, few communities": [*FIRST, genie(FEW), communities(0.05, 0.1, 0.2)],
    "+ Genie core of 5, communities": [
        *FIRST,
        genie(FEW, 5),
        communities(0.05, 0.1, 0.2, 0.5, 1.0),
    ],
    "+ all k, communities": [*FIRST, genie(NUMBERS), communities(0.05, 0.1, 0.2)],
    "+ Genie, communities, spherical": [
        *FIRST,
        genie(FEW),
        communities(0.05, 0.1, 0.2),
        spherical(*FEW),
    ],
    "no OPTICS, + Genie, communities": [
        *without("OPTICS", "affinity propagation"),
        genie(FEW),
        communities(0.05, 0.1, 0.2),
    ],
    "version 2": [dict(grid) for grid in POOLS["default"]],
    "version 2, no communities": [
        dict(grid) for grid in POOLS["default"] if grid["clusterer"] != "communities"
    ],
    "version 2, Bayesian mixture": [
        *without("OPTICS", "affinity propagation"),
        genie(FEW, 5),
        communities(0.05, 0.1, 0.2),
    ],
    "version 2, Genie at all k": [
        *without("OPTICS", "affinity propagation", "Bayesian mixture"),
        genie(NUMBERS, 5),
        communities(0.05, 0.1, 0.2),
    ],
}
UNION = [
    *FIRST,
    genie(NUMBERS),
    genie(NUMBERS, 5),
    communities(0.05, 0.1, 0.2, 0.5, 1.0),
    spherical(*FEW),
]


def read(path: Path) -> tuple[Any, Any]:
    """Return features (n, d), scaled to deviation 1, and labels (n,) of a set."""
    found = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    table = found.dropna()
    X = table.drop(columns="label").to_numpy(float)
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(0)) / X.std(0), pd.factorize(table["label"])[0]


def fit(data: Path, keep: Path, most: int) -> None:
    """Run all candidates on every set of at most so many rows."""
    keep.mkdir(parents=True, exist_ok=True)
    manifest = pd.read_csv(data / "MANIFEST.csv").sort_values("n")
    named = ~manifest["name"].str.endswith(".labels")  # labels alone
    for row in manifest[named & (manifest["n"] <= most)].itertuples():
        place = keep / f"{row.collection}-{row.name}.npz"
        if place.exists():
            continue
        X, labels_true = read(data / row.file)
        if len(X) < FEWEST:
            continue
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ensemble = run_pool(X, UNION, n_jobs=1)
        print(f"{place.stem} {X.shape} {time.process_time() - start:.1f} s", flush=True)
        np.savez_compressed(
            place,
            labels=ensemble.labels.astype(np.int16),
            families=np.array(ensemble.families),
            specs=np.array([json.dumps(spec) for spec in ensemble.specs]),
            labels_true=labels_true,
        )


def voters(found: Any, name: str) -> list[bool]:
    """Which models of the union a preset has for a set of that size."""
    preset = sized_grids(PRESETS[name], len(found["labels_true"]))
    return [_takes_part(json.loads(spec), preset) for spec in found["specs"]]


def _takes_part(spec: Mapping[str, Any], preset: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a preset has a model of the union."""
    own = ("Genie", "communities", "spherical k-means")
    for grid in preset:
        if grid["clusterer"] != spec["clusterer"]:
            continue
        if spec["clusterer"] not in own:
            return True
        if all(
            spec[key] in (value if isinstance(value, list) else [value])
            for key, value in grid.items()
        ):
            return True
    return False


def judge(found: Any, name: str) -> dict[str, float]:
    """Return the columns of a preset on one set."""
    rows = voters(found, name)
    labels, families = found["labels"][rows], found["families"][rows].tolist()
    truth = found["labels_true"]
    values = np.array([adjusted_rand_score(truth, one) for one in labels])
    ensemble = Ensemble(labels.astype(int), families=families)
    leader = int(np.argmin(rank_partitions(count_agreements(ensemble)).values))
    k = max(2, int(ensemble.n_clusters[leader]))
    _, at, sizes = np.unique(families, return_inverse=True, return_counts=True)
    votes = ensemble.with_weights(1 / sizes[at])
    by_family = int(np.argmin(rank_partitions(count_agreements(votes)).values))
    partition = consensus_partition(ensemble, k, random_state=0)
    return {
        "models": len(rows) and float(sum(rows)),
        "largest family": float(sizes.max() / sizes.sum()),
        "leader": float(values[leader]),
        "leader by family": float(values[by_family]),
        "best": float(values.max()),
        "mean": float(values.mean()),
        "consensus": float(adjusted_rand_score(truth, partition)),
    }


def compare(keep: Path, names: Sequence[str], chosen: str) -> None:
    """Print presets on the half that chooses, and the chosen one on the other half."""
    places = sorted(keep.glob("*.npz"))
    order = np.random.default_rng(HALVES_SEED).permutation(len(places))
    halves = [("the half that chooses", order[: len(places) // 2], names)]
    if chosen:
        first = next(iter(PRESETS))
        halves.append(
            ("the other half", order[len(places) // 2 :], [first, chosen]),
        )
    for title, half, compared in halves:
        tables = {name: [] for name in compared}
        for at in half:
            with np.load(places[at]) as file:
                found = dict(file)
            for name in compared:
                tables[name].append(judge(found, name))
        print_half(title, {name: pd.DataFrame(t) for name, t in tables.items()})


def print_half(title: str, tables: dict[str, pd.DataFrame]) -> None:
    """Print the means of every preset over the sets of a half."""
    first = next(iter(tables.values()))
    print(f"\n{title}: {len(first)} sets")
    rows = {}
    for name, table in tables.items():
        rows[name] = table.mean()
        rows[name]["worse"] = (table["leader"] < first["leader"] - 0.05).mean()
        rows[name]["better"] = (table["leader"] > first["leader"] + 0.05).mean()
        behind = table["consensus"] < first["consensus"] - 0.05
        rows[name]["consensus worse"] = behind.mean()
    print(pd.DataFrame(rows).T.round(3).to_string(), flush=True)


def leaders(keep: Path, sets: str) -> None:
    """Print the leaders of version 2 by each score and each way to vote."""
    places = sorted(keep.glob("*.npz"))
    order = np.random.default_rng(HALVES_SEED).permutation(len(places))
    middle = len(places) // 2
    some = {"chooses": order[:middle], "other": order[middle:], "all": order}[sets]
    rows = []
    for at in some:
        with np.load(places[at]) as file:
            rows.append(led(dict(file)))
    table = pd.DataFrame(rows)
    for what in ("leader", "consensus"):
        print(f"{what}, {len(table)} sets", flush=True)
        print_gains(table.filter(regex=f"^{what}"))


def print_gains(table: pd.DataFrame) -> None:
    """Print the gains of columns over the first."""
    first = table[table.columns[0]]
    print(f"  {table.columns[0]:48s} {first.mean():.3f}")
    resamples = np.random.default_rng(0).integers(0, len(table), (2000, len(table)))
    for name in table.columns[1:]:
        gain = (table[name] - first).to_numpy()
        means = gain[resamples].mean(axis=1)
        low, high = np.quantile(means, [0.025, 0.975])
        print(
            f"  {name:48s} {table[name].mean():.3f}, gain {gain.mean():+.3f} "
            f"({low:+.3f} to {high:+.3f}), at least .05 in {(means >= 0.05).mean():.2f}"
            f", worse {(gain < -0.05).mean():.2f}",
            flush=True,
        )


def led(found: Any) -> dict[str, float]:
    """Return the adjusted Rand index of the leaders of version 1 and version 2.

    For version 2 by each rule. Also the index of the consensus partition at the number
    of clusters of the default leader, and of the closest cut.
    """
    truth = found["labels_true"]
    values = np.array([adjusted_rand_score(truth, one) for one in found["labels"]])
    rows = {}
    for name, ways, scores in (
        ("version 1", ["models"], ["discotec-binary"]),
        ("version 2", VOTES, list(SCORES)),
    ):
        taken = voters(found, name)
        labels = found["labels"][taken].astype(int)
        ensemble = Ensemble(labels, families=found["families"][taken].tolist())
        for by in ways:
            weighted = ensemble.with_weights(vote_weights(ensemble, by))
            agreement = count_agreements(weighted)
            for score in scores:
                leader = rank_partitions(agreement, score).order[0]
                rows[f"leader, {name}, {score}, {by}"] = float(values[taken][leader])
                if score == scores[0]:
                    k = max(2, int(ensemble.n_clusters[leader]))
                    partition = consensus_partition(weighted, k, random_state=0)
                    value = adjusted_rand_score(truth, partition)
                    rows[f"consensus, {name}, {by}"] = float(value)
            cut = closest_cut(weighted).labels
            rows[f"consensus, {name}, {by}, closest cut"] = float(
                adjusted_rand_score(truth, cut)
            )
    return rows


def cost(names: Sequence[str]) -> None:
    """Print the processor time of each preset on 10,000 x 10."""
    rng = np.random.default_rng(0)
    centres = 3 * rng.normal(size=(8, 10))
    X = rng.normal(size=(10_000, 10)) + centres[rng.integers(0, 8, 10_000)]
    run_pool(X[:500], UNION, n_jobs=1)
    for name in names:
        start = sum(os.times()[:4])
        ensemble = run_pool(X, sized_grids(PRESETS[name], len(X)), n_jobs=1)
        seconds = sum(os.times()[:4]) - start
        print(
            f"{name:32s} {ensemble.n_partitions:4d} models {seconds:6.1f} s", flush=True
        )


def main() -> None:
    """Run the chosen command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["fit", "compare", "leaders", "cost"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--most", type=int, default=10_000, help="rows of a set")
    parser.add_argument("--presets", nargs="*", default=list(PRESETS))
    parser.add_argument("--chosen", default="", help="a preset")
    parser.add_argument(
        "--sets", choices=["chooses", "other", "all"], default="chooses"
    )
    given = parser.parse_args()
    if given.what == "fit":
        fit(given.data, given.keep, given.most)
    elif given.what == "compare":
        compare(given.keep, given.presets, given.chosen)
    elif given.what == "leaders":
        leaders(given.keep, given.sets)
    else:
        cost(given.presets)


if __name__ == "__main__":
    main()
