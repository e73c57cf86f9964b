"""Tests of partial runs: events, display, and keeping."""

import asyncio
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans

from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.compute.pool.clusterer import Clusterer
from clusterlens.compute.pool.pool import run_pool
from clusterlens.ui.composition import new_session
from clusterlens.ui.exports.script import write_script
from clusterlens.ui.pages.consensus.headline import Headline
from clusterlens.ui.pages.consensus.matrices import ConsensusMatrix
from clusterlens.ui.pages.consensus.model_tab import ModelTab
from clusterlens.ui.pages.consensus.ranking import RankingTable
from clusterlens.ui.pages.pool.page import PoolPage
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.partial_run import STATES
from clusterlens.ui.state.view_parameters import Viewport
from tests.ui.exports.test_script import partition_of
from tests.ui.loop import run, wait_until_idle
from tests.ui.test_session import made_run, session_with

POOL = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]
PORT = Viewport(width=80, height=60)


class Endless:
    """A clusterer that ends when there is a file."""

    def __init__(self, until):
        self.until = until

    def fit_predict(self, X):
        while not Path(self.until).exists():
            time.sleep(0.01)
        return KMeans(2).fit_predict(X)


class Failing:
    """A clusterer that fails until there is a file."""

    def __init__(self, until="never"):
        self.until = until

    def fit_predict(self, X):
        if Path(self.until).exists():
            return KMeans(2).fit_predict(X)
        raise ValueError("it <b>fails</b>")


@pytest.fixture(autouse=True)
def clusterers(monkeypatch):
    """Add an endless clusterer, the last to start, and one that fails."""
    nothing = {"seconds": lambda n, d, p: 0.0}
    for name, kind in (("endless", Endless), ("failing", Failing)):
        entry = Clusterer("mine", name, kind, **nothing)
        monkeypatch.setitem(CLUSTERERS, name, entry)


@pytest.fixture
def play(tmp_path):
    """Run a scenario with a session and its record of partial runs."""

    def watch(scenario):
        async def main():
            await scenario(Watched(tmp_path / "go on"))

        run(main())

    return watch


async def until(condition):
    while not condition():
        await asyncio.sleep(0.01)


class Watched:
    """A session with iris and a record of its partial runs."""

    def __init__(self, go_on):
        self.go_on = go_on
        self.session = new_session(Server())
        self.page = PoolPage(self.session)
        self.page.set_visible(True)
        self.progress = self.page.cards[-1]
        self.partials = []
        self.session.jobs.param.watch(
            lambda event: self.partials.append(event.new), "partial"
        )

    @property
    def endless(self):
        return {"clusterer": "endless", "until": str(self.go_on)}

    @property
    def latest(self):
        return self.session.jobs.partial

    async def start(self, pool):
        """Begin a run; return its action."""
        await self.session.act("load example", name="iris")
        self.session.view_state.page = "pool"
        return asyncio.create_task(self.session.act("run pool", pool=pool))

    async def stuck(self, pool):
        """Begin a run of a pool with an endless model; wait for all others."""
        action = await self.start([*pool, self.endless])
        await until(lambda: self.latest and self.latest.n_ended >= 3)
        return action


def test_models_go_from_waiting_over_running_to_what_became_of_them(play):
    async def scenario(watched):
        action = await watched.stuck([*POOL, {"clusterer": "failing"}])
        await until(lambda: watched.latest.n_ended == 4)
        assert watched.latest.states == "dddfr"
        assert "it <b>fails</b>" in watched.latest.model_texts[3]
        watched.go_on.touch()
        assert await action
        assert watched.session.jobs.partial is None
        seen = [partial.states for partial in watched.partials if partial]
        order = "wrdyxf"
        for before, after in pairwise(seen):
            assert all(
                order.index(b) <= order.index(a)
                for b, a in zip(before, after, strict=True)
            )

    play(scenario)


def test_stop_and_keep_makes_a_run_of_what_there_is_and_says_so(play):
    async def scenario(watched):
        action = await watched.stuck(POOL)
        watched.progress._stop_and_keep()
        assert watched.progress._keep.disabled
        assert await action
        run = watched.session.analysis.run
        assert run.ensemble.names == ("k-means k=2", "k-means k=3", "k-means k=4")
        assert "Stopped after 3 of 4 models; not fitted: endless" in str(
            run.ensemble.notes
        )
        assert (run.n_asked, run.stopped_of) == (0, 4)
        # Repeated, it gives the kept models, and does not fit the others.
        again = run_pool(run.dataset.X, list(run.pool), random_state=run.random_state)
        assert again.names == run.ensemble.names
        assert np.array_equal(again.labels, run.ensemble.labels)
        partition = partition_of(watched.session, 0)
        assert "endless" not in write_script(watched.session.history.done, partition)
        assert [step.kind for step in watched.session.history.done][-1] == "run pool"

    play(scenario)


