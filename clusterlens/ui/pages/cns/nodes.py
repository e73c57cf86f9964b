"""What the CNS page shows: the graph of neighbours, the solution, its picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from clusterlens.compute.estimators.cns.criterion import CriterionGrid
from clusterlens.compute.estimators.cns.graph import (
    CNSGraph,
    LiveSolution,
    SmoothingStep,
)
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.figures.frame import Picture
from clusterlens.ui.figures.raster import Raster, map_view, place_samples
from clusterlens.ui.kit.palette import certain_colours
from clusterlens.ui.state.looking import Viewport
from clusterlens.ui.work.derived import Node
from clusterlens.ui.work.jobs import Job

# Bins of the histogram of certainty.
CERTAINTY_BINS = 20
# Caches take 1600 bytes a sample each, so larger tables keep the default grid only.
LARGE = 20_000
_SIZES = 9
_CACHES, _LARGE_CACHES = 16, 6


def cns_graph(job: Job, dataset: Dataset, metric: Any) -> CNSGraph:
    """Search the neighbours, half as many again as the default grid asks for."""
    n = len(dataset.X)
    if n < 3:
        raise ValueError(
            f"the table has {n} samples; CNS needs at least 3. Load another on Data."
        )
    return CNSGraph(
        dataset.X,
        min(n - 1, 6 * int(np.ceil(np.log(n)))),
        metric,
        max_caches=_CACHES if n <= LARGE else _LARGE_CACHES,
        progress=job.report,
        cancel=job.cancelled,
    )


@dataclass(frozen=True)
class Setting:
    """Neighbourhood size, stopping probability and number of seeds."""

    n_neighbors: int
    alpha: float
    n_clusters: int


@dataclass(frozen=True)
class Automatic:
    """The best setting of the default grid, and its criterion."""

    setting: Setting
    criterion: float


def cns_automatic(job: Job, graph: CNSGraph) -> Automatic:
    """Choose the setting as `CNS` does: the best of the default grid."""
    sizes = graph.default_neighbors or (graph.max_neighbors,)
    _fill(job, graph, sizes)
    table = graph.criterion_grid(
        sizes, graph.default_alphas or graph.alpha_range, cancel=job.cancelled
    ).best()
    best = table.loc[table["criterion"].idxmax()]
    setting = Setting(
        int(best["n_neighbors"]), float(best["alpha"]), int(best["n_clusters"])
    )
    return Automatic(setting, float(best["criterion"]))


def cns_criterion(job: Job, graph: CNSGraph, automatic: Automatic) -> CriterionGrid:
    """The criterion at every K, over sizes on offer and alphas."""
    sizes = _grid_sizes(graph)
    _fill(job, graph, sizes)
    return graph.criterion_grid(sizes, cancel=job.cancelled)


def _fill(job: Job, graph: CNSGraph, sizes: Sequence[int]) -> None:
    """Make the caches of some neighbourhood sizes, as far as they are not there."""
    for place, size in enumerate(sizes):

        def report(done: int, total: int, place: int = place) -> None:
            job.report(place * total + done, len(sizes) * total)

        graph.fill(size, progress=report, cancel=job.cancelled)


def _grid_sizes(graph: CNSGraph) -> list[int]:
    """The default grid; in smaller tables also sizes between and beyond."""
    sizes = set(graph.default_neighbors) or {graph.max_neighbors}
    if graph.n_samples <= LARGE:
        evenly = np.linspace(min(3, graph.max_neighbors), graph.max_neighbors, _SIZES)
        sizes |= set(evenly.astype(int).tolist())
    return sorted(sizes)


Chosen = tuple[int, float, int]


def cns_released(
    graph: CNSGraph, chosen: Chosen | None, automatic: Automatic | None
) -> Setting:
    """The setting that was chosen, else the automatic one, else a first guess."""
    if chosen is not None:
        return Setting(*chosen)
    if automatic is not None:
        return automatic.setting
    alpha = float(np.sqrt(np.prod(graph.alpha_range)))
    return Setting(_first_guess(graph), alpha, min(2, graph.max_clusters))


def cns_setting(released: Setting, preview: Chosen | None) -> Setting:
    """The setting in force: where a slider is held, else the one it was left at."""
    return Setting(*preview) if preview is not None else released


def cns_held(job: Job, preview: Chosen) -> Setting:
    """Where a slider is held and rests."""
    return Setting(*preview)


def cns_settled(released: Setting, held: Setting | None) -> Setting:
    """The setting that is told of: the one in force, once a held slider rests."""
    return released if held is None else held


def _first_guess(graph: CNSGraph) -> int:
    """The size that the default grid is most likely to choose."""
    return next(iter(graph.default_neighbors), graph.max_neighbors)


def cns_neighbors(setting: Setting) -> int:
    """The neighbourhood size in force."""
    return setting.n_neighbors


def cns_filled(job: Job, graph: CNSGraph, n_neighbors: int) -> int:
    """Make the cache of the neighbourhood size in force; return the size."""
    graph.fill(n_neighbors, progress=job.report, cancel=job.cancelled)
    return n_neighbors


def cns_solution(
    job: Job, graph: CNSGraph, setting: Setting, filled: int | None
) -> LiveSolution:
    """Solve at the setting; a preview until its cache has been filled."""
    return graph.solve(setting.n_neighbors, setting.alpha, setting.n_clusters)


def cns_told(solution: LiveSolution, settled: Setting) -> LiveSolution:
    """The solution that is told of."""
    return solution


@dataclass(frozen=True, eq=False)
class Summary:
    """What a solution comes to.

    Parameters
    ----------
    solution : LiveSolution
        What is summed up.
    sizes : array of int, shape (n_clusters,)
        Decided samples whose likeliest seed is each.
    between, undecided : int
        Samples between clusters, and samples that reach no seed.
    counts : array of int, shape (CERTAINTY_BINS,)
        Decided samples by certainty, from 1/K to 1.
    criterion : float
        Gain in clarity of this setting.
    error_bound : float
        No membership is wrong by more.
    """

    solution: LiveSolution
    sizes: np.ndarray
    between: int
    undecided: int
    counts: np.ndarray
    criterion: float
    error_bound: float


def cns_summary(job: Job, solution: LiveSolution, certain: float) -> Summary:
    """Count samples by cluster, between clusters and undecided."""
    decided = np.logical_not(solution.undecided)
    labels, certainty = solution.labels[decided], solution.certainty[decided]
    span = (1 / solution.n_clusters, 1.0) if solution.n_clusters > 1 else (0.0, 1.0)
    return Summary(
        solution,
        np.bincount(labels, minlength=solution.n_clusters),
        int((certainty < certain).sum()),
        int(solution.undecided.sum()),
        np.histogram(certainty, bins=CERTAINTY_BINS, range=span)[0],
        float(solution.criterion[solution.n_clusters - 1]),
        solution.error_bound,
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
    """A published version as it chose by itself.

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
        """Decided samples of each seed, shape (n_clusters,)."""
        return np.bincount(self.labels[self.labels >= 0], minlength=len(self.seeds))


