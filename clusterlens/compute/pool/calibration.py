"""A calibration: a pool of every method of the presets, run to see how fast it goes."""

from __future__ import annotations

import numpy as np

from clusterlens.compute._run.processes import Workers
from clusterlens.compute.pool.paces import known_paces
from clusterlens.compute.pool.pool import run_pool

# So large that fits take longer than what comes with a first call, and no larger.
_SHAPE = (3_000, 5)
_N_GROUPS = 6


def calibrate(workers: Workers | None = None) -> bool:
    """Learn the pace of this machine, unless it is known; say whether the pool ran.

    Some five seconds of one core, once on a machine: `run_pool` keeps what it saw.
    """
    if known_paces().seen:
        return False
    rng = np.random.default_rng(0)
    groups = rng.integers(0, _N_GROUPS, _SHAPE[0])
    X = rng.normal(size=_SHAPE) + 3 * rng.normal(size=(_N_GROUPS, _SHAPE[1]))[groups]
    run_pool(X, "default", n_jobs=1, workers=workers)
    return True
