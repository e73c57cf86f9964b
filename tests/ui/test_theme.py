"""Tests in a browser of the theme, the system's or the chosen one, and text size."""

import io
import time

import numpy as np
import pandas as pd
from PIL import Image
from playwright.sync_api import Page, expect

from tests.support.pages import FIND, IDLE, wait_for_content
from tests.ui.test_lessons_page import SCALED
from tests.ui.test_main_job import LONG, write_blobs
from tests.ui.test_narrow import inside, within

DARKNESS = """dark => {
  const [, r, g, b] = getComputedStyle(document.body).backgroundColor
    .match(/(\\d+), (\\d+), (\\d+)/).map(Number);
  return dark === (r + g + b < 380);
}"""
# Theme that the page has been set to, if any.
SCHEME = "document.documentElement.style.getPropertyValue('--cl-scheme')"
# The markup of visible elements, larger than a button, with a light background.
LIGHT_BLOCKS = """() => {
  const walk = (root) => [...root.querySelectorAll('*')].flatMap((part) =>
    [part, ...(part.shadowRoot ? walk(part.shadowRoot) : [])]);
  const canvas = document.createElement('canvas').getContext('2d');
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  return walk(document.body).filter((part) => {
    const {width, height} = part.getBoundingClientRect();
    const [r, g, b, alpha] = rgba(getComputedStyle(part).backgroundColor);
    return part.checkVisibility({opacityProperty: true}) && width * height > 1500
      && alpha > 128 && r + g + b > 600;
  }).map((part) => part.outerHTML.slice(0, 120));
}"""
# Small texts and table heads in view: their colours, and those around them, apart from
# opacity.
FADED = """() => {
  const walk = (root) => [...root.querySelectorAll('*')].flatMap((part) =>
    [part, ...(part.shadowRoot ? walk(part.shadowRoot) : [])]);
  const light = (part) => getComputedStyle(part).color.match(/[\\d.]+/g).slice(0, 3)
    .map(Number).reduce((a, b) => a + b) > 1;
  const faded = walk(document.body).filter((part) => part.checkVisibility()
    && part.matches('th, dt, .muted'));
  return faded.map((part) => [part.outerHTML.slice(0, 90), light(part),
    light(part.parentElement)]);
}"""
# Places of the numbers of clusters on the map, from the corner of the page.
NUMBERS = f"""() => {{ {FIND}
  const view = figureView('.cl-map'), box = view.el.getBoundingClientRect();
  const numbers = view.model.renderers.find(one => one.glyph?.type === 'Text'
    && one.data_source.data.text?.length);
  const {{x, y}} = numbers.data_source.data, {{x_scale, y_scale}} = view.frame;
  return Array.from(x, (at, k) =>
    [box.x + x_scale.compute(at), box.y + y_scale.compute(y[k])]);
}}"""
# The successive colours of a button, as `window.seen`.
COLOURS_SEEN = """e => {
  const look = () => getComputedStyle(e).backgroundColor;
  const seen = window.seen = [look()];
  const watch = () => {
    if (window.seen !== seen) return;
    if (look() !== seen.at(-1)) seen.push(look());
    requestAnimationFrame(watch);
  };
  watch();
}"""


def wait_until(app: Page, *, dark: bool) -> None:
    app.wait_for_function(DARKNESS, arg=dark, timeout=LONG)


def reload(app: Page) -> None:
    app.reload()
    wait_for_content(app)
    app.wait_for_function(SCHEME, timeout=LONG)


def test_the_page_follows_the_system_until_something_is_chosen(app, tmp_path):
    app.set_default_timeout(LONG)
    wait_until(app, dark=False)
    app.emulate_media(color_scheme="dark")
    wait_until(app, dark=True)
    reload(app)
    wait_until(app, dark=True)
    empty = tmp_path / "empty.csv"
    empty.write_text("x\n")
    app.locator(".cl-file input[type=file]").set_input_files(empty)
    expect(app.locator(".notice")).to_be_visible()
    app.keyboard.press("?")
    expect(app.locator(".cl-keys")).to_be_visible()
    app.wait_for_function(f"() => ({LIGHT_BLOCKS})().length === 0", timeout=5_000)
    app.get_by_role("button", name="Toggle theme").click()
    wait_until(app, dark=False)
    reload(app)
    # It is also light before the theme is set.
    assert app.evaluate(SCHEME) == "light"
    wait_until(app, dark=False)
    assert app.evaluate("localStorage.getItem('cl-theme')") == "light"


