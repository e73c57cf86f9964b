"""Figures show the numbers they are given."""

import numpy as np
import pytest

from clusterlens.compute.consensus.tiles import consensus_tile
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.ui import figures
from clusterlens.ui.palette import (
    CLUSTER_COLOURS,
    cluster_colour,
    cluster_colours,
    disagreement_colours,
    rgb,
)


def rgba(picture) -> np.ndarray:
    """Return the colours of a picture, its row coordinate ascending."""
    channels = [picture.dimension_values(d, flat=False) for d in picture.vdims]
    return np.stack(channels, axis=-1)


@pytest.fixture
def ensemble() -> Ensemble:
    return Ensemble(np.random.default_rng(0).integers(0, 3, (5, 8)))


def test_matrix_image_holds_the_values_of_the_tile(ensemble):
    tile = consensus_tile(ensemble, rows=(1, 5), cols=(2, 8), shape=(60, 60))
    image = figures.matrix_image(tile, pixels=24)
    codes = ensemble.codes
    for row in range(1, 5):
        for column in range(2, 8):
            shown = image[column + 0.5, row + 0.5]
            assert shown == pytest.approx((codes[:, row] == codes[:, column]).mean())


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ((-5.0, 3.2), (0, 4)),
        ((2.7, 2.9), (2, 3)),
        ((9.0, 99.0), (9, 10)),
        ((50.0, 60.0), (9, 10)),
    ],
)
def test_visible_items_stay_inside_the_data_and_are_never_none(view, expected):
    assert figures.visible_items(view, 10) == expected


def test_full_view_leaves_room_for_the_strips():
    (x0, x1), _ = figures.full_view(200)
    assert x0 == pytest.approx(-200 * figures.MARGIN)
    assert x1 == 200


def test_strips_show_the_colour_of_each_position():
    colours = np.arange(12, dtype=np.uint8).reshape(4, 3)
    strips = figures.cluster_strips(colours, (1, 3), (0, 4), figures.full_view(4))
    left, top = strips
    np.testing.assert_array_equal(rgba(top)[0], colours)
    np.testing.assert_array_equal(rgba(left)[:, 0], colours[1:3])


def test_map_draws_every_sample_in_its_colour():
    xy = np.array([[0.0, 0.0], [1.0, 1.0]])
    colours = rgb(["#ff0000", "#0000ff"])
    picture = rgba(figures.sample_map(xy, colours, figures.map_view(xy), pixels=50))
    seen = {tuple(pixel[:3]) for pixel in picture[picture[..., 3] > 0]}
    assert seen == {(255, 0, 0), (0, 0, 255)}


def test_lit_samples_keep_their_colour_and_the_others_fade():
    xy = np.array([[0.0, 0.0], [1.0, 1.0]])
    colours = rgb(["#ff0000", "#0000ff"])
    view = figures.map_view(xy)
    picture = rgba(figures.sample_map(xy, colours, view, pixels=50, lit=np.array([1])))
    opaque = {tuple(pixel[:3]) for pixel in picture[picture[..., 3] == 255]}
    assert opaque == {(0, 0, 255)}
    assert (picture[..., 3] == 70).any()


def test_map_view_has_equal_scales_and_shows_all_points():
    xy = np.array([[0.0, 0.0], [10.0, 1.0]])
    (x0, x1), (y0, y1) = figures.map_view(xy)
    assert x1 - x0 == pytest.approx(y1 - y0)
    assert x0 < 0 < 10 < x1


def test_map_view_of_a_single_point_is_not_empty():
    (x0, x1), _ = figures.map_view(np.zeros((3, 2)))
    assert x0 < 0 < x1


def test_clusters_beyond_the_palette_repeat_and_noise_has_its_own_colour():
    clusters = np.array([0, len(CLUSTER_COLOURS), -1])
    colours = cluster_colours(clusters)
    np.testing.assert_array_equal(colours[0], colours[1])
    assert cluster_colour(-1) not in CLUSTER_COLOURS
    np.testing.assert_array_equal(rgb([cluster_colour(-1)])[0], colours[2])


def test_disagreement_colours_run_from_none_to_even_split():
    ends = disagreement_colours(np.array([0.0, 1.0]))
    assert not (ends[0] == ends[1]).all()
