"""What stays whole on a page of 1024 x 768 pixels, also with larger text."""

import pandas as pd
from playwright.sync_api import Page, expect

from tests.ui.test_main_job import IDLE, LONG, load, run_pool, write_blobs

NAME = "customers of spring.csv"
# Of the elements of a class, through shadow roots: their texts, whether these are cut,
# and their boxes as [left, top, right, bottom].
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


def turn_to(app: Page, key: str) -> None:
    app.locator(f".cl-nav-{key} button").click()
    expect(app.locator(f".cl-page-{key}").first).to_be_visible(timeout=LONG)
    app.wait_for_function(IDLE, timeout=LONG)


def test_names_columns_and_buttons_are_whole_where_a_page_is_narrow(app, tmp_path):
    app.set_default_timeout(LONG)
    app.set_viewport_size({"width": 1024, "height": 768})
    path = write_blobs(tmp_path, name=NAME)
    frame = pd.read_csv(path)
    frame["smokes"] = [1, 0, 0, 0] * (len(frame) // 4)
    frame.to_csv(path, index=False)
    load(app, path)
    [name] = [one for one in parts(app, ".chips bdi") if one["text"] in NAME]
    assert not name["cut"]
    app.locator(".cl-roles .tabulator-col-title").get_by_text("weight").wait_for()
    [card] = parts(app, ".cl-columns.cl-card")
    heads = [
        one
        for one in parts(app, ".tabulator-col-title")
        if one["text"] in ("column", "role", "values", "missing", "taken", "weight")
    ]
    assert len(heads) == 6
    assert all(inside(one, card) and not one["cut"] for one in heads)
    two = app.locator(".cl-roles [aria-label='0: 75%, 1: 25%']")
    for bar, height in enumerate(("15px", "5px")):
        expect(two.locator(".bar").nth(bar)).to_have_css("height", height)
    expect(two).to_have_text("0: 75%1: 25%")

    run_pool(app)
    [pill] = parts(app, "button.cl-null-check")
    assert not pill["cut"]
    assert [one["cut"] for one in parts(app, ".leader .told-apart")] == [False] * 3
    matrix = app.locator(".cl-consensus-matrix.cl-card")
    box, whole = (
        matrix.locator(".cl-enlarge button").bounding_box(),
        matrix.bounding_box(),
    )
    assert box["x"] + box["width"] <= whole["x"] + whole["width"]

    app.keyboard.press("a")
    app.wait_for_function("() => document.documentElement.style.cssText.includes(1.3)")
    app.wait_for_function(IDLE, timeout=LONG)
    [card] = parts(app, ".cl-threshold.cl-card")
    [majority] = parts(app, ".cl-threshold-majority")
    assert inside(majority, card)
    titles = parts(app, "nav button")
    assert len(titles) == 9
    assert not any(one["cut"] for one in titles)
