"""Tests of every plot: its numbers, in both back ends, open to restyling."""

import doctest
from functools import cache
from importlib import import_module
from types import SimpleNamespace

import holoviews as hv
import numpy as np
import pandas as pd
import pytest

import clusterlens as cl
from clusterlens.compute.assigning.drift import Drift
from clusterlens.ui import plots
from clusterlens.ui.plots.criterion import plot_criterion
from tests.test_architecture import UI_MODULES

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")
MODULES = sorted(name for name in UI_MODULES if name.startswith(f"{plots.__name__}."))
# Text that would be markup, invalid mathematics, and a closing quote.
HOSTILE = r"<script>alert(1)</script> $\frac$ & 'x'"


@pytest.fixture(scope="module", autouse=True)
def back_ends():
    """Load both back ends, with Bokeh current as in a notebook."""
    hv.extension("bokeh", "matplotlib", logo=False)


@cache
def results():
    """Return a result of each kind; names of models, families, columns are hostile."""
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [9.0, 3.0], [3.0, 9.0]], 20, axis=0)
    X += rng.normal(size=X.shape)
    labels = np.repeat([0, 1, 2], 20)
    noisy = [np.where(rng.random(60) < p, 0, labels) for p in (0, 0, 0.1, 0.2, 0.5)]
    names = [f"{HOSTILE} {t}" for t in range(5)]
    families = [HOSTILE, HOSTILE, "b", "b", "c"]
    ensemble = cl.Ensemble(noisy, names=names, families=families)
    agreement = cl.count_agreements(ensemble)
    links = cl.Constraints(must_link=[(0, 2)], cannot_link=[(0, 1), (0, 59)])
    columns = {HOSTILE: X[:, 0], "b": X[:, 1]}
    table = cl.prepare(pd.DataFrame(columns))
    moved = pd.DataFrame({HOSTILE: X[:, 0] + 30, "b": X[:, 1]})
    return SimpleNamespace(
        ensemble=ensemble,
        agreement=agreement,
        ranking=cl.rank_partitions(agreement, constraints=links),
        model_map=cl.map_models(ensemble),
        selection=cl.select_k(X, [2, 3], n_resamples=5, n_draws=4, level=0.2, n_jobs=1),
        grid=cl.CNS().fit(X).criterion_grid(),
        projection=cl.project(X),
        solution=cl.CNSGraph(X, 12).solve(6, 0.1, 3),
        check=cl.label_match(X, labels, random_state=0),
        drift=cl.Segmentation(table, labels).drift(moved),
    )


CALLS = {
    "consensus": lambda made: cl.plot_consensus(made.ensemble),
    "ranking": lambda made: cl.plot_ranking(made.ranking),
    "models": lambda made: cl.plot_models(made.model_map, made.ranking),
    "models alone": lambda made: cl.plot_models(made.model_map),
    "threshold": lambda made: cl.plot_threshold(made.agreement),
    "evidence": lambda made: cl.plot_k_evidence(made.selection),
    "evidence at k": lambda made: cl.plot_k_evidence(made.selection, 3),
    "criterion": lambda made: cl.plot_criterion(made.grid, setting=(5, 0.1)),
    "memberships": lambda made: cl.plot_memberships(made.projection, made.solution),
    "class pairs": lambda made: cl.plot_class_pairs(made.check, {0: HOSTILE}),
    "drift": lambda made: cl.plot_drift(made.drift),
    "map": lambda made: cl.plot_map([[0, 0], [1, 1], [2, 1]], [HOSTILE, "b", "b"]),
    "map without labels": lambda made: cl.plot_map(np.eye(3)),
}


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_plots_run(name):
    assert not doctest.testmod(import_module(name)).failed


@pytest.mark.parametrize("name", CALLS)
def test_a_plot_is_drawn_by_both_back_ends_whatever_names_hold(name):
    plot = CALLS[name](results())
    hv.render(plot, backend="bokeh")
    figure = hv.render(plot, backend="matplotlib")
    figure.canvas.draw()


@pytest.mark.parametrize("name", CALLS)
def test_a_plot_takes_options_and_stands_beside_and_over_another(name):
    plot = CALLS[name](results())
    restyled = plot.opts(title="mine")
    kwargs = hv.Store.lookup_options("bokeh", restyled, "plot").kwargs
    assert kwargs["title"] == "mine"
    hv.render(restyled + hv.Curve([1, 2]), backend="bokeh")
    hv.render(restyled * hv.Curve([1, 2]), backend="bokeh")


def test_a_plot_made_before_matplotlib_is_loaded_has_the_options_of_bokeh(monkeypatch):
    monkeypatch.setattr(hv.Store, "loaded_backends", lambda: ["bokeh"])
    points = cl.plot_ranking(results().ranking).Scatter.I
    assert hv.Store.lookup_options("bokeh", points, "style").kwargs["size"] == 5


def test_bars_of_the_ranking_end_at_the_score_and_what_links_add():
    ranking = results().ranking
    plot = cl.plot_ranking(ranking, 3)
    shown = ranking.order[:3][::-1]
    alone, charge = plot.Rectangles.I, plot.Rectangles.II
    np.testing.assert_array_equal(
        alone.dimension_values("to"), ranking.unconstrained[shown]
    )
    np.testing.assert_array_equal(charge.dimension_values("to"), ranking.values[shown])
    assert ranking.violated[shown].any()


def test_the_ranking_shows_the_models_that_are_asked_for_in_their_order():
    ranking = results().ranking
    values = cl.plot_ranking(ranking, models=[4, 1]).Scatter.I.dimension_values("score")
    np.testing.assert_array_equal(values, ranking.values[[1, 4]])


