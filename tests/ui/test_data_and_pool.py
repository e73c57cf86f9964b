"""Tests from an empty page to a run in a browser: the pages Data and Pool."""

import json

import numpy as np
import pandas as pd
from playwright.sync_api import expect

from clusterlens.ui.state.pages import PAGES
from tests.support.pages import FIND

HOSTILE = "<img src=x onerror=window.hacked=1>"
LONG = 90_000

# Rewrites the examples, as progress reports of running work do.
WRITE_ANEW = """() => {
  for (const model of Bokeh.documents[0]._all_models.values())
    if (model.data?.body?.includes("cl-data-only")) model.data.body += " ";
}"""

# While a page opens, style sheets arrive and the table changes its size.
SETTLE = f"""async () => {{ {FIND}
  const host = find(document, ".cl-roles");
  const sheets = host.shadowRoot.querySelectorAll("link");
  for (const sheet of sheets) sheet.dispatchEvent(new Event("load"));
  const grid = host.shadowRoot.querySelector(".tabulator");
  const before = grid.clientHeight;
  host.style.maxHeight = before - 20 + "px";
  await new Promise((done) => new ResizeObserver(() => {{
    if (grid.clientHeight < before) setTimeout(done);
  }}).observe(grid));
  return sheets.length;
}}"""


def write_table(folder, rows=120):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": rng.choice(["Bern", "Oslo", HOSTILE], rows)})
    frame[["length", HOSTILE]] = rng.normal(size=(rows, 2))
    path = folder / "towns.csv"
    frame.round(3).to_csv(path, index=False)
    return path


def prepared(app):
    return expect(app.locator(".cl-prepared"))


def choose(app, css, text):
    app.locator(css).get_by_role("combobox").click()
    app.locator(".MuiMenuItem-root").get_by_text(text, exact=True).click()


def test_from_the_gallery_to_a_run(app):
    pale = app.locator("nav button.pale")
    expect(pale).to_have_count(len(PAGES) - 2)  # all except Data and Lessons
    app.locator(".cl-example", has_text="Iris").locator(".cl-load-example").click()
    prepared(app).to_contain_text("150 samples × 4 features")
    expect(app.locator(".cl-gallery")).to_be_hidden()
    expect(pale).to_have_count(0)
    app.get_by_role("button", name="Next: choose a pool").click()
    estimate = expect(app.locator(".cl-estimate"))
    choose(app, ".cl-preset", "quick")
    estimate.to_contain_text("14models")
    field = app.get_by_role("textbox", name="add to k of k-means", exact=True)
    field.fill("18-20")
    field.press("Enter")
    estimate.to_contain_text("17models")
    field.fill("one")
    field.press("Enter")
    wrong = app.locator(".cl-grids p.wrong")
    expect(wrong).to_contain_text("one: n_clusters of k-means cannot be one")
    expect(app.get_by_role("button", name="Run the pool")).to_be_enabled()
    app.get_by_role("button", name="Run the pool").click()
    expect(app.locator(".cl-map")).to_be_visible()
    app.get_by_role("button", name="Pool", exact=True).click()
    expect(app.locator(".cl-outcome")).to_contain_text("of 17 models")


def test_a_button_that_is_written_anew_while_it_is_pressed_is_clicked(app):
    app.locator(".cl-gallery .card", has_text="Iris").locator(".cl-data-only").hover()
    app.mouse.down()
    app.evaluate(WRITE_ANEW)
    app.mouse.up()
    prepared(app).to_contain_text("150 samples × 4 features")


def test_from_a_file_with_hostile_names_to_another_role_and_back(app, tmp_path):
    app.locator(".cl-file input[type=file]").set_input_files(write_table(tmp_path))
    prepared(app).to_contain_text("120 samples × 5 features")
    expect(app.locator(".cl-roles")).to_contain_text(HOSTILE)
    app.locator(".cl-roles [tabulator-field=values].tabulator-cell").nth(2).click()
    legend = expect(app.locator(".cl-prepared-legend"))
    legend.to_contain_text(f"shaded by {HOSTILE}")
    app.get_by_role("button", name="as features").click()
    expect(app.locator(".cl-preview")).to_contain_text(f"town={HOSTILE}")
    app.locator(".cl-roles [tabulator-field=role].tabulator-cell").first.click()
    role = app.get_by_text("ignore", exact=True).last
    expect(role).to_be_visible()
    assert app.evaluate(SETTLE)
    role.click()
    prepared(app).to_contain_text("120 samples × 2 features")
    app.locator(".cl-undo button").click()
    prepared(app).to_contain_text("120 samples × 5 features")
    assert app.evaluate("window.hacked") is None


PASTE = """text => {
  const clipboardData = new DataTransfer();
  clipboardData.setData('text/plain', text);
  const told = {clipboardData, bubbles: true, cancelable: true};
  document.body.dispatchEvent(new ClipboardEvent('paste', told));
}"""
FILE = """([name, text]) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([text], name));
  return dataTransfer;
}"""
# Builds each table anew, removes it meanwhile, and counts the parts that are left.
REMOVED = """() => {
  const found = [];
  const look = (views) => {
    for (const view of views) {
      if (view.tabulator) found.push(view);
      look(view.child_views ?? []);
    }
  };
  look(Object.values(Bokeh.index));
  const left = found.map((view) => new Promise((resolve, reject) => {
    view.render();
    const built = view.tableBuilt.bind(view);
    view.tableBuilt = () => {
      try { built(); } catch (error) { reject(error); }
      resolve(view.tabulator.element.children.length);
    };
    const table = view.tabulator;
    table.on("tableBuilding", () => queueMicrotask(() => table.destroy()));
  }));
  return Promise.all(left).then((counts) => counts.reduce((a, b) => a + b, 0));
}"""
DRAG = """([type, name, text]) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([text], name));
  const told = {dataTransfer, bubbles: true, cancelable: true};
  document.body.dispatchEvent(new DragEvent(type, told));
}"""


