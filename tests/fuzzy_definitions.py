"""Plain definitions of fuzzy agreement, pair by pair, to test the fast code against."""

import itertools
import json

import numpy as np

from tests.folders import REFERENCE as FOLDER

REFERENCE = json.loads((FOLDER / "fuzzy.json").read_text(encoding="utf-8"))
MODEL_NAMES = {"perm": "permutation", "cat": "categorical"}


def pair_agreements(memberships, norm=1):
    rows = np.asarray(memberships, dtype=float)
    largest = np.linalg.norm([1, -1], norm)
    return np.array(
        [
            1 - np.linalg.norm(rows[i] - rows[j], norm) / largest
            for i, j in itertools.combinations(range(len(rows)), 2)
        ]
    )


def concordance(U, V, norm=1):
    return 1 - np.abs(pair_agreements(U, norm) - pair_agreements(V, norm)).mean()


def permutation_expectation(U, V):
    a, b = pair_agreements(U), pair_agreements(V)
    return 1 - np.abs(a[:, None] - b).mean()


def cosine_concordance(U, V):
    total = []
    for i, j in itertools.combinations(range(len(U)), 2):
        a, b = (
            m[i] @ m[j] / np.linalg.norm(m[i]) / np.linalg.norm(m[j])
            for m in map(np.asarray, (U, V))
        )
        total.append(a * b + (1 - a) * (1 - b))
    return np.mean(total)


def one_hot(labels):
    return (np.asarray(labels)[:, None] == np.unique(labels)).astype(float)


def soft(n_samples, n_clusters, seed, alpha=0.5):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(n_clusters, alpha), n_samples)


def model_cases(cases):
    """Yield (name, case, model, fixed, expected values) of reference cases."""
    for case in cases:
        for key, spec in case["models"].items():
            model = key.split("_")[0]
            fixed = key[-1] if "fixed" in key else None
            name = f"{case['name']}-{key}"
            yield name, case, MODEL_NAMES.get(model, model), fixed, spec
