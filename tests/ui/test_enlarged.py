"""Tests of figures enlarged to the whole page."""

from playwright.sync_api import expect

from tests.support.pages import IDLE
from tests.ui.runs import ROWS
from tests.ui.test_main_job import FIGURE, LONG, picture

SIZE = f"""css => {{
  const figure = ({FIGURE})(css);
  return [figure.inner_width, figure.inner_height];
}}"""
# A picture has as many pixels as its figure, or as there are samples.
FILLED = f"""css => {{
  const figure = ({FIGURE})(css);
  const glyph = figure.renderers.find(
    r => r.glyph.type.startsWith('Image') && r.data_source.data.image.length);
  const [height, width] = glyph.data_source.data.image[0].shape;
  return width === Math.min(figure.inner_width, css === '.cl-map' ? 1e9 : {ROWS});
}}"""


def test_map_and_matrices_are_enlarged_and_escape_takes_it_back(blobs):
    app = blobs
    ranking = app.locator(".cl-ranking-table")
    for css, least in ((".cl-map", 2), (".cl-consensus-matrix", 1.5)):
        picture(app, css)
        before = app.evaluate(SIZE, css)
        app.locator(f"{css} .cl-enlarge button").click()
        expect(ranking).to_be_hidden()
        app.wait_for_function(
            f"([css, least]) => Math.min(...({SIZE})(css)) > least",
            arg=[css, least * before[1]],
            timeout=LONG,
        )
        app.wait_for_function(FILLED, arg=css, timeout=LONG)
        width, height = app.evaluate(SIZE, css)
        assert css == ".cl-map" or width == height
        app.keyboard.press("Escape")
        expect(ranking).to_be_visible()
        app.wait_for_function(
            f"([css, before]) => ({SIZE})(css).join() === before",
            arg=[css, ",".join(map(str, before))],
            timeout=LONG,
        )


def test_the_button_that_enlarges_stands_beside_the_title_on_a_small_page(blobs):
    app = blobs
    app.set_viewport_size({"width": 1280, "height": 720})
    app.wait_for_function(IDLE, timeout=LONG)
    for css in (".cl-consensus-matrix", ".cl-binarised-matrix"):
        title = app.locator(f"{css} h2").bounding_box()
        button = app.locator(f"{css} .cl-enlarge button").bounding_box()
        assert button["y"] < title["y"] + title["height"], css
