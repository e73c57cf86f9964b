"""Tests of plots for notebooks: they show the numbers they are given."""

import asyncio

import holoviews as hv
import numpy as np
import pandas as pd
import pytest
from bokeh.palettes import Viridis256

import clusterlens as cl
from clusterlens.compute.consensus.tiles import Tile
from clusterlens.ui.plots.matrix import (
    CLEAREST,
    draw_matrix,
    empty_matrix,
    scale_of,
    shade_matrix,
)
from clusterlens.ui.widgets.palette import rgb
from clusterlens.ui.widgets.scripted import Text
from tests.ui.loop import run

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")


@pytest.fixture
def ensemble():
    return cl.Ensemble(np.random.default_rng(0).integers(0, 3, (6, 20)))


def test_the_consensus_plot_shows_the_consensus_matrix(ensemble):
    image = cl.plot_consensus(ensemble, "file").Image.I
    codes = ensemble.codes
    for row, column in ((0, 0), (3, 17), (19, 4)):
        share = (codes[:, row] == codes[:, column]).mean()
        assert image[column + 0.5, row + 0.5] == pytest.approx(share)


def test_the_binarised_plot_is_filled_where_enough_partitions_agree(ensemble):
    picture = cl.plot_consensus(ensemble, "file", kind="binarised", threshold=7)
    assert picture.Image.I.dimension_values("share").max() == 0
    assert (picture.RGB.I.dimension_values("A") == CLEAREST).all()


def test_colours_of_a_matrix_are_those_of_its_values_first_row_at_the_top(ensemble):
    tile = cl.consensus_tile(ensemble, rows=(2, 9), cols=(0, 20))
    picture = draw_matrix(tile)
    colours = rgb(Viridis256)
    for row, column in np.ndindex(tile.values.shape):
        at = column + 0.5, row + 2.5
        found = [picture.RGB.I[at].dimension_values(k)[0] for k in "RGB"]
        expected = colours[round(255 * float(tile.values[row, column]))]
        assert np.abs(expected.astype(int) - found).max() <= 1
    assert hv.Store.lookup_options("bokeh", picture, "plot").kwargs["invert_yaxis"]


@pytest.mark.parametrize("n", [189, 1000])
def test_no_pixel_has_the_value_of_its_neighbour(n):
    """More pixels than cells: each cell is one pixel; fewer: each pixel its cells."""
    codes = np.random.default_rng(0).integers(0, 3, (7, n))
    tile = cl.consensus_tile(cl.Ensemble(codes), shape=(260, 260))
    values = draw_matrix(tile).Image.I.dimension_values("share", flat=False)
    together = (codes[:, :, None] == codes[:, None]).mean(axis=0)
    edges = tile.row_edges
    assert len(edges) - 1 == min(n, 260)
    expected = np.add.reduceat(np.add.reduceat(together, edges[:-1], 0), edges[:-1], 1)
    expected /= np.outer(np.diff(edges), np.diff(edges))
    np.testing.assert_allclose(values, expected, atol=1e-5)


def test_equalised_colours_rise_with_the_values_and_favour_frequent_ones():
    shares = np.concatenate([np.full(900, 0.1), np.linspace(0, 1, 100)])
    values = np.random.default_rng(0).permutation(shares).reshape(20, 50)
    tile = Tile(values, np.arange(21), np.arange(51), "consensus", None, exact=True)
    bright = shade_matrix(tile, "eq_hist")[..., 1].ravel()
    assert (np.diff(bright[np.argsort(values, axis=None)].astype(int)) >= 0).all()
    seen = {v: bright[np.argmin(np.abs(values.ravel() - v))] for v in (0.05, 0.15, 0.9)}
    assert seen[0.15] - seen[0.05] > seen[0.9] - seen[0.15]


def test_a_scale_has_colours_of_the_picture_from_its_least_share_to_its_largest():
    values = np.random.default_rng(0).beta(0.3, 2, (30, 40)).astype(np.float32)
    values[0, :5] = np.nan
    tile = Tile(values, np.arange(31), np.arange(41), "consensus", None, exact=True)
    shades = shade_matrix(tile, "eq_hist")
    scale = scale_of(draw_matrix(tile, "eq_hist"))
    shares = [share for share, _ in scale]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (np.nanmin(values), np.nanmax(values))
    for share, colour in scale:
        assert bytes.fromhex(colour[1:]) in set(map(bytes, shades[values == share, :3]))
    assert scale_of(empty_matrix()) == []


def test_where_no_vote_saw_a_pair_nothing_is_drawn():
    values = np.array([[0.5, np.nan], [np.nan, 1.0]])
    for kind in ("consensus", "binarised"):
        tile = Tile(values, np.arange(3), np.arange(3), kind, None, exact=True)
        for shading in ("linear", "eq_hist"):
            clear = shade_matrix(tile, shading)[..., 3] == 0
            assert np.array_equal(clear, np.isnan(values))


def test_the_ranking_plot_has_the_most_typical_model_at_the_top(ensemble):
    ranking = cl.rank_partitions(ensemble)
    plot = cl.plot_ranking(ranking, 4)
    points = plot.Scatter.I
    assert points.dimension_values("score")[-1] == ranking.values[ranking.order[0]]
    assert len(points) == 4


def test_explore_shows_the_consensus_page_of_partitions_or_of_a_table(ensemble):
    table = pd.DataFrame(np.random.default_rng(1).normal(size=(20, 3)))
    pool = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]

    async def main():
        expected = {
            cl.explore(ensemble): ["Closest to"],
            cl.explore(ensemble, table): ["Closest to"],
            cl.explore(table, pool=pool): ["Closest to", "k=2"],
        }
        for view, words in expected.items():
            while True:
                shown = "".join(text.body for text in view.select(Text))
                if all(word in shown for word in words):
                    break
                await asyncio.sleep(0.05)

    run(main())


def test_explore_refuses_another_number_of_rows(ensemble):
    with pytest.raises(cl.DataError, match="X has 9 rows for partitions of 20"):
        cl.explore(ensemble, np.ones((9, 2)) * np.arange(9)[:, None])


def test_what_is_no_ranking_is_refused(ensemble):
    with pytest.raises(ValueError, match="rank_partitions"):
        cl.plot_ranking(ensemble)
