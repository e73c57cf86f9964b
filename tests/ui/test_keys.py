"""Keys of the page, wherever the focus is."""

from playwright.sync_api import expect

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
