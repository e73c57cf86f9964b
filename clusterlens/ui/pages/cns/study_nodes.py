"""Results around a solution of CNS: curves, steps, published versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd

from clusterlens.compute._run.options import raise_if_cancelled
from clusterlens.compute.ensemble.contingency import contingency_table, match_clusters
from clusterlens.compute.estimators.cns.cns import CNS
from clusterlens.compute.estimators.cns.criterion import CriterionGrid
from clusterlens.compute.estimators.cns.graph import CNSGraph
from clusterlens.compute.estimators.cns.live import LiveSolution, SmoothingStep
from clusterlens.compute.formatting import whole
from clusterlens.compute.indices.indices import external_index
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.figures.canvas import data_address
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import Later, node
from clusterlens.ui.pages.cns.nodes import Fitted, step_colours
from clusterlens.ui.plots.samples import draw_map
from clusterlens.ui.results.lab import Setting
from clusterlens.ui.state.view_parameters import Viewport

# Size of the pictures of single steps, in pixels.
STEP_SIZE = (118, 74)
VERSIONS: tuple[
    tuple[Literal["revised", "v2", "v1"], Literal["euclidean", "cosine"]], ...
] = tuple(product(("revised", "v2", "v1"), ("euclidean", "cosine")))
# With more samples the published versions are not compared on the page.
MOST_COMPARED = 20_000


@dataclass(frozen=True)
class Curves:
    """The criterion over one slider while the others stay.

    Parameters
    ----------
    by : dict of str to tuple of (float, float)
        For each field of a setting its values with the criterion there.
    best : tuple of (int, float)
        For each K the best criterion of all settings compared.
    """

    by: Mapping[str, tuple[tuple[float, float], ...]]
    best: tuple[tuple[float, float], ...]


@node()
def cns_curves(
    cns_displayed_solution: LiveSolution,
    cns_displayed_setting: Setting,
    cns_criterion: Later[CriterionGrid],
) -> Curves:
    """Return the criterion over K, and over the other sliders if it is known."""
    here = tuple(enumerate(cns_displayed_solution.criterion.tolist(), 1))
    by: dict[str, tuple[tuple[float, float], ...]] = {"n_clusters": here}
    if cns_criterion is None or cns_displayed_setting.n_clusters > len(
        cns_criterion.values
    ):
        return Curves(by, ())
    values = cns_criterion.values[cns_displayed_setting.n_clusters - 1]
    k = int(
        np.abs(cns_criterion.n_neighbors - cns_displayed_setting.n_neighbors).argmin()
    )
    a = int(np.abs(np.log(cns_criterion.alphas / cns_displayed_setting.alpha)).argmin())
    now = float(cns_displayed_solution.criterion[cns_displayed_solution.n_clusters - 1])
    over_size = dict(_known(cns_criterion.n_neighbors, values[:, a]))
    over_alpha = dict(_known(cns_criterion.alphas, values[k]))
    over_size[cns_displayed_setting.n_neighbors] = over_alpha[
        cns_displayed_setting.alpha
    ] = now
    by["n_neighbors"] = tuple(sorted(over_size.items()))
    by["alpha"] = tuple(sorted(over_alpha.items()))
    best = cns_criterion.best()
    return Curves(
        by, _known(best["n_clusters"].to_numpy(), best["criterion"].to_numpy())
    )


def _known(x: np.ndarray, y: np.ndarray) -> tuple[tuple[float, float], ...]:
    known = np.isfinite(y)
    return tuple(zip(x[known].tolist(), y[known].tolist(), strict=True))


@node("idle", "Stepping the smoothing")
def cns_steps(
    job: Job, cns_graph: CNSGraph, cns_released: Setting
) -> tuple[SmoothingStep, ...]:
    """Return the memberships on the way from the seeds to the fixed point."""
    return cns_graph.smoothing_steps(
        cns_released.n_neighbors,
        cns_released.alpha,
        cns_released.n_clusters,
        progress=job.report,
        cancel=job.cancelled,
    )


@node("idle", "Drawing steps")
def cns_thumbnails(
    job: Job, prepared_projection: Projection, cns_steps: tuple[SmoothingStep, ...]
) -> tuple[str, ...]:
    """Return a small picture of each state, as a data address."""
    xy = prepared_projection.coordinates[:, :2]
    port = Viewport(width=STEP_SIZE[0], height=STEP_SIZE[1])
    return tuple(
        data_address(draw_map(xy, step_colours(step), port).pixels)
        for step in cns_steps
    )


@dataclass(frozen=True, eq=False)
class Versions:
    """Settings that each published version chooses, under both distances.

    Parameters
    ----------
    table : DataFrame
        A row for each, with its choice.
    models : dict of str to CNS
        The fitted models by "version metric".
    """

    table: pd.DataFrame
    models: Mapping[str, CNS]


@node("live", "Fitting the published versions", asked_for=True)
def cns_versions(job: Job, dataset: Dataset) -> Versions:
    """Fit each published version under both distances."""
    if len(dataset.X) > MOST_COMPARED:
        raise ValueError(
            f"the table has {whole(len(dataset.X))} samples; the published versions "
            f"are compared up to {whole(MOST_COMPARED)}. Fit them one by one with "
            "CNS(version=)."
        )
    rows: list[dict[str, Any]] = []
    models: dict[str, CNS] = {}
    first = None
    for done, (version, metric) in enumerate(VERSIONS):
        job.report(done, len(VERSIONS))
        raise_if_cancelled(job.cancelled)
        model = CNS(version=version, metric=metric).fit(dataset.X)
        models[f"{version} {metric}"] = model
        first = model.labels_ if first is None else first
        rows.append(
            {
                "version": version,
                "metric": metric,
                "n_clusters": model.n_clusters_,
                "n_occupied": model.n_occupied_,
                "n_neighbors": model.n_neighbors_,
                "alpha": model.alpha_,
                "criterion": float(np.nanmax(model.criterion_)),
                "ari": float(external_index("ari", first, model.labels_)),
            }
        )
    return Versions(pd.DataFrame(rows), models)


@node()
def cns_fits(
    cns_versions: Versions, cns_displayed_solution: LiveSolution
) -> dict[str, Fitted]:
    """Return the versions for drawing, with hues that follow the solution."""
    return {
        key: _fitted(key, model, cns_displayed_solution)
        for key, model in cns_versions.models.items()
    }


def _fitted(key: str, model: CNS, solution: LiveSolution) -> Fitted:
    labels = np.where(model.undecided_, -1, model.seed_labels_)
    seeds, certainty = model.seeds_, model.seed_shares_.max(axis=1)
    return Fitted(key, labels, _hues(model, solution), certainty, seeds)


def _hues(model: CNS, solution: LiveSolution) -> np.ndarray:
    """Return for each seed the colour of the most overlapping cluster."""
    own, other = match_clusters(contingency_table(model.seed_labels_, solution.labels))
    hues = np.full(len(model.seeds_), -1)
    hues[own] = other
    free = hues < 0
    hues[free] = solution.n_clusters + np.arange(free.sum())
    return hues