def test_models_stand_where_they_are_mapped_equal_ones_once():
    made = results()
    plot = cl.plot_models(made.model_map)
    frame = made.model_map.to_frame()
    placed = {}
    for (family,), points in plot.data.items():
        for x, y, model, copies in points.array(["x", "y", "model", "copies"]).tolist():
            placed[model] = (family, x, y, copies)
    assert len(placed) == 4  # the first two are equal
    for model, (family, x, y, copies) in placed.items():
        row = frame[frame["model"] == model].iloc[0]
        assert (row["family"], row["x"], row["y"]) == (family, x, y)
        assert copies == (2 if model == made.ensemble.names[0] else 1)


def test_the_leader_of_the_map_of_models_is_the_square():
    made = results()
    square = cl.plot_models(made.model_map, made.ranking).Points.I
    assert square["rank"].tolist() == [1]
    style = hv.Store.lookup_options("matplotlib", square, "style").kwargs
    assert style["marker"] == "s"


def test_a_ranking_of_other_partitions_is_refused():
    other = cl.rank_partitions(cl.Ensemble([[0, 0, 1], [0, 1, 1], [0, 1, 0]]))
    with pytest.raises(cl.DataError, match="of one ensemble"):
        cl.plot_models(results().model_map, other)


def test_curves_are_the_ranks_at_each_threshold():
    made = results()
    curves = cl.plot_threshold(made.agreement, 2).NdOverlay.I
    for curve in curves:
        name = curves.keys()[curves.values().index(curve)].partition(". ")[2]
        model = made.ensemble.names.index(name)
        for threshold, rank in curve.array():
            scores = cl.discotec(made.agreement, threshold=int(threshold)).round(10)
            assert rank == 1 + (scores < scores[model]).sum()
    assert len(curves) == 2


def test_evidence_spans_the_copies_and_marks_what_stands_out():
    found = results().selection
    plot = cl.plot_k_evidence(found)
    np.testing.assert_array_equal(
        plot.Scatter.Data.dimension_values("ambiguous pairs"), found.data.pac
    )
    for bars, curves in zip(
        plot.Segments.values(), found.references.values(), strict=True
    ):
        low, high = (bars.dimension_values(k) for k in ("ambiguous pairs", "at"))
        np.testing.assert_array_equal(low, curves.pac.min(axis=0))
        np.testing.assert_array_equal(high, curves.pac.max(axis=0))
    assert plot.Scatter.Stands_out["number of clusters"].tolist() == [found.k]


def test_a_number_that_was_not_compared_is_refused():
    with pytest.raises(ValueError, match="k = 7 was not compared; give one of 2, 3"):
        cl.plot_k_evidence(results().selection, 7)


def test_cells_of_the_criterion_hold_its_values_with_their_settings_inside():
    grid = results().grid
    best = grid.choice()
    mesh = plot_criterion(grid).QuadMesh.I
    expected = np.maximum(grid.at(best.n_clusters).to_numpy(), 0)
    found = mesh.dimension_values("criterion", flat=False)
    np.testing.assert_allclose(found, expected.T)
    for dimension, settings in (
        ("neighbours", grid.n_neighbors),
        ("alpha", grid.alphas),
    ):
        edges = mesh.interface.coords(mesh, dimension, edges=True)
        assert (edges[:-1] < settings).all()
        assert (edges[1:] > settings).all()


def test_the_highest_criterion_has_the_diamond():
    grid = results().grid
    best = grid.choice()
    mark = cl.plot_criterion(grid).Points.I
    assert mark.array().tolist() == [[best.n_neighbors, best.alpha]]


def test_stars_are_the_seeds_and_other_tables_are_refused():
    made = results()
    plot = cl.plot_memberships(made.projection, made.solution)
    np.testing.assert_array_equal(
        plot.Points.I.array(), made.projection.coordinates[made.solution.seeds]
    )
    with pytest.raises(cl.DataError, match="projection has 59 samples"):
        cl.plot_memberships(cl.project(np.eye(59)), made.solution)


def test_each_pair_of_classes_has_its_score_below_the_diagonal():
    check = results().check
    plot = cl.plot_class_pairs(check)
    cells = plot.QuadMesh.I.dimension_values("score", flat=False)
    for a in range(3):
        for b in range(3):
            expected = check.matrix().loc[a, b] if b < a else np.nan
            np.testing.assert_equal(cells[a, b], expected)
    texts = {t for labels in plot.Labels for t in labels.dimension_values("text")}
    assert texts == {f"{score:.2f}" for score in check.pairs["score"]}


def test_the_most_changed_column_is_at_the_top_and_coloured():
    drift: Drift = results().drift
    plot = cl.plot_drift(drift)
    assert drift.moved == [HOSTILE]
    moved = plot.Rectangles.II
    assert moved["to"].tolist() == [drift.columns["psi"].max()]
    assert moved["at"].item() > plot.Rectangles.I["at"].item()


@pytest.mark.parametrize(
    ("plot", "maker"),
    [
        (cl.plot_ranking, "rank_partitions"),
        (cl.plot_models, "map_models"),
        (cl.plot_threshold, "count_agreements"),
        (cl.plot_k_evidence, "select_k"),
        (cl.plot_criterion, "criterion_grid"),
        (cl.plot_class_pairs, "label_match"),
        (lambda given: cl.plot_memberships(given, None), "project"),
        (cl.plot_drift, "Segmentation.drift"),
    ],
)
def test_another_kind_of_result_is_refused(plot, maker):
    with pytest.raises(ValueError, match=rf"not list; give what {maker} returns"):
        plot([1, 2])
