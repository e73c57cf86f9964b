"""Synthetic pools (section 4.2): labels that keep more or less of a planted partition.

200 samples in 10 classes, 50 repetitions with a new planted partition each. Scenario 1:
model t keeps each label with a probability drawn from U(0.1, rho_max). Scaling: the
same with up to 200 models. Scenario 2: 50 models around two hubs, a bad hub that keeps
20 % of the planted partition and a good hub that keeps 90 %; the share alpha of the
models is around the bad hub. The paper draws how much of its hub a model keeps from
U(0.2, 0.9), its code from U(0, 1).

A label that is not kept is replaced by another one, drawn uniformly.

All are measured by Kendall's tau and by Pearson's correlation (figure 4). The paper
draws these curves without printing values, so the numbers used for comparison come from
an independent computation of tau alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from benchmarks.discotec_protocol import (
    CONSENSUS_METRICS,
    Case,
    Part,
    consensus_metrics,
    correlations,
    draw_curves,
)
from clusterlens.compute.ensemble.ensemble import Ensemble

N_SAMPLES, N_CLASSES, N_MODELS, REPETITIONS = 200, 10, 50, 50
RHO_MIN = 0.1
HUBS = (0.2, 0.9)
KEEP = {"paper": (0.2, 0.9), "code": (0.0, 1.0)}
KINDS = ("kendall", "pearson")
SHOWN = ["Binary", "KL", "AARI", "ANMI"]
# Mean tau of SHOWN, of an independent computation with 50 repetitions.
EXPECTED_1 = {
    (5, 0.5): (0.03, 0.26, 0.42, 0.34),
    (5, 0.9): (-0.04, 0.77, 0.85, 0.81),
    (25, 0.2): (-0.01, -0.01, 0.00, -0.01),
    (25, 0.5): (0.57, 0.37, 0.71, 0.66),
    (25, 0.9): (0.90, 0.88, 0.96, 0.94),
    (50, 0.2): (0.05, 0.01, 0.04, 0.05),
    (50, 0.3): (0.14, 0.04, 0.19, 0.17),
    (50, 0.5): (0.70, 0.38, 0.79, 0.75),
    (50, 0.7): (0.89, 0.78, 0.94, 0.92),
    (50, 0.9): (0.94, 0.89, 0.98, 0.96),
}
EXPECTED_2 = {
    ("paper", 0.1): (0.86, 0.87, 0.92, 0.92),
    ("paper", 0.3): (0.52, 0.62, 0.69, 0.71),
    ("paper", 0.5): (0.32, 0.29, 0.32, 0.31),
    ("paper", 0.7): (0.19, 0.07, 0.03, 0.01),
    ("paper", 0.9): (0.06, 0.02, 0.01, 0.00),
    ("code", 0.1): (0.85, 0.84, 0.91, 0.91),
    ("code", 0.3): (0.59, 0.63, 0.70, 0.72),
    ("code", 0.5): (0.39, 0.37, 0.41, 0.41),
    ("code", 0.7): (0.29, 0.19, 0.19, 0.17),
    ("code", 0.9): (0.23, 0.20, 0.19, 0.18),
}
TOLERANCE, TOLERANCE_OF_FIVE = 0.05, 0.12
Pool = tuple[np.ndarray, np.ndarray]


def perturb(
    labels: np.ndarray, keep: float | np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Keep each label with probability `keep`, or replace it by a different one.

    `keep` of shape (n_models, 1) gives as many rows.
    """
    shape = np.broadcast_shapes(labels.shape, np.shape(keep))
    moved = (labels + 1 + rng.integers(0, N_CLASSES - 1, shape)) % N_CLASSES
    return np.where(rng.random(shape) < keep, labels, moved)


def one_truth(n_models: int, rho_max: float, rng: np.random.Generator) -> Pool:
    """Planted partition, and label matrix of models around it."""
    planted = rng.integers(0, N_CLASSES, N_SAMPLES)
    keep = rng.uniform(RHO_MIN, rho_max, (n_models, 1))
    return planted, perturb(planted, keep, rng)