def cns_shown(fits: Mapping[str, Fitted] | None, version: str) -> Fitted | None:
    """The published version on the map, none where it is the setting in force."""
    return fits.get(version) if fits is not None else None


def cns_colours(
    job: Job,
    solution: LiveSolution,
    steps: tuple[SmoothingStep, ...] | None,
    step: int | None,
    fitted: Fitted | None,
) -> np.ndarray:
    """Hue by the likeliest seed, saturation by its share of the seed stops."""
    if fitted is not None:
        hues = np.append(fitted.hues, -1)[fitted.labels]
        return certain_colours(hues, fitted.certainty, len(fitted.seeds))
    if steps is not None and step is not None and step < len(steps):
        return step_colours(steps[step])
    return certain_colours(
        np.where(solution.undecided, -1, solution.labels),
        solution.certainty,
        solution.n_clusters,
    )


def cns_raster(job: Job, projection: Projection, port: Viewport) -> Raster | None:
    """Where the samples fall at the size and in the ranges of the figure."""
    if not (port.width and port.height):
        return None
    xy = projection.coordinates[:, :2]
    return place_samples(xy, map_view(xy, port), size=(port.width, port.height))


def cns_picture(
    job: Job,
    raster: Raster,
    colours: np.ndarray,
    projection: Projection,
    port: Viewport,
) -> Picture:
    """Draw the memberships."""
    whole = map_view(projection.coordinates[:, :2], port.whole())
    return Picture(raster.coloured(colours), raster.view, whole)


def cns_nearest(job: Job, projection: Projection) -> KDTree:
    """Search tree over the map, for clicks."""
    return KDTree(projection.coordinates[:, :2])


NODES = {
    "cns_graph": Node(
        ("dataset", "look.cns_metric"),
        cns_graph,
        "live",
        "Searching the nearest neighbours",
        keep=1,
    ),
    "cns_automatic": Node(
        ("cns_graph",), cns_automatic, "idle", "Choosing the setting of CNS"
    ),
    "cns_criterion": Node(
        ("cns_graph", "cns_automatic"),
        cns_criterion,
        "idle",
        "Comparing the settings of CNS",
    ),
    "cns_released": Node(("cns_graph", "cns?", "cns_automatic~"), cns_released),
    "cns_setting": Node(("cns_released", "look.cns_preview?"), cns_setting),
    "cns_held": Node(("look.cns_preview",), cns_held, "live", "Following", rests=True),
    "cns_settled": Node(("cns_released", "cns_held?"), cns_settled),
    "cns_neighbors": Node(("cns_setting",), cns_neighbors),
    # Only the latest: an older cache may have had to go.
    "cns_filled": Node(
        ("cns_graph", "cns_neighbors"),
        cns_filled,
        "live",
        "Making the memberships exact",
        keep=1,
        rests=True,
    ),
    "cns_solution": Node(
        ("cns_graph", "cns_setting", "cns_filled~"),
        cns_solution,
        "live",
        "Smoothing",
    ),
    "cns_told": Node(("cns_solution", "cns_settled"), cns_told),
    "cns_summary": Node(
        ("cns_told", "look.cns_certain"), cns_summary, "live", "Summing up"
    ),
    "cns_shown": Node(("cns_fits~", "look.cns_version"), cns_shown),
    "cns_colours": Node(
        ("cns_solution", "cns_steps~", "look.cns_step?", "cns_shown?"),
        cns_colours,
        "live",
        "Colouring the memberships",
    ),
    "cns_raster": Node(
        ("prepared_projection", "look.cns_view"),
        cns_raster,
        "live",
        "Placing the samples",
    ),
    "cns_picture": Node(
        ("cns_raster", "cns_colours", "prepared_projection", "look.cns_view"),
        cns_picture,
        "live",
        "Drawing the memberships",
    ),
    "cns_nearest": Node(
        ("prepared_projection",), cns_nearest, "live", "Preparing the map for clicks"
    ),
}
