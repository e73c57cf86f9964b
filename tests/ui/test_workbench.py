"""Tests of the workbench in a browser: one screen, nothing lost, nothing stale."""

import io
import random
import re
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from clusterlens.ui.widgets.words import score_words
from tests.support.pages import FIND, PATIENCE, places_at_rest
from tests.ui.test_main_job import (
    FIGURE,
    LONG,
    assert_changes,
    choose,
    load,
    name_of,
    picture,
    write_blobs,
)

LINKS_FILE = """() => {
  const files = new DataTransfer();
  files.items.add(new File(['kind,row_a,row_b\\nmust-link,0,1\\n'], 'links.csv'));
  return files;
}"""
SIZES = [(1440, 900), (1280, 720), (1920, 1080)]
# Whether the layout of each visible figure matches its place.
FIGURES_FIT = """() => {
  const fits = (view) =>
    (view.model.type !== 'Figure' || view.bbox.width === 0
      || view.layout.bbox.width === view.bbox.width)
    && (view.child_views || []).every(fits);
  return Object.values(Bokeh.index).every(fits);
}"""
# Quick switches; each is one click or key.
OPTION = ".MuiMenuItem-root"
SWITCHES = 80


@pytest.fixture
def app(blobs):
    return blobs


def is_square(app: Page, css: str) -> bool:
    box = app.locator(f"{css} .bk-CartesianFrame").bounding_box()
    return box["width"] == pytest.approx(box["height"], abs=2)


