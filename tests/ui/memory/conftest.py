"""Fixtures of the tests of memory."""

import numpy as np
import pytest

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.ui.actions import pools
from clusterlens.ui.server.memory import memory


@pytest.fixture(scope="package", autouse=True)
def no_rest():
    """Write without delay, because there is no screen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "_DEBOUNCE_SECONDS", 0)
        yield


@pytest.fixture
def quick_pool(monkeypatch):
    """Make pools return labels at once."""

    def found(X, pool, **options):
        rng = np.random.default_rng(options["random_state"])
        return Ensemble(rng.integers(0, 3, (6, len(X))))

    monkeypatch.setattr(pools, "run_pool", found)
