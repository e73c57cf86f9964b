"""The definitions, computed the plain way: what fast code is compared with."""

import numpy as np
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score


def agreement_counts(labels):
    """Entry (i, j): number of rows of labels that join i and j."""
    return sum((row[:, None] == row).astype(int) for row in np.asarray(labels))


def count_tables(labels):
    labels = np.asarray(labels)
    counts = agreement_counts(labels)
    size = len(labels) + 1
    joint = [np.bincount(counts[row[:, None] == row], minlength=size) for row in labels]
    return np.bincount(counts.ravel(), minlength=size), np.stack(joint)


def discotec_scores(labels, variant, threshold=None, weights=None):
    """Scores of every row, by the table of costs per pair; weights are votes."""
    labels = np.asarray(labels)
    weights = np.ones(len(labels)) if weights is None else np.asarray(weights)
    joined = [row[:, None] == row for row in labels]
    votes = sum(w * a for w, a in zip(weights, joined, strict=True))
    consensus = votes / weights.sum()
    if threshold is None:
        binarised = votes * votes.size >= votes.sum()
    else:
        binarised = votes >= threshold
    scores = []
    for a in joined:
        probability = np.where(a, consensus, 1 - consensus)
        cost = {
            "kl": lambda p=probability: -np.log(p),
            "tv": lambda p=probability: 1 - p,
            "hellinger": lambda p=probability: 1 - np.sqrt(p),
            "binary": lambda a=a: (a != binarised).astype(float),
        }[variant]()
        scores.append(cost.mean())
    return np.array(scores)


def average_over_others(labels, index):
    return np.array(
        [
            np.mean([index(a, b) for s, b in enumerate(labels) if s != t])
            for t, a in enumerate(labels)
        ]
    )


def aari(labels):
    return average_over_others(labels, adjusted_rand_score)


def anmi(labels):
    return average_over_others(labels, normalized_mutual_info_score)


@st.composite
def label_matrices(draw, min_partitions=3, max_partitions=7, max_samples=24):
    """Small label matrices with repeated models and samples, noise, extremes."""
    n_partitions = draw(st.integers(min_partitions, max_partitions))
    n_samples = draw(st.integers(1, max_samples))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = rng.choice([1, 2, 3, 5, n_samples], size=n_partitions)
    labels = np.stack([rng.integers(-1, k, n_samples) for k in sizes])
    if draw(st.booleans()):
        labels = labels[rng.integers(n_partitions, size=n_partitions)]
    if draw(st.booleans()):
        labels = labels[:, rng.integers(n_samples, size=n_samples)]
    return labels


def planted(n, p, k, keep=0.7, seed=0):
    """Partitions (p, n) that keep a share of the true labels (n,) and redraw others."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    kept = rng.random((p, n)) < keep
    return np.where(kept, truth, rng.integers(0, k, (p, n))), truth
