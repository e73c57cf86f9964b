"""Pilots: number of iterations of a fit on given data, estimated from a few rows.

The time of k-means and of mixtures depends on the number of iterations, and this
depends on the data and the number of clusters: twice if groups are far apart, a hundred
times if there are none, or fewer than clusters. A pilot fits the same model to a
sample, in the directions of the largest variance, so that all pilots of a pool take
about a second for any table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterlens.compute._run.process_settings import one_thread, record_warnings
from clusterlens.compute._validation import FloatArray
from clusterlens.compute.pool.clusterer import Clusterer

# A pilot uses a share of the samples, and no more than these.
_PILOT_SHARE = 0.2
_PILOT_SAMPLES = 1_000
# Fewer samples are not informative, and their fits are fast anyway.
LEAST_SAMPLES = 1_000
# With more features, a covariance makes a pilot as slow as a fit.
_PILOT_FEATURES = 15
# With more samples per cluster, k-means hardly needs more iterations.
_FULL_CLUSTER = 1_000
_GROWTH = 0.75


@dataclass(frozen=True)
class Sample:
    """Rows of a table for fitting pilots.

    Parameters
    ----------
    rows : array of float64, shape (n_rows, at most _PILOT_FEATURES)
        Some rows, rotated to the directions of largest variance.
    n_samples : int
        Number of rows of the table.
    """

    rows: FloatArray
    n_samples: int


def n_pilot_samples(n_samples: int) -> int:
    """Return the number of rows for pilots: at most a fifth of the table."""
    return min(round(_PILOT_SHARE * n_samples), _PILOT_SAMPLES)


def pilot_sample(rows: FloatArray, n_samples: int) -> Sample:
    """Prepare rows (n_rows, n_features) drawn from a table of n_samples for pilots."""
    if rows.shape[1] > _PILOT_FEATURES:
        with one_thread():
            _, directions = np.linalg.eigh(np.cov(rows, rowvar=False))
            rows = rows @ directions[:, -_PILOT_FEATURES:]
    return Sample(rows, n_samples)


def effort(
    clusterer: Clusterer, parameters: Mapping[str, Any], sample: Sample
) -> float:
    """Return the factor by which iterations lengthen a fit relative to its cost law.

    1 if iterations do not decide, or the sample cannot be fitted.
    """
    law = clusterer.iterations
    if law is None or not len(sample.rows):
        return 1.0
    given = {**parameters, "random_state": 0}
    share = len(sample.rows) / sample.n_samples
    try:
        if law.sums_tolerance:
            given["tol"] = share * parameters.get("tol", clusterer.defaults["tol"])
        with one_thread(), record_warnings():
            n_iter = clusterer.make(**given).fit(sample.rows).n_iter_
    except Exception:
        # The fit itself reports the fault of the model.
        return 1.0
    if law.grows:
        k = parameters.get("n_clusters", clusterer.defaults["n_clusters"])
        most = parameters.get("max_iter", clusterer.defaults["max_iter"])
        n_iter = min(n_iter * _growth(sample, k), most)
    return float((law.before + n_iter) / law.counted)


def _growth(sample: Sample, n_clusters: int) -> float:
    """Return the factor of the iterations of k-means on all samples over the sample.

    k-means ends if no sample changes its cluster, which is early if few are near a
    border, or if centres hardly move, which does not depend on the number of samples.
    """
    size = np.array([sample.n_samples, len(sample.rows)]) / n_clusters
    whole, part = size / (size + _FULL_CLUSTER)
    return float((whole / part) ** _GROWTH)
