"""Where notices and the work under way are told."""

import pandas as pd
from playwright.sync_api import FloatRect, Page, expect

from tests.ui.test_main_job import LONG, drop_file, load, write_blobs


def box(app: Page, css: str) -> FloatRect:
    return app.locator(css).first.bounding_box()


def test_a_notice_lies_over_nothing_and_stays_on_its_page(app, tmp_path):
    app.set_default_timeout(LONG)
    load(app, write_blobs(tmp_path))
    bad = tmp_path / "bad.csv"
    pd.DataFrame({"x": []}).to_csv(bad, index=False)
    drop_file(app, bad)
    notice = app.locator(".notice")
    expect(notice).to_be_visible()
    told = box(app, ".notice")
    card = box(app, ".cl-page-data")
    assert told["y"] + told["height"] <= card["y"]
    app.locator(".cl-nav-pool button").click()
    expect(app.locator(".cl-page-pool").first).to_be_visible()
    expect(notice).to_have_count(0)


def test_the_bar_of_the_work_under_way_has_room_of_its_own(app, tmp_path):
    app.set_default_timeout(LONG)
    load(app, write_blobs(tmp_path, rows=900))
    app.get_by_role("button", name="Next: choose a pool").click()
    app.get_by_role("button", name="Run the pool").click()
    expect(app.locator(".cl-job")).to_be_visible()
    job = box(app, ".cl-job")
    page = box(app, ".cl-page-pool")
    assert page["y"] + page["height"] <= job["y"] + 0.5
    assert job["y"] + job["height"] <= app.viewport_size["height"]
