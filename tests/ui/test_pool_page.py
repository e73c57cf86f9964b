"""Tests of the page Pool without a browser: its contents and its controls."""

import asyncio
import re
from dataclasses import replace
from itertools import combinations

import pytest

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.formatting import count
from clusterlens.compute.notes import Note
from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.compute.pool.presets import POOLS
from clusterlens.compute.pool.specs import pool_grids
from clusterlens.ui.composition import new_session
from clusterlens.ui.pages.pool.page import PoolPage
from clusterlens.ui.pages.pool.sizes import size_limits, size_line
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.analysis import Analysis
from clusterlens.ui.state.history import Step
from clusterlens.ui.widgets.toolkit import safe
from tests.ui.loop import run, wait_until_idle
from tests.ui.test_session import made_run


class Opened:
    """A session with a table, shown by the page Pool."""

    def __init__(self, store: Store | None = None) -> None:
        self.session = new_session(Server(store))
        self.page = PoolPage(self.session)
        self.page.set_visible(True)
        named = {type(panel).__name__: panel for panel in self.page.cards}
        self.grid, self.cost = named["PoolGrid"], named["PoolCost"]
        self.runs = named["Runs"]

    async def load(self, name: str) -> None:
        self.session.view_state.page = "pool"
        await self.session.act("load example", name=name)
        await self.wait_until_idle()

    async def wait_until_idle(self) -> None:
        await asyncio.gather(*self.grid._requests)
        await wait_until_idle(self.session)

    @property
    def chips(self) -> list[str]:
        """Return the texts of the chips, in order."""
        pattern = r"<span class='chip'[^>]*>([^<]*)"
        return re.findall(pattern, self.grid._form.body)

    @property
    def can_run(self) -> bool:
        return not self.cost._run.disabled


def run_scenario(scenario, example: str = "iris"):
    async def main():
        opened = Opened()
        await opened.load(example)
        await scenario(opened)

    run(main())


def test_without_a_table_the_page_leads_to_one():
    opened = Opened()
    opened.page.set_visible(True)
    assert "Load one on the Data page" in opened.grid.status.body
    assert not opened.can_run
    opened.session.view_state.page = "pool"
    opened.grid.status._handle_msg("data")
    assert opened.session.view_state.page == "data"


def test_the_line_of_sizes_says_what_presets_do_beyond_each():
    presets = [name for name, preset in POOLS.items() if not callable(preset)]
    for limit, methods in size_limits().items():
        for size, changed in ((limit, False), (limit + 1, True)):
            notes = [note for name in presets for note in pool_grids(name, size)[1]]
            replaced = {note.subject: note.numbers.get("other", "") for note in notes}
            assert (methods.items() <= replaced.items()) == changed
            assert changed or not methods.keys() & replaced.keys()


@pytest.mark.parametrize("size", [5, 150, 12_000, 300_000, 40_000_000])
def test_the_line_of_sizes_marks_the_table_and_keeps_its_texts_apart(size):
    line = size_line(size)
    passed = sum(
        len(methods) for limit, methods in size_limits().items() if limit < size
    )
    words = f"leave out or change {count(passed, 'method')}" if passed else "as it is"
    assert words in line
    assert f"This table has {count(size, 'sample')}; beyond 10" in line
    marks = re.findall(r"left:([\d.-]+)%;top:([\d.-]+)%[^>]*>([^<]+)</[bs]", line)
    assert len(marks) == 2 * (1 + len(size_limits()))
    assert all(0 <= float(left) <= 100 for left, _, _ in marks)
    for one, other in combinations(marks, 2):
        if one[1] == other[1]:  # in the same row
            half = 0.3 * (len(one[2]) + len(other[2]))  # at least so many percent
            assert abs(float(one[0]) - float(other[0])) > half


def test_a_clusterer_says_what_groups_it_finds():
    async def scenario(opened):
        finds = safe(CLUSTERERS["OPTICS"].meaning)
        assert f'aria-label="add OPTICS: {finds}"' in opened.grid._form.body
        opened.grid._form._handle_msg("add OPTICS")
        await opened.wait_until_idle()
        assert f"title='{finds}'>OPTICS</span>" in opened.grid._form.body

    run_scenario(scenario)


def test_a_table_that_is_not_prepared_is_named():
    async def scenario(opened):
        bare = replace(opened.session.analysis, dataset=None, preparation={})
        opened.session.history.do(Step("test", "Test", bare))
        await opened.wait_until_idle()
        assert "iris is not prepared yet" in opened.grid.status.body
        opened.grid.status._handle_msg("data")
        assert opened.session.view_state.page == "data"

    run_scenario(scenario)


