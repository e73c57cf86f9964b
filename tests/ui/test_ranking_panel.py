"""Tests of the ranking: it shows the selected run and lets another be selected."""

import asyncio
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from playwright.sync_api import expect

import clusterlens as cl
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.ranking import SCORES
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.pages.consensus import ranking_columns
from clusterlens.ui.pages.consensus.ranked_rows import ROW_CSS, RankedRows
from clusterlens.ui.pages.consensus.ranking import RankingTable
from clusterlens.ui.pages.consensus.ranking_columns import (
    COLUMNS,
    column,
    short,
    written,
)
from clusterlens.ui.widgets.words import drop_shared_settings
from tests.ui.loop import run, wait_until_idle
from tests.ui.test_session import made_run, session_with

# Panel's table is not yet ready for pandas 4.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")
# The last part of the name in each row of a ranking as wide as at 1440 pixels, and
# whether its first part and its last are cut.
SHOW_ROWS = """async ([esm, css, table]) => {
  const address = URL.createObjectURL(new Blob([esm], {type: 'text/javascript'}));
  const {render} = await import(address);
  const host = document.body.appendChild(document.createElement('div'));
  host.style.cssText = 'position:fixed;top:0;width:345px;height:200px';
  const root = host.attachShadow({mode: 'open'});
  root.innerHTML = `<style>${css}</style>`;
  const ignore = {on: () => {}, send_msg: () => {}};
  const model = {table, selected: null, ...ignore};
  root.append(render({model}));
  const last = root.querySelector('.ranked:last-child');
  while (!last.textContent) await new Promise(requestAnimationFrame);
  const cut = (e) => e.scrollWidth > e.clientWidth;
  return [...root.querySelectorAll('.ranked')].map((row) => {
    const [lead, tail] = ['.lead', '.tail'].map((part) => row.querySelector(part));
    return [tail.textContent, cut(lead), cut(tail)];
  });
}"""


def test_of_several_runs_the_one_read_is_chosen_and_the_choice_stays():
    session = session_with(made_run(1), made_run(2, n_models=4))

    async def main():
        panel = RankingTable(session)
        panel.set_visible(True)
        await wait_until_idle(session)
        assert (panel._run.visible, panel._run.value) == (True, "r1")
        assert len(panel.shown["titles"]) == len(set(panel._rows)) == 5
        panel._run.value = "r2"
        await asyncio.sleep(0)
        await wait_until_idle(session)
        assert session.analysis.run_id == "r2"
        assert len(panel.shown["titles"]) == 4
        session.undo()
        await wait_until_idle(session)
        assert panel._run.value == "r1"
        shown = []
        panel._run.param.watch(lambda event: shown.append(event.new), "visible")
        session.act_now("delete run", id="r2")
        assert list(panel._run.options.values()) == ["r1"]
        session.undo()
        assert list(panel._run.options.values()) == ["r1", "r2"]
        assert not shown
        # Another table or lesson begins, and no undo brings the runs back.
        session.put(session_with(made_run(1)).history.steps, 1)
        assert list(panel._run.options.values()) == ["r1"]
        assert not panel._run.visible

    run(main())


def test_one_run_needs_no_choice():
    session = session_with(made_run(1))

    async def main():
        panel = RankingTable(session)
        panel.set_visible(True)
        await wait_until_idle(session)
        assert not panel._run.visible

    run(main())


def test_a_click_on_a_row_selects_its_model_and_the_row_is_marked():
    session = session_with(made_run(3, n_models=8))

    async def main():
        panel = RankingTable(session)
        panel.set_visible(True)
        await wait_until_idle(session)
        values = json.loads(panel._table.table)["values"]
        ranks = values["rank"]["text"]
        assert ranks == sorted(ranks)
        assert ranks[0] == 1
        assert values["model"]["since"][0] is None  # no rank was won or lost
        assert panel._table.selected == 0
        panel._table._handle_msg(2)
        await wait_until_idle(session)
        assert session.derived.get("selected").value == panel._rows[2]
        assert panel._table.selected == 2
        panel._table._handle_msg(999)
        assert session.view_state.model == panel._rows[2]

    run(main())


def test_an_undo_right_behind_another_score_takes_that_score_back():
    session = session_with(made_run(1))

    async def main():
        panel = RankingTable(session)
        panel.set_visible(True)
        panel._score.value = "aari"
        session.undo()
        await wait_until_idle(session)
        return panel._score.value

    assert run(main()) == session.analysis.score == "discotec-binary"
    assert session.analysis.run is not None


def equal_models():
    """Return a run of six models: three are equal, and two more begin like others."""
    made = made_run(1, n_models=6)
    labels = np.array(made.ensemble.labels)
    labels[1:3] = labels[0]
    names = [
        *("k-means k=3 run 1", "k-means k=3 run 2", "k-means k=3 run 3"),
        *("agglomerative average k=3", "agglomerative ward k=3", "DBSCAN eps=0.5"),
    ]
    return replace(made, ensemble=Ensemble(labels, names=names))


