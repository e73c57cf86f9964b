"""Random models: the partitions that chance could have given instead.

The expected concordance of two partitions depends on a model only through the
distribution of the pair distances of either side. So a model is a function from a
partition to such a distribution and, for hard partitions, from the cluster sizes to the
expected share of pairs in one cluster.

`RANDOM_MODELS` lists the models with their assumptions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, lambertw, xlogy

from clusterlens.compute._validation import FloatArray
from clusterlens.compute.fuzzy._expected_difference import (
    Flat,
    Observed,
    SideDistribution,
)
from clusterlens.compute.fuzzy._pair_distances import count_pairs, pairs_together
from clusterlens.compute.fuzzy.dirichlet import DirichletFit, fit_dirichlet
from clusterlens.compute.fuzzy.partition import FuzzyPartition


@dataclass(frozen=True)
class Side:
    """A partition with its observed distances, and the options of its random model."""

    partition: FuzzyPartition
    observed: Observed
    floor: float
    keep_empty: bool


@dataclass(frozen=True)
class RandomModel:
    """A random model of partitions.

    Attributes
    ----------
    title : str
        Name on screen.
    assumption : str
        The random element, in a sentence.
    same_by_chance : str
        Properties that a random outcome shares with the given partition: choose the
        model by these properties, never by the values.
    distribution : callable or None
        Distribution of the pair distances of a `Side` under the model; None for models
        of hard partitions only.
    share_together : callable or None
        Expected share of pairs in one cluster, of cluster sizes (k,); None for models
        of soft partitions only.
    """

    title: str
    assumption: str
    same_by_chance: str
    distribution: Callable[[Side], SideDistribution] | None = None
    share_together: Callable[[FloatArray], float] | None = None


def _observed_distances(side: Side) -> Observed:
    """Return the observed distances, which shuffling the samples preserves."""
    return side.observed


def _fitted_rows(side: Side) -> DirichletFit:
    """Fit a Dirichlet distribution to the rows."""
    return fit_dirichlet(side.partition, floor=side.floor)


def _fitted_symmetric_rows(side: Side) -> DirichletFit:
    """Fit a symmetric Dirichlet distribution to the rows."""
    return fit_dirichlet(side.partition, symmetric=True, floor=side.floor)


def _flat_rows(side: Side) -> Flat:
    """Return rows uniform on the simplex of the clusters."""
    partition = side.partition
    return Flat(partition.n_clusters if side.keep_empty else partition.n_occupied)


def observed_share(sizes: FloatArray) -> float:
    """Share of the pairs that clusters of the given sizes (k,) join."""
    return pairs_together(sizes) / count_pairs(int(sizes.sum()))


def categorical_share(sizes: FloatArray) -> float:
    """Chance that two labels drawn with the observed proportions are equal."""
    return float(((sizes / sizes.sum()) ** 2).sum())


def equal_share(sizes: FloatArray) -> float:
    """Chance that two labels drawn with equal probabilities are equal."""
    return 1 / len(sizes)


def stirling_share(sizes: FloatArray) -> float:
    """S(n - 1, k) / S(n, k) with Stirling numbers of the second kind, O(sqrt(n)).

    S(n, k) k! z^n / n! / (e^z - 1)^k is the probability that k zero-truncated Poisson
    variables of rate z sum to n. Fourier inversion of their characteristic function
    gives the quotient at any rate; the rate with mean n / k keeps all digits.
    """
    n, k = int(sizes.sum()), len(sizes)
    if k == n:
        return 0.0
    # The quotient is 1 / k up to a share of k (1 - 1/k)^(n - 1).
    if 2 * np.log(k) + xlogy(n - 1, 1 - 1 / k) < np.log(np.finfo(float).eps):
        return 1 / k
    mean = n / k
    rate = max(mean + lambertw(-mean * np.exp(-mean)).real, mean - 1)
    # The spread of the sum is below sqrt(n), so these angles do not see a second
    # period.
    n_angles = 64 + 40 * int(np.sqrt(n))
    roots = np.exp(2j * np.pi * np.arange(n_angles) / n_angles)
    powers = (np.expm1(rate * roots) / np.expm1(rate) / roots**mean) ** k
    return float(rate / n * ((powers * roots).sum() / powers.sum()).real)


def bell_share(sizes: FloatArray) -> float:
    """B(n - 1) / B(n) with Bell numbers, by Dobinski's series.

    B(n) is the sum of i^n / (i! e) over i, so that the quotient is the mean of 1 / i
    under these terms. They peak at i log i = n and vanish long before four times that.
    """
    n = int(sizes.sum())
    peak = n / lambertw(n).real
    i = np.arange(1.0, 4 * peak + 60)
    logs = n * np.log(i) - gammaln(i + 1)
    terms = np.exp(logs - logs.max())
    return float((terms / i).sum() / terms.sum())


RANDOM_MODELS: dict[str, RandomModel] = {
    "permutation": RandomModel(
        "Permutation",
        "The samples are shuffled: each partition keeps all its memberships, and any "
        "sample may have any of its rows.",
        "The rows themselves, dealt to other samples",
        _observed_distances,
        observed_share,
    ),
    "fit": RandomModel(
        "Fit",
        "The rows are drawn from the Dirichlet distribution that fits the partition "
        "best; those of a hard partition with the observed proportions.",
        "Cluster sizes and softness",
        _fitted_rows,
    ),
    "sym": RandomModel(
        "Sym",
        "The rows are drawn from the symmetric Dirichlet distribution that fits the "
        "partition best: clusters are alike, only the fuzziness is kept; hard rows "
        "have equal probabilities.",
        "Softness; which cluster is large is arbitrary",
        _fitted_symmetric_rows,
        equal_share,
    ),
    "flat": RandomModel(
        "Flat",
        "All rows of memberships are equally likely: only the number of clusters is "
        "kept.",
        "Nothing but the number of clusters",
        _flat_rows,
    ),
    "categorical": RandomModel(
        "Categorical",
        "Each sample draws its label with the observed proportions.",
        "Cluster sizes, up to chance",
        share_together=categorical_share,
    ),
    "num": RandomModel(
        "Num",
        "All partitions with as many non-empty clusters are equally likely.",
        "Nothing but the number of clusters",
        share_together=stirling_share,
    ),
    "all": RandomModel(
        "All",
        "All partitions of the samples are equally likely. It knows neither sizes nor "
        "number of clusters and expects very many, so that values are often strongly "
        "negative.",
        "Nothing, not even the number of clusters",
        share_together=bell_share,
    ),
}
