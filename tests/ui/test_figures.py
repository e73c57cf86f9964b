"""Tests of figures: they show the numbers they are given."""

import asyncio
import base64
import io
from dataclasses import replace

import numpy as np
import PIL.Image
import pytest
from bokeh.events import DoubleTap, Press, RangesUpdate, SelectionGeometry, Tap
from bokeh.models import Image
from bokeh.models.tools import SelectTool
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from clusterlens.compute.consensus.tiles import consensus_tile
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.ui.figures import matrix, sample_map
from clusterlens.ui.figures.canvas import Canvas, apart, data_address
from clusterlens.ui.pages.consensus import threshold_figure as threshold
from clusterlens.ui.pages.data.preparation import PreparedMap
from clusterlens.ui.plots.matrix import draw_matrix
from clusterlens.ui.plots.samples import draw_map
from clusterlens.ui.results.pictures import number_places
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.widgets.palette import (
    cluster_colour,
    cluster_colours,
    disagreement_colours,
    palette,
    rgb,
)
from tests.ui.loop import run, taking

PORT = Viewport(width=24, height=24)


@pytest.fixture
def ensemble() -> Ensemble:
    return Ensemble(np.random.default_rng(0).integers(0, 3, (5, 8)))


def test_a_matrix_draws_the_values_of_its_tile_where_they_belong(ensemble):
    tile = consensus_tile(ensemble, rows=(1, 5), cols=(2, 8), shape=(60, 60))
    figure = matrix.MatrixFigure(*[lambda *what: None] * 3, css="c")
    figure.follow = lambda whole, zoom: None
    reading = matrix.Reading("no", "yes")
    figure.show_matrix(matrix.Heatmap(tile, 8, draw_matrix(tile), [], reading), PORT)
    drawn = figure.drawn_by(Image).data_source.data
    codes = ensemble.codes
    for row, column in np.ndindex(4, 6):
        joined = (codes[:, 1 + row] == codes[:, 2 + column]).mean()
        assert drawn["image"][0][row, column] == pytest.approx(joined)
    assert [drawn[name] for name in ("x", "y", "dw", "dh")] == [[2], [1], [6], [4]]


def test_the_words_of_a_value_are_those_of_its_half():
    reading = matrix.Reading("apart", "together in # of 8", n_models=8)
    assert reading.of(0.25) == "apart"
    assert reading.of(0.625) == "together in 5 of 8"
    assert reading.of(5.99 / 8) == "together in 5.9 of 8"
    assert reading.of(float("nan")) == "no vote on both rows"


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
    assert matrix.visible_items(view, 10) == expected


def test_full_view_leaves_room_for_the_strips():
    (x0, x1), _ = matrix.full_view(200)
    assert x0 == pytest.approx(-200 * matrix.MARGIN)
    assert x1 == 200


def test_edges_show_the_colour_and_the_id_of_each_position():
    colours = np.arange(12, dtype=np.uint8).reshape(4, 3)
    order = np.array([3, 1, 0, 2])
    shown = matrix.edges(colours, list("abcd"), order, Viewport((0, 4), (1, 3), 20, 20))
    assert shown.spans == ((1, 3), (0, 4))
    assert shown.names == (["b", "a"], ["d", "b", "a", "c"])
    rows = shown.pixels[0].view(np.uint8).reshape(-1, 4)
    assert rows[:, :3].tolist() == colours[[1, 0]].tolist()


def test_more_positions_than_pixels_have_a_colour_per_pixel_and_no_names():
    n = 1000
    shown = matrix.edges(
        np.zeros((n, 3), np.uint8), range(n), np.arange(n), Viewport(None, None, 50, 50)
    )
    assert len(shown.pixels[0]) == 50
    assert shown.names == ([], [])