def two_hubs(keep: str, alpha: float, rng: np.random.Generator) -> Pool:
    """Planted partition, and label matrix of models around a bad and a good hub."""
    planted = rng.integers(0, N_CLASSES, N_SAMPLES)
    bad, good = (perturb(planted, rho, rng) for rho in HUBS)
    n_bad = math.ceil(round(alpha * N_MODELS, 6))
    hub_of = np.where(np.arange(N_MODELS)[:, None] < n_bad, bad, good)
    return planted, perturb(hub_of, rng.uniform(*KEEP[keep], (N_MODELS, 1)), rng)


def repeat(make: Callable[..., Pool], *setting: float | str) -> pd.DataFrame:
    """Return correlations of six consensus metrics, a row per repetition and kind."""
    rows = []
    for repetition in range(REPETITIONS):
        seed = [ord(c) for c in f"{make.__name__} {setting} {repetition}"]
        planted, labels = make(*setting, np.random.default_rng(seed))
        case = consensus_metrics(Ensemble(labels))
        case["ari"] = [adjusted_rand_score(planted, row) for row in labels]
        for kind in KINDS:
            about = {"repetition": repetition, "correlation": kind}
            rows.append(about | correlations(case, kind).to_dict())
    return pd.DataFrame(rows)


def settings(
    make: Callable[..., Pool], *grids: tuple
) -> Callable[[Path | None], Iterator[Case]]:
    """Return cases of a scenario: all combinations of its settings."""
    return lambda folder: ((s, partial(repeat, make, *s)) for s in product(*grids))


def report(
    rows: pd.DataFrame,
    out: Path,
    *,
    key: list[str],
    name: str,
    expected: dict,
    along: str,
) -> None:
    """Print mean (std) of the correlations beside the expected ones, and draw them."""
    for kind, part in rows.groupby("correlation"):
        groups = part.groupby(key, sort=False)[list(CONSENSUS_METRICS)]
        mean, std = groups.mean(), groups.std(ddof=1)
        text = mean.map("{:.2f}".format) + " (" + std.map("{:.2f}".format) + ")"
        print(f"{kind}: mean (std) over {REPETITIONS} repetitions")
        print(text.to_string())
        if kind == "kendall":
            compare(mean, expected)
        else:
            print("the paper draws Pearson's correlation and prints no value of it")
        draw_curves(mean[SHOWN], along, out / f"discotec_{name}_{kind}.png")


def compare(mean: pd.DataFrame, expected: dict) -> None:
    """Print mean tau beside the expected values, with the largest gap."""
    within = 0
    for setting, values in expected.items():
        gaps = (mean.loc[setting, SHOWN] - values).abs()
        limit = TOLERANCE_OF_FIVE if setting[0] == 5 else TOLERANCE
        within += int((gaps <= limit + 1e-9).sum())
        cells = ", ".join(f"{m} {mean.loc[setting, m]:.2f}" for m in SHOWN)
        print(
            f"  {setting}: {cells}; expected {values}, largest gap {gaps.max():.3f} "
            f"(at most {limit})"
        )
    if expected:
        print(f"within tolerance: {within} of {len(SHOWN) * len(expected)}")


def _part(
    name: str,
    make: Callable[..., Pool],
    grid: dict[str, tuple],
    expected: dict,
    along: str,
) -> Part:
    """Return a part of the benchmark: one scenario over a grid of settings."""
    key = list(grid)
    print_rows = partial(report, key=key, name=name, expected=expected, along=along)
    return Part(key, settings(make, *grid.values()), print_rows)


SCENARIO_1 = _part(
    "scenario1",
    one_truth,
    {"n_models": (5, 25, 50), "rho_max": (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)},
    EXPECTED_1,
    along="rho_max",
)
SCENARIO_2 = _part(
    "scenario2",
    two_hubs,
    {"keep": tuple(KEEP), "alpha": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)},
    EXPECTED_2,
    along="alpha",
)
SCALING = _part(
    "scaling",
    one_truth,
    {"n_models": tuple(range(20, 201, 20)), "rho_max": (0.2, 0.5, 0.9)},
    {},
    along="n_models",
)
