"""Weights of votes, meaning of noise, and doubt about the leader, on pools of a study.

    python -m benchmarks.crowd fit --data FOLDER --keep POOLS --most 2000
    python -m benchmarks.crowd_doubt measure --data FOLDER --keep POOLS --out ROWS
    python -m benchmarks.crowd_doubt compare --out ROWS
    python -m benchmarks.crowd_doubt compare --out ROWS --chosen "votes by hubs"

`measure` reads the pools that `benchmarks.crowd` has fitted and writes a line of JSON
for each set; it resumes. `compare` prints the half that chooses: mean adjusted Rand
index with the labels of the leader and of the consensus partition at its number of
clusters, by treatment, and the rank correlation of the leader's index with quantities
known without labels. With --chosen it prints the other half as well, for that treatment
beside the default one, and the correlations.

Treatments: noise as a cluster (the default), as singletons, or silent; equal votes of
families or of hubs; votes by how often the nearest neighbours of a sample are in its
cluster, above chance, which does not favour round groups; votes of the half of the
models that is most like the others.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score

from benchmarks.crowd import HALVES_SEED, read, voters
from clusterlens.compute.consensus.partition import consensus_partition
from clusterlens.compute.ensemble.agreement import count_agreements
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.estimators.neighbors import neighbor_table
from clusterlens.compute.ranking.ranking import rank_partitions
from clusterlens.compute.ranking.voting import vote_weights

DEFAULT = "noise a cluster"
NEIGHBOURS = 10
NUMBERS = range(2, 11)


def purity(neighbours: Any, labels: Any) -> float:
    """Return the share of neighbours (n, k) in a sample's cluster, above chance."""
    _, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    chance = float(((sizes / len(labels)) ** 2).sum())
    same = float((codes[neighbours] == codes[:, None]).mean())
    return (same - chance) / (1 - chance) if chance < 1 else 0.0


def treatments(ensemble: Ensemble, index: Any) -> dict[str, Callable[[], Ensemble]]:
    """Return makers of the same pool with other meanings of noise or other votes."""
    return {
        DEFAULT: lambda: ensemble,
        "noise alone": lambda: ensemble.replace(noise="singletons"),
        "noise silent": lambda: ensemble.replace(noise="silent"),
        "votes by family": lambda: _voting(ensemble, "families"),
        "votes by hubs": lambda: _voting(ensemble, "hubs"),
        "typical half": lambda: _voting(ensemble, "typical"),
        "votes by neighbours": lambda: ensemble.with_weights(np.maximum(index, 0.01)),
        "votes by neighbours²": lambda: ensemble.with_weights(
            np.maximum(index, 0.01) ** 2
        ),
        "better half by neighbours": lambda: ensemble.with_weights(
            (index >= np.median(index)).astype(float)
        ),
    }


def _voting(ensemble: Ensemble, by: Any) -> Ensemble:
    return ensemble.with_weights(vote_weights(ensemble, by))


