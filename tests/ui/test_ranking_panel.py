"""The ranking shows the run that is read and lets another one be read."""

import asyncio
import json
from dataclasses import replace

import numpy as np
import pytest

import clusterlens as cl
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.ranking import SCORES
from clusterlens.ui.kit.words import differing, telling
from clusterlens.ui.pages.consensus.ranked_rows import HEADS, ROW_CSS, RankedRows
from clusterlens.ui.pages.consensus.ranking import FITTING, RankingTable, short
from tests.ui.loop import rest, run
from tests.ui.test_session import made_run, session_with

# Panel's table is not yet ready for pandas 4.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")
# The last part of the name in each row of a ranking as wide as at 1440 pixels, and
# whether its first part and its last are cut.
SHOW_ROWS = """async ([esm, css, heads, rows]) => {
  const address = URL.createObjectURL(new Blob([esm], {type: 'text/javascript'}));
  const {render} = await import(address);
  const host = document.body.appendChild(document.createElement('div'));
  host.style.cssText = 'position:fixed;top:0;width:345px;height:200px';
  const root = host.attachShadow({mode: 'open'});
  root.innerHTML = `<style>${css}</style>`;
  const ignore = {on: () => {}, send_msg: () => {}};
  const model = {rows, heads, terms: {}, selected: null, ...ignore};
  root.append(render({model}));
  const last = [...root.querySelectorAll('.ranked .rank')].at(-1);
  while (!last.textContent) await new Promise(requestAnimationFrame);
  const cut = (e) => e.scrollWidth > e.clientWidth;
  return [...root.querySelectorAll('.ranked')].map((row) => {
    const [lead, tail] = ['.lead', '.tail'].map((part) => row.querySelector(part));
    return [tail.textContent, cut(lead), cut(tail)];
  });
}"""


def test_one_run_needs_no_choice_and_of_several_the_one_read_is_chosen():
    session = session_with(made_run(1), made_run(2, n_models=4))

    async def main():
        panel = RankingTable(session)
        panel.look(True)
        await rest(session)
        assert (panel._run.visible, panel._run.value) == (True, "r1")
        assert len(panel.shown["rank"]) == len(set(panel._rows)) == 5
        panel._run.value = "r2"
        await asyncio.sleep(0)
        await rest(session)
        assert session.analysis.run_id == "r2"
        assert len(panel.shown["rank"]) == 4
        session.undo()
        await rest(session)
        assert panel._run.value == "r1"
        session.act_now("delete run", id="r2")
        assert not panel._run.visible

    run(main())


def test_a_click_on_a_row_selects_its_model_and_the_row_is_marked():
    session = session_with(made_run(3, n_models=8))

    async def main():
        panel = RankingTable(session)
        panel.look(True)
        await rest(session)
        rows = json.loads(panel._table.rows)
        ranks = [row[0] for row in rows]
        assert ranks == sorted(ranks) == panel.shown["rank"]
        assert ranks[0] == 1
        assert rows[0][7] is None  # no rank was won or lost
        assert panel._table.selected == 0
        panel._table._handle_msg(2)
        await rest(session)
        assert session.derived.get("selected").value == panel._rows[2]
        assert panel._table.selected == 2
        panel._table._handle_msg(999)
        assert session.look.model == panel._rows[2]

    run(main())


def test_an_undo_right_behind_another_score_takes_that_score_back():
    session = session_with(made_run(1))

    async def main():
        panel = RankingTable(session)
        panel.look(True)
        panel._score.value = "aari"
        session.undo()
        await rest(session)
        return panel._score.value

    assert run(main()) == session.analysis.score == "discotec-binary"
    assert session.analysis.run is not None


def equal_models():
    """A run of six models, three of which are equal, and two whose names begin so."""
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
        panel.look(True)
        await rest(session)
        assert sorted(panel.shown["times"]) == ["", "", "", "×3"]
        at = panel.shown["times"].index("×3")
        rank = panel.shown["rank"][at]
        assert f"one of 3 equal models, all of rank {rank}" in panel.shown["full"][at]
        assert "×2 stands for two equal models" in panel._note.body

    run(main())


def test_names_keep_what_tells_them_apart():
    session = session_with(equal_models())

    async def main():
        panel = RankingTable(session)
        panel.look(True)
        await rest(session)
        assert set(panel.shown["model"]) == {
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
        panel.look(True)
        for score, entry in SCORES.items():
            session.act_now("set score", score=score)
            await rest(session)
            heads[entry.greater_is_better] = panel._table.heads["distance"]
        assert heads == {True: "likeness", False: "distance"}

    run(main())


def test_a_narrow_ranking_cuts_what_names_share_and_usual_names_not_at_all(app):
    names = telling([f"agglomerative {'x' * 30} {end}" for end in ("average", "ward")])
    rows = [[1, name, "×2", 4, 1, 0, "", None, "1", 0, 0, 0, "1", ""] for name in names]
    found = app.evaluate(SHOW_ROWS, [RankedRows._esm, ROW_CSS, HEADS, json.dumps(rows)])
    assert found == [["average", True, False], ["ward", True, False]]
    usual = differing([short(name) for name in cl.estimate_pool((2310, 18)).names])
    orders = [f"OPTICS min_samples=5 xi={xi}" for xi in (0.02, 0.05)]
    assert "OPTICS xi=0.02" in differing([*usual, *orders])
    usual = [name for name in usual if not name.startswith("DBSCAN")]
    names = telling([*usual, "DBSCAN eps=1.378", "DBSCAN eps=2.05"])
    after = ["", 10, 0.1, 0, "", 30, "87%", None, None, 0, "2", "", 0.1]
    rows = [[12, name, *after] for name in names]
    shown = [RankedRows._esm, ROW_CSS, HEADS | FITTING, json.dumps(rows)]
    found = app.evaluate(SHOW_ROWS, shown)
    assert len(found) == len(rows) > 40
    assert [row[1] for row, cut in zip(rows, found, strict=True) if any(cut[1:])] == []
