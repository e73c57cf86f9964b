"""Plots for notebooks show the numbers they are given."""

import asyncio

import numpy as np
import pandas as pd
import pytest

import clusterlens as cl
from clusterlens.ui.kit.components import Text
from tests.ui.loop import run

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")


@pytest.fixture
def ensemble():
    return cl.Ensemble(np.random.default_rng(0).integers(0, 3, (6, 20)))


def test_the_consensus_plot_shows_the_consensus_matrix(ensemble):
    image = cl.plot_consensus(ensemble, "file")
    codes = ensemble.codes
    for row, column in ((0, 0), (3, 17), (19, 4)):
        share = (codes[:, row] == codes[:, column]).mean()
        # The first row is at the top.
        assert image[column + 0.5, 20 - row - 0.5] == pytest.approx(share)


def test_the_binarised_plot_is_filled_where_enough_partitions_agree(ensemble):
    image = cl.plot_consensus(ensemble, "file", kind="binarised", threshold=7)
    assert image.dimension_values("share").max() == 0


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
                said = "".join(text.body for text in view.select(Text))
                if all(word in said for word in words):
                    break
                await asyncio.sleep(0.05)

    run(main())


def test_explore_refuses_another_number_of_rows(ensemble):
    with pytest.raises(cl.DataError, match="X has 9 rows for partitions of 20"):
        cl.explore(ensemble, np.ones((9, 2)) * np.arange(9)[:, None])


def test_what_is_no_ranking_is_refused(ensemble):
    with pytest.raises(ValueError, match="rank_partitions"):
        cl.plot_ranking(ensemble)
