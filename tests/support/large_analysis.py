"""Analyses of planted groups, of any size."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path

import numpy as np

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.ui.composition import new_session
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.analysis import Analysis, Run
from clusterlens.ui.state.history import Step


def made(n: int, d: int, n_models: int) -> Analysis:
    """Return an analysis of planted groups and models with errors."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 8, n)
    X = groups[:, None] + rng.normal(size=(n, d))
    table = make_dataset(X, name="planted")
    ready = prepare(table)
    labels = [
        np.where(rng.random(n) < rng.uniform(0.05, 0.4), rng.integers(0, 8, n), groups)
        for _ in range(n_models)
    ]
    families = [f"family {k % 5}" for k in range(n_models)]
    run = Run("r1", "run 1", ready, (), 0, Ensemble(labels, families=families))
    return Analysis(table, {}, ready, (run,), 1, "r1")


def kept(home: Path, n: int, n_models: int) -> Path:
    """Return a folder that keeps a large analysis alone; made where it is not there."""
    folder = home / f"{n}x{n_models}"
    if not folder.exists():
        begun = home / f"{n}x{n_models} begun"
        shutil.rmtree(begun, ignore_errors=True)
        asyncio.run(_write(begun, n, n_models))
        begun.rename(folder)
    return folder


async def _write(folder: Path, n: int, n_models: int) -> None:
    session = new_session(Server(Store(folder)))
    session.view_state.page = "consensus"  # where it is left, and opened again
    session.history.do(Step("start", "Test", made(n, 10, n_models)))
    start = clocks()
    await session.memory.settled()
    spent = (f"{b - a:.2f}" for a, b in zip(start, clocks(), strict=True))
    size = session.memory.store.size()
    print(f"{n:,} rows, {n_models} models saved:", *spent, f"s, {size:,} bytes")
    session.memory.store.close()


def clocks() -> tuple[float, float]:
    """Wall-clock and processor seconds."""
    return time.perf_counter(), time.process_time()