def test_a_model_that_failed_is_fitted_anew_when_the_same_pool_runs_again(play):
    async def scenario(watched):
        failing = {"clusterer": "failing", "until": str(watched.go_on)}
        pool = [*POOL, failing]
        assert await (await watched.start(pool))
        assert watched.session.analysis.run.ensemble.n_partitions == 3
        watched.go_on.touch()
        assert await watched.session.act("run pool", pool=pool)
        assert watched.session.analysis.run.ensemble.n_partitions == 4

    play(scenario)


def test_cancel_leaves_nothing_of_a_run(play):
    async def scenario(watched):
        session = watched.session
        action = await watched.stuck(POOL)
        session.view_state.page = "consensus"
        await until(lambda: session.history.partial_run is not None)
        session.jobs.cancel()
        assert not await action
        assert session.analysis.runs == ()
        assert session.history.partial_run is None
        assert session.jobs.partial is None
        assert not watched.progress.view.visible

    play(scenario)


def test_the_first_run_is_looked_at_while_it_forms_and_is_no_step(play):
    async def scenario(watched):
        session = watched.session
        action = await watched.stuck(POOL)
        steps = session.history.steps
        assert session.analysis.run is None
        session.view_state.page = "consensus"
        await until(lambda: session.analysis.run is not None)
        assert session.analysis.run.n_asked == 4
        assert session.analysis.run.ensemble.n_partitions >= 2
        assert session.history.steps is steps
        assert not session.act_now("set threshold", threshold=2)
        assert "not finished" in session.jobs.notices[-1].text
        watched.go_on.touch()
        assert await action
        assert session.analysis.run.name == "run 1"
        assert len(session.history.steps) == len(steps) + 1

    play(scenario)


def test_a_finished_run_stays_in_sight_until_the_next_is_asked_for(play):
    async def scenario(watched):
        session = watched.session
        await (await watched.start(POOL))
        session.view_state.page = "pool"
        action = asyncio.create_task(
            session.act("run pool", pool=[*POOL, watched.endless])
        )
        await until(lambda: watched.latest and watched.latest.n_ended >= 3)
        session.view_state.page = "consensus"
        assert session.analysis.run.name == "run 1"
        watched.progress._do("read")
        await until(lambda: session.analysis.run.n_asked)
        session.view_state.so_far = False
        assert session.analysis.run.name == "run 1"
        watched.go_on.touch()
        assert await action
        assert session.analysis.run.name == "run 2"

    play(scenario)


def test_a_run_is_told_of_again_only_after_a_while(play, monkeypatch):
    async def scenario(watched):
        assert await (await watched.start(POOL))
        assert len([partial for partial in watched.partials if partial]) == 1

    monkeypatch.setattr("clusterlens.ui.jobs.lanes._PARTIAL_SECONDS", 1e9)
    play(scenario)


def test_the_letters_of_states_are_the_ones_of_the_squares(tmp_path):
    progress = Watched(tmp_path).progress
    assert "".join(progress._grid.titles) == STATES


def test_the_cards_of_a_run_that_forms_are_of_one_state():
    grown = [replace(made_run(n, n_models=n), id="unfinished") for n in (4, 6, 9)]
    session, sizes, seen = session_with(made_run(1)), {}, set()
    session.view_state.param.update(page="consensus", map_view=PORT, matrix_view=PORT)

    def watch(kind):
        card = kind(session)
        show = card.show

        def spy(**values):
            sizes[kind] = values["ensemble"].n_partitions
            show(**values)

        card.show = spy
        card.set_visible(True)

    async def main():
        for kind in (Headline, ModelTab, RankingTable, ConsensusMatrix):
            watch(kind)
        await wait_until_idle(session)
        session._look_at(grown[0])
        await wait_until_idle(session)
        for partial_run in grown[1:]:
            session._look_at(partial_run)
            while not session.jobs.at_rest:
                seen.add(frozenset(sizes.values()))
                await asyncio.sleep(0.001)
            assert len(sizes) == 4
            assert set(sizes.values()) == {partial_run.ensemble.n_partitions}

    run(main())
    assert {len(state) for state in seen} == {1}
