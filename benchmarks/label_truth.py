"""Approximate truth of a labelled data set: the best that clustering techniques reach.

For each technique a search over its parameters; each partition found is compared with
the labels by four external indices, and the best value counts. Differences to Jeon et
al.: K-medoids and X-means are left out (scikit-learn has neither), numbers of clusters
are searched exhaustively (at most 30 values) and the other parameters by 30 random
draws instead of 30 steps of Bayesian optimisation; one search serves all four indices.
The data are divided by their largest absolute entry, as there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from hdbscan_epsilon import hdbscan_labels
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.cluster import DBSCAN, Birch, KMeans
from sklearn.exceptions import ConvergenceWarning

from clusterlens.compute.indices import external_index

EXTERNAL = {
    "ami": ("ami", "arithmetic"),
    "arand": ("ari", "textbook"),
    "vm": ("v-measure", "textbook"),
    "nmi": ("nmi", "geometric"),
}
N_TRIALS = 30
N_RERUNS = 20
SEED = 1

Partitions = Iterator[tuple[str, np.ndarray]]


def k_means(X: np.ndarray, n_classes: int) -> Partitions:
    """One run for each number of clusters."""
    for k in cluster_numbers(n_classes, len(X)):
        yield f"k={k}", KMeans(k, n_init=1, random_state=SEED).fit(X).labels_


def agglomerative(method: str) -> Callable[[np.ndarray, int], Partitions]:
    """All cuts of one tree."""

    def cuts(X: np.ndarray, n_classes: int) -> Partitions:
        numbers = cluster_numbers(n_classes, len(X))
        columns = cut_tree(linkage(X, method), numbers).T
        yield from ((f"k={k}", c) for k, c in zip(numbers, columns, strict=True))

    return cuts


def dbscan(X: np.ndarray, n_classes: int) -> Partitions:
    """Random eps and min_samples."""
    rng = np.random.default_rng(SEED)
    for _ in range(N_TRIALS):
        eps, least = rng.uniform(0.01, 1), int(rng.integers(1, 11))
        yield (
            f"eps={eps:.3f} min={least}",
            DBSCAN(eps=eps, min_samples=least).fit(X).labels_,
        )


def hdbscan(X: np.ndarray, n_classes: int) -> Partitions:
    """Random min_cluster_size, min_samples and cluster_selection_epsilon."""
    rng = np.random.default_rng(SEED)
    for _ in range(N_TRIALS):
        size, least = int(rng.integers(2, 51)), int(rng.integers(1, 11))
        epsilon = rng.uniform(0.01, 1)
        labels = hdbscan_labels(X, size, least, epsilon)
        yield f"size={size} min={least} eps={epsilon:.3f}", labels


def birch(X: np.ndarray, n_classes: int) -> Partitions:
    """Random threshold and branching factor; three final clusters, its default."""
    rng = np.random.default_rng(SEED)
    for _ in range(N_TRIALS):
        threshold, branching = rng.uniform(0.01, 1), int(rng.integers(10, 101))
        model = Birch(threshold=threshold, branching_factor=branching)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer than 3 leaves
            labels = model.fit(X).labels_
        yield f"threshold={threshold:.3f} branching={branching}", labels


TECHNIQUES: dict[str, Callable[[np.ndarray, int], Partitions]] = {
    "k-means": k_means,
    "complete": agglomerative("complete"),
    "average": agglomerative("average"),
    "single": agglomerative("single"),
    "dbscan": dbscan,
    "hdbscan": hdbscan,
    "birch": birch,
}


def best_scores(technique: str, X: np.ndarray, labels: np.ndarray) -> dict[str, object]:
    """Best value of each external index over the search, and where it was found."""
    scaled = X / max(np.abs(X).max(), 1e-300)
    best: dict[str, tuple[float, str]] = dict.fromkeys(EXTERNAL, (-np.inf, ""))
    known: dict[bytes, dict[str, float]] = {}
    for setting, partition in TECHNIQUES[technique](scaled, len(np.unique(labels))):
        key = np.unique(partition, return_inverse=True)[1].tobytes()
        if key not in known:
            known[key] = external_scores(labels, partition)
        for name, value in known[key].items():
            best[name] = max(best[name], (value, setting), key=lambda pair: pair[0])
    if technique == "k-means":
        best = rerun(scaled, labels, {name: at for name, (_, at) in best.items()})
    values = {name: value for name, (value, _) in best.items()}
    return values | {f"{name}_at": at for name, (_, at) in best.items()}


def external_scores(labels: np.ndarray, partition: np.ndarray) -> dict[str, float]:
    """All external indices of one partition; noise is one cluster."""
    return {
        key: float(external_index(name, labels, partition, definition=definition))
        for key, (name, definition) in EXTERNAL.items()
    }


def rerun(
    X: np.ndarray, labels: np.ndarray, settings: dict[str, str]
) -> dict[str, tuple[float, str]]:
    """Average the best k-means settings over seeds, as the paper does."""
    means = {
        setting: pd.DataFrame(
            [
                external_scores(
                    labels,
                    KMeans(int(setting.removeprefix("k=")), n_init=1, random_state=seed)
                    .fit(X)
                    .labels_,
                )
                for seed in range(N_RERUNS)
            ]
        ).mean()
        for setting in set(settings.values())
    }
    return {name: (float(means[at][name]), at) for name, at in settings.items()}


def cluster_numbers(n_classes: int, n_samples: int) -> list[int]:
    """From 2 to three times the number of classes, at most N_TRIALS of them."""
    largest = min(3 * n_classes, n_samples - 1)
    numbers = np.linspace(2, largest, min(N_TRIALS, largest - 1)).round().astype(int)
    return np.unique(np.r_[numbers, min(n_classes, largest)]).tolist()
