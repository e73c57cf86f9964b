"""Tests of the page Data without a browser: its contents and its controls."""

import asyncio
import base64
import io
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.ui.components import commands
from clusterlens.ui.composition import new_session
from clusterlens.ui.exports.script import write_card
from clusterlens.ui.pages.data import columns as columns_card
from clusterlens.ui.pages.data.nodes import columns, preview, roles, shading, write_cell
from clusterlens.ui.pages.data.page import DataPage
from clusterlens.ui.pages.data.recent import Recent
from clusterlens.ui.server.memory.store import Store
from clusterlens.ui.server.server import Server
from clusterlens.ui.server.uploads import Upload
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.widgets.palette import NOISE_COLOUR, rgb
from tests.ui.loop import run, wait_until_idle

# Bokeh passes tables in a way that pandas is about to remove.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")
HOSTILE = "<img src=x onerror=window.hacked=1>"


class Job:
    """A job that is never cancelled."""

    def cancelled(self) -> bool:
        return False

    def report(self, done: int, total: int) -> None:
        pass


class Opened:
    """A session shown by the page Data."""

    def __init__(self) -> None:
        self.session = new_session(Server())
        self.page = DataPage(self.session)
        self.page.set_visible(True)

    def __getattr__(self, name: str):
        """Return a card of the table, which is made when there is a table."""
        kinds = {
            "columns": "Columns",
            "preparation": "Preparation",
            "notes": "Notes",
            "rows": "FirstRows",
        }
        cards = self.page.parts[True].cards
        return {type(card).__name__: card for card in cards}[kinds[name]]

    async def read(self, frame: pd.DataFrame, name: str = "t.csv") -> None:
        await self.receive(name, frame.to_csv(index=False).encode())

    async def receive(self, name: str, content: bytes) -> None:
        """Receive a file as from a browser, in three pieces."""
        upload = Upload(name, len(content))
        step = max(1, -(-len(content) // 3))
        for start in range(0, len(content), step):
            upload.take(base64.b64encode(content[start : start + step]).decode())
        await self.session.receive(upload)
        await self.wait_until_idle()

    async def wait_until_idle(self) -> None:
        await wait_until_idle(self.session)


def run_scenario(scenario):
    async def main():
        await scenario(Opened())

    run(main())


def people(rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "height": rng.normal(170, 8, rows).round(2),
            "town": rng.choice(["Bern", "Oslo"], rows),
            HOSTILE: rng.normal(size=rows).round(3),
        }
    )


def test_a_dropped_file_is_read_prepared_and_shown():
    async def scenario(opened):
        await opened.read(people())
        assert "60 samples × 4 features" in opened.preparation._result.body
        shown = opened.columns._table.value
        assert list(shown["column"]) == ["height", "town", HOSTILE]
        assert list(shown["role"]) == ["numeric", "categorical", "numeric"]
        assert not opened.preparation._next.disabled
        assert opened.session.view_state.page == "data"

    run_scenario(scenario)


def test_the_table_of_columns_has_the_same_types_without_rows():
    async def scenario(opened):
        await opened.read(people())
        shown = opened.columns._table.value
        assert columns_card._frame([], [], 0).dtypes.equals(shown.dtypes)

    run_scenario(scenario)


def test_missing_values_have_a_colour_and_a_count_on_the_shaded_map():
    async def scenario(opened):
        frame = people()
        frame.loc[:6, "height"] = np.nan
        await opened.read(frame)
        opened.session.view_state.prepared_view = Viewport(width=200, height=100)
        opened.session.view_state.column = "height"
        await opened.wait_until_idle()
        shading = opened.session.derived.get("shading").value
        grey = (shading.values == rgb([NOISE_COLOUR])).all(axis=1)
        assert grey.sum() == shading.n_missing == 7
        legend = opened.preparation._legend.body
        assert f'{NOISE_COLOUR}"></span>missing 7' in legend
        assert "(7 missing values in grey)" in opened.preparation._steering.words
        opened.session.view_state.column = None
        await opened.wait_until_idle()
        assert "missing" not in opened.preparation._legend.body

    run_scenario(scenario)


def test_names_in_the_data_never_become_markup():
    async def scenario(opened):
        await opened.read(people())
        for form in ("read", "features"):
            opened.rows._choose(form)
            assert "<img" not in opened.rows._rows.body
        opened.columns._shade_by(SimpleNamespace(column="values", row=2))
        opened.session.view_state.prepared_view = Viewport(width=200, height=100)
        await opened.wait_until_idle()
        assert "shaded by &lt;img" in opened.preparation._legend.body
        words = opened.preparation._steering.words
        assert words.startswith(f"Map of 60 samples, shaded by {HOSTILE}.")
        bodies = (opened.notes._steps.body, opened.preparation._legend.body)
        assert not any("<img" in body for body in bodies)

    run_scenario(scenario)


def test_another_role_prepares_anew_and_back_forgets_the_choice():
    async def scenario(opened):
        await opened.read(people())
        edit = SimpleNamespace(column="role", row=0, value="ignore")
        await opened.columns._change(edit)
        await opened.wait_until_idle()
        shown = opened.columns._table.value
        assert shown["role"][0] == "ignore"
        assert shown["why"][0].startswith("chosen by you · guessed numeric")
        assert opened.session.analysis.dataset.X.shape == (60, 3)
        await opened.columns._change(
            SimpleNamespace(column="role", row=0, value="numeric")
        )
        assert opened.session.analysis.preparation["roles"] == {}

    run_scenario(scenario)


def test_a_role_that_cannot_be_leaves_the_table_as_it_is():
    async def scenario(opened):
        await opened.read(people())
        table = opened.columns._table
        table.value.loc[1, "role"] = "row id"
        await opened.columns._change(
            SimpleNamespace(column="role", row=1, value="row id")
        )
        assert table.value["role"][1] == "categorical"
        assert "more than once" in opened.session.jobs.notices[-1].text

    run_scenario(scenario)


def test_a_rule_that_cannot_be_shows_the_one_in_force():
    async def scenario(opened):
        frame = people()
        frame.loc[3, "height"] = np.nan
        await opened.read(frame)
        select = opened.preparation._selects["missing"]
        select.value = "refuse"
        while select.value == "refuse":
            await asyncio.sleep(0.01)
        assert select.value == "median"
        assert opened.session.analysis.dataset.X.shape == (60, 4)
        assert opened.session.jobs.notices

    run_scenario(scenario)


def test_undo_shows_the_rule_before():
    async def scenario(opened):
        await opened.read(people())
        await opened.session.act("prepare", scale="minmax")
        assert opened.preparation._selects["scale"].value == "minmax"
        opened.session.undo()
        assert opened.preparation._selects["scale"].value == "standard"

    run_scenario(scenario)


def test_a_broken_file_becomes_a_message():
    async def scenario(opened):
        await opened.receive("t.csv", b"")
        assert opened.session.analysis.table is None
        assert opened.session.jobs.notices[-1].severity == "error"

    run_scenario(scenario)


def test_columns_are_summed_up_as_pandas_does():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=200),
            "few": rng.integers(0, 4, 200),
            "word": rng.choice(list("abc"), 200),
            "day": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 90, 200), "D"),
            "empty": np.full(200, np.nan),
            "large": np.arange(10_000, 210_000, 1000) + 199,
        }
    )
    frame.loc[::7, "number"] = np.nan
    table = make_dataset(frame, name="t")
    found = {column.name: column for column in columns(Job(), table)}
    for name, column in found.items():
        cells = table.table[name]
        assert column.missing == cells.isna().sum()
        assert column.distinct == cells.nunique()
        counted = column.bins.sum()
        assert counted in (0, cells.notna().sum())
    assert (
        found["few"].bins.tolist() == frame["few"].value_counts().sort_index().tolist()
    )
    shares = frame["word"].value_counts(normalize=True).sort_index()
    assert found["word"].levels == list(shares.items())
    assert found["day"].low == str(frame["day"].min().date())
    assert found["large"].high == "209\u202f199"


