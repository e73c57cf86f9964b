"""Keys of the page, wherever the focus is."""

from playwright.sync_api import Page, expect

from tests.ui.test_main_job import LONG, choose, load, run_pool, write_blobs


def test_what_was_chosen_in_a_select_is_undone_by_the_next_key(app, tmp_path):
    app.set_default_timeout(LONG)
    load(app, write_blobs(tmp_path))
    run_pool(app)
    score = app.locator(".cl-score").get_by_role("combobox")
    before = score.inner_text()
    choose(app, ".cl-score", "Average adjusted Rand index")
    expect(score).to_have_text("Average adjusted Rand index")
    expect(score).to_be_focused()
    app.keyboard.press("Control+z")
    expect(score).to_have_text(before)
    app.keyboard.press("Control+Shift+z")
    expect(score).to_have_text("Average adjusted Rand index")


def test_a_select_and_a_field_keep_the_keys_that_are_theirs(app, tmp_path):
    app.set_default_timeout(LONG)
    load(app, write_blobs(tmp_path))
    run_pool(app)
    front = app.locator(".cl-ranking-table .ranked.front")
    leader = front.inner_text()
    score = app.locator(".cl-score").get_by_role("combobox")
    score.focus()
    app.keyboard.press("ArrowDown")
    app.keyboard.press("Escape")
    app.keyboard.press("?")
    expect(app.locator(".cl-keys")).to_be_visible()
    app.keyboard.press("?")
    assert front.inner_text() == leader
    app.locator(".cl-nav-pool button").click()
    seed = app.get_by_label("Seed")
    seed.fill("12")
    app.keyboard.press("Control+z")
    expect(app.locator(".cl-undo button")).to_be_enabled()
    app.keyboard.press("a")
    expect(app.locator(".cl-keys")).to_be_hidden()
    assert app.evaluate("getComputedStyle(document.documentElement).fontSize") == "16px"


def test_a_select_shows_that_it_has_the_focus(app, tmp_path):
    app.set_default_timeout(LONG)
    load(app, write_blobs(tmp_path))
    run_pool(app)
    app.keyboard.press("Tab")
    score = app.locator(".cl-score")
    score.get_by_role("combobox").focus()
    drawn = score.locator(".MuiOutlinedInput-root").evaluate(
        "part => getComputedStyle(part).outline"
    )
    assert "2px" in drawn
    assert "solid" in drawn


def answer_suggested(app: Page, *keys: str) -> None:
    """Answer as many suggested pairs as there are keys."""
    app.get_by_role("tab", name="Links").first.click()
    for n_links, key in enumerate(keys, 1):
        app.locator(".cl-suggestions button[data-do]").first.click()
        app.keyboard.press(key)
        expect(app.locator(".cl-links tr[data-roving]")).to_have_count(n_links)


def test_a_link_costs_one_tab_and_its_buttons_have_names(app, tmp_path):
    app.set_default_timeout(LONG)
    load(app, write_blobs(tmp_path))
    run_pool(app)
    answer_suggested(app, "m", "c")
    rows = app.locator(".cl-links tr[data-roving]")
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
    app.keyboard.press("Tab")
    expect(rows.nth(1).get_by_role("button", name="Show the cannot")).to_be_focused()
