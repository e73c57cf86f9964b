"""What the tests of memory have in common."""

import numpy as np
import pytest

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.ui.actions import pools
from clusterlens.ui.server.memory import memory


@pytest.fixture(scope="package", autouse=True)
def no_rest():
    """Let what is written not wait for what follows on screen, where nobody looks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "_REST_SECONDS", 0)
        yield


@pytest.fixture
def quick_pool(monkeypatch):
    """Let a pool find labels at once."""

    def found(X, pool, **options):
        rng = np.random.default_rng(options["random_state"])
        return Ensemble(rng.integers(0, 3, (6, len(X))))

    monkeypatch.setattr(pools, "run_pool", found)
