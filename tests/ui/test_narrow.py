"""Tests of layout at 1024 x 768 pixels, with larger text, and on a wide page."""

import re
from itertools import pairwise

import numpy as np
import pandas as pd
from playwright.sync_api import Page, expect

from clusterlens.compute.ranking.ranking import SCORES
from clusterlens.ui.pages.data.columns import TITLES
from clusterlens.ui.state.pages import PAGES
from clusterlens.ui.widgets.words import score_words
from tests.support.pages import IDLE
from tests.ui.kept import pool_run
from tests.ui.test_main_job import LONG, choose, write_blobs
from tests.ui.test_workbench import until

NAME = "customers of spring.csv"
SCORE = "distance to the consensus"
# End of the first words of an element, from the left of the page.
ENDS = """(e, words) => {
  const range = document.createRange();
  range.setStart(e.firstChild, 0);
  range.setEnd(e.firstChild, words.length);
  return range.getBoundingClientRect().right;
}"""
# Start and end of the text of an element, from the left of the page.
REACH = """e => {
  const range = document.createRange();
  range.selectNodeContents(e);
  const {left, right} = range.getBoundingClientRect();
  return [left, right];
}"""
LONG_COLUMN = "circumference_of_the_widest_stem"
# The elements of a class, through shadow roots: texts, whether they are cut, and boxes
# as [left, top, right, bottom].
PARTS = """css => {
  const found = [];
  const walk = (root) => {
    for (const e of root.querySelectorAll('*')) {
      if (e.matches(css) && e.getClientRects().length) {
        const {left, top, right, bottom} = e.getBoundingClientRect();
        found.push({text: e.textContent, cut: e.scrollWidth > e.clientWidth + 1,
          box: [left, top, right, bottom].map(Math.round)});
      }
      if (e.shadowRoot) walk(e.shadowRoot);
    }
  };
  walk(document);
  return found;
}"""


def parts(app: Page, css: str) -> list[dict]:
    return app.evaluate(PARTS, css)


def inside(part: dict, card: dict) -> bool:
    left, top, right, bottom = part["box"]
    x0, y0, x1, y1 = card["box"]
    return x0 <= left and y0 <= top and right <= x1 and bottom <= y1


def assert_inside(app: Page, css: str, around: str) -> None:
    """Wait until all parts are inside a surrounding element."""
    until(app, lambda: all_inside(app, css, around))


def assert_uncut(app: Page, css: str) -> None:
    """Wait until the texts of parts are not cut."""
    until(app, lambda: not any(one["cut"] for one in within(app, css)))


def turn_to(app: Page, key: str) -> None:
    app.locator(f".cl-nav-{key} button").click()
    expect(app.locator(f".cl-page-{key}").first).to_be_visible()
    app.wait_for_function(IDLE, timeout=LONG)


MEASURED = """all => all.filter(e => e.getClientRects().length).map((e) => {
  const {left, top, right, bottom} = e.getBoundingClientRect();
  return {text: e.textContent, cut: e.scrollWidth > e.clientWidth + 1,
    box: [left, top, right, bottom].map(Math.round)};
})"""


def seen_within(app: Page, css: str) -> list[dict]:
    """Return the parts of a selector, through shadow roots; there may be none."""
    return app.locator(css).evaluate_all(MEASURED)


def within(app: Page, css: str) -> list[dict]:
    """Return the same, but wait until there is a part."""
    found: list[dict] = []
    until(app, lambda: bool(found.extend(seen_within(app, css)) or found))
    return found


def all_inside(app: Page, css: str, around: str) -> bool:
    [place] = within(app, around)
    return all(inside(one, place) for one in within(app, css))


def assert_controls_are_inside(app: Page) -> None:
    """Assert that controls in a title's line are in its card, selects with texts."""
    app.wait_for_function(IDLE, timeout=LONG)
    kinds = ".cl-enlarge button, .MuiInputBase-root, .cl-link-mode button"
    for css in (".cl-map", ".cl-consensus-matrix", ".cl-binarised-matrix"):
        assert_inside(app, f"{css} :is({kinds})", f"{css}.cl-card")
    for css in (".cl-shading", ".cl-order-by"):
        assert_uncut(app, f"{css} .MuiSelect-select")


def width_of(part: dict) -> int:
    return part["box"][2] - part["box"][0]


def texts(app: Page, css: str) -> list[str]:
    """Return the texts of the parts of a selector."""
    return [one["text"].strip() for one in within(app, css)]


