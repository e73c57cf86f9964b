"""Input of estimators: its checks, and its rows as a metric compares them.

Beside scikit-learn's checks, squares must not overflow.
"""

from __future__ import annotations

from typing import Any, Literal

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


def to_metric(
    X: FloatArray,
    metric: Literal["euclidean", "cosine"],
    center: FloatArray | None = None,
) -> FloatArray:
    """Return X, or for "cosine" its rows scaled to length 1, shape (n, d).

    With a centre, the column means (d,), "cosine" takes the rows less the centre.
    """
    if metric == "euclidean":
        return X
    rows = X if center is None else X - center
    lengths = np.linalg.norm(rows, axis=1)
    if not lengths.all():
        row = int(np.argmin(lengths))
        origin = "zero" if center is None else "the column means"
        raise ValueError(
            f"X has row {row} equal to {origin}, so it has no direction for "
            "metric='cosine'; remove such rows or use metric='euclidean'."
        )
    return rows / lengths[:, None]
