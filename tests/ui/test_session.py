"""Tests of actions: they change only the analysis, and nothing on failure."""

import asyncio
import io
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import param
import pytest

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.ui import session as session_module
from clusterlens.ui.actions import ACTIONS, merge, pools
from clusterlens.ui.actions.action import Action
from clusterlens.ui.components.card import Card
from clusterlens.ui.components.commands import KEYBOARD_COMMANDS
from clusterlens.ui.components.status_bar import notices
from clusterlens.ui.composition import new_session
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.server.server import Server
from clusterlens.ui.session import Session
from clusterlens.ui.state.analysis import Analysis, Run
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.shapes import record
from tests.ui.loop import run

POOL = [{"clusterer": "k-means", "n_clusters": [2, 3]}]


def made_run(number: int, n_models: int = 5) -> Run:
    rng = np.random.default_rng(number)
    table = pd.DataFrame(rng.normal(size=(30, 2)), columns=["x", "y"])
    ensemble = Ensemble(rng.integers(0, 3, (n_models, 30)))
    dataset = prepare(make_dataset(table, name="t"))
    return Run(f"r{number}", f"run {number}", dataset, (), 0, ensemble)


def session_with(*runs: Run) -> Session:
    session = new_session(Server())
    analysis = Analysis(
        table=runs[0].dataset,
        dataset=runs[0].dataset,
        runs=runs,
        runs_made=len(runs),
        run_id=runs[0].id,
    )
    session.history.do(Step("start", "Test", analysis))
    return session


def test_from_a_file_to_a_run_and_back_by_undo():
    session = new_session(Server())
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    content = io.StringIO()
    frame.to_csv(content, index=False)

    async def main():
        key = session.keep_file(content.getvalue().encode())
        assert await session.act("load file", name="t.csv", sha256=key)
        assert await session.act("run pool", pool=POOL)

    run(main())
    assert session.analysis.run.ensemble.n_partitions == 2
    assert session.analysis.dataset.X.shape == (40, 3)
    session.undo()
    assert session.analysis.run is None
    session.redo()
    assert session.analysis.run.name == "run 1"


@pytest.mark.parametrize("content", [b"PAR1 no table PAR1", b""])
def test_a_bad_file_changes_nothing_and_says_why(content):
    session = new_session(Server())
    key = session.keep_file(content)

    async def main():
        return await session.act("load file", name="broken.parquet", sha256=key)

    assert run(main()) is False
    assert session.analysis.table is None
    assert "broken.parquet" in session.jobs.notices[0].text


def test_a_table_that_cannot_be_prepared_is_kept_with_a_notice():
    session = new_session(Server())
    key = session.keep_file(b"name\na\nb\nc\nd\ne\n")

    async def main():
        return await session.act("load file", name="names.csv", sha256=key)

    done = run(main())
    if done and session.analysis.dataset is None:
        assert "not prepared" in session.jobs.notices[0].text


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        ("set score", {"score": "best"}, "'best'"),
        ("set threshold", {"threshold": 99}, "99"),
        ("read run", {"id": "r9"}, "'r9'"),
        ("rename run", {"id": "r1", "name": "  "}, "empty"),
        ("rename run", {"id": "r1", "name": "a" * 81}, "81 characters"),
        ("rename run", {"id": "r1", "name": "run 2"}, "another run"),
    ],
)
def test_a_refused_action_changes_nothing_and_says_why(kind, values, words):
    session = session_with(made_run(1), made_run(2))
    before = session.analysis
    assert session.act_now(kind, **values) is False
    assert session.analysis is before
    assert words in session.jobs.notices[0].text


def test_reading_another_run_goes_back_to_the_mean_rule_and_to_its_leader():
    session = session_with(made_run(1), made_run(2, n_models=3))
    session.act_now("set threshold", threshold=4)
    session.view_state.param.update(model=4, inspected=3)
    session.act_now("read run", id="r2")
    assert session.analysis.threshold is None
    assert (session.view_state.model, session.view_state.inspected) == (None, None)
    session.undo()
    assert (session.analysis.run_id, session.analysis.threshold) == ("r1", 4)