def measure(data: Path, keep: Path, out: Path, most: int, preset: str) -> None:
    """Write the results of treatments on every set, and quantities without labels."""
    done = set()
    if out.exists():
        done = {json.loads(line)["set"] for line in out.read_text().splitlines()}
    manifest = pd.read_csv(data / "MANIFEST.csv").sort_values("n")
    for row in manifest[manifest["n"] <= most].itertuples():
        name = f"{row.collection}-{row.name}"
        if name in done or not (keep / f"{name}.npz").exists():
            continue
        X, _ = read(data / row.file)
        with np.load(keep / f"{name}.npz") as file:
            found = dict(file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            line = {"set": name, "n": len(X), **judge(X, found, preset)}
        with out.open("a") as rows:
            rows.write(json.dumps(line) + "\n")
        print(name, X.shape, f"{sum(os.times()[:2]):.0f} s", flush=True)


def judge(X: Any, found: Any, preset: str) -> dict[str, Any]:
    """Return the columns of a set."""
    taken = voters(found, preset)
    labels, truth = found["labels"][taken].astype(int), found["labels_true"]
    ensemble = Ensemble(labels, families=found["families"][taken].tolist())
    values = np.array([adjusted_rand_score(truth, one) for one in labels])
    neighbours = neighbor_table(X, min(NEIGHBOURS, len(X) - 1))[0]
    index = np.array([purity(neighbours, one) for one in labels])
    gained, leaders = {}, {}
    for title, make in treatments(ensemble, index).items():
        one = make()
        scores = rank_partitions(count_agreements(one)).values
        leader = leaders[title] = int(np.argmin(scores))
        k = max(2, int(ensemble.n_clusters[leader]))
        partition = consensus_partition(one, k, random_state=0)
        gained[title] = [values[leader], adjusted_rand_score(truth, partition)]
        if title == DEFAULT:
            first, first_scores, first_partition = leader, scores, partition
    alike = np.array([adjusted_rand_score(labels[first], one) for one in labels])
    others = np.delete(alike, first)
    ordered = np.sort(first_scores)
    sizes = np.bincount(np.unique(labels[first], return_inverse=True)[1])
    by_votes = [labels[leaders[name]] for name in leaders if name.startswith("votes")]
    seen = {
        "score of the leader": -ordered[0],
        "margin over the second": ordered[1] - ordered[0],
        "spread of the scores": np.std(ordered),
        "likeness to the other models": others.mean(),
        "share of near-copies of it": (others > 0.9).mean(),
        "families with a near-copy": len(
            {ensemble.families[t] for t in np.flatnonzero(alike > 0.9)}
        ),
        "consensus partition is like it": adjusted_rand_score(
            labels[first], first_partition
        ),
        "other votes, same leader": np.mean(
            [adjusted_rand_score(labels[first], one) for one in by_votes]
        ),
        "neighbours in its clusters": index[first],
        "number of its clusters": len(sizes),
        "share of its largest cluster": sizes.max() / len(labels[first]),
    }
    return {
        "gained": gained,
        "seen": {name: float(value) for name, value in seen.items()},
        "best": values.max(),
        "mean": values.mean(),
        "k-means": adjusted_rand_score(truth, by_silhouette(X)),
        "k": int(truth.max() + 1),
    }


def by_silhouette(X: Any) -> Any:
    """Return labels (n,) of the k-means with the best silhouette."""
    found = []
    for k in [k for k in NUMBERS if k < len(X)]:
        labels = KMeans(k, n_init=3, random_state=0).fit_predict(X)
        found.append((silhouette_score(X, labels, random_state=0), labels))
    return max(found, key=lambda one: one[0])[1]


def compare(out: Path, chosen: str) -> None:
    """Print the half used to choose, and the other one for the chosen treatment."""
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    rows.sort(key=lambda row: row["set"])
    order = np.random.default_rng(HALVES_SEED).permutation(len(rows))
    halves = {"the half that chooses": order[: len(rows) // 2]}
    if chosen:
        halves["the other half"] = order[len(rows) // 2 :]
    for title, half in halves.items():
        some = [rows[at] for at in half]
        own = title != "the other half"
        names = list(some[0]["gained"]) if own else list({DEFAULT: 0, chosen: 0})
        print(f"\n{title}: {len(some)} sets of up to {max(r['n'] for r in some)} rows")
        print_treatments(some, names)
        print_seen(some)


def print_treatments(rows: list[dict[str, Any]], names: list[str]) -> None:
    """Print means over sets of leader and consensus, and how often they are worse."""
    first = np.array([row["gained"][DEFAULT] for row in rows])
    for name in names:
        values = np.array([row["gained"][name] for row in rows])
        worse, better = (values < first - 0.05).mean(0), (values > first + 0.05).mean(0)
        print(
            f"  {name:27s} leader {values[:, 0].mean():.3f} (worse {worse[0]:.2f} "
            f"better {better[0]:.2f})  consensus {values[:, 1].mean():.3f} "
            f"(worse {worse[1]:.2f} better {better[1]:.2f})"
        )
    for name in ("best", "mean", "k-means"):
        values = np.array([row[name] for row in rows])
        less = (first[:, 1] < values - 0.05).mean()
        print(
            f"  {name:27s} {values.mean():.3f}, consensus worse on {less:.2f} of sets"
        )
    lost = [(row["gained"][DEFAULT][1] - row["k-means"], row["set"]) for row in rows]
    names = [f"{name} {gap:+.2f}" for gap, name in sorted(lost)[:8]]
    print("  consensus against k-means:", ", ".join(names))


def print_seen(rows: list[dict[str, Any]]) -> None:
    """Print rank correlations with the leader's index, and with its gap to the best."""
    leader = [row["gained"][DEFAULT][0] for row in rows]
    gap = [row["best"] - value for row, value in zip(rows, leader, strict=True)]
    for name in rows[0]["seen"]:
        values = [row["seen"][name] for row in rows]
        both = [spearmanr(values, one).statistic for one in (leader, gap)]
        print(f"  {name:32s} index {both[0]:+.2f}  behind the best {both[1]:+.2f}")


def main() -> None:
    """Run the chosen command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["measure", "compare"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--most", type=int, default=2000, help="rows of a set")
    parser.add_argument("--preset", default="version 1", help="one of benchmarks.crowd")
    parser.add_argument("--chosen", default="", help="a treatment")
    given = parser.parse_args()
    if given.what == "measure":
        measure(given.data, given.keep, given.out, given.most, given.preset)
    else:
        compare(given.out, given.chosen)


if __name__ == "__main__":
    main()
