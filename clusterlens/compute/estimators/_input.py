"""What estimators take: scikit-learn's checks, and squares that can be computed."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from clusterlens.compute._validation import FloatArray, refuse_extremes


def validate_features(estimator: Any, X: Any, **options: Any) -> FloatArray:
    """Return X (n_samples, n_features) as `validate_data` does, of a usual size.

    Rows to predict may be as alike as they like, for example a single one.
    """
    data: FloatArray = validate_data(estimator, X, dtype=np.float64, **options)
    refuse_extremes(data, name="X", compared=options.get("reset", True))
    return data
