"""Axes of maps: numeric columns with ticks in their own units, or components."""

import math
import re

import holoviews as hv
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from playwright.sync_api import expect

import clusterlens as cl
from clusterlens.compute.table.dataset import make_dataset
from clusterlens.compute.table.plane import map_samples
from clusterlens.compute.table.projection import ColumnAxis, Projection
from clusterlens.ui.exports.pictures import print_map
from clusterlens.ui.plots.axes import (
    arrows,
    axis_titles,
    plane_words,
    spoken_axes,
    ticks_of,
)
from clusterlens.ui.plots.maps import draw_samples
from clusterlens.ui.plots.samples import draw_map
from clusterlens.ui.state.view_parameters import Viewport
from tests.ui.kept import pool_run
from tests.ui.test_main_job import FIGURE, choose

PORT = Viewport(width=420, height=300)
RNG = np.random.default_rng(0)
# A square in its own units, which two components turn by 45 degrees or not at all.
SQUARE = pd.DataFrame(RNG.uniform(100, 500, (150, 2)), columns=["east, m", "north, m"])


def drawn_on(table, **rules):
    return map_samples(cl.prepare(make_dataset(table), **rules))


def ticks(projection, port=PORT):
    xy = projection.coordinates
    return draw_map(xy, np.zeros((len(xy), 3), np.uint8), port, plane=projection).ticks


def test_ticks_are_round_values_of_the_columns_at_their_places():
    projection = drawn_on(SQUARE)
    for one, axis in zip(ticks(projection), projection.columns, strict=True):
        assert one.name == axis.name
        values = [float(text) for text in one.texts.values()]
        assert {200, 400} <= set(values)
        np.testing.assert_allclose(axis.to_places(values), list(one.texts))


@given(
    st.floats(-1e12, 1e12),
    st.floats(1e-3, 1e12),
    st.floats(0.001, 1),
    st.integers(100, 2000),
)
@example(-1_000_000_001.0, 2.0, 1.0, 200)
def test_ticks_have_room_and_differ(low, spread, part, pixels):
    values = np.array([low, low + spread])
    axis = ColumnAxis("a", values, np.array([-1.0, 1.0]))
    plane = Projection(*[np.zeros((2, 2))] * 3, "none", np.zeros(2), (axis, axis))
    view = ((-part, part), (-part, part))
    for one, gap in zip(ticks_of(plane, view, (pixels, pixels)), (55, 28), strict=True):
        places, texts = list(one.texts), list(one.texts.values())
        assert len(set(texts)) == len(texts)
        assert all(-part <= place <= part for place in places)
        gaps = np.diff(places) / (2 * part) * pixels
        assert len(texts) <= 3 or gaps.min() >= gap * 0.99


def test_ticks_stay_where_the_column_has_values():
    projection = drawn_on(SQUARE)
    wide, _ = ticks(projection, Viewport(width=2000, height=200))
    assert all(60 <= float(text) <= 540 for text in wide.texts.values())
    away = ticks_of(projection, ((50.0, 60.0), (0.0, 1.0)), (300, 300))
    assert away[0].texts == {}


@pytest.mark.parametrize("transform", ["log", "rank"])
def test_ticks_of_a_transformed_column_are_values_of_the_column(transform):
    table = SQUARE.assign(income=RNG.lognormal(10, 1, 150))[["east, m", "income"]]
    projection = drawn_on(table, transforms={"income": transform})
    texts = ticks(projection)[1].texts
    values = [float(text.replace("\u202f", "")) for text in texts.values()]
    assert len(values) >= 4
    assert table["income"].min() <= min(values) < max(values) <= table["income"].max()
    assert math.isclose(projection.columns[1].to_places(values)[1], list(texts)[1])


def test_words_name_the_columns_or_the_components():
    square = drawn_on(SQUARE)
    assert axis_titles(square) == ("east, m", "north, m")
    assert spoken_axes(square) == "To the right east, m, upwards north, m."
    assert plane_words(square) == "east, m and north, m"
    assert arrows(square) == ""
    line = drawn_on(SQUARE[["east, m"]])
    assert axis_titles(line) == ("east, m", "")
    assert spoken_axes(line) == "To the right east, m."
    three = drawn_on(SQUARE.assign(up=RNG.normal(size=150)))
    assert axis_titles(three)[0].startswith("PC 1, ")
    assert "principal component 1" in spoken_axes(three)
    assert plane_words(three) == "two principal components"
    assert "PC 1" in arrows(three)
    assert ticks(three) == ()
    assert axis_titles(cl.project(np.eye(3), 1))[1] == "PC 2, 0%"


def options(plot):
    return hv.Store.lookup_options("bokeh", plot, "plot").kwargs


def test_figures_for_notebook_and_print_have_names_and_ticks():
    ds = cl.prepare(make_dataset(SQUARE))
    for plot in (cl.plot_map(ds), draw_samples(map_samples(ds), np.zeros(150, int))):
        shown = options(plot)
        assert (shown["xlabel"], shown["ylabel"]) == ("east, m", "north, m")
        for axis in "xy":
            assert {"200", "400"} <= {text for _, text in shown[f"{axis}ticks"]}
    svg = print_map(map_samples(ds), np.zeros(150, int), [], {}).to_bytes("svg")
    assert b"north, m" in svg
    line = map_samples(cl.prepare(make_dataset(SQUARE[["east, m"]])))
    assert print_map(line, np.zeros(150, int), [], {}).to_bytes("png")


SHOWN_AXES = f"""css => {{
  const figure = ({FIGURE})(css);
  const axes = figure ? [...figure.below, ...figure.left] : [];
  return axes.length > 0 && axes.every((axis) => axis.visible
    && axis.major_label_overrides.size > 1) && axes.map((a) => a.axis_label.text);
}}"""
HIDDEN_AXES = f"""css => {{
  const figure = ({FIGURE})(css);
  return figure !== null && [...figure.below, ...figure.left].every((a) => !a.visible);
}}"""


@pytest.mark.browser
def test_maps_of_two_columns_have_their_axes_and_others_none(kept, tmp_path):
    path = tmp_path / "square.csv"
    SQUARE.to_csv(path, index=False)
    app = kept(path, pool_run("quick", 150), page="consensus")
    names = ["east, m", "north, m"]
    shown = app.wait_for_function(SHOWN_AXES, arg=".cl-map-figure")
    assert shown.json_value() == names
    expect(app.locator(".cl-map .cl-map-legend")).not_to_contain_text("PC 1")
    box = app.locator(".cl-map [role=application]")
    expect(box).to_have_attribute("aria-label", re.compile("To the right east, m"))
    app.locator(".cl-nav-data button").click()
    shown = app.wait_for_function(SHOWN_AXES, arg=".cl-prepared-figure")
    assert shown.json_value() == names
    legend = app.locator(".cl-prepared-legend")
    expect(legend).to_contain_text("on east, m and north, m")
    expect(app.locator(".cl-variance")).to_be_hidden()
    choose(app, ".cl-pca", "2 components")
    app.wait_for_function(HIDDEN_AXES, arg=".cl-prepared-figure")
    expect(legend).to_contain_text("PC 1")
    expect(app.locator(".cl-variance")).to_be_visible()