def test_deleting_the_run_that_is_read_reads_the_latest_one_left():
    session = session_with(made_run(1), made_run(2), made_run(3))
    session.act_now("delete run", id="r1")
    assert session.analysis.run_id == "r3"
    session.act_now("delete run", id="r2")
    session.act_now("delete run", id="r3")
    assert session.analysis.run is None
    session.undo()
    assert session.analysis.run_id == "r3"


def test_names_of_runs_change_and_their_results_stay():
    session = session_with(made_run(1))
    ensemble = session.analysis.ensemble
    session.act_now("rename run", id="r1", name="with outliers")
    assert session.analysis.run.name == "with outliers"
    assert session.analysis.ensemble is ensemble


def test_a_slow_action_keeps_what_was_decided_while_it_ran():
    first, second = made_run(1), made_run(2)
    base = Analysis(table=first.dataset, runs=(first,), runs_made=1, run_id="r1")
    result = ACTIONS["read run"].apply(
        Analysis(table=first.dataset, runs=(first, second), runs_made=2, run_id="r1"),
        {"id": "r2"},
        Job("x"),
    )
    current = Analysis(
        table=first.dataset,
        runs=(first,),
        runs_made=1,
        run_id="r1",
        score="aari",
    )
    merged = merge(base, result, current)
    assert merged.score == "aari"
    assert merged.runs == (first, second)
    assert merged.run_id == "r2"


@pytest.mark.parametrize(
    ("kind", "values"),
    [("load example", {"name": "iris"}), ("write note", {"text": "mine"})],
)
def test_what_is_turned_to_while_an_action_is_saved_stays_in_sight(kind, values):
    session, seen = session_with(made_run(1)), []

    async def saved():
        seen.append(session.view_state.page)
        session.view_state.page = "pool"

    session.memory.settled = saved
    assert run(session.act(kind, view_state={"page": "report"}, **values))
    assert (seen, session.view_state.page) == (["report"], "pool")


def test_a_session_ends_after_its_actions(monkeypatch):
    # Ended sessions are taken apart; an action that is still awaited needs its session.
    monkeypatch.setattr(session_module, "ENDED_SECONDS", 0)

    async def main():
        session, saved = session_with(made_run(1)), [asyncio.Event(), asyncio.Event()]
        waiting = iter(saved)
        session.memory.settled = lambda: next(waiting).wait()
        acting = asyncio.create_task(session.act("write note", text="mine"))
        await asyncio.sleep(0)
        session.close()
        ended = asyncio.create_task(session.ended())
        saved[1].set()
        for _ in range(3):
            await asyncio.sleep(0)
        assert not ended.done()
        saved[0].set()
        await ended
        assert acting.done()

    run(main())


def test_a_new_table_replaces_everything():
    first = made_run(1)
    base = Analysis(table=first.dataset, runs=(first,), run_id="r1")
    result = Analysis(table=made_run(2).dataset)
    assert merge(base, result, Analysis(score="aari")) is result


def test_every_action_has_a_title_and_says_in_its_docstring_what_it_does():
    for kind, action in ACTIONS.items():
        assert action.title[0].isupper(), kind
        assert action.apply.__doc__, kind


def test_runs_that_are_made_at_the_same_time_stand_beside_each_other():
    first, mine, theirs = made_run(1), made_run(2), made_run(2, n_models=3)
    mine, theirs = replace(mine, id="ra"), replace(theirs, id="rb")
    base = Analysis(table=first.dataset, runs=(first,), runs_made=1, run_id="r1")
    result = replace(base, runs=(first, mine), runs_made=2, run_id="ra")
    current = replace(base, runs=(first, theirs), runs_made=2, run_id="rb")
    merged = merge(base, result, current)
    assert [one.name for one in merged.runs] == ["run 1", "run 2", "run 3"]
    assert [one.ensemble.n_partitions for one in merged.runs] == [5, 3, 5]
    assert (merged.run_id, merged.runs_made) == ("ra", 3)


