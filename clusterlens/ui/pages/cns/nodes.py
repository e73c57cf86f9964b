"""Results of the page CNS: the graph of neighbours, the solution, its picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from clusterlens.compute.estimators.cns.criterion import Choice, CriterionGrid
from clusterlens.compute.estimators.cns.graph import CNSGraph
from clusterlens.compute.estimators.cns.live import LiveSolution, SmoothingStep
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.jobs.nodes import Later, node
from clusterlens.ui.plots.samples import Picture, draw_map
from clusterlens.ui.results.lab import Automatic, Setting, Summary
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.widgets.palette import certain_colours

# Bins of the histogram of certainty.
CERTAINTY_BINS = 20
# Up to LARGE samples the criterion is compared at more sizes than the default grid, up
# to FEW at more alphas, too.
LARGE, FEW = 20_000, 2_000
_SIZES = 9


@node("live", "Searching the nearest neighbours", keep=1)
def cns_graph(job: Job, dataset: Dataset, view_cns_metric: Any) -> CNSGraph:
    """Search the neighbours, half as many again as the default grid requires."""
    n = len(dataset.X)
    if n < 3:
        raise ValueError(
            f"the table has {n} samples; CNS needs at least 3. Load another on Data."
        )
    return CNSGraph(
        dataset.X,
        min(n - 1, 6 * int(np.ceil(np.log(n)))),
        view_cns_metric,
        neighbors="exact",
        progress=job.report,
        cancel=job.cancelled,
    )


@node("idle", "Choosing the setting of CNS")
def cns_automatic(job: Job, cns_graph: CNSGraph) -> Automatic:
    """Choose the setting as `CNS` does: the best of the default grid."""
    found = cns_graph.criterion_grid(
        cns_graph.default_neighbors,
        cns_graph.default_alphas,
        progress=job.report,
        cancel=job.cancelled,
    ).choice()
    return Automatic(_setting_of(found), found.criterion)


@node("idle", "Comparing the settings of CNS")
def cns_criterion(
    job: Job, cns_graph: CNSGraph, cns_automatic: Automatic
) -> CriterionGrid:
    """Return the criterion at every K, over the available sizes and alphas."""
    few = cns_graph.n_samples <= FEW
    return cns_graph.criterion_grid(
        _grid_sizes(cns_graph),
        None if few else cns_graph.default_alphas,
        progress=job.report,
        cancel=job.cancelled,
    )


def best_setting(grid: CriterionGrid) -> Setting:
    """Return the setting with the highest criterion of all compared."""
    return _setting_of(grid.choice())


def _setting_of(found: Choice) -> Setting:
    return Setting(found.n_neighbors, found.alpha, found.n_clusters)


def _grid_sizes(graph: CNSGraph) -> list[int]:
    """Return the default grid; in smaller tables also sizes between and beyond."""
    sizes = set(graph.default_neighbors)
    if graph.n_samples <= LARGE:
        evenly = np.linspace(min(3, graph.max_neighbors), graph.max_neighbors, _SIZES)
        sizes |= set(evenly.astype(int).tolist())
    return sorted(sizes)


Chosen = tuple[int, float, int]


@node()
def cns_released(
    cns_graph: CNSGraph, cns: Chosen | None, cns_automatic: Later[Automatic]
) -> Setting:
    """Return the chosen setting, otherwise the automatic one, or a first guess."""
    if cns is not None:
        return Setting(*cns)
    if cns_automatic is not None:
        return cns_automatic.setting
    alpha = float(np.sqrt(np.prod(cns_graph.alpha_range)))
    return Setting(
        cns_graph.default_neighbors[0], alpha, min(2, cns_graph.max_clusters)
    )


@node()
def cns_setting(cns_released: Setting, view_cns_preview: Chosen | None) -> Setting:
    """Return the setting in force, which follows a held slider."""
    return Setting(*view_cns_preview) if view_cns_preview is not None else cns_released


@node("live", "Following", debounced=True)
def cns_held(job: Job, view_cns_preview: Chosen) -> Setting:
    """Return the setting of a held slider after it has rested."""
    return Setting(*view_cns_preview)


@node()
def cns_displayed_setting(cns_released: Setting, cns_held: Setting | None) -> Setting:
    """Return the setting described in the text; it waits until a held slider rests."""
    return cns_released if cns_held is None else cns_held


@node()
def cns_neighbors(cns_setting: Setting) -> int:
    """Return the neighbourhood size in force."""
    return cns_setting.n_neighbors


@node("live", "Preparing previews", keep=1, debounced=True)
def cns_filled(job: Job, cns_graph: CNSGraph, cns_neighbors: int) -> int:
    """Fill the cache of previews at the neighbourhood size in force; return it."""
    cns_graph.fill(cns_neighbors, progress=job.report, cancel=job.cancelled)
    return cns_neighbors


@node("live", "Making the memberships exact", debounced=True)
def cns_exact(job: Job, cns_graph: CNSGraph, cns_setting: Setting) -> LiveSolution:
    """Solve at the setting as `CNS` does."""
    return cns_graph.solve(
        **vars(cns_setting), progress=job.report, cancel=job.cancelled
    )


@node("live", "Smoothing")
def cns_solution(
    job: Job,
    cns_graph: CNSGraph,
    cns_setting: Setting,
    cns_exact: Later[LiveSolution],
    cns_filled: Later[int],
) -> LiveSolution:
    """Return the exact solution at the setting, or a preview until it is ready."""
    if cns_exact is not None:
        return cns_exact
    return cns_graph.preview(**vars(cns_setting))


@node()
def cns_displayed_solution(
    cns_solution: LiveSolution, cns_displayed_setting: Setting
) -> LiveSolution:
    """Return the solution described in the text."""
    return cns_solution


@node("live", "Summing up")
def cns_summary(
    job: Job, cns_displayed_solution: LiveSolution, view_cns_certain: float
) -> Summary:
    """Count samples by cluster, between clusters and undecided."""
    decided = np.logical_not(cns_displayed_solution.undecided)
    labels, certainty = (
        cns_displayed_solution.labels[decided],
        cns_displayed_solution.certainty[decided],
    )
    span = (
        (1 / cns_displayed_solution.n_clusters, 1.0)
        if cns_displayed_solution.n_clusters > 1
        else (0.0, 1.0)
    )
    return Summary(
        cns_displayed_solution,
        np.bincount(labels, minlength=cns_displayed_solution.n_clusters),
        int((certainty < view_cns_certain).sum()),
        int(cns_displayed_solution.undecided.sum()),
        int(cns_displayed_solution.tied.sum()),
        np.histogram(certainty, bins=CERTAINTY_BINS, range=span)[0],
        float(cns_displayed_solution.criterion[cns_displayed_solution.n_clusters - 1]),
        cns_displayed_solution.error_bound,
    )


def step_colours(step: SmoothingStep) -> np.ndarray:
    """Colour a state of the smoothing like a solution."""
    return certain_colours(
        np.where(step.undecided, -1, step.labels),
        step.seed_shares.max(axis=1),
        step.memberships.shape[1],
    )


@dataclass(frozen=True, eq=False)
class Fitted:
    """A published version with its own choice of setting.

    Parameters
    ----------
    title : str
        Version and distance.
    labels, hues : array of int, shape (n_samples,), (n_clusters,)
        Likeliest seed of each sample, -1 if undecided, and cluster colour of each seed.
    certainty : array of float, shape (n_samples,)
        Share of seed stops at the likeliest seed.
    seeds : array of int, shape (n_clusters,)
        Indices of the seeds.
    """

    title: str
    labels: np.ndarray
    hues: np.ndarray
    certainty: np.ndarray
    seeds: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """Return the numbers of decided samples of the seeds, shape (n_clusters,)."""
        return np.bincount(self.labels[self.labels >= 0], minlength=len(self.seeds))


@node()
def cns_shown(
    cns_fits: Later[Mapping[str, Fitted]], view_cns_version: str
) -> Fitted | None:
    """Return the published version on the map; None shows the setting in force."""
    return cns_fits.get(view_cns_version) if cns_fits is not None else None


@node("live", "Colouring the memberships")
def cns_colours(
    job: Job,
    cns_solution: LiveSolution,
    cns_steps: Later[tuple[SmoothingStep, ...]],
    view_cns_step: int | None,
    cns_shown: Fitted | None,
) -> np.ndarray:
    """Return colours: hue by likeliest seed, saturation by its share of seed stops."""
    if cns_shown is not None:
        hues = np.append(cns_shown.hues, -1)[cns_shown.labels]
        return certain_colours(hues, cns_shown.certainty, len(cns_shown.seeds))
    if (
        cns_steps is not None
        and view_cns_step is not None
        and view_cns_step < len(cns_steps)
    ):
        return step_colours(cns_steps[view_cns_step])
    return certain_colours(
        np.where(cns_solution.undecided, -1, cns_solution.labels),
        cns_solution.certainty,
        cns_solution.n_clusters,
    )


@node("live", "Drawing the memberships")
def cns_picture(
    job: Job,
    cns_colours: np.ndarray,
    prepared_projection: Projection,
    view_cns_view: Viewport,
) -> Picture | None:
    """Draw the memberships at the size and in the ranges of the figure."""
    if not view_cns_view.drawn:
        return None
    xy = prepared_projection.coordinates[:, :2]
    return draw_map(xy, cns_colours, view_cns_view, plane=prepared_projection)


@node("live", "Preparing the map for clicks")
def cns_nearest(job: Job, prepared_projection: Projection) -> KDTree:
    """Return a search tree over the map, for clicks."""
    return KDTree(prepared_projection.coordinates[:, :2])