@pytest.mark.parametrize(
    "cells",
    [
        [1.0, np.inf, -np.inf, 2.0],
        [1e308, -1e308, 0.0, 1.0],
        [5.0, 5.0, 5.0, 5.0],
        [True, False, True, True],
    ],
)
def test_extreme_columns_have_a_histogram_or_none(cells):
    table = make_dataset(pd.DataFrame({"x": cells, "y": [1.0, 2.0, 3.0, 4.0]}))
    column = columns(Job(), table)[0]
    assert column.bins.sum() <= 4


def test_shading_follows_the_rows_that_are_kept():
    frame = pd.DataFrame({"x": [3.0, np.nan, 1.0, 2.0], "y": [1.0, 2.0, 3.0, 5.0]})
    ds = prepare(make_dataset(frame), missing="drop rows")
    found = shading(Job(), ds, "x")
    brightness = found.values.sum(axis=1).astype(int)
    assert (found.low, found.high) == ("1", "3")
    assert np.argsort(-brightness).tolist() == [1, 2, 0]


def test_features_are_shown_as_they_go_into_the_pool():
    ds = prepare(make_dataset(people()))
    shown = preview(ds, ds, "features")
    assert shown.names == list(ds.feature_names)
    assert shown.cells[2][0] == f"{ds.X[2, 0]:.3g}"
    assert (shown.n_rows, shown.n_columns) == ds.X.shape