def test_every_run_that_is_made_has_an_id_of_its_own(monkeypatch):
    monkeypatch.setattr(pools, "run_pool", lambda X, pool, **options: random_labels(X))
    session = session_with(made_run(1))

    async def main():
        assert await session.act("run pool", pool=POOL)
        session.undo()
        assert await session.act("run pool", pool=POOL)
        other = session.history.steps[-1].analysis.run_id
        session.undo()
        running = asyncio.create_task(session.act("run pool", pool=POOL))
        await asyncio.sleep(0)
        session.redo()
        assert await running
        assert other in {one.id for one in session.analysis.runs}
        assert len({one.id for one in session.analysis.runs}) == 3
        assert [one.name for one in session.analysis.runs] == [
            "run 1",
            "run 2",
            "run 3",
        ]

    run(main())


def random_labels(X):
    return Ensemble(np.random.default_rng(0).integers(0, 3, (4, len(X))))


NAMED = {
    "name cluster": {
        "partition": {"kind": "model", "model": 0},
        "cluster": 0,
        "name": "mine",
    },
    "keep partition": {"partition": {"kind": "model", "model": 0}, "name": "mine"},
}


@pytest.mark.parametrize("kind", NAMED)
def test_what_is_asked_of_one_run_is_never_done_to_another(kind, monkeypatch):
    monkeypatch.setattr(pools, "run_pool", lambda X, pool, **options: random_labels(X))
    session = session_with(made_run(1))

    async def main():
        running = asyncio.create_task(session.act("run pool", pool=POOL))
        await asyncio.sleep(0)
        assert not await session.act(kind, **NAMED[kind])
        assert await running
        (notice,) = session.jobs.notices
        assert "another run is selected now" in notice.text
        assert (len(session.analysis.runs), session.analysis.cluster_names) == (2, ())

    run(main())


@pytest.mark.parametrize("kind", NAMED)
def test_what_is_asked_of_a_run_that_forms_is_refused(kind):
    session = session_with(made_run(1))

    async def main():
        session.history.partial_run = made_run(2)
        assert not await session.act(kind, **NAMED[kind])
        assert "not finished" in session.jobs.notices[0].text

    run(main())


def test_what_was_made_of_one_table_is_never_put_on_another():
    base = Analysis(table=made_run(1).dataset)
    result = Analysis(table=base.table, dataset=base.table)
    with pytest.raises(ValueError, match="another table"):
        merge(base, result, Analysis(table=made_run(2).dataset))


def test_a_threshold_set_meanwhile_does_not_pass_to_the_new_run():
    first, second = made_run(1), made_run(2, n_models=3)
    base = Analysis(table=first.dataset, runs=(first,), run_id="r1")
    result = Analysis(table=first.dataset, runs=(first, second), run_id="r2")
    current = Analysis(table=first.dataset, runs=(first,), run_id="r1", threshold=5)
    assert merge(base, result, current).threshold is None


def test_a_threshold_set_while_votes_change_is_not_that_of_the_new_votes():
    first = made_run(1)
    base = Analysis(table=first.dataset, runs=(first,), run_id="r1")
    voters = replace(first, ensemble=first.ensemble.with_weights([1, 1, 0, 0, 0]))
    result = replace(base, runs=(voters,))
    current = replace(base, threshold=3)
    assert merge(base, result, current).threshold is None
    assert merge(base, replace(base, score="aari"), current).threshold == 3


def test_values_that_are_not_plain_are_refused_before_any_work():
    session = session_with(made_run(1))
    with pytest.raises(ValueError, match="not JSON"):
        session.act_now("set threshold", threshold=float("nan"))


def test_two_roles_changed_at_once_are_both_kept():
    session = new_session(Server())
    frame = pd.DataFrame(
        np.random.default_rng(0).normal(size=(30, 3)), columns=[*"abc"]
    )
    key = session.keep_file(frame.to_csv(index=False).encode())

    async def main():
        await session.act("load file", name="t.csv", sha256=key)
        await asyncio.gather(
            session.act("prepare", roles={"a": "ignore"}),
            session.act("prepare", roles={"b": "ignore"}),
        )

    run(main())
    assert list(session.analysis.dataset.feature_names) == ["c"]


class Switch(param.Parameterized):
    """Replacement of a widget."""

    value = param.String("discotec-binary")


class ScorePanel(Card):
    """A card with one control and nothing to draw."""

    needs = ("score",)

    def build(self):
        session = self.session
        self.switch = self.control(
            Switch(),
            lambda: session.analysis.score,
            lambda score: session.act("set score", score=score),
        )

    def show(self, score):
        self.shown = score


