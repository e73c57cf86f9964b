"""Calibration: a pool with every method of the presets, run to measure the speed."""

from __future__ import annotations

import numpy as np

from clusterlens.compute._run.processes import Workers
from clusterlens.compute.pool.paces import known_paces
from clusterlens.compute.pool.pool import run_pool

# Large enough for fits to take longer than their first call, and no larger.
_SHAPE = (3_000, 5)
_N_GROUPS = 6


def calibrate(workers: Workers | None = None) -> bool:
    """Measure the pace of this machine unless it is known; return whether the pool ran.

    Takes some five seconds of one core, once per machine: `run_pool` keeps the result.
    """
    if known_paces().seen:
        return False
    rng = np.random.default_rng(0)
    groups = rng.integers(0, _N_GROUPS, _SHAPE[0])
    X = rng.normal(size=_SHAPE) + 3 * rng.normal(size=(_N_GROUPS, _SHAPE[1]))[groups]
    run_pool(X, "default", n_jobs=1, workers=workers)
    return True