def test_roles_without_a_prepared_table_are_the_guessed_ones():
    table = make_dataset(people())
    found = roles(table, None, {"roles": {"town": "ignore"}})
    assert [role.role for role in found] == list(table.roles.values())
    assert not any(role.chosen for role in found)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.123456, "0.1235"),
        (123456.7, "123457"),
        (float("nan"), ""),
        (None, ""),
        (pd.Timestamp("2020-02-03"), "2020-02-03"),
        ("a", "a"),
        (7, "7"),
    ],
)
def test_cells_are_written_short(value, text):
    assert write_cell(value) == text


def test_drawn_values_are_plain_json():
    async def scenario(opened):
        await opened.read(people())
        drawn = [json.loads(text) for text in opened.columns._table.value["values"]]
        assert [next(iter(one)) for one in drawn] == ["bins", "levels", "bins"]

    run_scenario(scenario)


def test_find_chips_and_set_all_shown_work_together():
    async def scenario(opened):
        await opened.read(people())
        view_state, table = opened.session.view_state, opened.columns._table
        view_state.column_role = "numeric"
        assert list(table.value["column"]) == ["height", HOSTILE]
        view_state.column_query = "HEI"
        assert list(table.value["column"]) == ["height"]
        await opened.columns._set_all("ignore")
        roles = opened.session.analysis.dataset.roles
        assert roles == {"height": "ignore", "town": "categorical", HOSTILE: "numeric"}
        assert list(table.value["column"]) == []
        view_state.param.update(column_role="", column_query="t")
        assert list(table.value["column"]) == ["height", "town"]
        edit = SimpleNamespace(column="role", row=0, value="numeric")
        await opened.columns._change(edit)
        assert opened.session.analysis.dataset.roles["height"] == "numeric"

    run_scenario(scenario)


def test_a_long_tail_is_named_shortened_by_a_click_and_undone():
    async def scenario(opened):
        frame = people(200)
        frame["income"] = np.exp(np.random.default_rng(0).normal(0, 2, 200)).round(3)
        await opened.read(frame)
        session = opened.session
        before = session.analysis.dataset.X
        logs = {"transforms": {"income": "log"}}
        at = next(k for k, h in enumerate(opened.notes._hints) if h.action == logs)
        assert opened.notes._hints[at].columns == ("income",)
        assert "take its logarithm" in opened.notes._steps.body
        await opened.notes._mend(str(at))
        await opened.wait_until_idle()
        assert session.analysis.preparation["transforms"] == {"income": "log"}
        assert list(opened.columns._table.value["taken"])[-1] == "log"
        assert "natural logarithm" in opened.notes._steps.body
        assert not any(hint.action for hint in opened.notes._hints)
        log = np.log(frame["income"])
        np.testing.assert_allclose(
            session.analysis.dataset.X[:, -1], (log - log.mean()) / log.std(ddof=0)
        )
        session.undo()
        assert session.analysis.dataset.X is before

    run_scenario(scenario)


