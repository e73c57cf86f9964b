"""Tests of the places of notices and running work, in a browser."""

import pandas as pd
from playwright.sync_api import expect

from tests.ui.test_main_job import LONG, drop_file, load, write_blobs


def test_what_is_told_lies_under_the_cards_and_moves_none(app, tmp_path):
    app.set_default_timeout(LONG)
    load(app, write_blobs(tmp_path, rows=900))
    page = app.locator(".cl-page-data").first
    before = page.bounding_box()
    bad = tmp_path / "bad.csv"
    pd.DataFrame({"x": []}).to_csv(bad, index=False)
    drop_file(app, bad)
    notice = app.locator(".notice")
    expect(notice).to_be_visible()
    assert page.bounding_box() == before
    bottom = before["y"] + before["height"]
    box = notice.bounding_box()
    assert box["y"] >= bottom
    assert box["y"] + box["height"] <= app.viewport_size["height"]
    app.locator(".cl-nav-pool button").click()
    expect(notice).to_have_count(0)

    app.get_by_role("button", name="Run the pool").click()
    job = app.locator(".cl-job")
    expect(job).to_be_visible()
    shown = job.bounding_box()
    assert shown["y"] >= bottom
    assert shown["y"] + shown["height"] <= app.viewport_size["height"]
    app.get_by_role("button", name="Cancel", exact=True).click()
    expect(notice).to_contain_text("Cancelled")
    assert notice.bounding_box()["y"] >= bottom
