"""Tests of keys in a browser: at any focus, in map and matrices."""

import re

import pytest
from playwright.sync_api import Page, expect

from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.widgets.words import score_words
from tests.support.pages import IDLE, SAMPLES
from tests.ui.conftest import opened, own_page
from tests.ui.runs import VIEWPORT
from tests.ui.test_accessible import open_iris
from tests.ui.test_main_job import FIGURE, LONG, choose, picture
from tests.ui.test_workbench import until
from tests.ui.test_zooming import FILLED, MAPPED, MATRICES

STEP = 8
LINKS = ".cl-links tr:has(.cl-remove)"
# The ranges of a figure and its whole ranges, low to high.
RANGES = f"""css => {{
  const {{x_range, y_range}} = ({FIGURE})(css), ends = [];
  for (const axis of [x_range, y_range])
    for (const [one, other] of [['start', 'end'], ['reset_start', 'reset_end']])
      ends.push([axis[one], axis[other]].sort((a, b) => a - b));
  return ends;
}}"""
# Whether a figure shows a given fraction of its whole width.
SHOWS = f"""([css, part]) => {{
  const [[low, high], [first, last]] = ({RANGES})(css);
  return Math.abs((high - low) / (last - first) - part) < 1e-3;
}}"""


@pytest.fixture(scope="module")
def page(context):
    """The page of all tests here; each opens Consensus first."""
    with own_page(context) as page:
        yield page


@pytest.fixture(scope="module")
def iris(page, server):
    page.set_default_timeout(LONG)
    with opened(page, server) as app:
        open_iris(app)
        yield app


@pytest.fixture
def app(iris):
    iris.locator(".cl-nav-consensus button").click()
    expect(iris.locator(".cl-ranking-table")).to_be_visible()
    return iris


def test_what_was_chosen_in_a_select_is_undone_by_the_next_key(app):
    score = app.locator(".cl-score").get_by_role("combobox")
    before = score.inner_text()
    choose(app, ".cl-score", score_words("aari"))
    expect(score).to_have_text(score_words("aari"))
    expect(score).to_be_focused()
    app.keyboard.press("Control+z")
    expect(score).to_have_text(before)
    app.keyboard.press("Control+Shift+z")
    expect(score).to_have_text(score_words("aari"))
    app.keyboard.press("Control+z")
    expect(score).to_have_text(before)


@pytest.mark.parametrize("key", ["Enter", " ", "ArrowDown", "ArrowUp"])
def test_a_select_is_opened_and_used_by_keys_alone(app, key):
    score = app.locator(".cl-score").get_by_role("combobox")
    before = score.inner_text()
    options = app.locator(".MuiMenuItem-root")
    score.focus()
    app.keyboard.down(key)
    focused = app.locator(".MuiMenuItem-root:focus")
    expect(focused).to_have_text(before)
    app.keyboard.up(key)
    app.keyboard.press("ArrowDown")
    expect(focused).not_to_have_text(before)
    chosen = focused.inner_text()
    app.keyboard.press("Enter")
    expect(options).to_have_count(0)
    expect(score).to_have_text(chosen)
    app.keyboard.press("Control+z")
    expect(score).to_have_text(before)


def test_a_select_and_a_field_keep_the_keys_that_are_theirs(app):
    front = app.locator(".cl-ranking-table .ranked.front > .model")
    leader = front.inner_text()
    app.locator(".cl-score").get_by_role("combobox").focus()
    app.keyboard.press("ArrowDown")
    app.keyboard.press("Escape")
    app.keyboard.press("?")
    expect(app.locator(".cl-keys")).to_be_visible()
    app.keyboard.press("?")
    assert front.inner_text() == leader
    app.locator(".cl-nav-pool button").click()
    app.get_by_label("Seed").fill("12")
    app.keyboard.press("Control+z")
    app.keyboard.press("a")
    expect(app.locator(".cl-undo button")).to_be_enabled()
    expect(app.locator(".cl-keys")).to_be_hidden()
    assert app.evaluate("getComputedStyle(document.documentElement).fontSize") == "16px"