def are_bars_whole(app: Page) -> bool:
    """Return whether the bars of the variances in sight end above their card's edge."""
    [place] = within(app, ".cl-variance")
    bars = within(app, ".cl-variance .bars > div")
    ends = [one["box"][3] for one in bars if one["box"][0] < place["box"][2]]
    return bool(ends) and max(ends) <= place["box"][3]


def assert_heads_are_whole(app: Page) -> None:
    """Assert that all heads of the columns are in the card, without scrolling."""
    app.wait_for_function(IDLE, timeout=LONG)
    heads = ".cl-roles .tabulator-col-title:text-matches('[a-z]')"
    until(app, lambda: texts(app, heads) == list(TITLES.values()))
    assert_inside(app, heads, ".cl-columns.cl-card")
    assert_uncut(app, heads)
    reach = "e => e.scrollWidth - e.clientWidth"
    holder = app.locator(".cl-roles .tabulator-tableholder")
    until(app, lambda: holder.evaluate(reach) <= 0)


def test_names_columns_and_buttons_are_whole_where_a_page_is_narrow(kept, tmp_path):
    path = write_blobs(tmp_path, name=NAME)
    frame = pd.read_csv(path)
    frame["smokes"] = [1, 0, 0, 0] * (len(frame) // 4)
    frame["salary"] = 52_000 + 30 * np.arange(len(frame))
    frame["class"] = [f"sort {k % 8}" for k in range(len(frame))]
    del frame["kind"]
    frame = frame.rename(columns={"length": LONG_COLUMN, "width": "petal length"})
    frame.to_csv(path, index=False)
    app = kept(path, pool_run(rows=len(frame)), page="data")
    app.set_viewport_size({"width": 1024, "height": 768})
    app.locator(".cl-roles .tabulator-col-title").get_by_text("weight").wait_for()
    names = [one for one in parts(app, ".chips bdi") if one["text"] in NAME]
    assert len(names) == 1
    assert_uncut(app, f".chips bdi:text-is({names[0]['text']!r})")
    assert_heads_are_whole(app)
    until(app, lambda: within(app, ".cl-next button")[0]["box"][3] <= 768)
    two = app.locator(".cl-roles [aria-label='0: 75%, 1: 25%']")
    for bar, height in enumerate(("15px", "5px")):
        expect(two.locator(".bar").nth(bar)).to_have_css("height", height)
    expect(two).to_have_text("0: 75%1: 25%")
    [chosen] = within(app, ".cl-pca .MuiSelect-select")
    assert chosen["text"] == "no, keep all features"
    assert_uncut(app, ".cl-pca .MuiSelect-select")
    until(app, lambda: width_of(within(app, ".cl-prepared")[0]) > 250)

    turn_to(app, "consensus")
    expect(app.locator(".cl-headline")).to_contain_text("if a majority must agree")
    app.set_viewport_size({"width": 1440, "height": 900})
    app.locator(".cl-model table.profile td.cut").first.wait_for()
    assert_uncut(app, ".cl-model table.profile td.cut:text-is('petal length')")
    row = ".cl-model table.profile tr:has(td:text-is('salary'))"

    def gap_between_means() -> float:
        here, of_all = (
            app.locator(f"{row} td:nth-child({k})").first.evaluate(REACH)
            for k in (3, 4)
        )
        return of_all[0] - here[1]

    until(app, lambda: gap_between_means() >= 8)
    app.set_viewport_size({"width": 1024, "height": 768})
    assert_uncut(app, "button.cl-null-check")
    app.locator(".leader .told-apart").nth(2).wait_for()
    assert len(parts(app, ".leader .told-apart")) == 3
    assert_uncut(app, ".leader .told-apart")
    # A cut text keeps its beginning.
    lead = app.locator(".leader .told-apart > span").first
    expect(lead).to_have_css("direction", "ltr")
    assert_inside(app, ".cl-votes .MuiInputBase-root", ".cl-ranking.cl-card")
    assert_uncut(app, ".cl-votes .MuiSelect-select")
    assert_controls_are_inside(app)

    def room_after_score() -> float:
        [score] = within(app, ".cl-score .MuiSelect-select")
        end = app.locator(".cl-score .MuiSelect-select").evaluate(ENDS, SCORE)
        return score["box"][2] - end

    until(app, lambda: room_after_score() >= 18)
    for css, option in ((".cl-shading", "even"), (".cl-order-by", "tree")):
        choose(app, css, option)
    assert_controls_are_inside(app)
    assert_uncut(app, ".ranked > .model > .lead")

    turn_to(app, "clusters")
    app.locator(".cl-distributions figcaption").first.wait_for()
    titles = within(app, ".cl-distributions figcaption b:first-child")
    assert LONG_COLUMN in [one["text"] for one in titles]
    assert_uncut(app, ".cl-distributions figcaption b:first-child")
    [place] = within(app, ".cl-distributions")
    for picture in within(app, ".cl-distributions svg")[1:3]:
        low, high = picture["box"][1], min(picture["box"][3], place["box"][3])
        assert high - low >= 25
    [card] = within(app, ".cl-profile.cl-card")
    rows = within(app, ".cl-profile-table tr")
    assert len(rows) >= 5
    assert all(low["box"][3] <= card["box"][3] for low in rows)
    titles = app.locator(".cl-compare p.cut")
    expect(titles).to_have_count(2)
    for title in titles.all():
        expect(title).to_have_attribute("title", title.inner_text())
    turn_to(app, "labels")
    app.locator(".cl-pair-columns tr").last.wait_for()
    for part, place in (
        (".cl-label-pairs .pairs", ".cl-label-pairs"),
        (".cl-pair-columns table", ".cl-class-pair.cl-card"),
    ):
        assert_inside(app, part, place)
    assert len(within(app, ".cl-label-pairs button")) == 28
    turn_to(app, "fuzzy")
    app.locator(".cl-fuzzy-pairs th button").first.wait_for()
    cells = within(app, ".cl-fuzzy-pairs th.name:has(button)")
    names = within(app, ".cl-fuzzy-pairs th button span")
    assert len(names) == len(cells) >= 2
    for name, cell in zip(names, cells, strict=True):
        assert not name["cut"]
        assert name["box"][2] <= cell["box"][2]
    turn_to(app, "consensus")
    choose(app, ".cl-votes", "each family")
    expect(app.locator(".cl-threshold .needed")).to_contain_text("votes")
    assert_uncut(app, ".cl-threshold .needed")
    assert_inside(app, ".cl-threshold-majority", ".cl-threshold.cl-card")

    app.keyboard.press("a")
    app.wait_for_function("() => document.documentElement.style.cssText.includes(1.3)")
    app.wait_for_function(IDLE, timeout=LONG)
    assert_controls_are_inside(app)
    assert_uncut(app, "button.cl-null-check")
    figure = app.locator(".cl-map [role=application]").bounding_box()
    assert figure["height"] > 100
    assert_inside(app, ".cl-threshold-majority", ".cl-threshold.cl-card")
    assert len(parts(app, "nav button")) == len(PAGES)
    assert_uncut(app, "nav button")
    for css in (".cl-map", ".cl-consensus-matrix", ".cl-binarised-matrix"):
        assert_uncut(app, f":is({css} .cut.whole, {css} .whole > .cut)")
    turn_to(app, "data")
    assert_heads_are_whole(app)
    until(app, lambda: are_bars_whole(app))
    app.keyboard.press("a")
    app.set_viewport_size({"width": 1440, "height": 900})
    app.locator(".cl-roles .reason").last.wait_for()
    heights = "all => all.map(e => [e.textContent, e.scrollHeight - e.clientHeight])"

    def reasons() -> dict[str, int]:
        return dict(app.locator(".cl-roles .reason").evaluate_all(heights))

    assert len(max(reasons(), key=len)) > 50
    until(app, lambda: max(reasons().values()) <= 1)
    assert_uncut(app, ".cl-pca .MuiSelect-select")


def test_columns_follow_a_resize_that_comes_while_their_table_scrolls(kept, tmp_path):
    app = kept(write_blobs(tmp_path), page="data")
    app.set_viewport_size({"width": 1024, "height": 768})
    app.locator(".cl-roles .tabulator-col-title").get_by_text("weight").wait_for()
    assert_heads_are_whole(app)
    holder = app.locator(".cl-roles .tabulator-tableholder")
    for width in (990, 960, 930):
        # As it does whenever its rows are drawn.
        holder.dispatch_event("scroll")
        app.set_viewport_size({"width": width, "height": 768})
        assert_heads_are_whole(app)


CLASSES = [f"species of the {k} group of trees" for k in range(9)]
# Whether the text of an element is cut, across or down.
CUT = (
    """e => e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 2"""
)


def test_scores_verdicts_and_legends_are_never_cut(kept, tmp_path):
    rng = np.random.default_rng(0)
    centres = np.repeat(np.arange(9.0), 20)[:, None] * [4, 1, 2]
    names = [LONG_COLUMN, "circumference_of_the_lowest_branch", "mass"]
    frame = pd.DataFrame(centres + rng.normal(size=(180, 3)), columns=names)
    frame["class"] = np.repeat(CLASSES, 20)
    path = tmp_path / "trees.csv"
    frame.to_csv(path, index=False)
    steps = pool_run([{"clusterer": "k-means", "n_clusters": [2, 3, 4, 5]}])
    app = kept(path, steps, page="consensus", colour_by="labels")
    app.locator("button.cl-null-check").click()
    chip = app.locator("span.pill.cl-null-check")
    expect(chip).to_contain_text(re.compile("groups: .*, p = "))
    for width, height in ((1440, 900), (1024, 768)):
        app.set_viewport_size({"width": width, "height": height})
        app.wait_for_function(IDLE, timeout=LONG)
        assert not chip.evaluate(CUT)
        assert_inside(app, "span.pill.cl-null-check", ".cl-headline.cl-card")
        entries = within(app, ".cl-map-legend .entries > span")
        assert len(entries) == len(CLASSES)
        assert len({one["box"][1] for one in entries}) <= 2
        assert_inside(app, ".cl-map-legend .entries > span", ".cl-map.cl-card")
        for entry, name in zip(
            app.locator(".cl-map-legend .entries > span").all(), CLASSES, strict=True
        ):
            expect(entry).to_have_attribute("title", f"{name}: 20")
        for key in SCORES:
            choose(app, ".cl-score", score_words(key))
            shown = app.locator(".cl-score .MuiSelect-select")
            expect(shown).to_have_text(score_words(key))
            assert not shown.evaluate(CUT), score_words(key)
        choose(app, ".cl-score", score_words("discotec-binary"))
    app.set_viewport_size({"width": 1440, "height": 900})
    cell = app.locator(f"td[title='{LONG_COLUMN}']").first
    expect(cell).to_have_text(LONG_COLUMN)
    tail = cell.locator(".told-apart > span").last
    assert not tail.evaluate(CUT)


def test_the_name_of_a_file_is_whole_where_a_wide_page_has_room_for_it(kept, tmp_path):
    name = "customers of all shops in spring and summer, without returns.csv"
    app = kept(write_blobs(tmp_path, name=name), page="data")
    app.set_viewport_size({"width": 1920, "height": 1080})
    app.wait_for_function(IDLE, timeout=LONG)
    [shown] = [one for one in within(app, ".cl-state bdi") if one["text"] in name]
    assert len(shown["text"]) > 50
    assert not shown["cut"]


def test_the_pool_is_laid_out_on_a_page_of_800_pixels(kept, tmp_path):
    app = kept(write_blobs(tmp_path), page="pool")
    app.set_viewport_size({"width": 800, "height": 768})
    app.locator(".cl-grids .number").first.wait_for()
    assert_inside(app, ".cl-noise", ".cl-pool.cl-card")
    [place] = within(app, ".cl-grids")
    words = ("family", "clusterer", "settings", "row limit", "models")
    heads = [within(app, f".cl-grids span:text-is('{one}')")[0] for one in words]
    for one, after in pairwise(heads):
        assert one["box"][2] <= after["box"][0]
    assert heads[-1]["box"][2] <= place["box"][2]
    [limit] = within(app, ".cl-grids .cl-family div.number:text-matches('^15.000')")
    assert limit["box"][2] == heads[3]["box"][2]
    run = app.locator(".cl-run-pool button")
    assert run.bounding_box()["y"] + 30 <= 768
    app.set_viewport_size({"width": 1280, "height": 720})
    app.keyboard.press("a")
    app.wait_for_function("() => document.documentElement.style.cssText.includes(1.3)")
    app.wait_for_function(IDLE, timeout=LONG)
    heads = [within(app, f".cl-grids span:text-is('{one}')")[0] for one in words]
    for one, after in pairwise(heads):
        assert one["box"][2] <= after["box"][0]
    [line] = within(app, ".cl-sizes")
    assert heads[3]["box"][0] - heads[2]["box"][0] > 250
    for kind in ("b", "span"):
        for text in within(app, f".cl-sizes .canvas {kind}"):
            assert text["box"][0] >= line["box"][0]
            assert text["box"][2] <= line["box"][2]
    app.keyboard.press("a")
    app.set_viewport_size({"width": 1440, "height": 900})
    app.wait_for_function(IDLE, timeout=LONG)
    pool, cost = within(app, ".cl-pool.cl-card, .cl-pool-cost.cl-card")
    assert pool["box"][1] == cost["box"][1]


def test_pairs_of_many_classes_are_all_in_sight(kept, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(160, 6)), columns=list("uvwxyz"))
    frame["class"] = [f"sort {k}" for k in range(16)] * 10
    path = tmp_path / "many.csv"
    frame.to_csv(path, index=False)
    app = kept(path, page="labels")
    app.set_viewport_size({"width": 1024, "height": 768})
    app.locator(".cl-label-pairs .pairs").wait_for()
    assert_inside(app, ".cl-label-pairs .pairs", ".cl-label-pairs")
    cells = within(app, ".cl-label-pairs button")
    assert len(cells) == 120
    low, high = cells[0]["box"][1::2]
    assert high - low >= 8
    app.set_viewport_size({"width": 1440, "height": 900})
    app.wait_for_function(IDLE, timeout=LONG)
    app.locator(".cl-pair-columns tr").nth(6).wait_for()
    expect(app.locator(".cl-pair-columns tr")).to_have_count(7)
    assert_inside(app, ".cl-pair-columns tr", ".cl-pair-columns")


