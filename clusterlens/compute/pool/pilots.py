"""Pilots: how many iterations a fit takes on the data at hand, from a few rows of them.

Fits of k-means and of mixtures last as long as they iterate, and that depends on the
data and the number of clusters: twice where groups are far apart, a hundred times where
there are none, or fewer than clusters. A pilot fits the same model to a sample.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from clusterlens.compute._run.process_settings import one_thread, record_warnings
from clusterlens.compute._validation import FloatArray
from clusterlens.compute.pool.clusterer import Clusterer

PILOT_SAMPLES = 2_000
# Fits to fewer samples take no longer than their pilots would.
LEAST_SAMPLES = 6_000
_REMEMBERED = 500


def effort(
    clusterer: Clusterer, parameters: Mapping[str, Any], sample: FloatArray
) -> float:
    """Return by how much the iterations lengthen a fit, beside those of its cost law.

    Parameters
    ----------
    clusterer : Clusterer
        What is fitted.
    parameters : mapping
        Its parameters.
    sample : array of float64, shape (n_rows, n_features)
        Rows of the data.

    Returns
    -------
    factor : float
        1 where iterations do not decide, or the sample cannot be fitted. Remembered for
        the same rows.
    """
    if clusterer.iterations is None or not len(sample):
        return 1.0
    before, counted = clusterer.iterations
    fixed = {key: v for key, v in parameters.items() if key != "random_state"}
    n_iter = _pilot(clusterer, json.dumps(fixed, sort_keys=True), _Rows(sample))
    return 1.0 if n_iter is None else (before + n_iter) / counted


class _Rows:
    """A sample that is equal to another one of the same values."""

    def __init__(self, values: FloatArray) -> None:
        self.values = values
        self._digest = hashlib.sha256(values.tobytes()).digest()

    def __hash__(self) -> int:
        return hash(self._digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rows) and other._digest == self._digest


@lru_cache(_REMEMBERED)
def _pilot(clusterer: Clusterer, parameters: str, rows: _Rows) -> float | None:
    """Iterations of a fit to the rows; None if it fails."""
    try:
        with one_thread(), record_warnings():
            model = clusterer.make(**json.loads(parameters), random_state=0)
            return float(model.fit(rows.values).n_iter_)
    except Exception:
        # What is wrong with the model is said of its fit.
        return None
