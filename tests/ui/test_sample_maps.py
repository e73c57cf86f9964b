"""Tests of sample maps: colours at the places of the samples."""

import subprocess
import sys

import holoviews as hv
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clusterlens as cl
from clusterlens.compute._validation import DataError
from clusterlens.ui.plots.samples import draw_map, map_view, shade_samples
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.widgets.palette import NOISE_COLOUR, cluster_colour, cluster_colours

PORT = Viewport(width=24, height=24)
CORNERS = np.array([[0.0, 0.0], [10.0, 10.0]])
RED_BLUE = np.array([[255, 0, 0], [0, 0, 255]], np.uint8)


def rgba(xy, colours, view, size, **how):
    """Return colours of pixels, shape (height, width, 4), the lowest y first."""
    pixels = shade_samples(xy, colours, view, size=size, **how)
    return np.ascontiguousarray(pixels).view(np.uint8).reshape(*size[::-1], 4)


@given(
    st.integers(1, 2000), st.integers(1, 2000), st.floats(0.001, 1e6), st.floats(-5, 5)
)
def test_a_map_shows_all_points_at_equal_scale(width, height, size, shift):
    rng = np.random.default_rng(0)
    xy = rng.normal(size=(20, 2)) * size + shift
    (x0, x1), (y0, y1) = map_view(xy, Viewport(None, None, width, height))
    assert (xy[:, 0] > x0).all()
    assert (xy[:, 0] < x1).all()
    assert (xy[:, 1] > y0).all()
    assert (xy[:, 1] < y1).all()
    assert (x1 - x0) / width == pytest.approx((y1 - y0) / height)


@pytest.mark.parametrize("place", [0.0, 1.0, -1e7, 1e15])
def test_samples_at_one_place_are_one_point_in_the_middle(place):
    xy = np.full((3, 2), place)
    (x0, x1), (y0, y1) = map_view(xy, PORT)
    assert x0 < place < x1
    assert y0 < place < y1
    picture = draw_map(xy, np.full((3, 3), 7, np.uint8), PORT)
    rows, columns = np.nonzero(picture.pixels[..., 3])
    assert np.ptp(rows) == np.ptp(columns) == 2
    assert abs(rows.mean() - 11.5) <= 1
    assert abs(columns.mean() - 11.5) <= 1
    assert (picture.pixels[rows, columns] == [7, 7, 7, 255]).all()


def test_a_map_is_an_element_with_the_pixels_where_the_samples_are():
    picture = draw_map(CORNERS, RED_BLUE, PORT)
    assert isinstance(picture.element, hv.RGB)
    assert picture.view == picture.whole == map_view(CORNERS, PORT)

    def at(x, y):
        return picture.pixels[picture.element.sheet2matrixidx(x, y)].tolist()

    assert at(0, 0) == [255, 0, 0, 255]
    assert at(10, 10) == [0, 0, 255, 255]
    assert at(0, 10) == at(10, 0) == [0, 0, 0, 0]


def test_a_zoomed_map_is_of_the_part_and_knows_the_whole():
    picture = draw_map(CORNERS, RED_BLUE, Viewport((9, 11), (9, 11), 24, 24))
    assert picture.view == ((9, 11), (9, 11))
    assert picture.whole == map_view(CORNERS, PORT)
    shown = picture.pixels[picture.pixels[..., 3] > 0]
    assert np.unique(shown, axis=0).tolist() == [[0, 0, 255, 255]]


def test_a_map_without_a_sample_in_view_is_clear():
    picture = draw_map(CORNERS, RED_BLUE, Viewport((3, 5), (3, 5), 24, 24))
    assert not picture.pixels.any()


def test_a_map_has_room_for_other_points():
    around = np.array([[-50.0, -50.0], [50.0, 50.0]])
    picture = draw_map(CORNERS, RED_BLUE, PORT, around=around)
    assert picture.view == map_view(around, PORT)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_places_that_are_not_finite_are_refused(value):
    xy = np.array([[0.0, 0.0], [1.0, value]])
    with pytest.raises(DataError, match=f"xy has the value {value} in row 1"):
        shade_samples(xy, RED_BLUE, ((0, 1), (0, 1)), size=(24, 24))


