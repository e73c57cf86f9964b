"""Approximate truth of a labelled data set: the best that clustering techniques reach.

For each technique, a search over its parameters compares each partition with the labels
by four external indices and keeps the best value; the best setting of a random
technique is run again 20 times and averaged. Differences to Jeon et al.: numbers of
clusters are searched exhaustively (at most 30 values) and the other parameters by 30
random draws instead of 30 steps of Bayesian optimisation; one search serves all four
indices. The data are divided by their largest absolute entry, as there.

HDBSCAN comes from the package hdbscan, because a selection epsilon fails in
scikit-learn 1.9 under NumPy 2.4; X-means comes from pyclustering, as in the paper.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import kmedoids
import numpy as np
import pandas as pd
from hdbscan import HDBSCAN
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.cluster import DBSCAN, Birch, KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances

from benchmarks.label_tables import EXTERNAL
from clusterlens.compute.indices.indices import external_index

# Removed in NumPy 1.24; pyclustering uses it when imported and run.
np.warnings = warnings
from pyclustering.cluster.xmeans import xmeans  # noqa: E402

N_TRIALS = 30
N_RERUNS = 20
SEED = 1

# Name of a setting, and a function from a seed to its labels (n,).
Settings = Iterator[tuple[str, Callable[[int], np.ndarray]]]


def k_means(X: np.ndarray, n_classes: int) -> Settings:
    """Yield a run for each number of clusters."""
    for k in cluster_numbers(n_classes, len(X)):
        yield (
            f"k={k}",
            lambda seed, k=k: KMeans(k, n_init=1, random_state=seed).fit(X).labels_,
        )


def k_medoids(X: np.ndarray, n_classes: int) -> Settings:
    """Yield a run for each number of clusters on the same distances."""
    distances = pairwise_distances(X)
    for k in cluster_numbers(n_classes, len(X)):
        yield (
            f"k={k}",
            lambda seed, k=k: (
                kmedoids.fasterpam(
                    distances, k, random_state=seed, init="random"
                ).labels
            ),
        )


def x_means(X: np.ndarray, n_classes: int) -> Settings:
    """Yield runs with random largest number of clusters and tolerance."""
    rng = np.random.default_rng(SEED)
    for _ in range(N_TRIALS):
        largest, tolerance = int(rng.integers(2, 51)), rng.uniform(0.01, 1)

        def fit(seed: int, kmax: int = largest, tol: float = tolerance) -> np.ndarray:
            model = xmeans(X, kmax=kmax, tolerance=tol, random_state=seed).process()
            labels = np.empty(len(X), dtype=int)
            for name, members in enumerate(model.get_clusters()):
                labels[members] = name
            return labels

        yield f"kmax={largest} tolerance={tolerance:.3f}", fit


def agglomerative(method: str) -> Callable[[np.ndarray, int], Settings]:
    """Return a function that yields all cuts of one tree."""

    def cuts(X: np.ndarray, n_classes: int) -> Settings:
        numbers = cluster_numbers(n_classes, len(X))
        columns = cut_tree(linkage(X, method), numbers).T
        for k, labels in zip(numbers, columns, strict=True):
            yield f"k={k}", lambda seed, labels=labels: labels

    return cuts


def dbscan(X: np.ndarray, n_classes: int) -> Settings:
    """Yield runs with random eps and min_samples."""
    rng = np.random.default_rng(SEED)
    for _ in range(N_TRIALS):
        eps, least = rng.uniform(0.01, 1), int(rng.integers(1, 11))
        model = DBSCAN(eps=eps, min_samples=least)
        yield f"eps={eps:.3f} min={least}", lambda seed, m=model: m.fit(X).labels_


def hdbscan(X: np.ndarray, n_classes: int) -> Settings:
    """Yield runs with random min_cluster_size, min_samples and epsilon."""
    rng = np.random.default_rng(SEED)
    for _ in range(N_TRIALS):
        size, least = int(rng.integers(2, 51)), int(rng.integers(1, 11))
        epsilon = rng.uniform(0.01, 1)
        model = HDBSCAN(size, least, epsilon)
        name = f"size={size} min={least} eps={epsilon:.3f}"
        yield name, lambda seed, m=model: m.fit(X).labels_


def birch(X: np.ndarray, n_classes: int) -> Settings:
    """Yield runs with random threshold and branching factor; three final clusters."""
    rng = np.random.default_rng(SEED)
    for _ in range(N_TRIALS):
        threshold, branching = rng.uniform(0.01, 1), int(rng.integers(10, 101))
        model = Birch(threshold=threshold, branching_factor=branching)
        name = f"threshold={threshold:.3f} branching={branching}"
        yield name, lambda seed, m=model: m.fit(X).labels_


TECHNIQUES: dict[str, Callable[[np.ndarray, int], Settings]] = {
    "k-means": k_means,
    "k-medoids": k_medoids,
    "x-means": x_means,
    "complete": agglomerative("complete"),
    "average": agglomerative("average"),
    "single": agglomerative("single"),
    "dbscan": dbscan,
    "hdbscan": hdbscan,
    "birch": birch,
}
RANDOM = ("k-means", "k-medoids", "x-means")


def best_scores(technique: str, X: np.ndarray, labels: np.ndarray) -> dict[str, object]:
    """Return the best value of each external index over the search, and its setting."""
    scaled = X / max(np.abs(X).max(), 1e-300)
    settings = dict(TECHNIQUES[technique](scaled, len(np.unique(labels))))
    known: dict[bytes, dict[str, float]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # Birch, fewer than 3 leaves
        found = pd.DataFrame(
            {name: scores(labels, fit(SEED), known) for name, fit in settings.items()}
        ).T
    at = found.idxmax()
    best = {key: found.loc[at[key], key] for key in EXTERNAL}
    if technique in RANDOM:
        means = {
            name: pd.DataFrame(
                [scores(labels, settings[name](s), known) for s in range(N_RERUNS)]
            ).mean()
            for name in set(at)
        }
        best = {key: means[at[key]][key] for key in EXTERNAL}
    return best | {f"{key}_at": at[key] for key in EXTERNAL}


def scores(
    labels: np.ndarray, partition: np.ndarray, known: dict[bytes, dict[str, float]]
) -> dict[str, float]:
    """Return all external indices of one partition; noise is one cluster."""
    codes = np.unique(partition, return_inverse=True)[1]
    key = codes.tobytes()
    if key not in known:
        known[key] = {
            name: float(external_index(index, labels, codes, definition=definition))
            for name, (index, definition) in EXTERNAL.items()
        }
    return known[key]


def cluster_numbers(n_classes: int, n_samples: int) -> list[int]:
    """From 2 to three times the number of classes, at most N_TRIALS of them."""
    largest = min(3 * n_classes, n_samples - 1)
    numbers = np.linspace(2, largest, min(N_TRIALS, largest - 1)).round().astype(int)
    return np.unique(np.r_[numbers, min(n_classes, largest)]).tolist()