def test_a_row_says_how_many_equal_models_it_stands_for():
    session = session_with(equal_models())

    async def main():
        panel = RankingTable(session)
        panel.set_visible(True)
        await wait_until_idle(session)
        values, titles = panel.shown["values"], panel.shown["titles"]
        times = values["model"]["times"]
        assert sorted(times) == ["", "", "", "×3"]
        at = times.index("×3")
        rank = values["rank"]["text"][at]
        assert f"one of 3 equal models, all of rank {rank}" in titles[at]
        assert "×2 stands for two equal models" in panel._note.body

    run(main())


def test_names_keep_what_tells_them_apart():
    session = session_with(equal_models())

    async def main():
        panel = RankingTable(session)
        panel.set_visible(True)
        await wait_until_idle(session)
        names = panel.shown["values"]["model"]
        assert {*zip(names["lead"], names["tail"], strict=True)} == {
            ("k-means run 1", ""),
            ("agglomerative", "average"),
            ("agglomerative", "ward"),
            ("DBSCAN eps=0.5", ""),
        }

    run(main())


def test_the_column_of_a_similarity_is_not_called_a_distance():
    session = session_with(made_run(1))

    async def main():
        panel, heads = RankingTable(session), {}
        panel.set_visible(True)
        for score, entry in SCORES.items():
            session.act_now("set score", score=score)
            await wait_until_idle(session)
            [head] = (
                one["head"]
                for one in panel.shown["columns"]
                if one["key"] == "distance"
            )
            heads[entry.greater_is_better] = head
        assert heads == {True: "likeness", False: "distance"}

    run(main())


def list_of(names, bars):
    """Return the input of the list for models of ten clusters, with ranks won."""
    n, rng = len(names), np.random.default_rng(0)
    ranking = cl.rank_partitions(Ensemble(rng.integers(0, 10, (n, 60)), names=names))
    answers = SimpleNamespace(fits=np.full(n, 0.87), before=np.full(n, 0.1))
    known = {"rows": np.arange(n), "copies": np.arange(n), "answers": answers}
    known |= {"ranking": ranking, "ensemble": ranking.ensemble}
    known |= {"rank_gains": Result("ready", np.full(n, 30))}
    known |= {"constraints": Result("empty"), "robustness": Result("pending")}
    return [RankedRows._esm, ROW_CSS, json.dumps(written(bars, known))]


def test_a_narrow_ranking_cuts_what_names_share_and_usual_names_not_at_all(app):
    ends = ["average", "complete", "ward"]
    names = [f"agglomerative {'x' * 30} {end}" for end in ends]
    found = app.evaluate(SHOW_ROWS, list_of(names, "distances"))
    assert found == [[end, True, False] for end in ends]
    usual = drop_shared_settings(
        [short(name) for name in cl.estimate_pool((2310, 18)).names]
    )
    orders = [f"OPTICS min_samples=5 xi={xi}" for xi in (0.02, 0.05)]
    assert "OPTICS xi=0.02" in drop_shared_settings([*usual, *orders])
    usual = [name for name in usual if not name.startswith("DBSCAN")]
    names = [*usual, "DBSCAN eps=1.378", "DBSCAN eps=2.05"]
    found = app.evaluate(SHOW_ROWS, list_of(names, "fits"))
    assert len(found) == len(names) > 40
    assert [name for name, row in zip(names, found, strict=True) if any(row[1:])] == []


def test_a_column_is_one_function_and_may_be_left_out_on_narrow_pages(app, monkeypatch):
    @column("family", kind="text", width="60px", narrow="", term="kind of method")
    def family(ensemble, rows, rank_gains):
        return [f"{ensemble.names[t]} {rank_gains.value[t]}" for t in rows]

    monkeypatch.setattr(ranking_columns, "COLUMNS", (*COLUMNS, family))
    app.set_viewport_size({"width": 1440, "height": 900})
    app.evaluate(SHOW_ROWS, list_of(["a", "b", "c"], "distances"))
    cells, head = app.locator(".ranked > .family"), app.locator(".head > .family")
    expect(cells).to_have_text([f"{name} 30" for name in "abc"])
    expect(head).to_have_text("family")
    expect(head).to_have_attribute("title", "kind of method")
    expect(cells.first).to_have_css("width", "60px")
    below = app.locator(".ranked > .majority").first
    end = below.evaluate("e => e.getBoundingClientRect().right")
    app.set_viewport_size({"width": 1024, "height": 768})
    expect(cells.first).to_be_hidden()
    expect(head).to_be_hidden()
    ends = app.locator(".head > .without_family .axis span")
    expect(ends).to_have_text(["1", "3"])
    assert below.evaluate("e => e.getBoundingClientRect().right") > end + 60