@given(st.integers(0, 10_000))
def test_points_are_inside_a_convex_outline_exactly_if_left_of_all_its_sides(seed):
    rng = np.random.default_rng(seed)
    angles = np.sort(rng.uniform(0, 2 * np.pi, 7))
    outline = np.column_stack([np.cos(angles), np.sin(angles)])
    xy = rng.uniform(-1.2, 1.2, (200, 2))
    sides = np.roll(outline, -1, axis=0) - outline
    offset = xy[:, None] - outline
    cross = sides[:, 0] * offset[..., 1] - sides[:, 1] * offset[..., 0]
    clear = (np.abs(cross) > 1e-9).all(axis=1)
    found = sample_map.inside(xy, outline)
    assert (found == (cross > 0).all(axis=1))[clear].all()


def test_a_line_that_was_moved_by_the_server_is_no_drag():
    async def main():
        chosen = []
        figure = threshold.ThresholdFigure(chosen.append, chosen.append, chosen.append)
        ranks = np.ones((2, 8), int)
        figure.show(ranks, mean=3, majority=4, threshold=5)
        assert chosen == []
        figure._line.location = 6.2
        assert chosen == [6]
        figure.show(ranks, mean=3, majority=4, threshold=5)
        assert figure._line.location == 6.2, "a line in hand is left alone"
        figure._let_go.data = {"at": [6]}
        assert chosen == [6, 6]
        figure.show(ranks, mean=3, majority=4, threshold=5)
        assert figure._line.location == 5

    run(main())


def test_cluster_colours_repeat_and_noise_is_grey():
    many = len(palette())
    assert cluster_colour(many) == cluster_colour(0)
    values = cluster_colours(np.array([-1, 0, many]))
    assert values[1].tolist() == values[2].tolist() == rgb([palette()[0]])[0].tolist()
    assert values[0].tolist() != values[1].tolist()


def test_disagreement_colours_run_from_blue_to_red():
    low, high = disagreement_colours(np.array([0.0, 1.0])).astype(int)
    assert low[2] > low[0]
    assert high[0] > high[2]


ALL, PART = ((0.0, 8.0), (0.0, 8.0)), ((2.0, 4.0), (2.0, 4.0))


