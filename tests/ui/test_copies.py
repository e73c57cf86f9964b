"""Tests of copied rows: reported with scores, used once by one click, and undone."""

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.ui.components.copies import beside_score, ready_line
from clusterlens.ui.exports.script import write_card
from tests.ui.loop import run
from tests.ui.test_data_page import Opened
from tests.ui.test_labels_page import Opened as LabelsOpened
from tests.ui.test_main_job import LONG

# Bokeh passes tables in a way that pandas is about to remove.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")


def repeated(rows: int = 60, times: int = 3) -> pd.DataFrame:
    """Return a table in which each row occurs several times."""
    rng = np.random.default_rng(0)
    some = pd.DataFrame(rng.normal(size=(rows, 2)).round(3), columns=["a", "b"])
    some["group"] = np.where(np.arange(rows) < rows // 2, "left", "right")
    some.loc[some["group"] == "left", "a"] += 9
    return pd.concat([some] * times, ignore_index=True)


def test_the_ready_line_says_copies_and_one_click_uses_each_row_once():
    async def main():
        opened = Opened()
        await opened.read(repeated())
        line = opened.preparation._more
        assert "120 exact copies of other rows (67%)" in line.body
        before = opened.session.analysis.dataset
        await line._handle_msg("copies once")
        await opened.wait_until_idle()
        dataset = opened.session.analysis.dataset
        assert len(dataset.X) == 60
        assert dataset.row_counts.tolist() == [3] * 60
        assert "stands for all rows that equal it, 180 in all" in line.body
        steps, analysis = opened.session.history.done, opened.session.analysis
        card = write_card(steps, lambda lines: [lines.samples(analysis)])
        assert "copies='once'" in card
        assert "use each row once" not in opened.notes._steps.body
        opened.session.undo()
        await opened.wait_until_idle()
        assert opened.session.analysis.dataset is before
        assert "exact copies" in line.body
        opened.session.redo()
        await line._handle_msg("copies keep")
        await opened.wait_until_idle()
        assert len(opened.session.analysis.dataset.X) == 180

    run(main())


def test_a_hint_of_copies_is_one_click():
    async def main():
        opened = Opened()
        await opened.read(repeated())
        at = next(k for k, hint in enumerate(opened.notes._hints) if hint.rows)
        assert "use each row once" in opened.notes._steps.body
        await opened.notes._mend(str(at))
        await opened.wait_until_idle()
        assert opened.session.analysis.preparation["copies"] == "once"
        assert not any(hint.action for hint in opened.notes._hints)

    run(main())


def test_a_hint_of_far_values_is_one_click_and_then_gone():
    async def main():
        frame = repeated(times=1)
        frame.loc[3, "b"] = 1e6
        opened = Opened()
        await opened.read(frame)
        at, hint = next(
            (k, h) for k, h in enumerate(opened.notes._hints) if h.rows == (3,)
        )
        assert "take its ranks" in opened.notes._steps.body
        await opened.notes._mend(str(at))
        await opened.wait_until_idle()
        assert opened.session.analysis.preparation["transforms"] == {"b": "rank"}
        assert hint not in opened.notes._hints

    run(main())


def test_class_labels_say_copies_beside_the_score_and_beside_density():
    async def main():
        opened = LabelsOpened()
        table = make_dataset(repeated(), name="repeated", label="group")
        await opened.read(table)
        headline, density = opened.headline._text, opened.scales._badge
        assert "67% of the rows are copies of others" in headline.body
        assert "use each row once" in headline.body
        assert "copies of rows count" in density.body
        assert "use each row once" not in density.body
        await headline._handle_msg("copies once")
        await opened.wait_until_idle()
        assert len(opened.value("evaluated_labels").codes) == 60
        assert "of the rows are copies" not in headline.body
        assert "copies" not in density.body

    run(main())


def test_the_labels_of_a_run_lead_to_another_run_once_copies_are_used_once():
    async def main():
        opened = LabelsOpened()
        table = make_dataset(repeated(), name="repeated", label="group")
        await opened.read(table, pool=[{"clusterer": "k-means", "n_clusters": [2, 3]}])
        await opened.headline._text._handle_msg("copies once")
        await opened.wait_until_idle()
        assert "the table now uses each row once" in opened.headline._text.body
        await opened.headline._text._handle_msg("copies pool")
        assert opened.view_state.page == "pool"

    run(main())


def test_few_copies_are_said_when_a_table_is_prepared_but_not_beside_scores():
    rows = repeated(300, 1)
    table = make_dataset(pd.concat([rows, rows.iloc[:1]], ignore_index=True))
    dataset = prepare(table)
    assert "1 exact copy of other rows (<1%)" in ready_line(dataset)
    assert beside_score(dataset, dataset) == ""
    assert ready_line(prepare(make_dataset(rows))) == ""


def test_copies_are_used_once_by_a_click_and_undone_in_a_browser(kept, tmp_path):
    path = tmp_path / "repeated.csv"
    repeated().to_csv(path, index=False)
    app = kept(path, page="data")
    line, ready = app.locator(".cl-prepared-more"), app.locator(".cl-prepared")
    expect(line).to_contain_text("120 exact copies")
    line.get_by_role("button", name="use each row once").click()
    expect(ready).to_contain_text("60 samples")
    expect(line).to_contain_text("180 in all")
    app.keyboard.press("Control+z")
    expect(ready).to_contain_text("180 samples")
    hint = app.locator(".cl-notes").get_by_role("button", name="use each row once")
    hint.click(timeout=LONG)
    expect(ready).to_contain_text("60 samples")
    expect(hint).to_have_count(0)
