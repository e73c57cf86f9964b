"""Test of large tables in a browser: landmarks are drawn, and all rows get labels."""

import shutil

import pandas as pd
import pytest
from playwright.sync_api import expect

from tests.support.pages import PICTURED
from tests.ui.test_main_job import LONG, run_pool, write_blobs

ROWS = 600


@pytest.fixture
def table(server, tmp_path):
    """A table on the disk of the server."""
    server.tables.mkdir(exist_ok=True)
    path = server.tables / "visits.parquet"
    pd.read_csv(write_blobs(tmp_path, rows=ROWS)).to_parquet(path)
    yield path
    path.unlink()
    for labels in path.parent.glob("visits-labels-*"):
        shutil.rmtree(labels)


def test_a_table_on_the_disk_of_the_server_is_labelled_as_a_whole(table, app):
    app.locator(".cl-draw-landmarks button").click(timeout=LONG)
    size = "600 landmarks of 600"
    expect(app.locator(".cl-state")).to_contain_text(size)
    run_pool(app)
    app.locator(".cl-nav-clusters button").click()
    app.locator(".cl-page-clusters .cl-choose-result button").click(timeout=LONG)
    app.locator(".cl-nav-all-rows button").click()
    app.locator(".cl-label-rows button").click(timeout=LONG)
    summary = app.locator(".cl-all-rows-summary")
    expect(summary).to_contain_text("600 rows have the labels of")
    sizes, ranking = (app.locator(f".cl-all-rows-{it}") for it in ("sizes", "ranking"))
    expect(sizes).to_contain_text("cluster 1")
    expect(ranking).to_contain_text("k-means")
    app.wait_for_function(PICTURED, arg=[".cl-all-rows-figure"], timeout=LONG)
    # A legend that outgrows its room would have the map drawn twice.
    legend = app.locator(".cl-all-rows-legend")
    least = legend.evaluate("e => parseFloat(getComputedStyle(e).minHeight)")
    assert legend.bounding_box()["height"] == least > 0
    labels = [path for path in table.parent.iterdir() if path != table]
    assert [path.name[:14] for path in labels] == ["visits-labels-"]
