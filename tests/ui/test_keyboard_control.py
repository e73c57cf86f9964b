"""Tests of keyboard control: the effect of keys on a figure's ranges."""

from dataclasses import replace

import numpy as np
import pytest

from clusterlens.compute.consensus.tiles import Tile
from clusterlens.ui.figures.criterion_map import CriterionMap
from clusterlens.ui.figures.keyboard_control import KeyboardControl
from clusterlens.ui.figures.matrix import Heatmap, MatrixFigure, Reading, full_view
from clusterlens.ui.figures.sample_map import MapFigure
from clusterlens.ui.plots.matrix import draw_matrix
from clusterlens.ui.state.view_parameters import Viewport
from tests.ui.loop import run


class Recorder(list):
    """A list that records its calls."""

    def __call__(self, *what, **more):
        self.append(what or more)


def framed(whole):
    """Return a matrix that shows a whole, with its keyboard control."""
    tapped = Recorder()
    frame = MatrixFigure(Recorder(), tapped, Recorder(), css="c")
    frame._n = 100
    frame.follow(whole)
    return frame, KeyboardControl(frame), tapped


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


def test_a_map_that_is_still_is_clicked_where_its_logarithmic_axis_says():
    async def main():
        went = Recorder()
        frame = CriterionMap(lambda *at: went(at))
        whole = ((0.0, 40.0), (0.01, 1.0))
        frame.follow(whole)
        steering = KeyboardControl(frame)
        assert steering.still
        assert "zoom" not in steering.how
        steering._handle_msg({"click": [0.25, 0.5]})
        assert went == [(pytest.approx((10, 0.1)),)]
        for size, pixels in (("inner_width", 200), ("inner_height", 100)):
            frame.figure.set_from_json(size, pixels)
        assert steering.styles["width"] == "200px"

    run(main())


def test_down_is_down_in_matrices_and_maps():
    async def main():
        matrix, *_ = framed(full_view(100))
        plane = MapFigure(Recorder(), Recorder(), Recorder(), Recorder())
        plane.follow(((0.0, 1.0), (0.0, 1.0)))
        for frame, sign in ((matrix, 1), (plane, -1)):
            steering = KeyboardControl(frame)
            steering._handle_msg({"zoom": 1, "at": [0.5, 0.5]})
            before = frame.view()[1][0]
            steering._handle_msg({"pan": [0, 1]})
            assert sign * (frame.view()[1][0] - before) > 0

    run(main())


def test_a_picture_that_was_on_its_way_takes_no_key_back():
    async def main():
        port = Viewport(width=200, height=200)

        def on_change(**seen):
            nonlocal port
            port = replace(port, **seen)

        frame = MatrixFigure(on_change, Recorder(), Recorder(), css="c")
        steering, whole = KeyboardControl(frame), full_view(100)
        edges = np.arange(101)
        tile = Tile(np.ones((100, 100)), edges, edges, "consensus", None, True, None)
        picture = Heatmap(tile, 100, draw_matrix(tile), [], Reading("no", "yes"))
        frame.show_matrix(picture, port)
        for moved in ({"zoom": 1, "at": [0.5, 0.5]}, {"pan": [1, 0]}, {"reset": True}):
            steering._handle_msg(moved)
            with_keyboard_control = frame.view()
            frame.show_matrix(picture, port)
            assert frame.view() == with_keyboard_control
            assert (port.zoom or whole) == with_keyboard_control

    run(main())


def test_keys_add_up_before_the_browser_has_moved():
    async def main():
        frame, steering, _ = framed(full_view(100))
        coming = []
        frame.put = coming.append
        for _ in range(3):
            steering._handle_msg({"zoom": 1, "at": [0.5, 0.5]})
        for change in coming:
            change()
        whole = np.ptp(full_view(100), axis=1)
        assert np.ptp(frame.view(), axis=1) == pytest.approx(whole / 1.5**3)

    run(main())
