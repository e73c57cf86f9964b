"""Map and matrices by keys alone."""

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from benchmarks.pages import SAMPLES
from clusterlens.ui.figures.matrix import MatrixFigure, full_view
from clusterlens.ui.figures.sample_map import MapFigure
from clusterlens.ui.figures.steering import Steering
from tests.ui.loop import run
from tests.ui.test_main_job import FIGURE, LONG, load, picture, run_pool, write_blobs

STEP = 8
WIDTH = f"""css => {{
  const {{x_range}} = ({FIGURE})(css);
  return Math.abs(x_range.end - x_range.start);
}}"""


def width(app: Page, css: str) -> float:
    return app.evaluate(WIDTH, css)


def wait_for_width(app: Page, css: str, is_so: str, of: float) -> None:
    app.wait_for_function(
        f"([css, of]) => ({WIDTH})(css) {is_so} of", arg=[css, of], timeout=LONG
    )


@pytest.mark.parametrize("css", [".cl-map", ".cl-binarised-matrix"])
def test_keys_zoom_a_figure_and_show_all_again(app, tmp_path, css):
    app.set_default_timeout(LONG)
    load(app, write_blobs(tmp_path))
    run_pool(app)
    picture(app, css)
    front = app.locator(".cl-ranking-table .ranked.front").inner_text()
    whole = width(app, css)
    figure = app.locator(f"{css} [role=application]")
    figure.focus()
    app.keyboard.press("+")
    wait_for_width(app, css, "<", 0.9 * whole)
    app.keyboard.press("+")
    wait_for_width(app, css, "<", 0.5 * whole)
    app.keyboard.press("-")
    wait_for_width(app, css, ">", 0.5 * whole)
    app.keyboard.press("ArrowDown")
    app.keyboard.press("Home")
    wait_for_width(app, css, ">", 0.99 * whole)
    assert app.locator(".cl-ranking-table .ranked.front").inner_text() == front


def test_a_sample_is_reached_and_clicked_by_keys(app, tmp_path):
    app.set_default_timeout(LONG)
    load(app, write_blobs(tmp_path))
    run_pool(app)
    picture(app, ".cl-map")
    figure = app.locator(".cl-map [role=application]")
    label = figure.get_attribute("aria-label")
    assert "240 samples" in label
    assert "cluster 1: " in label
    assert "Arrow keys" in label
    box = figure.bounding_box()
    places = app.wait_for_function(SAMPLES, timeout=LONG).json_value()
    x, y = places[len(places) // 2]
    figure.focus()
    for key, pixels in (
        ("ArrowRight", x - box["x"] - box["width"] / 2),
        ("ArrowDown", y - box["y"] - box["height"] / 2),
    ):
        back = {"ArrowRight": "ArrowLeft", "ArrowDown": "ArrowUp"}[key]
        for _ in range(round(abs(pixels) / STEP)):
            app.keyboard.press(key if pixels > 0 else back)
    app.keyboard.press("Enter")
    expect(app.locator(".cl-inspector")).to_contain_text("Disagreement")


def test_map_and_matrices_have_a_place_for_the_focus_and_say_what_they_show(
    app, tmp_path
):
    app.set_default_timeout(LONG)
    load(app, write_blobs(tmp_path))
    run_pool(app)
    for css, words in (
        (".cl-map", "Map of 240 samples"),
        (".cl-consensus-matrix", "Consensus matrix of 240 rows"),
        (".cl-binarised-matrix", "Binarised matrix of 240 rows"),
    ):
        figure = app.locator(f"{css} [role=application]")
        expect(figure).to_have_attribute("tabindex", "0")
        expect(figure).to_have_accessible_name(re.compile(words))


class Told(list):
    """Keeps what it is told."""

    def __call__(self, *what, **more):
        self.append(what or more)


def framed(whole):
    """Return a matrix that shows a whole, with its steering."""
    tapped = Told()
    frame = MatrixFigure(Told(), tapped, Told(), value="agreement", css="c")
    frame._n = 100
    frame.follow(whole)
    return frame, Steering(frame), tapped


def test_zooming_stays_at_the_cursor_and_within_the_whole():
    async def main():
        whole = full_view(100)
        frame, steering, tapped = framed(whole)
        before = frame._at(0.9, 0.2)
        steering._handle_msg({"zoom": 1, "at": [0.9, 0.2]})
        assert frame._at(0.9, 0.2) == pytest.approx(before)
        for _ in range(30):
            steering._handle_msg({"pan": [1, 0]})
        assert frame.view()[0][1] == pytest.approx(whole[0][1])
        for _ in range(30):
            steering._handle_msg({"zoom": 1, "at": [0.5, 0.5]})
        assert np.ptp(frame.view(), axis=1) == pytest.approx([4, 4])
        steering._handle_msg({"reset": True})
        assert frame.view() == whole
        steering._handle_msg({"click": [0.999, 0.5]})
        row = int(np.mean(whole[1]))
        assert tapped == [(row, 99)]

    run(main())


def test_down_is_down_in_matrices_and_maps():
    async def main():
        matrix, *_ = framed(full_view(100))
        plane = MapFigure(Told(), Told(), Told(), Told())
        plane.follow(((0.0, 1.0), (0.0, 1.0)))
        for frame, sign in ((matrix, 1), (plane, -1)):
            steering = Steering(frame)
            steering._handle_msg({"zoom": 1, "at": [0.5, 0.5]})
            before = frame.view()[1][0]
            steering._handle_msg({"pan": [0, 1]})
            assert sign * (frame.view()[1][0] - before) > 0

    run(main())
