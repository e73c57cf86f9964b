"""Tests of a lesson in a browser: one step by hand, the others by the coach."""

import pytest
from playwright.sync_api import expect

from tests.support.pages import wait_for_pictures
from tests.ui.test_accessible import grave_findings

LONG = 90_000
# Whether no other element covers the centre of an element.
IS_ON_TOP = """(part) => {
  const {x, y, width, height} = part.getBoundingClientRect();
  let at = document.elementFromPoint(x + width / 2, y + height / 2);
  while (at?.shadowRoot?.elementFromPoint(x + width / 2, y + height / 2))
    at = at.shadowRoot.elementFromPoint(x + width / 2, y + height / 2);
  for (; at && at !== part; ) at = at.parentNode || at.host;
  return at === part;
}"""
# Number of lines of the text of an element.
N_LINES = """(part) => {
  const range = document.createRange();
  range.selectNodeContents(part);
  return range.getClientRects().length;
}"""
# Whether no part of a card has to be scrolled.
IS_WHOLE = """(part) => {
  const boxes = [part, ...(part.shadowRoot?.querySelectorAll('*') ?? [])];
  return boxes.every((box) => box.scrollHeight <= box.clientHeight + 1
    || !/auto|scroll/.test(getComputedStyle(box).overflowY));
}"""
# Height of the middle of an element on the screen.
MIDDLE = "(part) => { const {y, height} = part.getBoundingClientRect(); "
MIDDLE += "return y + height / 2; }"


def go_on(coach, title):
    """Leave an unfinished step: Next shows its outcome, then the next step."""
    following = coach.get_by_role("button", name="Next")
    following.click()
    expect(coach.locator(".cl-coach-after")).not_to_be_empty(timeout=2 * LONG)
    following.click()
    expect(coach.locator("h2")).to_have_text(title, timeout=2 * LONG)


# Whether text has a scale.
SCALED = """scale => getComputedStyle(document.documentElement)
  .getPropertyValue('--cl-scale').trim() === scale"""


def enlarge_text(app):
    """Choose larger text, and wait for it."""
    app.keyboard.press("a")
    app.wait_for_function(SCALED, arg="1.3", timeout=LONG)


def expect_accessible(app):
    """Check the displayed step with axe-core, in both themes."""
    step, found = app.locator(".cl-coach h2").inner_text(), []
    for theme in ("first", "other"):
        where = f"{step}, {theme} theme"
        found += grave_findings(app, where, {}, also=("heading-order",))
        app.get_by_role("button", name="Toggle theme").click()
    assert not found, "\n".join(found)


def test_a_lesson_on_the_working_page_leaves_the_analysis_alone(app):
    app.locator(".cl-gallery .cl-data-only").first.click()
    state = expect(app.locator(".cl-state"))
    state.to_contain_text("blobs")
    app.get_by_role("button", name="Lessons", exact=True).click()
    app.locator("button.lesson", has_text="Most typical is not true").click()
    coach = app.locator(".cl-coach")
    expect(coach).to_contain_text("See the rings")
    colour = app.locator(".cl-page-lessons .cl-colour-by")
    expect(app.locator(".cl-page-lessons .cl-headline")).to_contain_text(
        "Gaussian mixture (full) k=3", timeout=2 * LONG
    )
    expect(colour).to_have_css("outline-style", "solid")
    colour.get_by_role("combobox").click()
    app.locator(".MuiMenuItem-root").get_by_text("given labels", exact=True).click()
    expect(coach).to_contain_text("as anybody would draw them")
    expect(colour).not_to_have_css("outline-style", "solid")
    following = coach.get_by_role("button", name="Next")
    following.click()
    expect(coach.locator("h2")).to_have_text("Meet the leader")
    go_on(coach, "Find the rings")
    show = coach.get_by_role("button", name="Show me")
    assert show.evaluate(N_LINES) == 1
    show.click()
    # The leader and the selected model are shown side by side.
    captions = coach.locator(".beside figcaption")
    expect(captions).to_have_text(
        [
            "the leader, rank 1 of 42agrees with the labels 0.00",
            "yours, rank 41 of 42agrees with the labels 1.00",
        ],
    )
    maps = coach.locator(".beside img").evaluate_all("all => all.map(e => e.src)")
    assert len(set(maps)) == 2
    following.click()
    expect(coach.locator("h2")).to_have_text("Ask the majority")
    # Inside the card, because its place clips everything outside.
    card = app.locator(".cl-page-lessons .cl-threshold.cl-card")
    expect(card).to_have_css("outline", "rgb(224, 123, 0) solid 2px")
    expect(card).to_have_css("outline-offset", "-3px")
    coach.get_by_role("button", name="Show me").click()
    expect(coach).to_contain_text("stands at rank 34")
    expect_accessible(app)
    app.keyboard.press("Control+z")
    majority = expect(app.locator(".cl-page-lessons .cl-threshold-text"))
    majority.to_contain_text("the average agreement")
    coach.get_by_role("button", name="Back").click()
    expect(coach.locator("h2")).to_have_text("Find the rings")
    state.to_contain_text("rings")
    app.get_by_role("button", name="Data", exact=True).click()
    state.to_contain_text("blobs")
    expect(app.locator(".cl-undo button")).to_be_enabled()