def steer(app: Page, css: str):
    """Move by Tab from the last button above a figure to the figure; return it."""
    picture(app, css)
    app.wait_for_function(SHOWS, arg=[css, 1])
    app.locator(f"{css} .cl-enlarge button").focus()
    app.keyboard.press("Tab")
    figure = app.locator(f"{css} [role=application]")
    expect(figure).to_be_focused()
    return figure


@pytest.mark.parametrize(
    ("css", "words", "zoomed"),
    [
        (
            ".cl-map",
            r"Map of 150 samples, by colour .*cluster 1: \d+.*Arrow keys",
            "Zoomed in.",
        ),
        (
            ".cl-binarised-matrix",
            "Binarised matrix of 150 rows.*Arrow keys",
            "In view: rows ",
        ),
        (
            ".cl-consensus-matrix",
            "Consensus matrix of 150 rows.*Arrow keys",
            "In view: rows ",
        ),
    ],
    ids=["map", "binarised", "consensus"],
)
def test_a_figure_is_steered_as_fast_as_keys_are_pressed(app, css, words, zoomed):
    leader = app.locator(".cl-ranking-table .ranked.front").inner_text()
    figure = steer(app, css)
    expect(figure).to_have_accessible_name(re.compile(words))
    for key in "+++":
        app.keyboard.press(key)
    app.wait_for_function(SHOWS, arg=[css, 1.5**-3])
    expect(figure.locator("[aria-live=polite]")).to_contain_text(zoomed)
    app.keyboard.press("-")
    app.wait_for_function(SHOWS, arg=[css, 1.5**-2])
    (left, right), _, (low, high), _ = app.evaluate(RANGES, css)
    for key in ("Shift+ArrowRight", "Shift+ArrowDown"):
        app.keyboard.press(key)
    down = -1 if css == ".cl-map" else 1
    app.wait_for_function(
        f"""([css, x, y]) => {{
          const [[left, right], , [low, high]] = ({RANGES})(css);
          return Math.abs(left - x) + Math.abs(low - y) < 1e-3 * (right - left);
        }}""",
        arg=[css, left + (right - left) / 4, low + down * (high - low) / 4],
    )
    if css == ".cl-map":
        app.wait_for_function(MAPPED, arg=css)
    else:
        app.wait_for_function(FILLED, arg=[MATRICES, 150])
    app.keyboard.press("Home")
    app.wait_for_function(SHOWS, arg=[css, 1])
    app.keyboard.press("+")
    app.wait_for_function(SHOWS, arg=[css, 1 / 1.5])
    app.keyboard.press("0")
    app.wait_for_function(SHOWS, arg=[css, 1])
    app.keyboard.press("Tab")
    expect(figure).not_to_be_focused()
    assert app.locator(".cl-ranking-table .ranked.front").inner_text() == leader


