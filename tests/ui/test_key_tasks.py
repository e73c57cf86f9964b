"""Tests of keys alone in a browser: one task of every page, without a pointer."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from clusterlens.compute.table.dataset import ROLES
from clusterlens.compute.table.examples import load_example
from clusterlens.ui.state.pages import PAGES
from tests.support.pages import FIND, IDLE
from tests.ui.kept import Step, pool_run
from tests.ui.test_all_rows import MODEL, NUMBERS
from tests.ui.test_main_job import LONG

RESULT = ("choose result", {"partition": MODEL, "numbers": NUMBERS, "on": "Clusters"})
FOCUSED = """() => {
  let part = document.activeElement;
  while (part?.shadowRoot?.activeElement) part = part.shadowRoot.activeElement;
  return part;
}"""
# Whether the focused element is inside an element of a class and has a text or a name.
IS_AT = """([css, words]) => {
  const part = (FOCUSED)();
  if (!part || part === document.body) return false;
  const ids = (part.getAttribute("aria-labelledby") ?? "").split(" ");
  const named = ids.map((id) => part.getRootNode().getElementById(id)?.textContent);
  const labels = [...(part.labels ?? [])].map((label) => label.textContent);
  const texts = [part.textContent, part.ariaLabel, part.title, part.placeholder];
  const said = [...texts, ...named, ...labels].join(" ");
  let above = part;
  while (above && !above.matches?.(css)) above = above.parentNode ?? above.host;
  return !!above && said.includes(words);
}""".replace("FOCUSED", FOCUSED)

# Takes the rows of a table out of the page and puts them back, as new data do.
WRITE_ROWS_ANEW = f"""(css) => {{ {FIND}
  const rows = find(find(document, css).shadowRoot, ".tabulator-table");
  rows.replaceChildren(...rows.children);
}}"""


def go_to(app: Page, css: str, words: str = "", *, most: int, key: str = "Tab") -> None:
    """Press a key until the focus is inside an element; fail after too many."""
    for _ in range(most):
        if app.evaluate(IS_AT, [css, words]):
            return
        app.keyboard.press(key)
    raise AssertionError(f"{most} times {key} do not lead to {css} {words}")


def enter(app: Page, css: str) -> Page:
    """Skip from the start of the document to the page, once it shows an element."""
    expect(app.locator(css).first).to_be_visible()
    app.wait_for_function(IDLE, timeout=LONG)
    go_to(app, ".cl-skip", most=2)
    app.keyboard.press("Enter")
    assert app.evaluate(IS_AT, [".cl-content", ""])
    return app


def write(app: Page, text: str) -> None:
    """Type a text and end it with Enter."""
    app.keyboard.type(text)
    app.keyboard.press("Enter")


def walk_table(app: Page, css: str, *, most: int) -> None:
    """Reach the buttons of a table by Tab, another by an arrow, and leave by Tab."""
    expect(app.locator(css).nth(1)).to_be_visible()
    app.wait_for_function(IDLE, timeout=LONG)
    go_to(app, css, most=most)
    first = app.evaluate_handle(FOCUSED)
    app.keyboard.press("ArrowDown")
    assert app.evaluate(IS_AT, [css, ""])
    assert app.evaluate(f"first => first !== ({FOCUSED})()", first)
    app.keyboard.press("Tab")
    assert not app.evaluate(IS_AT, [css, ""])


@pytest.fixture
def iris(kept):
    """Opener of a page with a run of iris, with the focus on its first stop."""

    def open_page(page: str, css: str, *steps: Step, **view_state: Any) -> Page:
        run = pool_run(rows=150)
        return enter(kept("iris", run, *steps, page=page, **view_state), css)

    return open_page


def test_another_page_is_chosen_in_the_navigation(iris):
    app = iris("consensus", ".cl-ranking-table .ranked")
    go_to(app, ".cl-nav-clusters", most=20, key="Shift+Tab")
    app.keyboard.press("Enter")
    expect(app.locator(".cl-page-clusters")).to_be_visible()
    expect(app.locator(".cl-ranking-table")).to_be_hidden()
    go_to(app, ".cl-page-clusters", most=len(PAGES) + 1)


def test_data_an_example_is_opened_and_a_role_set_in_its_table(app):
    enter(app, ".cl-gallery .card")
    go_to(app, ".cl-data-only", "Iris", most=40)
    app.keyboard.press("Enter")
    expect(app.locator(".cl-roles")).to_contain_text("petal width")
    app.wait_for_function(IDLE, timeout=LONG)
    role = app.locator(".cl-roles [tabulator-field=role].tabulator-cell")
    go_to(app, "[tabulator-field=role].tabulator-cell", most=20)
    expect(role.nth(0)).to_be_focused()
    app.keyboard.press("ArrowDown")
    expect(role.nth(1)).to_be_focused()
    app.keyboard.press("ArrowRight")
    app.keyboard.press("ArrowLeft")
    app.keyboard.press("Enter")
    expect(app.locator(".tabulator-edit-list-item")).to_have_count(len(ROLES))
    for _ in range(ROLES.index("ignore")):
        app.keyboard.press("ArrowDown")
    app.keyboard.press("Enter")
    expect(app.locator(".cl-role-chips")).to_contain_text("ignore 1")
    expect(role.nth(1)).to_contain_text("ignore")
    expect(role.nth(1)).to_be_focused()
    app.keyboard.press("Tab")
    assert not app.evaluate(IS_AT, [".cl-columns", ""])
    app.keyboard.press("Shift+Tab")
    assert app.evaluate(IS_AT, [".cl-roles", ""])
    app.keyboard.press("Shift+Tab")
    assert not app.evaluate(IS_AT, [".cl-roles", ""])
    go_to(app, ".cl-roles", most=2)
    app.keyboard.press("Control+z")
    expect(role.nth(1)).to_contain_text("numeric")


def test_data_a_long_table_of_columns_is_scrolled_by_keys(kept, tmp_path):
    path = tmp_path / "wide.csv"
    heads = [f"column {k}" for k in range(60)]
    rows = ([k * row % 7 for k in range(60)] for row in range(30))
    path.write_text("\n".join(",".join(map(str, line)) for line in [heads, *rows]))
    app = enter(kept(path, page="data"), ".cl-roles .tabulator-row")
    go_to(app, "[tabulator-field=role].tabulator-cell", most=20)
    for k in range(4):
        if k:
            app.keyboard.press("PageDown")
        name = re.compile(rf"column {10 * k}(?!\d)")
        row = app.locator(".cl-roles .tabulator-row").filter(has_text=name)
        expect(row.locator("[tabulator-field=role]")).to_be_focused()
        expect(row).to_be_in_viewport(ratio=0.9)
        app.evaluate(WRITE_ROWS_ANEW, ".cl-roles")
        expect(row.locator("[tabulator-field=role]")).to_be_focused()
    app.keyboard.press("PageUp")
    row = app.locator(".cl-roles .tabulator-row").filter(has_text="column 20")
    expect(row.locator("[tabulator-field=role]")).to_be_focused()


def test_data_recent_analyses_are_one_stop_of_tab(kept, server):
    app = kept("iris")
    app.goto(f"{server.address}/app")
    enter(app, ".cl-recent .cl-open")
    go_to(app, "table.recent", most=10)
    app.keyboard.press("ArrowRight")
    assert app.evaluate(IS_AT, ["table.recent", ""])
    app.keyboard.press("Tab")
    assert not app.evaluate(IS_AT, ["table.recent", ""])


def test_pool_a_smaller_pool_is_chosen_and_run(kept):
    app = enter(kept("iris", page="pool"), ".cl-preset")
    expect(app.locator(".cl-estimate")).to_contain_text("models")
    go_to(app, ".cl-preset", most=10)
    app.keyboard.press("Enter")
    app.locator(".MuiMenuItem-root:focus").wait_for()
    app.keyboard.type("q")
    expect(app.locator(".MuiMenuItem-root:focus")).to_have_text("quick")
    app.keyboard.press("Enter")
    expect(app.locator(".MuiMenuItem-root")).to_have_count(0)
    expect(app.locator(".cl-preset").get_by_role("combobox")).to_have_text("quick")
    app.wait_for_function(IDLE, timeout=LONG)
    expect(app.locator(".cl-run-pool button")).to_be_enabled()
    go_to(app, ".cl-run-pool", most=40)
    app.keyboard.press("Enter")
    words = "if a majority must agree"
    expect(app.locator(".cl-headline")).to_contain_text(words, timeout=4 * LONG)


def test_consensus_another_model_is_read(iris):
    app = iris("consensus", ".cl-ranking-table .ranked")
    go_to(app, ".cl-ranking-table", most=10)
    app.keyboard.press("ArrowDown")
    second = app.locator(".cl-ranking-table .ranked").nth(1)
    expect(second).to_have_class(re.compile("front"))
    for key, row in (("End", "last"), ("Home", "first")):
        app.keyboard.press(key)
        end = getattr(app.locator(".cl-ranking-table .ranked"), row)
        expect(end).to_have_class(re.compile("front"))


def test_consensus_links_are_one_stop_of_tab(iris):
    pairs = ((1, 2), (60, 110))
    links = [("add link", {"kind": "must", "a": a, "b": b}) for a, b in pairs]
    app = iris("consensus", ".cl-links table", *links, tab="links")
    walk_table(app, "[data-do^=show], [data-do^=swap]", most=80)


def test_consensus_a_removed_link_leaves_the_focus_in_the_list(iris):
    pairs = ((1, 2), (60, 110))
    links = [("add link", {"kind": "must", "a": a, "b": b}) for a, b in pairs]
    app = iris("consensus", ".cl-links table", *links, tab="links")
    expect(app.locator(".cl-remove")).to_have_count(2)
    app.wait_for_function(IDLE, timeout=LONG)
    app.locator(".cl-remove").last.focus()
    for place in ("[data-do='remove 0']", ".cl-links"):
        app.keyboard.press("Enter")
        app.wait_for_function(IS_AT, arg=[place, ""], timeout=LONG)
    expect(app.locator(".cl-links")).to_contain_text("No links yet")
    app.keyboard.press("Tab")
    assert app.evaluate(IS_AT, [".cl-links-count", ""])


def test_consensus_rows_like_the_inspected_one_are_one_stop_of_tab(iris):
    app = iris("consensus", ".cl-inspected table", tab="sample", inspected=3)
    walk_table(app, "[data-do^=inspect]", most=40)


def test_consensus_brushed_rows_are_one_stop_of_tab(iris):
    app = iris("clusters", "[data-do=brush]", tab="selection")
    go_to(app, "[data-do=brush]", most=60)
    app.keyboard.press("Enter")
    go_to(app, ".cl-nav-consensus", most=80, key="Shift+Tab")
    app.keyboard.press("Enter")
    walk_table(app, ".cl-brushed button", most=80)


def test_clusters_a_consensus_is_cut_named_and_made_the_result(iris):
    app = iris("clusters", ".cl-icicle button")
    # Buttons of the widget set are drawn late, and Tab would pass their place.
    kinds = app.locator(".cl-partition-kind")
    expect(kinds.get_by_text("Consensus").first).to_be_visible()
    go_to(app, ".cl-partition-kind", "Consensus", most=10)
    app.keyboard.press("Enter")
    sentence = app.locator(".cl-clusters-sentence")
    expect(sentence).to_contain_text("consensus")
    go_to(app, ".cl-icicle", "2", most=30)
    app.keyboard.press("ArrowDown")
    app.keyboard.press("Enter")
    expect(app.locator(".cl-icicle .front")).to_contain_text("3")
    expect(sentence).to_contain_text("3 clusters")
    app.wait_for_function(IDLE, timeout=LONG)
    go_to(app, ".cl-cluster-name", most=30)
    write(app, "small flowers")
    profile = app.locator(".cl-profile")
    expect(profile).to_contain_text("small flowers")
    go_to(app, "[data-do^=inspect]", most=20)
    row = app.locator(".cl-rows button[data-do^=inspect]")
    app.keyboard.press("ArrowDown")
    expect(row.nth(1)).to_be_focused()
    go_to(app, ".cl-choose-result", most=60, key="Shift+Tab")
    app.keyboard.press("Enter")
    result = app.get_by_role("button", name="Result", exact=True)
    expect(result).to_be_visible()


def test_all_rows_an_explanation_is_opened_and_closed(iris):
    app = iris("all-rows", ".cl-page-all-rows button.about")
    go_to(app, "button.about", most=10)
    app.keyboard.press("Enter")
    opened = app.locator("div.about:popover-open")
    expect(opened).to_be_visible()
    app.keyboard.press("Escape")
    expect(opened).to_have_count(0)


def test_verdict_an_open_question_is_answered(iris):
    app = iris("verdict", ".cl-verdict-rows .cl-ask")
    rows = app.locator(".cl-verdict-rows")
    expect(rows).not_to_contain_text("measuring")
    asks = rows.locator(".cl-ask")
    n_open = asks.count()
    go_to(app, ".cl-ask", "Find out", most=20)
    app.keyboard.press("Enter")
    expect(asks).to_have_count(n_open - 1)


def test_labels_another_pair_of_classes_is_drawn(iris):
    app = iris("labels", ".cl-label-pairs .pairs")
    heading = app.locator(".cl-pair-heading")
    expect(heading).to_contain_text("versicolor")
    go_to(app, ".pairs", "setosa and versicolor", most=15)
    app.keyboard.press("ArrowDown")
    assert app.evaluate(IS_AT, [".pairs button", "setosa and virginica"])
    app.keyboard.press("Enter")
    expect(heading).to_contain_text("setosa")
    walk_table(app, ".cl-merge", most=30)


def test_new_rows_a_segmentation_is_kept_and_given_a_table(iris, tmp_path):
    app = iris("new-rows", ".cl-new-rows-headline", RESULT)
    go_to(app, ".cl-segmentation-name", most=10)
    write(app, "flowers")
    go_to(app, ".cl-keep-segmentation", most=10)
    app.keyboard.press("Enter")
    expect(app.locator(".cl-segmentation")).to_contain_text("3")
    app.wait_for_function(IS_AT, arg=[".cl-new-rows-headline", ""], timeout=LONG)
    path = tmp_path / "new.csv"
    load_example("iris").table.head(20).to_csv(path, index=False)
    app.wait_for_function(IDLE, timeout=LONG)
    # Before the key: what opens while a page begins to be watched is seen by nobody.
    app.on("filechooser", lambda chooser: chooser.set_files(path))
    go_to(app, ".cl-new-table", most=30)
    expect(app.locator(".cl-new-table button")).to_be_focused()
    app.keyboard.press("Enter")
    expect(app.locator(".cl-assigned")).to_contain_text("20")
    walk_table(app, "[data-do^=read]", most=30)


def test_report_a_note_is_written_and_rows_are_saved(iris):
    app = iris("report", ".cl-report iframe")
    go_to(app, ".cl-note", most=25)
    write(app, "seen by keys")
    report = app.frame_locator(".cl-report iframe").locator("body")
    expect(report).to_contain_text("seen by keys")
    go_to(app, ".cl-export-rows", most=10)
    with app.expect_download() as download:
        app.keyboard.press("Enter")
    assert "petal length" in download.value.path().read_text()


def test_fuzzy_a_pair_is_opened_in_the_square_of_all_pairs(iris):
    app = iris("fuzzy", ".cl-fuzzy-pairs .square")
    square = app.locator(".cl-fuzzy-pairs .square")
    expect(square).to_be_visible()
    go_to(app, ".square", most=40)
    app.keyboard.press("ArrowRight")
    app.keyboard.press("ArrowDown")
    assert app.evaluate(IS_AT, ["[data-do^=open]", ""])
    opened = square.locator("td.open").first
    before = opened.locator("button").get_attribute("title")
    while app.evaluate(IS_AT, [".open", ""]):
        app.keyboard.press("ArrowDown")
    app.keyboard.press("Enter")
    expect(opened.locator("button")).not_to_have_attribute("title", before)
    app.keyboard.press("Tab")
    assert not app.evaluate(IS_AT, [".cl-fuzzy-pairs", ""])


def test_fuzzy_a_chosen_random_model_keeps_the_focus(iris):
    app = iris("fuzzy", ".cl-fuzzy-values button[data-do=flat]")
    app.locator(".cl-fuzzy-values button[data-do=flat]").focus()
    app.keyboard.press("Enter")
    chosen = app.locator(".cl-fuzzy-values button[data-do=flat][aria-pressed=true]")
    expect(chosen).to_be_focused()


def test_cns_all_three_settings_are_steered(iris):
    app = iris("cns", ".cl-n-clusters")
    summary = app.locator(".cl-cns-summary")
    expect(summary).to_contain_text("alpha")
    for css in (".cl-n-clusters", ".cl-neighbours", ".cl-alpha"):
        slider = app.locator(f"{css} input[type=range]")
        go_to(app, css, most=20)
        before = slider.get_attribute("aria-valuenow")
        app.keyboard.press("ArrowRight")
        expect(slider).not_to_have_attribute("aria-valuenow", before)
    go_to(app, ".steps", most=20)
    app.keyboard.press("ArrowRight")
    app.keyboard.press("Enter")
    second = app.locator(".steps button").nth(1)
    expect(second).to_have_attribute("aria-pressed", "true")
    go_to(app, ".cl-versions", most=60)
    app.keyboard.press("Enter")
    walk_table(app, "[data-do^=show], [data-do^=add]", most=30)


def test_lessons_a_lesson_is_opened_and_its_first_step_shown(kept):
    app = enter(kept("iris", page="lessons"), "button.lesson")
    go_to(app, "button.lesson", most=10)
    app.keyboard.press("Enter")
    coach = app.locator(".cl-coach")
    title = coach.locator("h2")
    expect(title).to_be_visible(timeout=2 * LONG)
    first = title.inner_text()
    show = coach.get_by_role("button", name="Show me")
    expect(show).to_be_visible(timeout=2 * LONG)  # once the lesson is open
    assert app.evaluate(IS_AT, [".cl-coach-text", ""])
    go_to(app, ".cl-coach-foot", "Show me", most=10)
    app.keyboard.press("Enter")
    expect(coach.locator(".cl-coach-after")).not_to_be_empty(timeout=2 * LONG)
    app.keyboard.press("n")
    expect(coach.get_by_role("button", name="Next")).to_be_focused()
    app.keyboard.press("Enter")
    expect(title).not_to_have_text(first)
    go_to(app, "[data-do=close]", most=10, key="Shift+Tab")
    app.keyboard.press("Enter")
    app.wait_for_function(IS_AT, arg=["button.lesson", ""], timeout=LONG)
