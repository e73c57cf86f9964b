"""Tests of the ranking as a table over the page: columns, order, file."""

import io

import numpy as np
import pandas as pd
import pytest

import clusterlens as cl
from clusterlens.ui.components.commands import press
from clusterlens.ui.pages.consensus.model_table import ordered
from clusterlens.ui.pages.consensus.page import ConsensusPage
from tests.ui.loop import run
from tests.ui.test_votes import two_hubs, wait_until_idle

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")


def test_the_table_is_made_when_it_is_opened_sorted_chosen_and_saved():
    session = two_hubs()

    async def main():
        page = ConsensusPage(session)
        page.set_visible(True)
        await wait_until_idle(session)
        assert not page._over.visible
        assert not page._table.made
        session.view_state.table_open = True
        await wait_until_idle(session)
        panel = page._table.card
        assert page._over.visible
        assert not page._workbench.visible
        assert "Calinski-Harabasz" in panel._text.body
        assert "are the classes clusters?" in panel._text.body
        check = session.derived.get("label_check").value
        assert "Compared with the classes: <span" in panel._text.body
        assert f"groups (CH_btwn) {check.score:.2f}" in panel._text.body
        panel._do("sort ari")
        assert list(panel._shown["ari"]) == sorted(panel._shown["ari"], reverse=True)
        panel._do("sort ari")
        assert list(panel._shown["ari"]) == sorted(panel._shown["ari"])
        panel._toggle("SI")
        assert "<td" in panel._text.body
        assert "sort SI" not in panel._text.body
        panel._do("model 7")
        assert session.view_state.model == 7
        name, make = panel._file()
        saved = pd.read_csv(io.BytesIO(make()))
        assert name.endswith("models.csv")
        assert set(cl.SCORES) | set(cl.INDICES) <= set(saved.columns)
        assert len(saved) == 9
        session.view_state.param.update(page="consensus", inspected=3)
        press(session, "escape")  # what lies over the page is closed first
        assert (session.view_state.table_open, session.view_state.inspected) == (
            False,
            3,
        )
        press(session, "escape")
        assert session.view_state.inspected is None

    run(main(), 300)


def test_models_are_sorted_by_what_is_better():
    table = pd.DataFrame({"rank": [2, 1], "CHI": [5.0, 9.0], "DBI": [0.3, 0.2]})
    assert ordered(table, "CHI").index.tolist() == [1, 0]
    assert ordered(table, "DBI").index.tolist() == [1, 0]
    assert ordered(table, "-DBI").index.tolist() == [0, 1]
    assert ordered(table, "no such column").index.tolist() == [1, 0]
    assert np.array_equal(ordered(table, "").index, [1, 0])


def test_the_map_turns_to_models_and_a_click_selects_one():
    session = two_hubs()

    async def main():
        page = ConsensusPage(session)
        page.set_visible(True)
        await wait_until_idle(session)
        assert not page._models.visible
        session.view_state.map_of = "models"
        await wait_until_idle(session)
        assert page._models.visible
        assert not page._samples.visible
        panel = page._map_of_models.card
        assert panel._figure.body.count("data-do=") == 2  # the distinct models
        assert "near-copies 2" in panel._figure.body
        assert "6 copies" in panel._figure.body
        panel._choose("6")
        await wait_until_idle(session)
        assert session.view_state.model == 6

    run(main(), 300)