def test_tables_are_pasted_or_dropped_on_any_page_and_broken_ones_refused(app):
    rows = [f"{k * 0.37 % 5:.2f}\t{k * k % 7 + 0.5}" for k in range(30)]
    app.evaluate(PASTE, "<html>\n<p>no table</p>")
    expect(app.locator(".cl-notice-error")).to_be_visible()
    app.evaluate(PASTE, "\n".join(["a\tb", *rows]))
    prepared(app).to_contain_text("30 samples × 2 features")
    app.get_by_role("button", name="Consensus", exact=True).click()
    overlay = app.get_by_text("Drop the table: it opens in this window")
    file = ["other.csv", "\n".join(["c,d", *rows[:20]]).replace("\t", ",")]
    app.evaluate(DRAG, ["dragover", *file])
    expect(overlay).to_be_visible()
    app.evaluate(DRAG, ["drop", *file])
    expect(overlay).to_be_hidden()
    prepared(app).to_contain_text("20 samples × 2 features")
    state = expect(app.locator(".cl-state"))
    state.to_contain_text("other.csv · 20 × 2")
    app.get_by_role("button", name="another table").click()
    expect(app.locator(".cl-gallery")).to_be_visible()
    app.get_by_role("button", name="Back to other.csv").click()
    expect(app.locator(".cl-gallery")).to_be_hidden()
    app.locator(".cl-undo button").click()
    state.to_contain_text("pasted table · 30 × 2")
    app.get_by_role("button", name="Pool", exact=True).click()
    labels = "\n".join(["one,two", *(f"{k % 2},{k % 3}" for k in range(30))])
    dragged = {"dataTransfer": app.evaluate_handle(FILE, ["labels.csv", labels])}
    zone = app.locator(".cl-import-file .takes-files")
    expect(zone).to_be_visible()
    zone.dispatch_event("dragover", dragged)
    expect(overlay).to_be_hidden()
    zone.dispatch_event("drop", dragged)
    state.to_contain_text("2 models")


def test_a_table_may_be_removed_while_it_is_built(kept):
    app = kept("blobs", page="data")
    expect(app.locator(".tabulator-row").first).to_be_visible()
    assert app.evaluate(REMOVED) == 0


def test_nothing_scrolls_on_one_screen(kept):
    app = kept("blobs", page="data")
    prepared(app).to_contain_text("go into the pool")
    for width, height in ((1440, 900), (1280, 720)):
        app.set_viewport_size({"width": width, "height": height})
        for page in ("data", "pool"):
            app.locator(f".cl-nav-{page} button").click()
            expect(app.locator(f".cl-page-{page}")).to_be_visible()
            box = app.locator(f".cl-page-{page}").bounding_box()
            assert box["y"] + box["height"] <= height
            assert box["x"] + box["width"] <= width


def test_a_run_with_a_failing_and_an_endless_model_is_kept_or_cancelled(kept):
    endless = {"n_components": 3, "tol": 0, "max_iter": 10**9, "init_params": "random"}
    pool = [
        {"clusterer": "k-means", "n_clusters": [2, 3, 4, 200]},
        {"clusterer": "Gaussian mixture", **endless},
    ]
    app = kept("iris", page="pool")
    app.get_by_role("button", name="Edit as text").click(timeout=LONG)
    # The browser would cut a text that is pasted beyond the length of the field.
    written = json.dumps(pool) + 5000 * " "
    app.locator(".cl-pool-text textarea").first.click()
    app.keyboard.press("ControlOrMeta+A")
    app.keyboard.insert_text(written)
    expect(app.locator(".cl-pool-text textarea").first).to_have_value(written)
    app.get_by_role("button", name="Take this pool").click()
    expect(app.locator(".cl-grids")).to_contain_text("200")
    start = app.get_by_role("button", name="Run the pool")
    for button in ("Cancel the run", "Stop and keep"):
        expect(app.locator(".cl-estimate")).to_contain_text("5models")
        expect(start).to_be_enabled()
        start.click()
        grid = app.locator(".cl-progress-grid")
        expect(grid.locator("i.d[data-at]")).to_have_count(3)
        expect(grid.locator("i.r[data-at]")).to_have_count(1)
        grid.locator("i.f[data-at]").hover()
        expect(grid.locator(".tip")).to_contain_text("k-means k=200failed")
        expect(grid.locator("[tabindex='0']")).to_have_count(1)
        grid.locator("[tabindex='0']").focus()
        app.keyboard.press("ArrowRight")
        expect(grid.locator(".tip")).to_contain_text("k-means k=3done")
        app.keyboard.press("ArrowLeft")
        expect(grid.locator("[tabindex='0']")).to_be_focused()
        expect(grid.locator(".tip")).to_contain_text("k-means k=2done")
        app.get_by_role("button", name=button).click()
        expect(grid).to_be_hidden()
        if button == "Cancel the run":
            expect(app.locator(".cl-outcome")).not_to_contain_text("models kept")
    expect(app.locator(".cl-map")).to_be_visible()
    app.get_by_role("button", name="Pool", exact=True).click()
    outcome = expect(app.locator(".cl-outcome"))
    outcome.to_contain_text("3 of 5 models kept")
    outcome.to_contain_text("Stopped after 4 of 5 models; not fitted: Gaussian mixture")
