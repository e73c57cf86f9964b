"""What estimators take: scikit-learn's checks, and that squares do not overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from clusterlens.compute._validation import FloatArray, refuse_large


def validate_features(estimator: Any, X: Any, **options: Any) -> FloatArray:
    """Return X (n_samples, n_features) as `validate_data` does, none too large."""
    data: FloatArray = validate_data(estimator, X, dtype=np.float64, **options)
    refuse_large(data, name="X")
    return data