def test_a_control_shows_the_state_after_undo_and_writes_nothing_by_itself():
    session = new_session(Server())

    async def main():
        panel = ScorePanel(session)
        panel.set_visible(True)
        for score in ("aari", "anmi"):
            panel.switch.value = score
            await asyncio.sleep(0.01)
        session.undo()
        session.undo()
        for _ in range(50):
            await asyncio.sleep(0)
        return panel

    panel = run(main())
    assert panel.switch.value == panel.shown == "discotec-binary"
    assert len(session.history.steps) == 3
    assert session.history.redo_step.values == {"score": "aari"}


def test_undo_stops_at_the_step_that_an_action_under_way_builds_on(monkeypatch):
    session, go_on = session_with(made_run(1)), threading.Event()
    slow = Action(
        "Slow",
        lambda a, v, job: go_on.wait(20) and replace(a, note="done"),
        record(),
        slow=True,
    )
    monkeypatch.setitem(ACTIONS, "slow", slow)

    async def main():
        session.act_now("set score", score="aari")
        running = asyncio.create_task(session.act("slow"))
        while session.jobs.shown is None:
            await asyncio.sleep(0.01)
        session.act_now("set score", score="anmi")
        session.undo()
        assert session.analysis.score == "aari"
        session.undo()
        assert session.analysis.score == "aari"
        assert "under way" in session.jobs.notices[-1].text
        go_on.set()
        assert await running
        session.undo()
        session.undo()

    run(main())
    assert session.analysis.score == "discotec-binary"
    assert len(session.history.steps) == 4


def test_a_pool_of_one_model_is_refused_before_it_is_fitted():
    session = new_session(Server())

    async def main():
        await session.act("load example", name="iris")
        one = [{"clusterer": "k-means", "n_clusters": 3}]
        assert not await session.act("run pool", pool=one)

    run(main())
    assert "nothing for it to agree with" in session.jobs.notices[-1].text
    assert not session.analysis.runs


def test_a_refused_wish_puts_the_control_back():
    session = new_session(Server())

    async def main():
        panel = ScorePanel(session)
        panel.set_visible(True)
        panel.switch.value = "no such score"
        for _ in range(50):
            await asyncio.sleep(0)
        return panel.switch.value

    assert run(main()) == "discotec-binary"
    assert "no such score" in session.jobs.notices[0].text


def test_uploads_are_kept_as_long_as_a_step_names_them():
    session = session_with(made_run(1))
    key = session.keep_file(b"a,b\n1,2\n3,4\n5,7\n8,9\n")

    async def main():
        await session.act("load file", name="t.csv", sha256=key)

    run(main())
    assert key in session.files
    session.act_now("set score", score="aari")
    assert key in session.files
    session.undo()
    session.undo()
    session.act_now("set score", score="aari")
    assert session.files == {}


def test_the_size_of_text_is_looked_at_and_not_logged():
    session = new_session(Server())
    KEYBOARD_COMMANDS["a"].make(session)
    assert session.view_state.large
    assert len(session.history.steps) == 1
    KEYBOARD_COMMANDS["a"].make(session)
    assert not session.view_state.large


def test_two_sessions_with_one_table_and_pool_fit_it_once(monkeypatch):
    fitted = []

    def fit(X, pool, **options):
        fitted.append(1)
        return run_pool(X, pool, random_state=options["random_state"], n_jobs=1)

    monkeypatch.setattr(pools, "run_pool", fit)
    server = Server()
    sessions = [new_session(server), new_session(server)]

    async def main():
        for session in sessions:
            assert await session.act("load example", name="iris")
        runs = [session.act("run pool", pool=POOL) for session in sessions]
        assert all(await asyncio.gather(*runs))

    run(main())
    assert len(fitted) == 1
    first, second = (session.analysis.run.ensemble for session in sessions)
    assert first is second


def test_what_was_told_before_the_page_was_made_is_on_it():
    session = new_session(Server())
    session.jobs.notify("warning", "Nothing is kept: made by a newer version.")
    assert "made by a newer version" in notices(session).body