@pytest.mark.parametrize("size", [(30, 20), (400, 300)])
def test_a_pixel_has_the_mean_colour_of_its_samples_and_so_have_its_neighbours(size):
    rng = np.random.default_rng(0)
    xy = rng.uniform(size=(200, 2))
    colours = rng.integers(0, 256, (200, 3)).astype(np.uint8)
    view, (width, height) = ((0.0, 0.9), (0.1, 1.0)), size
    places = {}
    for (x, y), colour in zip(xy, colours, strict=True):
        if x <= 0.9 and y >= 0.1:
            at = int((y - 0.1) / 0.9 * height), int(x / 0.9 * width)
            places.setdefault(at, []).append(colour.astype(float))
    # The radius of points at these sizes.
    radius = {30: 1, 400: 3}[width]
    expected = np.zeros((height, width, 4), np.uint8)
    rows, columns = np.indices((height, width))
    for (row, column), here in sorted(places.items()):
        near = (rows - row) ** 2 + (columns - column) ** 2 <= (radius + 0.5) ** 2
        expected[near] = [*np.rint(np.mean(here, axis=0)), 255]
    assert np.array_equal(rgba(xy, colours, view, size), expected)


def test_many_samples_are_as_many_pixels_as_they_fall_on():
    rng = np.random.default_rng(0)
    xy = rng.uniform(size=(40_000, 2))
    colours = np.full((40_000, 3), 9, np.uint8)
    drawn = rgba(xy, colours, ((0.0, 1.0), (0.0, 1.0)), (60, 60))
    assert (drawn == [9, 9, 9, 255]).all()
    few = rgba(xy[:, ::-1] * [1, 0.5], colours, ((0.0, 1.0), (0.0, 1.0)), (60, 60))
    assert few[:30, :, 3].all()
    assert not few[30:].any()


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_layout_of_the_arrays_does_not_matter(order):
    rng = np.random.default_rng(0)
    xy = np.asarray(rng.uniform(size=(300, 3)), order=order)[:, :2]
    colours = np.asarray(rng.integers(0, 256, (300, 3)), np.uint8, order=order)
    xy.flags.writeable = colours.flags.writeable = False
    view, size = ((0.0, 1.0), (0.0, 1.0)), (50, 40)
    drawn = rgba(xy, colours, view, size)
    assert np.array_equal(drawn, rgba(xy.copy(), colours.copy(), view, size))


def test_two_kinds_of_samples_differ_in_shape_too():
    xy = np.array([[1.0, 1.0], [3.0, 1.0]])
    colours = np.array([[255, 0, 0], [255, 0, 0]], np.uint8)
    view, size = ((0.0, 4.0), (0.0, 2.0)), (400, 200)
    which = np.array([False, True])
    pixels = shade_samples(xy, colours, view, size=size, triangles=which)
    discs, triangles = pixels[:, :200] > 0, pixels[:, 200:] > 0
    assert np.array_equal(discs[100:107], discs[100:93:-1])
    widths = triangles.sum(axis=1)[triangles.any(axis=1)]
    # The lowest row comes first: wide at the bottom, a point at the top.
    assert (np.diff(widths) <= 0).all()
    assert widths[0] > 5
    assert widths[-1] == 1
    plain = shade_samples(xy, colours, view, size=size)
    assert np.array_equal(discs, plain[:, :200] > 0)


@pytest.mark.parametrize("keep_hue", [False, True])
def test_highlighted_samples_keep_their_colour_and_the_others_fade(keep_hue):
    view = map_view(CORNERS, PORT)
    lit = np.array([1])
    drawn = rgba(CORNERS, RED_BLUE, view, (24, 24), highlighted=lit, keep_hue=keep_hue)
    low, high = drawn[:12, :12], drawn[12:, 12:]
    assert np.unique(high[high[..., 3] > 0], axis=0).tolist() == [[0, 0, 255, 255]]
    (faded,) = np.unique(low[low[..., 3] > 0], axis=0).tolist()
    assert 0 < faded[3] < 255
    assert (faded[:3] == [255, 0, 0]) == keep_hue
    # A highlighted point is the larger one.
    assert (high[..., 3] > 0).sum() > (low[..., 3] > 0).sum()