def until(app: Page, is_so: Callable[[], bool]) -> None:
    """Return when a condition holds; fail if it takes too long."""
    for _ in range(LONG // 100):
        if is_so():
            return
        app.wait_for_timeout(100)
    pytest.fail("it did not come about")


def is_coloured(app: Page, css: str) -> bool:
    """Return whether colours are on the screen, in the place of a figure."""
    box = app.locator(css).bounding_box()
    pixels = np.asarray(Image.open(io.BytesIO(app.screenshot(clip=box))).convert("HSV"))
    return bool((pixels[:, :, 1] > 100).sum() > 500)


def test_pictures_of_a_page_that_was_opened_are_on_the_screen(app):
    for css in (".cl-map-figure", ".cl-consensus-figure", ".cl-binarised-figure"):
        until(app, lambda css=css: is_coloured(app, css))


def test_nothing_scrolls_as_a_page_at_any_size(app):
    for width, height in SIZES:
        app.set_viewport_size({"width": width, "height": height})
        for css in (".cl-consensus-matrix", ".cl-binarised-matrix"):
            until(app, lambda css=css: is_square(app, css))
        app.wait_for_function(FIGURES_FIT, timeout=LONG)
        overflow = app.evaluate(
            "[document.documentElement.scrollHeight - innerHeight,"
            " document.documentElement.scrollWidth - innerWidth]"
        )
        assert overflow == [0, 0]
        for css in (".cl-ranking", ".cl-map", ".cl-binarised-matrix", ".cl-inspector"):
            box = app.locator(css).first.bounding_box()
            assert box["y"] + box["height"] <= height
            assert box["x"] + box["width"] <= width


def test_the_reading_of_one_matrix_leaves_that_cell_of_the_other_in_sight(app):
    sides = ".cl-consensus-matrix", ".cl-binarised-matrix"
    for width, height in ((1440, 900), (1024, 768)):
        app.set_viewport_size({"width": width, "height": height})
        app.wait_for_function(FIGURES_FIT, timeout=LONG)
        for css, other in (sides, sides[::-1]):
            here, there = (
                app.locator(f"{one} .bk-CartesianFrame").bounding_box()
                for one in (css, other)
            )
            for across, down in ((0.2, 0.5), (0.8, 0.2), (0.95, 0.9)):
                x, y = here["x"] + across * here["width"], down * here["height"]
                app.mouse.move(x, here["y"] + y)
                hover = app.locator(
                    ".bk-Tooltip", has_text=re.compile("apart|together")
                )
                box = hover.first.bounding_box()
                cell = there["x"] + across * there["width"]
                assert not box["x"] <= cell <= box["x"] + box["width"]
                assert box["x"] >= 0
                assert box["x"] + box["width"] <= width
                app.mouse.move(x, here["y"] - 200)
                expect(hover).to_have_count(0)


def test_the_foot_of_the_ranking_names_its_keys_in_one_line(app):
    for width, height in ((1440, 900), (1280, 720), (1024, 768)):
        app.set_viewport_size({"width": width, "height": height})
        keys = app.locator(".cl-ranking-keys p")
        expect(keys).to_have_text("↑ ↓ select, Enter Clustersall scores")
        assert keys.bounding_box()["height"] <= 22


def test_the_map_is_at_least_as_high_as_the_matrices(app):
    for width, height in ((1440, 900), (1024, 768)):
        app.set_viewport_size({"width": width, "height": height})
        app.wait_for_function(FIGURES_FIT, timeout=LONG)
        tall, other = (
            app.locator(f"{css} .bk-CartesianFrame").first.bounding_box()["height"]
            for css in (".cl-map", ".cl-consensus-matrix")
        )
        assert tall >= other - 1, (width, tall, other)


def test_low_windows_give_the_matrices_height_and_cut_nothing_of_what_is_needed(app):
    app.set_viewport_size({"width": 1280, "height": 720})
    canvas = app.locator(".cl-consensus-matrix .bk-CartesianFrame")
    until(app, lambda: canvas.bounding_box()["height"] > 165)
    needed = app.locator(".cl-threshold").bounding_box()
    for part in (".cl-threshold-text p", ".cl-threshold-legend p"):
        last = app.locator(part).last.bounding_box()
        assert last["y"] + last["height"] <= needed["y"] + needed["height"] - 4


def test_on_a_small_page_the_inspector_is_a_drawer(app):
    app.set_viewport_size({"width": 1024, "height": 768})
    expect(app.locator(".cl-model")).to_be_hidden()
    app.locator(".cl-inspector-strip .cl-tab-model").click()
    expect(app.locator(".cl-model")).to_be_visible()
    box = app.locator(".cl-inspector").bounding_box()
    assert box["width"] == pytest.approx(318, abs=2)
    app.locator(".cl-inspector-strip .cl-tab-model").click()
    expect(app.locator(".cl-model")).to_be_hidden()


def test_a_sample_clicked_on_a_small_page_is_described_below_the_map(app):
    app.set_viewport_size({"width": 1024, "height": 768})
    expect(app.locator(".cl-inspected")).to_be_hidden()
    app.mouse.click(*places_at_rest(app)[0])
    expect(app.locator(".cl-inspected")).to_contain_text("Disagreement of the pool")
    drawer = app.locator(".cl-inspector").bounding_box()
    shown = app.locator(".cl-map").bounding_box()
    assert shown["y"] + shown["height"] <= drawer["y"] + 1
    app.locator(".cl-inspector .cl-tab-sample").click()
    expect(app.locator(".cl-inspected")).to_be_hidden()


def test_pairs_in_a_row_leave_map_and_headline_in_sight_and_unsure_asks_another(app):
    app.set_viewport_size({"width": 1024, "height": 768})
    app.keyboard.press("s")
    title = app.locator(".cl-pair p", has_text="B row")
    expect(title).to_be_visible()
    drawer = app.locator(".cl-inspector").bounding_box()
    shown = app.locator(".cl-map").bounding_box()
    assert shown["y"] + shown["height"] <= drawer["y"] + 1
    assert drawer["x"] == pytest.approx(shown["x"], abs=2)
    assert drawer["width"] == pytest.approx(shown["width"], abs=2)
    for css in (".cl-must", ".cl-cannot", ".cl-unsure", ".cl-skip"):
        box = app.locator(f".cl-pair {css}").bounding_box()
        assert drawer["y"] < box["y"] < drawer["y"] + drawer["height"] - box["height"]
    pair = title.inner_text()
    app.keyboard.press("u")
    expect(title).not_to_have_text(pair)
    expect(app.locator(".cl-inspector .cl-tab-links")).to_have_text("Links")
    expect(app.locator(".cl-headline")).to_contain_text("Closest to what this pool")
    app.keyboard.press("Escape")
    expect(title).to_be_hidden()
    drawer = app.locator(".cl-inspector").bounding_box()
    assert drawer["width"] == pytest.approx(318, abs=2)


def test_keys_undo_redo_and_step_through_the_models(app):
    app.keyboard.press("ArrowDown")
    second = app.locator(".cl-ranking-table .ranked").nth(1)
    name = name_of(second)
    expect(app.locator(".cl-model-name")).to_contain_text(name)
    app.get_by_role("button", name="Majority").click()
    expect(app.locator(".cl-threshold")).to_contain_text("chosen")
    app.keyboard.press("Control+z")
    expect(app.locator(".cl-threshold")).to_contain_text("the average agreement")
    app.keyboard.press("Control+Shift+Z")
    expect(app.locator(".cl-threshold")).to_contain_text("chosen")
    app.keyboard.press("?")
    expect(app.locator(".cl-keys")).to_contain_text("undo")
    app.keyboard.press("Escape")
    expect(app.locator(".cl-keys")).to_be_hidden()


def test_a_click_or_a_drag_anywhere_in_the_plot_sets_the_agreement_needed(app):
    frame = app.locator(".cl-threshold .bk-CartesianFrame").bounding_box()
    needed = app.locator(".cl-threshold .needed b")
    n_models = int(
        re.search(r"of (\d+)", app.locator(".cl-threshold .needed").inner_text())[1]
    )

    def at(share: float, down: float) -> tuple[float, float]:
        return frame["x"] + share * frame["width"], frame["y"] + down * frame["height"]

    def expect_set(share: float) -> None:
        expect(needed).to_have_text(str(round(share * (n_models + 1))))
        expect(app.locator(".cl-threshold")).to_contain_text("chosen")

    app.mouse.click(*at(0.25, 0.4))
    expect_set(0.25)
    app.wait_for_timeout(500)  # another click at once would be half a double click
    app.mouse.click(*at(0.25, 0.4))
    expect(app.locator(".cl-threshold")).to_contain_text("chosen already")
    app.wait_for_timeout(500)
    app.mouse.click(frame["x"] - 20, frame["y"] + 10)
    expect(app.locator(".cl-threshold")).to_contain_text(
        f"click from 0 to {n_models + 1}"
    )
    now = round(0.25 * (n_models + 1)) / (n_models + 1)
    for here, down, there in ((now, 0.9, 0.75), (0.1, 0.5, 0.5), (0.5, 0.1, 0.3)):
        app.mouse.move(*at(here, down))
        app.mouse.down()
        app.mouse.move(*at(there, down), steps=8)
        app.mouse.up()
        expect_set(there)


def test_back_and_forward_lead_through_the_pages_and_to_the_analysis_before(
    fresh, tmp_path
):
    app = fresh

    def is_on(page: str) -> None:
        here = app.locator(".cl-rail [aria-current=page]")
        expect(here).to_contain_text(page)

    load(app, write_blobs(tmp_path))
    app.get_by_role("button", name="Next: choose a pool").click()
    is_on("Pool")
    app.locator(".cl-nav-consensus button").click()
    is_on("Consensus")
    app.go_back()
    is_on("Pool")
    app.go_forward()
    is_on("Consensus")
    app.go_back()
    app.go_back()
    is_on("Data")
    app.locator(".cl-nav-pool button").click()
    is_on("Pool")
    first = re.search(r"analysis=\w+", app.url)[0]
    app.locator(".cl-state").get_by_role("button", name="another table").click()
    load(app, write_blobs(tmp_path, rows=100, name="others.csv"))
    expect(app.locator(".cl-state")).to_contain_text("others")
    expect(app).not_to_have_url(re.compile(first))
    expect(app.locator(".cl-saved")).to_contain_text("saved")
    app.go_back()
    expect(app.locator(".cl-state")).to_contain_text("blobs")
    is_on("Pool")


def test_nothing_is_left_on_screen_of_a_run_that_is_undone(app):
    parts = [".cl-threshold-mean", ".cl-map .bk-CartesianFrame", ".cl-ranking-table"]
    wait_until_seen(app, parts, True)
    app.locator(".cl-undo button").click()
    wait_until_seen(app, parts, False)
    app.keyboard.press("Control+Shift+Z")
    wait_until_seen(app, parts, True)
    assert picture(app, ".cl-map").any()


def wait_until_seen(app: Page, parts: list[str], seen: bool) -> None:
    """Wait until all parts, or none, have a size and are visible."""
    for css in parts:
        app.wait_for_function(
            """([css, seen]) => {
              const find = (root, css) => {
                const hit = root.querySelector(css);
                if (hit) return hit;
                for (const e of root.querySelectorAll('*')) {
                  const found = e.shadowRoot && find(e.shadowRoot, css);
                  if (found) return found;
                }
                return null;
              };
              let place = document;
              for (const part of css.split(' ')) {
                place = find(place.shadowRoot || place, part);
                if (!place) return !seen;
              }
              const shown = place.getBoundingClientRect().height > 0
                && getComputedStyle(place).visibility === 'visible';
              return shown === seen;
            }""",
            arg=[css, seen],
            timeout=LONG,
        )


def test_a_file_of_links_can_be_dropped_on_the_button_that_takes_it(app):
    app.locator(".cl-inspector .cl-tab-links").click()
    button = app.locator(".cl-import-links label")
    expect(button).to_be_visible()
    overlay = app.get_by_text("Drop the table: it opens in this window")
    dragged = {"dataTransfer": app.evaluate_handle(LINKS_FILE)}
    app.locator("body").dispatch_event("dragover", dragged)
    expect(overlay).to_be_visible()
    button.dispatch_event("dragover", dragged)
    expect(overlay).to_be_hidden()
    button.dispatch_event("drop", dragged)
    expect(app.locator(".cl-links")).to_contain_text("1 link")
    expect(overlay).to_be_hidden()


def test_the_score_on_screen_is_the_one_in_force_also_after_undo(app):
    choose(app, ".cl-score", score_words("aari"))
    expect(app.locator(".cl-score")).to_contain_text("likeness to the other")
    app.locator(".cl-undo button").click()
    expect(app.locator(".cl-score")).to_contain_text("distance to the consensus")


def ranges(app: Page, css: str) -> list[float]:
    return app.evaluate(
        f"""css => {{
          const {{x_range, y_range}} = ({FIGURE})(css);
          return [x_range.start, x_range.end, y_range.start, y_range.end];
        }}""",
        css,
    )


def zoom_in(app: Page, css: str) -> list[float]:
    """Turn the wheel over a figure; return its ranges afterwards."""
    before, shown = ranges(app, css), picture(app, css)
    app.locator(f"{css} .bk-Canvas").hover()
    app.mouse.wheel(0, -150)
    app.wait_for_function(
        f"""([css, before]) => {{
          const {{x_range}} = ({FIGURE})(css);
          return x_range.end - x_range.start < 0.95 * (before[1] - before[0]);
        }}""",
        arg=[css, before],
    )
    assert_changes(app, css, shown)
    return ranges(app, css)


def test_a_button_that_is_held_before_it_moves_clicks_and_selects(app):
    first, *_, last = places_at_rest(app)

    def hold(x: float, y: float) -> None:
        app.mouse.move(x, y)
        app.mouse.down()
        app.wait_for_timeout(600)  # longer than a press

    hold(*first)
    app.mouse.up()
    front = app.locator(".cl-inspector .tab.front")
    expect(front).to_contain_text("Sample")
    hold(first[0] - 4, first[1] - 4)
    app.mouse.move(last[0] + 4, last[1] + 60, steps=6)
    app.mouse.up()
    expect(front).to_contain_text("Selection")


def test_the_zoom_survives_another_model_shading_and_threshold(app):
    places = (".cl-map", ".cl-consensus-matrix")
    zoomed = {css: zoom_in(app, css) for css in places}
    before = {css: picture(app, css) for css in places}
    app.locator(".cl-ranking-table .ranked").last.click()
    for css in places:
        assert_changes(app, css, before[css])
    choose(app, ".cl-shading", "even")
    app.get_by_role("button", name="Majority").click()
    expect(app.locator(".cl-threshold")).to_contain_text("chosen")
    app.wait_for_function("() => Bokeh.documents.every(d => d.is_idle)")
    for css in places:
        assert ranges(app, css) == pytest.approx(zoomed[css])
    matrices = (".cl-consensus-matrix", ".cl-binarised-matrix")
    assert ranges(app, matrices[0]) == pytest.approx(ranges(app, matrices[1]))
    choose(app, ".cl-shading", "linear")


def there_and_back(app: Page) -> None:
    app.locator(".cl-nav-pool button").click()
    app.locator(".cl-nav-consensus button").click()


def undo_and_redo(app: Page) -> None:
    app.keyboard.press("Control+z")
    app.keyboard.press("Control+Shift+Z")


def flip(app: Page, css: str, draw: random.Random) -> None:
    """Choose an entry of a select with two, and leave the select."""
    select, options = app.locator(css).get_by_role("combobox"), app.locator(OPTION)
    select.click()
    options.nth(draw.randrange(2)).click()
    expect(options).to_have_count(0)
    select.blur()  # otherwise the arrow keys would open it again


def test_after_many_quick_switches_nothing_is_lost_and_the_last_state_shows(spent):
    app = spent
    app.locator(".cl-nav-pool button").click()
    choose(app, ".cl-preset", "quick")  # as many models as the run before
    app.get_by_label("Seed").fill("1")
    app.get_by_label("Seed").press("Enter")
    app.get_by_role("button", name="Run the pool", exact=True).click()
    expect(app.locator(".cl-run")).to_be_visible()
    picture(app, ".cl-consensus-matrix")
    draw = random.Random(0)
    rows = app.locator(".cl-ranking-table .ranked")
    n_rows = rows.count()
    moves = [
        lambda: app.keyboard.press("ArrowDown"),
        lambda: app.keyboard.press("ArrowUp"),
        lambda: rows.nth(draw.randrange(n_rows)).click(),
        lambda: app.get_by_role("button", name="Majority").click(),
        lambda: app.get_by_role("button", name="Average", exact=True).click(),
        lambda: undo_and_redo(app),
        lambda: app.get_by_role("button", name="Toggle theme").click(),
        lambda: there_and_back(app),
        lambda: flip(app, ".cl-run", draw),
        lambda: flip(app, ".cl-order-by", draw),
        lambda: flip(app, ".cl-shading", draw),
    ]
    for _ in range(SWITCHES):
        draw.choice(moves)()
    rows.nth(n_rows - 1).click()
    last = name_of(rows.nth(n_rows - 1))
    expect(app.locator(".cl-model-name")).to_contain_text(last)
    expect(rows).to_have_count(n_rows)
    expect(app.locator(".cl-ranking-table .ranked.front")).to_have_count(1)
    for css in (".cl-map", ".cl-consensus-matrix", ".cl-binarised-matrix"):
        assert picture(app, css).any()
    expect(app.locator(".cl-threshold")).to_contain_text("Agreement needed")
    expect(app.locator(".cl-headline")).to_contain_text("Closest to")


def test_page_that_is_long_in_coming_says_so(fresh):
    sentence = f"""() => {{ {FIND}
      const page = find(document, '.cl-page-data').getRootNode().host;
      page.classList.add('cl-coming');
      const {{content, visibility}} = getComputedStyle(page, '::after');
      return visibility === 'visible' && content.includes('being prepared');
    }}"""
    fresh.locator(".cl-page-data").wait_for(timeout=PATIENCE)
    assert not fresh.evaluate(sentence)
    fresh.wait_for_function(sentence, timeout=PATIENCE)
