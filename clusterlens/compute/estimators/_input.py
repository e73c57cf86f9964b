"""Input checks of estimators: scikit-learn's, and squares that do not overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from clusterlens.compute._validation import FloatArray, refuse_extremes


def validate_features(estimator: Any, X: Any, **options: Any) -> FloatArray:
    """Validate X (n_samples, n_features) with `validate_data` and check its magnitude.

    Rows for prediction may be arbitrarily similar, for example a single row.
    """
    data: FloatArray = validate_data(estimator, X, dtype=np.float64, **options)
    refuse_extremes(data, name="X", compared=options.get("reset", True))
    return data