def test_with_nothing_highlighted_nothing_fades():
    view, none = map_view(CORNERS, PORT), np.empty(0, np.intp)
    plain = shade_samples(CORNERS, RED_BLUE, view, size=(24, 24))
    drawn = shade_samples(CORNERS, RED_BLUE, view, size=(24, 24), highlighted=none)
    assert np.array_equal(drawn, plain)


def test_once_warm_no_map_waits_for_compilation():
    """Datashader compiles anew in each process, and for each layout of the arrays."""
    code = """
import numpy as np
from numba.core import event
from clusterlens.ui.plots.samples import draw_map
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.jobs.warm import _draw

with event.install_recorder("numba:compile") as compiled:
    _draw()
    n_warm = len(compiled.buffer)
    rng = np.random.default_rng(0)
    for port in (Viewport(width=300, height=200), Viewport((0, 1), (0, 1), 20, 20)):
        for order in "CF":
            xy = np.asarray(rng.normal(size=(99, 3)), order=order)[:, :2]
            colours = np.asarray(rng.integers(0, 9, (99, 3)), np.uint8, order=order)
            xy.flags.writeable = False
            draw_map(xy, colours, port)
            draw_map(xy, colours, port, highlighted=np.arange(9))
            draw_map(xy, colours, port, highlighted=np.arange(9), keep_hue=True)
            draw_map(xy, colours, port, triangles=colours[:, 0] > 4)
print(n_warm > 0, len(compiled.buffer) - n_warm)
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "0"]


@pytest.fixture(scope="module")
def iris():
    return cl.prepare(cl.load_example("iris"))


def legend(plot):
    """Return names and colours of a legend."""
    return {
        name: hv.Store.lookup_options("bokeh", entry, "style").kwargs["color"]
        for (name,), entry in plot.NdOverlay.I.data.items()
    }


def test_the_plot_of_a_map_has_the_pixels_of_the_page(iris):
    plot = cl.plot_map(iris, width=300, height=200)
    port = Viewport(width=300, height=200)
    colours = cluster_colours(iris.labels_true)
    expected = draw_map(cl.project(iris).coordinates, colours, port)
    assert np.array_equal(plot.RGB.I.data, expected.pixels)
    assert plot.RGB.I.bounds == expected.element.bounds
    names = list(map(str, iris.label_names))
    assert legend(plot) == {name: cluster_colour(k) for k, name in enumerate(names)}


def test_clusters_of_a_plot_keep_their_numbers_and_noise_is_grey():
    plot = cl.plot_map(np.eye(3)[:, :2], [3, -1, 3])
    assert legend(plot) == {"noise": NOISE_COLOUR, "cluster 4": cluster_colour(3)}


def test_two_columns_are_coordinates_and_more_are_projected():
    X = np.random.default_rng(0).normal(size=(40, 5))
    port = Viewport(width=560, height=420)
    plain = np.zeros(40, int)
    for data, xy in ((X[:, :2], X[:, :2]), (X, cl.project(X).coordinates)):
        plot = cl.plot_map(data)
        expected = draw_map(xy, cluster_colours(plain), port).pixels
        assert np.array_equal(plot.RGB.I.data, expected)
    projected = cl.plot_map(cl.project(X, 3))
    assert np.array_equal(projected.RGB.I.data, expected)
    assert "NdOverlay" not in dir(projected)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(DataError, match="data has the value nan in row 1, column 0"):
        cl.plot_map([[0, 1], [np.nan, 2]])
    with pytest.raises(ValueError, match="labels has 1 entr"):
        cl.plot_map(CORNERS, [0])
    with pytest.raises(ValueError, match="width"):
        cl.plot_map(CORNERS, width=0)
    with pytest.raises(DataError, match="projection on 1 axis"):
        cl.plot_map(cl.project(np.eye(3), 1))