def test_on_a_narrow_page_neither_coach_nor_drawer_covers_what_is_to_be_done(app):
    app.set_viewport_size({"width": 1024, "height": 768})
    app.get_by_role("button", name="Lessons", exact=True).click()
    app.locator("button.lesson", has_text="One link can outweigh").click()
    coach = app.locator(".cl-coach")
    leader = app.locator(".cl-page-lessons .cl-ranking-table .ranked.front")
    expect(leader).to_be_visible(timeout=2 * LONG)
    go_on(coach, "Say what you know")
    cannot = app.locator(".cl-page-lessons .cl-cannot")
    expect(cannot).to_have_css("outline-style", "solid")
    for part in (cannot, coach.locator(".task")):
        assert part.evaluate(IS_ON_TOP), part
    cannot.click()
    expect(coach).to_contain_text("One pair of")
    enlarge_text(app)
    assert coach.evaluate(IS_WHOLE)


def test_on_a_narrow_page_all_that_is_told_of_a_step_is_in_sight(app):
    app.set_viewport_size({"width": 1024, "height": 768})
    app.get_by_role("button", name="Lessons", exact=True).click()
    app.locator("button.lesson", has_text="a quarter later").click()
    coach = app.locator(".cl-coach")
    show = coach.get_by_role("button", name="Show me")
    expect(show).to_be_visible(timeout=2 * LONG)  # once the lesson is open
    for title in ("The summer", "Who belongs nowhere", "What moved"):
        go_on(coach, title)
    show.click()
    after = coach.locator(".cl-coach-after")
    expect(after).to_contain_text("but of people", timeout=2 * LONG)
    box, buttons = after.bounding_box(), coach.locator(".cl-coach-foot").bounding_box()
    assert box["y"] + box["height"] <= buttons["y"]
    expect_accessible(app)


def test_the_lesson_on_labels_is_accessible_before_and_after_a_merge(app):
    app.get_by_role("button", name="Lessons", exact=True).click()
    app.locator("button.lesson", has_text="Labels that are no clusters").click()
    coach, page = app.locator(".cl-coach"), app.locator(".cl-page-lessons")
    show = coach.get_by_role("button", name="Show me")
    expect(show).to_be_visible(timeout=2 * LONG)  # once the lesson is open
    expect(page.get_by_text("No Python to copy")).to_be_visible()
    expect_accessible(app)
    titles = ("Cake beats rings", "Ask density", "Three species", "Make them one")
    for title in titles:
        go_on(coach, title)
    show.click()
    expect(page.get_by_text("○ once merged")).to_be_visible(timeout=2 * LONG)
    expect_accessible(app)


@pytest.mark.parametrize("width", [1440, 1280])
@pytest.mark.parametrize("large", [False, True])
def test_the_buttons_of_the_coach_stand_on_one_line(app, width, large):
    app.set_viewport_size({"width": width, "height": 900})
    app.get_by_role("button", name="Lessons", exact=True).click()
    app.locator("button.lesson", has_text="Which random model?").click()
    if large:
        enlarge_text(app)
    show = app.locator(".cl-coach").get_by_role("button", name="Show me")
    expect(show).to_be_visible(timeout=2 * LONG)
    reset = app.locator(".cl-coach").get_by_role("button", name="Reset")
    middles = [one.evaluate(MIDDLE) for one in (show, reset)]
    assert abs(middles[0] - middles[1]) < 5


