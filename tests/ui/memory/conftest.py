"""What the tests of memory have in common."""

import numpy as np
import pytest

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.ui.actions import pools


@pytest.fixture
def quick_pool(monkeypatch):
    """Let a pool find labels at once."""

    def found(X, pool, **options):
        rng = np.random.default_rng(options["random_state"])
        return Ensemble(rng.integers(0, 3, (6, len(X))))

    monkeypatch.setattr(pools, "run_pool", found)