def test_larger_text_survives_a_reload_and_so_does_the_usual_size(app):
    for scale in ("1.3", "1"):
        app.keyboard.press("a")
        app.wait_for_function(SCALED, arg=scale, timeout=LONG)
        reload(app)
        app.wait_for_function(SCALED, arg=scale, timeout=LONG)


def test_heads_of_tables_and_small_texts_follow_another_theme(blobs):
    blobs.locator(".cl-nav-clusters").click()
    table = blobs.locator(".cl-page-clusters th").first
    table.wait_for(timeout=LONG)
    for _ in range(2):
        blobs.get_by_role("button", name="Toggle theme").click()
        blobs.wait_for_function(f"window.Bokeh && {IDLE}", timeout=LONG)
        colours = blobs.evaluate(FADED)
        assert len(colours) > 10
        assert not [text for text, own, around in colours if own is not around]
    blobs.evaluate("localStorage.removeItem('cl-theme')")


def test_a_filled_button_has_the_colours_of_one_theme_or_of_the_other(blobs):
    button = blobs.locator(".cl-inspector .MuiButton-contained").first
    background = "e => getComputedStyle(e).backgroundColor"
    for _ in range(2):
        before = button.evaluate(background)
        button.evaluate(COLOURS_SEEN)
        blobs.get_by_role("button", name="Toggle theme").click()
        blobs.wait_for_function(f"window.seen.at(-1) !== {before!r}", timeout=LONG)
        blobs.wait_for_timeout(500)
        assert blobs.evaluate("window.seen") == [before, button.evaluate(background)]
    blobs.evaluate("localStorage.removeItem('cl-theme')")


def is_dark_on_light(app: Page, x: float, y: float) -> bool:
    """Return whether a place shows dark signs on a light ground."""
    around = {"x": x - 6, "y": y - 8, "width": 12, "height": 16}
    picture = Image.open(io.BytesIO(app.screenshot(clip=around)))
    brightness = np.asarray(picture.convert("L"))
    return brightness.min() < 60 and (brightness > 180).mean() > 0.5


def test_numbers_of_clusters_are_dark_on_a_light_ground_in_either_theme(blobs):
    for dark in (True, False):
        blobs.get_by_role("button", name="Toggle theme").click()
        wait_until(blobs, dark=dark)
        n_numbers = len(blobs.evaluate(NUMBERS))
        assert n_numbers > 1
        for k in range(n_numbers):
            # A figure is drawn anew for another theme, and is empty for some frames.
            end = time.monotonic() + LONG / 1000
            while not is_dark_on_light(blobs, *blobs.evaluate(NUMBERS)[k]):
                assert time.monotonic() < end
    blobs.evaluate("localStorage.removeItem('cl-theme')")


def test_the_name_of_the_labels_is_whole_and_in_the_colours_of_the_theme(
    kept, tmp_path
):
    path = write_blobs(tmp_path)
    pd.read_csv(path).rename(columns={"kind": "type of glass"}).to_csv(
        path, index=False
    )
    app = kept(path, page="labels")
    app.set_viewport_size({"width": 1024, "height": 768})
    name = app.locator(".cl-label-scales b bdi")
    expect(name).to_have_count(2)
    [chart] = within(app, ".cl-label-scales")
    names_shown = within(app, ".cl-label-scales b:has(bdi)")
    assert all(inside(one, chart) for one in names_shown)
    names = within(app, ".cl-label-scales b bdi")
    assert not any(one["cut"] for one in names)
    # Colours fade into another theme.
    light = name.first.evaluate("e => getComputedStyle(e).color")
    app.get_by_role("button", name="Toggle theme").click()
    expect(name.first).not_to_have_css("color", light)
    app.get_by_role("button", name="Toggle theme").click()
    expect(name.first).to_have_css("color", light)
    app.evaluate("localStorage.removeItem('cl-theme')")
