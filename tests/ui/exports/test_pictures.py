"""Tests of pictures for print: elements of the plots, reproducible, thread-safe."""

import gc
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import holoviews as hv
import numpy as np
import pytest
from matplotlib.figure import Figure

import clusterlens as cl
from clusterlens.ui.exports import pictures
from clusterlens.ui.plots.maps import draw_samples

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")
HOSTILE = r"_<script>alert(1)</script> $\frac$ & 'x'"
CLUSTERS = np.repeat([0, 1, 2], 20)


def makers():
    """Return a function that makes each picture; names are hostile."""
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [9.0, 3.0], [3.0, 9.0]], 20, axis=0)
    X += rng.normal(size=X.shape)
    noisy = [np.where(rng.random(60) < p, 0, CLUSTERS) for p in (0, 0.1, 0.2, 0.5)]
    ensemble = cl.Ensemble(noisy, names=[f"{HOSTILE} {t}" for t in range(4)])
    ranking = cl.rank_partitions(ensemble)
    graph = cl.CNSGraph(X, 12)
    solution, grid = graph.solve(6, 0.1, 3), graph.criterion_grid()
    projection, link = cl.project(X), SimpleNamespace(kind="cannot")
    links = [SimpleNamespace(ends=(0, 59), link=link), SimpleNamespace(ends=None)]
    chosen = SimpleNamespace(n_neighbors=12, alpha=0.2)
    draw = pictures
    return {
        "map": lambda: draw.print_map(projection, CLUSTERS, links, {0: HOSTILE}),
        "memberships": lambda: draw.print_memberships(projection, solution),
        "criterion": lambda: draw.print_criterion(grid, solution, chosen),
        "consensus": lambda: draw.print_matrix(ensemble, CLUSTERS, "consensus", 3),
        "binarised": lambda: draw.print_matrix(ensemble, CLUSTERS, "binarised", 3),
        "ranking": lambda: draw.print_ranking(ranking, ranking.order),
    }


MAKERS = makers()


@pytest.mark.parametrize("kind", pictures.FORMATS)
@pytest.mark.parametrize("name", MAKERS)
def test_a_picture_is_the_same_file_each_time(name, kind):
    first, again = (MAKERS[name]().to_bytes(kind) for _ in range(2))
    assert first == again


def test_pictures_are_the_same_on_several_threads_at_once():
    alone = [make().to_bytes("png") for make in MAKERS.values()]
    with ThreadPoolExecutor(3) as threads:
        together = threads.map(lambda make: make().to_bytes("png"), MAKERS.values())
        assert list(together) == alone


def test_pictures_leave_no_figure_and_no_back_end_behind():
    hv.extension("bokeh", logo=False)

    def figures():
        gc.collect()
        return sum(type(one) is Figure for one in gc.get_objects())

    before = figures()
    for name in ("criterion", "consensus", "map"):
        MAKERS[name]().to_bytes("png")
    assert figures() == before
    assert hv.Store.current_backend == "bokeh"


def test_the_map_names_clusters_and_draws_links_between_samples():
    projection = cl.project(np.random.default_rng(0).normal(size=(60, 3)))
    plot = draw_samples(
        projection,
        CLUSTERS,
        {0: HOSTILE},
        links=[("must", (3, 50)), ("cannot", (1, 2))],
    )
    names = [name for (name,) in plot.NdOverlay.I.data]
    assert names == [
        f"\u200b{HOSTILE}: 20",
        "\u200bcluster 2: 20",
        "\u200bcluster 3: 20",
    ]
    xy = projection.coordinates[:, :2]
    for lines, pair in zip(plot.Segments, ((3, 50), (1, 2)), strict=True):
        np.testing.assert_array_equal(lines.array()[0], xy[list(pair)].ravel())