def test_long_names_of_classes_are_whole_beside_their_pairs(kept, tmp_path):
    names = ["building front", "building window", "foliage in autumn", "grass"]
    names += ["path through grass", "sky"]
    frame = pd.read_csv(write_blobs(tmp_path, rows=240))
    frame["kind"] = names * 40
    path = tmp_path / "outdoors.csv"
    frame.to_csv(path, index=False)
    app = kept(path, page="labels")
    app.set_viewport_size({"width": 1024, "height": 768})
    app.locator(".cl-label-pairs .pairs").wait_for()
    app.wait_for_function(IDLE, timeout=LONG)
    heads = app.locator(".cl-label-pairs th span")
    expect(heads).to_have_text([f"{at} {name}" for at, name in enumerate(names, 1)])
    hidden = "all => all.map(e => e.scrollHeight - e.clientHeight)"
    until(app, lambda: max(heads.evaluate_all(hidden)) <= 2)
    assert_uncut(app, ".cl-label-pairs th span")
    assert_inside(app, ".cl-label-pairs .pairs", ".cl-label-pairs")
    assert_inside(app, ".cl-pair-heading .name", ".cl-pair-heading")
    # Both names of the focused cell are shown in full.
    cell = app.locator(".cl-label-pairs button[title^='building front and foliage']")
    has_tooltip = "e => getComputedStyle(e, '::after').content !== 'none'"
    until(app, lambda: not cell.evaluate(has_tooltip))
    app.keyboard.press("Tab")
    cell.focus()
    assert cell.evaluate(has_tooltip)
    # With larger text, too.
    app.keyboard.press("a")
    app.wait_for_function("() => document.documentElement.style.cssText.includes(1.3)")
    app.wait_for_function(IDLE, timeout=LONG)
    until(app, lambda: max(heads.evaluate_all(hidden)) <= 2)
    assert_inside(app, ".chips > .chip", ".cl-state .chips")
    assert_inside(app, ".cl-label-agreement h2", ".cl-label-agreement.cl-card")
    assert_uncut(app, ".cl-pair-columns td.number")
    turn_to(app, "cns")
    app.locator("input.exact").last.wait_for()
    assert_uncut(app, "input.exact")


