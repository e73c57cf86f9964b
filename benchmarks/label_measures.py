"""Measures of a labelled data set compared by Jeon et al., higher being better.

CH_btwn is the mean over the pairs of classes; axiom B3 also allows other aggregates, of
which the smallest and the largest are here.

Each classifier is tried with random settings within the bounds of the published code,
and the best mean accuracy over five folds counts. Differences to the paper: all
settings are drawn at random, where it takes five at random and 25 by Bayesian
optimisation; and random classifiers are not fitted again with the best setting. The
data are divided by their largest absolute entry, as there. The published code draws an
activation of the multi-layer perceptron but always uses the rectified linear one; so
does this.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from clusterlens.compute.indices.class_match import ADJUSTED_MEASURES, label_match
from clusterlens.compute.indices.indices import INDICES, internal_index

WITHIN = ("CHI", "DBI", "XBI", "DI", "I", "SI")
AGGREGATES = {"CH_btwn": "mean", "CH_btwn min": "min", "CH_btwn max": "max"}
N_TRIALS = 30
SEED = 1


def svm(rng: np.random.Generator, n_samples: int) -> ClassifierMixin:
    """Draw a support vector machine with radial kernel."""
    return SVC(C=rng.uniform(2**-5, 2**5), gamma=rng.uniform(2**-15, 2**3))


def knn(rng: np.random.Generator, n_samples: int) -> ClassifierMixin:
    """Draw a number of neighbours."""
    return KNeighborsClassifier(int(rng.uniform(1, 2 * n_samples**0.5)))


def mlp(rng: np.random.Generator, n_samples: int) -> ClassifierMixin:
    """Draw a multi-layer perceptron of one to three equal layers."""
    return MLPClassifier(
        (int(rng.uniform(16, 256)),) * int(rng.uniform(1, 4)),
        alpha=rng.uniform(1e-7, 1e-1),
        learning_rate_init=rng.uniform(1e-4, 0.5),
        random_state=SEED,
    )


def naive_bayes(rng: np.random.Generator, n_samples: int) -> ClassifierMixin:
    """Draw a smoothing of the variances."""
    return GaussianNB(var_smoothing=rng.uniform(1e-12, 1))


def forest(rng: np.random.Generator, n_samples: int) -> ClassifierMixin:
    """Draw a random forest."""
    return RandomForestClassifier(
        int(rng.uniform(1, 200)),
        criterion=str(rng.choice(["gini", "entropy", "log_loss"])),
        min_samples_split=int(rng.uniform(2, 20)),
        min_samples_leaf=int(rng.uniform(1, 20)),
        random_state=SEED,
    )


def logistic(rng: np.random.Generator, n_samples: int) -> ClassifierMixin:
    """Draw a logistic regression with an absolute or a squared penalty."""
    return LogisticRegression(
        C=rng.uniform(2**-5, 2**5),
        tol=rng.uniform(1e-5, 1e-1),
        l1_ratio=int(rng.integers(2)),
        solver="saga",
        random_state=SEED,
    )


def discriminant(rng: np.random.Generator, n_samples: int) -> ClassifierMixin:
    """Draw a tolerance of the linear discriminant analysis."""
    return LinearDiscriminantAnalysis(tol=rng.uniform(1e-5, 1e-1))


CLASSIFIERS: dict[str, Callable[[np.random.Generator, int], ClassifierMixin]] = {
    "svm": svm,
    "knn": knn,
    "mlp": mlp,
    "nb": naive_bayes,
    "rf": forest,
    "lr": logistic,
    "lda": discriminant,
}


def tuned_accuracy(
    name: str, X: np.ndarray, labels: np.ndarray, n_trials: int = N_TRIALS
) -> float:
    """Return the best mean accuracy over five folds among random settings."""
    rng = np.random.default_rng(SEED)
    models = [CLASSIFIERS[name](rng, len(X)) for _ in range(n_trials)]
    with warnings.catch_warnings():
        # Small classes and unfinished optimisation are part of the comparison.
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return max(float(cross_val_score(m, X, labels).mean()) for m in models)


def measure_functions(
    n_trials: int,
) -> dict[str, Callable[[np.ndarray, np.ndarray], float]]:
    """Return every measure of a labelled data set, higher being better."""

    def between(how: str, X: np.ndarray, labels: np.ndarray) -> float:
        return float(label_match(X, labels).pairs["score"].agg(how))

    def within(name: str, X: np.ndarray, labels: np.ndarray) -> float:
        sign = 1 if INDICES[name].greater_is_better else -1
        return sign * internal_index(name, scaled(X), labels)

    def adjusted(name: str, X: np.ndarray, labels: np.ndarray) -> float:
        return label_match(X, labels, measure=name).score

    def accuracy(name: str, X: np.ndarray, labels: np.ndarray) -> float:
        return tuned_accuracy(name, scaled(X), labels, n_trials)

    return (
        {name: partial(between, how) for name, how in AGGREGATES.items()}
        | {name: partial(within, name) for name in WITHIN}
        | {f"{name} adjusted": partial(adjusted, name) for name in ADJUSTED_MEASURES}
        | {name: partial(accuracy, name) for name in CLASSIFIERS}
    )


def scaled(X: np.ndarray) -> np.ndarray:
    """Return the table divided by its largest absolute entry (for the I index)."""
    return X / max(np.abs(X).max(), 1e-300)
