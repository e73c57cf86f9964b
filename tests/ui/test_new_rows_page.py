"""Test of new rows in a browser: half a table is kept, the other half is assigned."""

import pandas as pd
from playwright.sync_api import expect

from tests.ui.test_main_job import LONG, load, run_pool, write_blobs
from tests.ui.test_narrow import inside, within

HEADLINE = ".cl-new-rows-headline"


def give(app, path):
    app.locator(".cl-new-table input[type=file]").set_input_files(path)


# Horizontal overflow of the container of an element.
BEYOND = "e => e.parentElement.scrollWidth - e.parentElement.clientWidth"


def test_half_a_table_finds_the_clusters_of_the_other_and_a_lacking_one_is_refused(
    app, tmp_path
):
    path = write_blobs(tmp_path, rows=200)
    table = pd.read_csv(path)
    table["floor"] = ["carpet on concrete", "bare concrete boards"] * 100
    table.iloc[:100].to_csv(path, index=False)
    second, lacking = tmp_path / "second.csv", tmp_path / "lacking.csv"
    table.iloc[100:].to_csv(second, index=False)
    table.iloc[100:].drop(columns=["width"]).to_csv(lacking, index=False)
    load(app, path)
    run_pool(app)
    app.locator(".cl-nav-clusters").click()
    app.locator(".cl-page-clusters .cl-choose-result button").click(timeout=LONG)
    name = app.locator(".cl-cluster-name input")
    name.fill("occasional visitors")
    name.press("Enter")
    app.locator(".cl-page-clusters").get_by_text("occasional visitors").first.wait_for()
    app.locator(".cl-nav-new-rows").click()
    app.locator(".cl-keep-segmentation button").click(timeout=LONG)
    expect(app.locator(".cl-verdict")).to_contain_text("waits for new rows")

    give(app, lacking)
    expect(app.locator(".cl-assigned")).to_contain_text(
        "The table has no column 'width'"
    )
    expect(app.locator(".cl-verdict")).to_contain_text("cannot be placed")

    give(app, second)
    expect(app.locator(".cl-verdict")).to_contain_text("100 of 100 rows placed")
    expect(app.locator(".cl-assigned")).to_contain_text("Shares then and now")
    expect(app.locator(".cl-drift-columns")).to_contain_text("length")
    with app.expect_download(timeout=LONG) as download:
        app.locator(".cl-take-csv").click()
    rows = pd.read_csv(download.value.path(), index_col=0)
    assert rows["length"].tolist() == table["length"].iloc[100:].tolist()
    found = pd.crosstab(rows["cluster"], rows["kind"])
    assert found.max(axis=0).sum() >= 95  # classes are hardly split
    # Among the rows on the page, the surest lies among the rows of its cluster.
    mine = ".cl-assigned-rows tr:has(td:nth-child(2):has-text('occasional visitors'))"
    app.locator(f"{mine} button").last.click()
    expect(app.locator(".cl-new-row-text")).to_contain_text("Nearest prototypes")
    app.set_viewport_size({"width": 1024, "height": 768})
    selector = ", ".join(
        f".cl-{place} td"
        for place in (
            "new-row-text .takes",
            "new-row-text .near",
            "new-row-text .why",
            "drift-columns",
        )
    )
    named = app.locator(selector, has_text="occasional visitors").first
    expect(named).to_be_visible()
    cells = within(app, selector)
    assert not [one["text"] for one in cells if one["cut"] and one["text"]]
    assert app.locator(".cl-new-row-text .takes").first.evaluate(BEYOND) <= 1
    told_of_columns = within(app, ".cl-drift-columns td:first-child > *")
    assert "floor = " in " ".join(one["text"] for one in told_of_columns)
    assert not [one["text"] for one in told_of_columns if one["cut"]]
    app.locator(".cl-refit button").hover()
    warned = app.locator(".MuiTooltip-tooltip", has_text="runs and links go")
    expect(warned).to_be_visible()
    [tooltip], [around] = within(app, ".MuiTooltip-tooltip"), within(app, HEADLINE)
    assert inside(tooltip, around)
    app.locator(".cl-refit button").click()
    expect(app.locator(".cl-refitted")).to_contain_text("kept name and colour")
    expect(app.locator(".cl-rules")).to_contain_text("second.csv")