class Hand:
    """A map of 40 x 40 pixels, with pending changes and reports."""

    def __init__(self) -> None:
        self.changes, self.waiting = [], []
        self.frame = PreparedMap(lambda **seen: self.changes.append(seen))
        self.frame.put = self.waiting.append
        for size in ("inner_width", "inner_height"):
            self.frame.figure.set_from_json(size, 40)

    def show(self, port: Viewport) -> None:
        corners = np.array([[0.0, 0.0], [8.0, 8.0]])
        picture = draw_map(corners, np.zeros((2, 3), np.uint8), port)
        self.frame.show_map(replace(picture, whole=ALL), port)

    def take_turn(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()

    def move(self, view) -> None:
        """Set the ranges as a browser does during a movement."""
        ranges = (self.frame.figure.x_range, self.frame.figure.y_range)
        for axis, ends in zip(ranges, view, strict=True):
            for name, value in zip(("start", "end"), ends, strict=True):
                axis.set_from_json(name, value)

    def end_gesture(self) -> None:
        self.frame.figure._trigger_event(RangesUpdate(self.frame.figure))

    def report_ranges(self, view, times: int) -> None:
        """Report the ranges of the browser after the server set them so many times."""
        self.frame.figure.set_from_json("tags", [times, *np.ravel(view)])

    async def tell(self) -> dict:
        """Return the next report."""
        self.changes.clear()
        while not self.changes:
            await asyncio.sleep(0.01)
        return self.changes[-1]


in_hand = taking(Hand)


def test_before_there_is_anything_to_zoom_in_only_the_size_is_told():
    async def scenario(hand):
        hand.move(PART)
        assert await hand.tell() == {"width": 40, "height": 40}
        hand.show(Viewport(width=40, height=40))
        hand.end_gesture()
        assert await hand.tell() == {"width": 40, "height": 40}
        hand.take_turn()
        assert hand.frame.view() == ALL
        assert await hand.tell() == {"width": 40, "height": 40}

    in_hand(scenario)


def test_ranges_that_were_told_are_not_told_again_when_something_else_is_looked_at():
    async def scenario(hand):
        hand.show(Viewport(width=40, height=40))
        hand.take_turn()
        hand.move(PART)
        hand.end_gesture()
        assert (await hand.tell())["x"] == PART[0]
        # The whole of another pair is requested, and its picture is not ready.
        hand.end_gesture()
        assert await hand.tell() == {"width": 40, "height": 40}
        hand.show(Viewport(width=40, height=40))
        hand.take_turn()
        assert hand.frame.view() == ALL

    in_hand(scenario)


def test_a_picture_that_comes_late_leaves_the_ranges_to_the_hand():
    async def scenario(hand):
        hand.show(Viewport(width=40, height=40))
        hand.take_turn()
        hand.move(PART)
        hand.show(Viewport(width=40, height=40))
        hand.take_turn()
        assert hand.frame.view() == PART
        assert (await hand.tell())["x"] == PART[0]
        hand.show(Viewport(*PART, 40, 40))
        hand.take_turn()
        assert hand.frame.view() == PART

    in_hand(scenario)


def test_what_the_browser_shows_in_the_end_is_taken_over():
    async def scenario(hand):
        hand.show(Viewport(*PART, 40, 40))
        hand.take_turn()
        (times,) = hand.frame.figure.tags
        hand.report_ranges(PART, times)
        assert not hand.waiting
        hand.report_ranges(ALL, times - 1)
        assert not hand.waiting
        hand.report_ranges(ALL, times)
        hand.take_turn()
        assert hand.frame.view() == ALL
        assert hand.frame.figure.tags == [times + 1]
        assert (await hand.tell())["x"] is None

    in_hand(scenario)


def test_a_hand_that_moved_while_ranges_were_on_their_way_is_followed():
    async def scenario(hand):
        hand.show(Viewport(width=40, height=40))
        hand.take_turn()
        (times,) = hand.frame.figure.tags
        hand.move(PART)
        ends = []
        for axis in (hand.frame.figure.x_range, hand.frame.figure.y_range):
            axis.on_change("end", lambda _, old, new: ends.append(new))
        hand.report_ranges(ALL, times)
        hand.take_turn()
        assert ends == [ALL[0][1], ALL[1][1], PART[0][1], PART[1][1]]
        assert hand.frame.view() == PART
        assert (await hand.tell())["x"] == PART[0]

    in_hand(scenario)


def test_a_zoom_that_is_looked_at_or_forgotten_moves_the_ranges():
    async def scenario(hand):
        hand.show(Viewport(*PART, 40, 40))
        hand.take_turn()
        assert hand.frame.view() == PART
        assert hand.frame.figure.x_range.reset_end == ALL[0][1]
        hand.show(Viewport(width=40, height=40))
        hand.take_turn()
        assert hand.frame.view() == ALL

    in_hand(scenario)


def test_ranges_that_are_no_numbers_go_back_to_where_they_were():
    async def scenario(hand):
        hand.show(Viewport(*PART, 40, 40))
        hand.take_turn()
        await hand.tell()
        hand.move(((np.nan, np.nan), (np.nan, np.nan)))
        hand.end_gesture()
        assert await hand.tell() == {"width": 40, "height": 40}
        hand.take_turn()
        assert hand.frame.view() == PART

    in_hand(scenario)


def test_a_box_of_any_shape_becomes_one_of_equal_scale_when_the_hand_lets_go():
    async def scenario(hand):
        hand.show(Viewport(width=40, height=40))
        hand.take_turn()
        await hand.tell()
        hand.move(((2.0, 4.0), (2.5, 3.5)))
        hand.end_gesture()
        change = await hand.tell()
        assert (change["x"], change["y"]) == PART
        hand.take_turn()
        assert hand.frame.view() == PART

    in_hand(scenario)


def test_a_matrix_stays_square_and_inside_its_frame():
    figure = matrix.MatrixFigure(*[lambda *what: None] * 3, css="c")
    figure._n = 100
    assert figure._fit(((10, 30), (50, 60))) == ((10, 30), (45, 65))
    assert figure._fit(((-40, 0), (80, 120))) == ((-4, 36), (60, 100))
    assert figure._fit(((-100, 300), (0, 400))) == ((-4, 100), (-4, 100))


def test_texts_are_moved_apart_in_their_order_and_stay_inside():
    places = apart([0.5, 0.1, 0.52, 0.51], 0.1, (0.0, 1.0))
    assert np.argsort(places).tolist() == [1, 0, 3, 2]
    assert np.diff(np.sort(places)).min() >= 0.1 - 1e-12
    assert places[1] == 0.1
    crowded = apart([0.9] * 5, 0.5, (0.0, 1.0))
    assert min(crowded) >= 0
    assert max(crowded) <= 1 + 1e-12


def test_a_canvas_says_what_it_shows_and_escapes_it():
    canvas = Canvas((0, 10), (0, 1), "a <b> & c")
    canvas.dot(5, 0.5, title="<i>")
    markup = canvas.markup()
    assert "aria-label='a &lt;b&gt; &amp; c'" in markup
    assert "left:50.00%;top:50.00%" in markup
    assert "<i>" not in markup.replace("<i ", "")


def test_a_small_picture_survives_its_way_to_the_page():
    pixels = np.zeros((2, 3, 4), np.uint8)
    pixels[1, 0] = 255, 0, 0, 255
    code = data_address(pixels).removeprefix("data:image/png;base64,")
    image = np.asarray(PIL.Image.open(io.BytesIO(base64.b64decode(code))))
    assert image[1, 0].tolist() == [255, 0, 0, 255]
    assert image[0].sum() == 0


@pytest.mark.parametrize("kind", [Tap, DoubleTap, Press])
def test_a_click_counts_whether_quick_or_held(kind):
    clicked = []
    ignored = [lambda *what: None] * 3
    figure = sample_map.MapFigure(
        ignored[0], lambda *what: clicked.append(what[:2]), *ignored[1:]
    )
    figure.figure._trigger_event(kind(figure.figure, x=2.0, y=3.0))
    assert clicked == [(2.0, 3.0)]


def test_a_click_on_a_link_leaves_the_others_as_strong_as_they_were():
    ignored = [lambda *what: None] * 4
    figure = sample_map.MapFigure(*ignored).figure
    tools = list(figure.select({"type": SelectTool}))
    assert len(tools) == 3
    assert all(tool.renderers == [] for tool in tools)


# Machado, Oliveira & Fernandes 2009, doi:10.1109/TVCG.2009.113, severity 1, linear RGB.
EYES = {
    "normal": np.eye(3),
    "protanopic": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopic": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
# Ottosson 2020, Oklab: linear RGB to cones, and their cube roots to lightness, a, b.
CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize(("n_clusters", "apart"), [(8, 0.075), (16, 0.075), (24, 0.06)])
def test_colours_of_many_clusters_stay_apart_for_the_colour_blind(
    eyes, n_clusters, apart
):
    share = rgb(palette()[:n_clusters]) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ EYES[eyes].T, 0, 1)
    lab = np.cbrt(seen @ CONES.T) @ LAB.T
    distance = np.linalg.norm(lab[:, None] - lab[None], axis=2)
    assert distance[np.triu_indices(n_clusters, 1)].min() >= apart


def test_numbers_of_rings_stand_apart_and_each_on_a_sample_of_its_own():
    angles = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    xy = np.vstack([circle, 2 * circle, 3 * circle])
    codes = np.repeat([0, 1, 2], 200)
    places = number_places(xy, codes, [0, 1, 2])
    assert np.linalg.norm(places, axis=1) == pytest.approx([1, 2, 3])
    assert pdist(places).min() >= 0.05 * 6
    # Overlapping clusters, too.
    heap = np.random.default_rng(0).normal(size=(200, 2))
    places = number_places(np.vstack([heap, heap + 1e-3]), codes[:400], [0, 1])
    assert pdist(places).min() >= 0.05 * np.ptp(heap, axis=0).max()
    everywhere = np.zeros((2, 2))
    assert number_places(everywhere, np.array([0, 1]), [0, 1]).tolist() == [[0, 0]] * 2


def test_the_number_of_a_group_stands_in_its_middle():
    xy = np.random.default_rng(0).normal(size=(500, 2))
    (place,) = number_places(xy, np.zeros(500, int), [0])
    assert np.linalg.norm(place) < 0.3


@given(
    st.sets(st.integers(0, 99), max_size=60),
    st.sampled_from([Viewport(width=100, height=100), Viewport(width=10, height=10)]),
)
def test_spans_cover_the_selected_samples_and_no_other_by_more_than_a_pixel(
    selected, port
):
    found = matrix.join_selected(np.array([*selected], int), 100, port)
    covered = {k for start, end in found.spans for k in range(start, end)}
    assert selected <= covered
    assert found.n_samples == len(selected)
    pixel = (1 + matrix.MARGIN) * 100 / port.width
    for k in covered - selected:
        below = max(one for one in selected if one < k)
        above = min(one for one in selected if one > k)
        assert above - below <= pixel
    assert (found.spans[1:, 0] > found.spans[:-1, 1]).all()


def test_the_block_of_selected_samples_is_marked_with_their_number():
    shown = matrix.MatrixFigure(
        lambda port: None, lambda *at: None, lambda *spans: None, css="x"
    )
    picked = np.array([2, 3, 4, 7, 8, 9])
    shown.show_selected(
        matrix.join_selected(picked, 20, Viewport(width=400, height=400))
    )
    sides = ("left", "right", "top", "bottom")
    outlines = set(zip(*(shown._outlines.data[side] for side in sides), strict=True))
    spans = [(2, 5), (7, 10)]
    assert outlines == {(*across, *down) for across in spans for down in spans}
    assert shown._count.data["text"] == ["6 selected"]
    assert len(shown._selected.data["left"]) == 4
    shown.show_selected(
        matrix.join_selected(picked[:0], 20, Viewport(width=400, height=400))
    )
    assert not any(map(len, shown._outlines.data.values()))
    assert shown._count.data["text"] == []


def test_a_box_brushes_the_rows_and_columns_that_it_touches():
    brushed = []
    figure = matrix.MatrixFigure(
        lambda **what: None,
        lambda *at: None,
        lambda *spans: brushed.append(spans),
        css="c",
    )
    figure._n = 10
    box = {"type": "rect", "x0": 4.5, "x1": 2.5, "y0": 7.0, "y1": 12.0}
    for final in (False, True):
        figure.figure._trigger_event(SelectionGeometry(figure.figure, box, final))
    assert brushed == [((7, 10), (2, 5))]


def test_the_newest_of_pictures_that_wait_is_the_one_that_is_sent(ensemble):
    figure = matrix.MatrixFigure(*[lambda *what: None] * 3, css="c")
    waiting, sent = [], []
    figure.put, figure.follow = waiting.append, lambda whole, zoom: None
    figure._pipe.add_subscriber(lambda data: sent.append(data))
    pictures = [draw_matrix(consensus_tile(ensemble)) for _ in range(2)]
    for picture in (*pictures, pictures[1]):
        figure.show(picture, ALL, PORT)
    for change in waiting:
        change()
    assert sent == [pictures[1]]
