"""Uncertainty: possible errors of a ranking estimated from a sample.

The mean cost of the pairs of random samples is a U-statistic. Its errors follow from
the differences between the mean costs of single samples, or of random groups of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.stats import t

from clusterlens.compute._validation import FloatArray, Frozen, IntArray, check_range
from clusterlens.compute.ensemble.agreement import Agreement
from clusterlens.compute.ensemble.ensemble import distinct_partitions
from clusterlens.compute.ranking.scores import Variant, pair_costs

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Uncertainty(Frozen):
    """Possible errors of the values and ranks of an estimated ranking.

    Parameters
    ----------
    n_compared : int
        Number of samples compared with each other.
    confidence : float
        Confidence with which all half widths hold together, and all differences.
    standard_errors : array of float, shape (n_partitions,)
        Standard errors of the values; NaN if too few samples were compared.
    half_widths : array of float, shape (n_partitions,)
        Half widths of the intervals for the values.
    difference_half_widths : array of float, shape (n_partitions, n_partitions)
        Half widths of the intervals for the differences of values, 0 for identical
        partitions.
    rank_ranges : array of int64, shape (n_partitions, 2)
        Lowest and highest rank that the differences permit.
    """

    n_compared: int
    confidence: float
    standard_errors: FloatArray
    half_widths: FloatArray
    difference_half_widths: FloatArray
    rank_ranges: npt.NDArray[np.int64]

    def of(self, values: FloatArray, group: IntArray) -> Uncertainty:
        """Return the uncertainty of values (n_partitions,) shifted by known amounts.

        `group` as in `make_uncertainty`. O(n_partitions²) time.
        """
        copies = np.equal.outer(group, group)
        ranges = _rank_ranges(values, self.difference_half_widths, copies)
        return replace(self, rank_ranges=ranges)


def check_confidence(confidence: float) -> None:
    """Raise ValueError unless the confidence of an interval is within (0, 1)."""
    if not 0 < check_range(confidence, 0, 1, name="confidence") < 1:
        raise ValueError(
            f"confidence is {confidence}; give a value between 0 and 1, e.g. 0.95."
        )


def estimate_uncertainty(
    agreement: Agreement,
    variant: Variant,
    threshold: int | None,
    values: FloatArray,
    confidence: float,
) -> Uncertainty:
    """Estimate the uncertainty of scores from estimated agreements of T partitions.

    `values` (n_partitions,) decide the ranking, lower is better. If the agreement has
    no groups of samples, errors are NaN and every rank is possible.

    Let h_g be the mean cost of the pairs with the first sample in group g of G. To
    first order, the variance of the mean over m of n samples is 4 (1 - m / n) / G times
    the variance of h_g over the groups (Hoeffding 1948; Nandi & Sen 1963 for drawing
    without replacement), with G - 1 degrees of freedom. O(G T²) time.
    """
    size, n_samples = agreement.n_compared, agreement.ensemble.n_samples
    group = distinct_partitions(agreement.ensemble)[1]
    if agreement.group_pairs is None or agreement.group_joint is None:
        unknown = np.full((len(values), len(values)), np.nan)
        return make_uncertainty(values, unknown, group, size, confidence, t(1).isf)
    level = agreement.threshold if threshold is None else threshold
    joined, apart = pair_costs(variant, agreement.ensemble.n_votes, level)
    pairs, joint = agreement.group_pairs, agreement.group_joint
    costs = joint @ joined + (pairs[:, None] - joint) @ apart
    means = costs / pairs.sum(axis=1)[:, None] * (1 - 1 / n_samples)
    n_groups = len(means)
    covariance = 4 * (1 - size / n_samples) / n_groups * np.cov(means, rowvar=False)
    return make_uncertainty(
        values, covariance, group, size, confidence, t(n_groups - 1).isf
    )


def make_uncertainty(
    values: FloatArray,
    covariance: FloatArray,
    group: IntArray,
    n_compared: int,
    confidence: float,
    upper_quantile: Callable[[float], float],
    n_looks: int = 1,
) -> Uncertainty:
    """Put simultaneous intervals around values (n_partitions,) and their differences.

    Lower values are better; `covariance` (n_partitions, n_partitions) is the covariance
    of their errors. `group` numbers the distinct partitions; copies have the same
    number and do not differ. `confidence` holds for all values together, and for all
    differences together, at all n_looks looks at a growing sample: the level is divided
    by the number of intervals (Bonferroni inequality). `upper_quantile` returns the
    value that a standardised error exceeds with a given probability.
    """
    n_models = int(group.max()) + 1
    level = (1 - confidence) / n_looks / 2
    variances = covariance.diagonal()
    between = variances[:, None] + variances - 2 * covariance
    errors = np.sqrt(np.maximum(between, 0))
    contrasts = max(n_models * (n_models - 1) // 2, 1)
    widths = upper_quantile(level / contrasts) * errors
    copies = np.equal.outer(group, group)
    widths[copies] = 0.0
    standard = np.sqrt(variances)
    return Uncertainty(
        n_compared,
        confidence,
        standard,
        upper_quantile(level / n_models) * standard,
        widths,
        _rank_ranges(values, widths, copies),
    )


def _rank_ranges(
    values: FloatArray, widths: FloatArray, copies: BoolArray
) -> npt.NDArray[np.int64]:
    """Lowest and highest rank of each partition, shape (n_partitions, 2).

    Models that are surely better push it down; models that are surely worse, and
    copies, cannot.
    """
    before = values[:, None] - values > widths
    behind = values - values[:, None] > widths
    lowest = 1 + before.sum(axis=1)
    highest = 1 + (~behind & ~copies).sum(axis=1)
    return np.stack([lowest, highest], axis=1).astype(np.int64)