# Centres of visible numbers, and their heights in bars.
NUMBERS_OF_K = """all => all.map(e => {
  const {top, bottom} = e.getBoundingClientRect();
  const look = getComputedStyle(e);
  const seen = look.visibility === 'visible' && look.fontSize !== '0px';
  return [seen && e.textContent, (top + bottom) / 2, bottom - top];
}).filter(([text]) => text)"""
DIGIT = 8  # height of a digit in pixels


def test_numbers_of_many_clusters_neither_cover_each_other_nor_are_cut(blobs):
    turn_to(blobs, "clusters")
    rows = blobs.locator(".rows-of-k")
    for k in (10, 12, 14):
        rows.locator(f"button[data-do='{k}']").click(timeout=LONG)
        expect(rows.locator(f".front button[data-do='{k}']")).to_be_visible()
    for size, n_seen in (((1440, 900), 13), ((1024, 768), 2)):
        blobs.set_viewport_size({"width": size[0], "height": size[1]})
        blobs.wait_for_function(IDLE, timeout=LONG)
        found = rows.locator("button").evaluate_all(NUMBERS_OF_K)
        assert len(found) == n_seen
        assert "14" in [text for text, _, _ in found]
        for (_, one, _), (_, after, _) in pairwise(found):
            assert after - one > DIGIT
        sizes = rows.locator(".parts > div").evaluate_all(NUMBERS_OF_K)
        assert bool(sizes) == (n_seen > 2)
        assert all(height > DIGIT for _, _, height in sizes)