def test_typed_values_become_chips_and_models():
    async def scenario(opened):
        before = opened.session.derived.get("pool_cost").value.estimate
        opened.grid._form._handle_msg("enter 0 n_clusters 18-20")
        await opened.wait_until_idle()
        after = opened.session.derived.get("pool_cost").value.estimate
        assert len(after.names) == len(before.names) + 3
        assert opened.chips[8:11] == ["18", "19", "20"]
        opened.grid._form._handle_msg("remove 0 n_clusters 0")
        assert opened.chips[0] == "3"
        opened.grid._state._handle_msg("preset")
        await opened.wait_until_idle()
        now = opened.session.derived.get("pool_cost").value.estimate
        assert now.names == before.names

    run_scenario(scenario)


def test_a_wrong_value_stays_beside_its_reason_and_changes_nothing():
    async def scenario(opened):
        chips = opened.chips
        opened.grid._form._handle_msg("enter 3 linkage <b>sideways</b>")
        await opened.wait_until_idle()
        body = opened.grid._form.body
        assert 'value="&lt;b&gt;sideways&lt;/b&gt;"' in body
        assert "<b>sideways" not in body
        assert opened.chips == chips
        assert opened.can_run
        opened.grid._form._handle_msg("switch 0")
        assert "sideways" not in opened.grid._form.body

    run_scenario(scenario)


def test_an_empty_pool_cannot_be_run_even_when_a_job_ends():
    async def scenario(opened):
        for at in range(len(opened.grid._entries)):
            opened.grid._form._handle_msg(f"switch {at}")
        await opened.wait_until_idle()
        assert not opened.can_run
        assert "switched off" in opened.cost._cost.body
        await opened.session.jobs.act("something else", lambda: lambda job: True)
        assert not opened.can_run

    run_scenario(scenario)


def test_the_run_is_what_was_drafted_and_leads_to_the_consensus():
    async def scenario(opened):
        opened.grid._preset.value = "quick"
        await asyncio.sleep(0)
        for at in (1, 2, 3):
            opened.grid._form._handle_msg(f"switch {at}")
        opened.grid._seed.value = 7
        opened.grid._noise.value = "silent"
        await opened.wait_until_idle()
        await opened.cost._start(None)
        run = opened.session.analysis.run
        assert opened.session.view_state.page == "consensus"
        assert set(run.ensemble.families) == {"k-means"}
        assert (run.random_state, run.ensemble.noise) == (7, "silent")
        await opened.wait_until_idle()
        assert "5</b> of 5 models kept" in opened.runs._form.body
        assert run.preset is None
        opened.grid._do("preset")
        await opened.wait_until_idle()
        await opened.cost._start(None)
        await opened.wait_until_idle()
        assert "preset quick, version 1" in opened.runs._form.body
        more = [{"clusterer": "k-means", "n_clusters": 7}]
        await opened.session.act("add models", pool=more)
        await opened.wait_until_idle()
        assert "preset quick, version 1, with models" in opened.runs._form.body
        assert opened.can_run

    run_scenario(scenario)


def test_while_a_run_begun_elsewhere_is_on_no_other_is_offered():
    async def scenario(opened):
        assert opened.can_run
        jobs, seen = opened.session.jobs, []
        jobs.param.watch(lambda event: seen.append(opened.can_run), ["partial"])
        pool = [{"clusterer": "k-means", "n_clusters": [2, 3]}]
        assert await opened.session.act("run pool", pool=pool)
        assert seen
        assert not any(seen[:-1])
        await opened.wait_until_idle()
        assert opened.can_run

    run_scenario(scenario)


def test_a_failed_run_stays_on_the_page():
    async def scenario(opened):
        text = '[{"clusterer": "k-means", "n_clusters": 1, "copies": 2}]'
        opened.grid._state._handle_msg("text")
        opened.grid._text.value = text
        opened.grid._take_text(None)
        await opened.wait_until_idle()
        await opened.cost._start(None)
        assert opened.session.view_state.page == "pool"
        assert opened.session.analysis.run is None
        assert "survived" in opened.session.jobs.notices[-1].text
        assert opened.can_run

    run_scenario(scenario)


def test_what_is_left_out_at_this_size_says_why_and_can_be_run():
    async def scenario(opened):
        body = opened.grid._form.body
        assert (
            "presets run it up to 50\u202f000 samples, this table has 100\u202f000"
            in body
        )
        names = [entry.clusterer for entry in opened.grid._entries]
        at = names.index("Birch")
        assert not opened.grid._entries[at].on
        opened.grid._form._handle_msg(f"switch {at}")
        assert opened.grid._entries[at].on

    run_scenario(scenario, "large")


@pytest.mark.parametrize("text", ["[{]", '[{"clusterer": "<img src=x>"}]'])
def test_wrong_text_is_refused_and_kept(text):
    async def scenario(opened):
        entries = opened.grid._entries
        opened.grid._state._handle_msg("text")
        opened.grid._text.value = text
        opened.grid._take_text(None)
        assert opened.grid._text.value == text
        assert opened.grid._entries is entries
        assert opened.grid._wrong.body.count("<") == 2

    run_scenario(scenario)