def test_a_sample_is_reached_and_clicked_by_keys(app):
    figure = steer(app, ".cl-map")
    box = figure.bounding_box()
    places = app.wait_for_function(SAMPLES).json_value()
    x, y = places[len(places) // 2]
    for right, back, pixels in (
        ("ArrowRight", "ArrowLeft", x - box["x"] - box["width"] / 2),
        ("ArrowDown", "ArrowUp", y - box["y"] - box["height"] / 2),
    ):
        for _ in range(round(abs(pixels) / STEP)):
            app.keyboard.press(right if pixels > 0 else back)
    app.keyboard.press("Enter")
    expect(app.locator(".cl-inspector")).to_contain_text("Disagreement")


def test_one_key_leads_to_the_next_step_of_a_page(app):
    app.locator(".cl-nav-pool button").click()
    expect(app.locator(".cl-ranking-table")).to_be_hidden()
    run = app.locator(".cl-run-pool button")
    app.wait_for_function(IDLE, timeout=LONG)  # a disabled button loses the focus
    expect(run).to_be_enabled()
    app.keyboard.press("n")
    expect(run).to_be_focused()


def test_the_map_of_models_is_walked_and_selected_by_keys(app):
    front = app.locator(".cl-ranking-table .ranked.front")
    leader = front.inner_text()
    app.locator(".cl-map-of-models button").click()
    points = app.locator(".cl-model-map [role=button]")
    expect(points.first).to_be_visible()
    expect(app.locator(".cl-model-map [tabindex='0']")).to_have_count(1)
    app.locator(".cl-map-of-samples button").focus()
    app.keyboard.press("Tab")
    point = app.locator(".cl-model-map [tabindex='0']")
    expect(point).to_be_focused()
    name = point.get_attribute("aria-label")
    keys = ("ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp")
    for key in keys:
        app.keyboard.press(key)
        if app.locator(".cl-model-map :focus").get_attribute("aria-label") != name:
            break
    other = app.locator(".cl-model-map :focus").get_attribute("aria-label")
    assert other != name
    assert front.inner_text() == leader
    app.keyboard.press("Enter")
    expect(front).not_to_have_text(leader)
    expect(point).to_be_focused()
    expect(point).to_have_accessible_name(other)
    app.locator(".cl-map-of-samples button").click()


def test_links_are_made_by_keys_are_one_stop_of_tab_and_their_buttons_have_names(app):
    rows = app.locator(LINKS)
    # The focus is still in the navigation.
    app.keyboard.press("Space")
    expect(app.locator(".cl-must")).to_be_visible()
    app.keyboard.press("m")
    expect(rows).to_have_count(1)
    app.keyboard.press("Control+z")
    expect(rows).to_have_count(0)
    for n_links, key in enumerate("mc", 1):
        app.locator(".cl-suggestions button[data-do]").first.click()
        app.keyboard.press(key)
        expect(rows).to_have_count(n_links)
    shown = rows.nth(0).get_by_role("button", name="Show the must-link")
    swap = rows.nth(0).get_by_role("button", name=" a cannot-link")
    remove = rows.nth(0).get_by_role("button", name="Remove the must-link of rows")
    expect(rows.nth(0).get_by_role("button")).to_have_count(3)
    shown.focus()
    app.keyboard.press("ArrowRight")
    expect(swap).to_be_focused()
    app.keyboard.press("ArrowRight")
    expect(remove).to_be_focused()
    app.keyboard.press("ArrowLeft")
    app.keyboard.press("ArrowLeft")
    expect(shown).to_be_focused()
    app.keyboard.press("ArrowDown")
    expect(rows.nth(1).get_by_role("button", name="Show the cannot")).to_be_focused()
    app.keyboard.press("Tab")
    expect(app.locator(".cl-links button:focus")).to_have_count(0)


def test_an_answer_sends_the_new_order_before_the_other_cards(app):
    n_links = app.locator(LINKS).count()
    app.locator(".cl-suggestions button[data-do]").first.click(timeout=LONG)
    expect(app.locator(".cl-must")).to_be_visible()
    messages = []
    network = app.context.new_cdp_session(app)
    network.on(
        "Network.webSocketFrameReceived",
        lambda frame: messages.append(frame["response"]["payloadData"]),
    )
    network.send("Network.enable")
    app.keyboard.press("m")
    expect(app.locator(LINKS)).to_have_count(n_links + 1)
    network.detach()
    ranked, listed = (
        next(k for k, message in enumerate(messages) if what in message)
        for what in ('"attr":"table"', "data-roving")
    )
    assert ranked < listed
    app.keyboard.press("Control+z")
    expect(app.locator(LINKS)).to_have_count(n_links)


def test_an_analysis_opens_on_the_page_that_was_left(app, server):
    app.locator(".cl-nav-report button").click()
    store = Store(server.home)
    newest, *_ = store.entries()
    until(app, lambda: store.read(newest.id).view_state["page"] == "report")
    with app.context.new_page() as again:
        again.goto(f"{server.address}/app")
        again.locator(".cl-recent .cl-open").first.click()
        expect(again.locator(".cl-page-report").first).to_be_visible()
    store.close()


def focused(app: Page) -> str:
    """Return the name of the focused element."""
    return app.evaluate(
        """() => {
          let part = document.activeElement;
          while (part?.shadowRoot?.activeElement) part = part.shadowRoot.activeElement;
          return part.ariaLabel ?? part.textContent;
        }"""
    )


def test_the_pool_is_run_after_sixty_tabs_and_arrow_keys_reach_each_of_its_values(app):
    app.locator(".cl-nav-pool button").click()
    # Pages are drawn side by side: Tab would lead through the previous one.
    expect(app.locator(".cl-ranking-table")).to_be_hidden()
    run = app.locator(".cl-run-pool button")
    app.wait_for_function(IDLE, timeout=LONG)
    expect(run).to_be_enabled()
    app.locator("header button").first.focus()
    tabs = 0
    while not run.evaluate("e => e === e.getRootNode().activeElement") and tabs < 200:
        app.keyboard.press("Tab")
        tabs += 1
    assert tabs <= 60

    values = app.locator("[aria-label^='settings of agglomerative,']")
    names = values.locator("button, input").evaluate_all(
        "all => all.map(e => e.ariaLabel)"
    )
    assert len(names) > 8
    values.locator("button").first.focus()
    reached = {focused(app)}
    for _ in names:
        app.keyboard.press("ArrowRight")
        reached.add(focused(app))
    assert reached == set(names)

    app.keyboard.press("Tab")
    assert focused(app) == "Birch"
    app.keyboard.press("Shift+Tab")
    assert focused(app) in names
    plan = app.locator(".cl-plan")
    plan.locator("summary").click()
    models = app.locator(".cl-estimate b").first
    before = models.inner_text()
    few = app.locator("[aria-label^='settings of mini-batch k-means,'] button")
    few.first.focus()
    app.keyboard.press("Enter")
    expect(few).to_have_count(1)
    assert focused(app) == "take 6 out"
    expect(models).not_to_have_text(before)
    expect(plan).to_have_attribute("open", "")
    app.locator(".cl-pool-state").get_by_text("Back to default").click()
    expect(few).to_have_count(2)


def test_enter_opens_the_model_of_a_row_in_clusters_and_is_in_the_list_of_keys(app):
    app.keyboard.press("?")
    row = app.locator(".cl-keys tr", has=app.locator("kbd", has_text="enter"))
    expect(row).to_be_visible()
    expect(row).to_contain_text("in Clusters")
    app.set_viewport_size({"width": 1280, "height": 720})
    box = app.locator(".cl-keys .keys").bounding_box()
    assert box["y"] + box["height"] <= 720
    app.set_viewport_size(VIEWPORT)
    app.keyboard.press("?")
    rows = app.locator(".cl-ranking-table .ranked")
    rows.first.click()
    expect(rows.first).to_have_class(re.compile("front"))
    app.locator(".cl-ranking-table .rows").focus()
    app.keyboard.press("ArrowDown")
    expect(rows.nth(1)).to_have_class(re.compile("front"))
    front = app.locator(".cl-ranking-table .ranked.front .model")
    name = front.get_attribute("title").partition(" · ")[0]
    app.keyboard.press("Enter")
    expect(app.locator(".cl-partition")).to_be_visible()
    expect(app.locator(".cl-clusters-sentence")).to_contain_text(name)


def test_enter_is_for_what_has_the_focus_not_for_a_select_that_is_drawn_anew(app):
    app.locator(".cl-score").get_by_role("combobox").focus()
    # As when it is removed from the page and inserted again.
    app.evaluate(
        """() => {
          let part = document.activeElement;
          while (part?.shadowRoot?.activeElement) part = part.shadowRoot.activeElement;
          part.blur();
        }"""
    )
    app.keyboard.press("Enter")
    app.keyboard.press("?")
    expect(app.locator(".cl-keys")).to_be_visible()
    expect(app.locator(".cl-ranking-table")).to_be_visible()
    app.keyboard.press("?")


def test_escape_closes_what_was_opened_over_the_page(app):
    app.locator(".cl-ranking button.about").click()
    opened = app.locator(".cl-ranking div.about:popover-open")
    expect(opened).to_be_visible()
    app.keyboard.press("Escape")
    expect(opened).to_have_count(0)