def test_weights_and_transforms_are_kept_per_column_and_taken_back():
    async def scenario(opened):
        await opened.read(people())
        session, columns = opened.session, opened.columns

        async def edit(row, column, value):
            found = SimpleNamespace(row=row, column=column, value=value)
            await columns._change(found)
            await opened.wait_until_idle()

        for wrong in ("much", "nan"):
            await edit(0, "weight", wrong)
            assert f"{wrong!r}; give a number" in session.jobs.notices[-1].text
        await edit(0, "weight", "0,5")
        assert list(session.analysis.preparation["weights"].values()) == [0.5]
        await edit(0, "weight", "2")
        await edit(0, "taken", "rank")
        given = session.analysis.preparation
        assert (given["weights"], given["transforms"]) == (
            {"height": 2.0},
            {"height": "rank"},
        )
        assert session.analysis.dataset.X[:, 0].std() == pytest.approx(2)
        await edit(1, "taken", "log")
        assert "only columns of numbers" in session.jobs.notices[-1].text
        assert list(columns._table.value["taken"]) == ["rank", "", "as is"]
        await edit(2, "taken", "log")
        assert "'log1p'" in session.jobs.notices[-1].text
        await edit(0, "role", "ignore")
        given = session.analysis.preparation
        assert (given["weights"], given["transforms"]) == ({}, {})
        await edit(2, "weight", 3)
        await edit(2, "weight", 1)
        assert session.analysis.preparation["weights"] == {}

    run_scenario(scenario)


@pytest.mark.parametrize(
    ("how", "page", "runs"), [("load", "data", 0), ("open", "consensus", 1)]
)
def test_an_example_opens_as_data_only_or_with_its_run(monkeypatch, how, page, runs):
    small = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]
    monkeypatch.setattr(commands, "pool_grids", lambda pool, n: (small, []))

    async def scenario(opened):
        *_, examples = opened.page.parts[False].cards
        await examples._open(f"{how} iris")
        await opened.wait_until_idle()
        assert opened.session.analysis.dataset.X.shape == (150, 4)
        assert opened.session.view_state.page == page
        assert len(opened.session.analysis.runs) == runs

    run_scenario(scenario)


def test_another_sheet_of_a_workbook_is_chosen_and_taken_back():
    async def scenario(opened):
        file = io.BytesIO()
        with pd.ExcelWriter(file) as writer:
            people().to_excel(writer, sheet_name="people", index=False)
            people(30)[["height"]].to_excel(writer, sheet_name="heights", index=False)
        await opened.receive("book.xlsx", file.getvalue())
        session, chosen = opened.session, opened.rows._part
        assert session.analysis.table.table.shape == (60, 3)
        assert (chosen.visible, chosen.value) == (True, "people")
        assert chosen.options == ["people", "heights"]
        await opened.rows._read_part("heights")
        await opened.wait_until_idle()
        assert session.analysis.table.table.shape == (30, 1)
        assert chosen.value == "heights"
        card = write_card(
            session.history.done, lambda lines: [lines.samples(session.analysis)]
        )
        assert "sheet='heights'" in card
        session.undo()
        await opened.wait_until_idle()
        assert chosen.value == "people"
        await opened.receive("people.csv", people().to_csv(index=False).encode())
        assert "sheet" not in chosen.label.lower()

    run_scenario(scenario)


def test_what_separates_the_cells_of_a_text_is_chosen_and_taken_back():
    async def scenario(opened):
        # Bars split the lines as evenly as commas do, and are rarer in words.
        text = "a|b,c,d\n" + "".join(f"{k}|{k * k},{k % 7},1\n" for k in range(30))
        await opened.receive("bars.csv", text.encode())
        session, chosen = opened.session, opened.rows._part
        assert list(session.analysis.table.table) == ["a", "b,c,d"]
        assert (chosen.visible, chosen.value) == (True, "|")
        assert list(chosen.options)[:4] == ["comma", "semicolon", "tab", "vertical bar"]
        card = write_card(session.history.done, lambda lines: [lines.name("table")])
        assert "separator=" not in card  # detected, as now
        await opened.rows._read_part(",")
        await opened.wait_until_idle()
        assert list(session.analysis.table.table) == ["a|b", "c", "d"]
        assert chosen.value == ","
        card = write_card(session.history.done, lambda lines: [lines.name("table")])
        assert "separator=','" in card
        session.undo()
        await opened.wait_until_idle()
        assert chosen.value == "|"

    run_scenario(scenario)