def test_a_pool_of_ones_own_is_kept_renamed_and_deleted(tmp_path):
    async def scenario():
        opened = Opened(Store(tmp_path))
        await opened.load("iris")
        opened.grid._form._handle_msg("enter 0 n_clusters 18-20")
        await opened.wait_until_idle()
        chips = opened.chips
        opened.grid._state._handle_msg("save  my <b> pool ")
        await opened.wait_until_idle()
        assert opened.grid._preset.value == "my <b> pool"
        assert opened.chips == chips
        assert "Delete my &lt;b&gt; pool" in opened.grid._state.body

        again = Opened(Store(tmp_path))
        await again.load("wine")
        assert again.chips != chips
        again.grid._preset.value = "my <b> pool"
        await again.wait_until_idle()
        assert again.chips == chips
        again.grid._form._handle_msg("remove 0 n_clusters 0")
        again.grid._state._handle_msg("preset")
        await again.wait_until_idle()
        assert again.chips == chips
        again.grid._state._handle_msg("rename ours")
        await again.wait_until_idle()
        assert again.session.own_pools.names() == ["ours"]
        assert (again.grid._preset.value, again.chips) == ("ours", chips)
        again.grid._state._handle_msg("delete")
        await again.wait_until_idle()
        assert again.session.own_pools.names() == []
        assert again.grid._preset.value == "default"
        assert "ours" not in again.grid._preset.options

        # The first page still has it; renaming reports its loss.
        opened.grid._state._handle_msg("rename theirs")
        await opened.wait_until_idle()
        assert "is gone" in opened.session.jobs.notices[-1].text
        assert opened.chips == chips
        opened.grid._preset.value = "quick"
        await opened.wait_until_idle()
        assert opened.grid._preset.options == list(POOLS)

    run(scenario())


@pytest.mark.parametrize("name", ["default", " ", "x" * 41])
def test_a_pool_of_ones_own_needs_a_name_of_its_own(name):
    async def scenario(opened):
        opened.grid._state._handle_msg(f"save {name}")
        await opened.wait_until_idle()
        assert "name" in opened.session.jobs.notices[-1].text
        assert opened.session.own_pools.names() == []
        opened.grid._state._handle_msg("save mine")
        opened.grid._state._handle_msg("save other")
        opened.grid._state._handle_msg("rename mine")
        await opened.wait_until_idle()
        assert "already" in opened.session.jobs.notices[-1].text
        assert opened.session.own_pools.names() == ["mine", "other"]

    run_scenario(scenario)


def test_a_sentence_with_a_colon_is_no_failure():
    async def main():
        opened = Opened()
        failed = Note("failed", "<i>", why="no luck")
        ensemble = Ensemble([[0, 0, 1]], notes=["rows: taken by position", failed])
        runs = (replace(made_run(1), ensemble=ensemble),)
        analysis = Analysis(runs=runs, run_id="r1")
        opened.session.history.do(Step("start", "Start", analysis, {}))
        await opened.wait_until_idle()
        assert (
            "<p><b>Failed</b></p><ul><li>&lt;i&gt;: no luck</li></ul>"
            "<p><b>Notes</b></p><ul><li>rows: taken by position</li></ul>"
        ) in opened.runs._form.body

    run(main())


def test_runs_are_listed_read_renamed_and_deleted():
    async def main():
        opened = Opened()
        runs, form = opened.runs, opened.runs._form
        session = opened.session
        first, second = made_run(1), made_run(2)
        base = Analysis(
            table=first.dataset,
            dataset=first.dataset,
            runs=(first, second),
            run_id="r2",
        )
        session.history.do(Step("start", "Start", base, {}))
        await opened.wait_until_idle()
        assert form.body.index("run 2") < form.body.index("run 1")
        runs._do("read r1")
        await opened.wait_until_idle()
        assert session.analysis.run_id == "r1"
        runs._do("rename r1")
        await opened.wait_until_idle()
        assert "value='run 1' data-enter='name r1'" in form.body
        runs._do("name r1 <b>mine</b>")
        await opened.wait_until_idle()
        assert session.analysis.run.name == "<b>mine</b>"
        assert "&lt;b&gt;mine" in form.body
        assert "<input" not in form.body
        runs._do("rename r2")
        await opened.wait_until_idle()
        runs._do("leave")
        await opened.wait_until_idle()
        assert "<input" not in form.body
        runs._do("delete r1")
        await opened.wait_until_idle()
        assert [run.id for run in session.analysis.runs] == ["r2"]
        session.undo()
        await opened.wait_until_idle()
        assert session.analysis.run_id == "r1"
        await opened.wait_until_idle()

    run(main())