def test_all_answers_and_values_of_the_lesson_on_random_models_are_in_sight(app):
    app.get_by_role("button", name="Lessons", exact=True).click()
    app.locator("button.lesson", has_text="Which random model?").click()
    page = app.locator(".cl-page-lessons")
    flat = page.locator(".cl-fuzzy-values .row[data-do=flat]")
    expect(flat).to_contain_text("−0.12", timeout=2 * LONG)
    for css in (".cl-fuzzy-guide", ".cl-fuzzy-values"):
        assert page.locator(css).evaluate(IS_WHOLE), css


def open_step(kept, lesson, step):
    """Open a lesson at a step, and wait until its page shows a ranking."""
    app = kept("iris", page="lessons", lesson=lesson, lesson_step=step)
    coach = app.locator(".cl-coach")
    expect(coach).to_contain_text(f"step {step + 1} of", timeout=2 * LONG)
    expect(coach.get_by_role("button", name="Next")).to_be_enabled(timeout=2 * LONG)
    row = app.locator(".cl-page-lessons .cl-ranking-table .ranked.front")
    expect(row).to_be_visible(timeout=2 * LONG)
    return app, app.locator(".cl-page-lessons")


def test_what_a_task_names_is_shown_whole_and_outlined(kept):
    _, page = open_step(kept, "crowd", 0)
    table = page.locator(".cl-ranking-table")
    expect(table).to_have_css("outline", "rgb(224, 123, 0) solid 2px")
    # Its place clips everything outside.
    expect(table).to_have_css("outline-offset", "-2px")
    name = table.locator(".ranked", has_text="HDBSCAN").first.locator(".lead")
    expect(name).to_have_text("HDBSCAN size=9")
    assert name.evaluate("part => part.scrollWidth <= part.clientWidth")


def test_the_drawer_leaves_the_headline_in_sight(kept):
    app, page = open_step(kept, "one link", 2)
    weight = page.locator(".cl-paper-weight")
    expect(weight).to_have_css("outline", "rgb(224, 123, 0) solid 2px")
    expect(weight).to_be_in_viewport()
    for large in (False, True):
        if large:
            enlarge_text(app)
        headline = page.locator(".cl-headline").bounding_box()
        drawer = page.locator(".cl-inspector").bounding_box()
        assert headline["y"] + headline["height"] <= drawer["y"]


def test_on_a_narrow_page_the_top_of_a_long_ranking_is_shown(kept):
    app, page = open_step(kept, "matrix", 0)
    coach = app.locator(".cl-coach")
    app.set_viewport_size({"width": 1024, "height": 768})
    enlarge_text(app)
    go_on(coach, "The mean of five")
    wait_for_pictures(app, ".cl-consensus-matrix")
    first = page.locator(".cl-ranking-table .ranked").first
    expect(first).not_to_be_in_viewport()
    coach.get_by_role("button", name="Back").click()
    expect(first).to_be_in_viewport()


def test_next_is_off_while_a_step_is_set_up(app):
    app.get_by_role("button", name="Lessons", exact=True).click()
    app.locator("button.lesson", has_text="Labels that are no clusters").click()
    coach = app.locator(".cl-coach")
    following = coach.get_by_role("button", name="Next")
    expect(following).to_be_disabled()
    following.focus()
    expect(coach.get_by_role("button", name="Show me")).to_be_visible(timeout=2 * LONG)
    expect(following).to_be_enabled()
    expect(following).to_be_focused()


def test_the_map_of_new_rows_is_drawn_once_its_card_is_shown(app):
    app.get_by_role("button", name="Lessons", exact=True).click()
    app.locator("button.lesson", has_text="a quarter later").click()
    coach = app.locator(".cl-coach")
    for title in ("The summer", "Who belongs nowhere"):
        go_on(coach, title)
    wait_for_pictures(app, ".cl-new-rows-map")