def test_an_archive_of_arrays_without_a_usual_one_is_read_from_its_first():
    async def scenario(opened):
        file = io.BytesIO()
        np.savez(file, train=np.random.default_rng(0).random((40, 3)), test=np.eye(5))
        await opened.receive("arrays.npz", file.getvalue())
        assert opened.session.analysis.table.table.shape == (40, 3)
        assert opened.rows._part.options == ["train", "test"]

    run_scenario(scenario)


def test_an_analysis_is_renamed_in_its_row_of_the_list(tmp_path):
    async def scenario():
        server = Server(store := Store(tmp_path))
        session = new_session(server)
        await session.act("load example", name="iris")
        (entry,) = store.entries()
        recent = Recent(new_session(server))
        recent.set_visible(True)
        await wait_until_idle(recent.session)
        await recent._task
        recent.text._handle_msg(f"rename {entry.id}")
        assert "value='iris'" in recent.text.body
        recent.text._handle_msg("leave")
        assert "<input" not in recent.text.body
        recent.text._handle_msg(f"rename {entry.id} of <b> & two words ")
        await recent._task
        assert store.entries()[0].about["title"] == "of <b> & two words"
        assert "of &lt;b&gt; &amp; two words" in recent.text.body
        assert "<input" not in recent.text.body

    run(scenario())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ("1969-12-31T23:59:59+00:00", " days ago"),
        ("0003-01-01T00:00:00+14:00", " days ago"),
        ("2001-01-31T12:00:00", " days ago"),
        ("9998-12-31T23:59:59+00:00", "9998-12-31"),
        ("3100-06-01T00:00:00+00:00", "3100-06-01"),
        ("yesterday", "unknown"),
        (7, "unknown"),
    ],
)
def test_an_analysis_of_any_time_is_opened_copied_and_deleted(
    tmp_path, changed, message
):
    async def scenario():
        server = Server(store := Store(tmp_path))
        await new_session(server).act("load example", name="iris")
        with store._transaction() as db:
            db.execute("UPDATE analysis SET changed = ?", (changed,))
        recent = Recent(session := new_session(server))
        recent.set_visible(True)
        await wait_until_idle(session)
        await recent._task
        (entry,) = store.entries()
        for verb in ("open", "duplicate", "delete"):
            assert f"{verb} {entry.id}" in recent.text.body
        assert f"{message}</td>" in recent.text.body
        assert await session.open(entry.id)

    run(scenario())


@pytest.mark.parametrize(
    "about", ['{"rows": "many"}', "[1]", "null", '{"title": ', "[" * 100_000]
)
def test_a_damaged_analysis_hides_no_other_and_can_be_deleted(tmp_path, about):
    async def scenario():
        server = Server(store := Store(tmp_path))
        for _ in range(2):
            await new_session(server).act("load example", name="iris")
        damaged, sound = store.entries()
        with store._transaction() as db:
            db.execute(
                "UPDATE analysis SET about = ? WHERE id = ?", (about, damaged.id)
            )
        recent = Recent(new_session(server))
        recent.set_visible(True)
        await wait_until_idle(recent.session)
        await recent._task
        assert f"open {sound.id}" in recent.text.body
        assert "damaged" in recent.text.body
        assert f"open {damaged.id}" not in recent.text.body
        recent.text._handle_msg(f"delete {damaged.id}")
        await recent._task
        assert "damaged" not in recent.text.body
        assert [entry.id for entry in store.entries()] == [sound.id]
        recent.text._handle_msg(f"restore {damaged.id}")
        await recent._task
        assert "damaged" in recent.text.body

    run(scenario())
