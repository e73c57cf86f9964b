"""Random states of estimators: all that scikit-learn accepts, and Generators."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state as scikit_random_state

from clusterlens.compute._validation import check_random_state


def legacy_random_state(random_state: Any) -> np.random.RandomState:
    """Return the RandomState that scikit-learn's estimators draw from.

    As in scikit-learn, None means NumPy's global state and a RandomState is returned as
    it is; a Generator provides its next seed.
    """
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return scikit_random_state(random_state)
    return np.random.RandomState(check_random_state(random_state))
