"""Tests of links by row ids: actions, refusals, and their effect on a run."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute.ensemble.constraint_files import (
    constraints_from_csv,
    constraints_from_json,
)
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.ui.actions import ACTIONS
from clusterlens.ui.composition import new_session
from clusterlens.ui.exports.rows import links_to_csv, links_to_json
from clusterlens.ui.results.links import link_states
from clusterlens.ui.results.result import DisplayedPartition
from clusterlens.ui.server.server import Server
from clusterlens.ui.session import Session
from clusterlens.ui.state.analysis import EVIDENCE, Analysis, Link, Run
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.links import (
    LinkError,
    links_from_text,
    plain_id,
    plain_ids,
    refuse_contradiction,
)
from tests.ui.loop import run, wait_until_idle

N = 12


def session_of(row_ids=None, n_models: int = 6) -> Session:
    """Return a session with a run of random partitions."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(N, 2)), columns=["x", "y"], index=row_ids)
    dataset = prepare(make_dataset(table, name="t"))
    ensemble = Ensemble(rng.integers(0, 3, (n_models, N)))
    made = Run("r1", "run 1", dataset, (), 0, ensemble)
    session = new_session(Server())
    analysis = Analysis(dataset, {}, dataset, (made,), 1, "r1")
    session.history.do(Step("start", "Test", analysis))
    return session


def made_links(session: Session) -> list[tuple]:
    return [(link.kind, link.a, link.b) for link in session.analysis.links]


def test_links_are_added_swapped_removed_and_undone():
    session = session_of()
    session.act_now("add link", kind="must", a=0, b=1)
    session.act_now("add link", kind="cannot", a=2, b=1)
    session.act_now("swap link", a=1, b=2)
    assert made_links(session) == [("must", 0, 1), ("must", 2, 1)]
    session.act_now("remove link", a=1, b=0)
    assert made_links(session) == [("must", 2, 1)]
    for _ in range(4):
        session.undo()
    assert made_links(session) == []
    for _ in range(4):
        session.redo()
    assert made_links(session) == [("must", 2, 1)]


def test_the_other_kind_replaces_the_link_of_a_pair_in_its_place():
    session = session_of()
    session.act_now("add link", kind="must", a=0, b=1)
    session.act_now("add link", kind="must", a=4, b=5)
    session.act_now("add link", kind="cannot", a=1, b=0)
    assert made_links(session) == [("cannot", 1, 0), ("must", 4, 5)]


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        ("add link", {"kind": "must", "a": 3, "b": 3}, "twice"),
        ("add link", {"kind": "must", "a": 3, "b": 99}, "no row 99"),
        ("add link", {"kind": "must", "a": "3", "b": 4}, "no row '3'"),
        ("add link", {"kind": "maybe", "a": 3, "b": 4}, "'maybe'"),
        ("add link", {"kind": "must", "a": 1, "b": 0}, "already"),
        ("add link", {"kind": "cannot", "a": 0, "b": 2}, "0 – 1, 1 – 2"),
        ("remove link", {"a": 0, "b": 2}, "not linked"),
        ("swap link", {"a": 0, "b": 2}, "not linked"),
        ("set link weight", {"weight": -0.1}, "-0.1"),
        ("set link weight", {"weight": "much"}, "'much'"),
    ],
)
def test_a_refused_link_changes_nothing_and_says_why(kind, values, words):
    session = session_of()
    session.act_now("add link", kind="must", a=0, b=1)
    session.act_now("add link", kind="must", a=1, b=2)
    before = session.analysis
    assert session.act_now(kind, **values) is False
    assert session.analysis is before
    assert words in session.jobs.notices[0].text


def test_a_contradiction_is_refused_with_the_links_that_cause_it():
    links = [Link("must", "b", "a"), Link("must", "b", "c"), Link("must", "d", "e")]
    with pytest.raises(LinkError) as caught:
        refuse_contradiction([*links, Link("cannot", "c", "a")])
    chain = [(link.kind, {link.a, link.b}) for link in caught.value.chain]
    assert {kind for kind, _ in chain[:-1]} == {"must"}
    assert chain[-1] == ("cannot", {"a", "c"})
    assert {frozenset(pair) for _, pair in chain[:-1]} == {
        frozenset("ab"),
        frozenset("bc"),
    }


PAIRS = st.tuples(
    st.sampled_from(["must", "cannot"]), st.integers(0, 5), st.integers(0, 5)
)


@settings(max_examples=60)
@given(st.lists(PAIRS, max_size=12))
def test_links_are_refused_exactly_where_no_labelling_can_keep_them(steps):
    analysis = session_of().analysis
    for kind, a, b in steps:
        others = tuple(link for link in analysis.links if {link.a, link.b} != {a, b})
        possible = a != b and can_be_kept((*others, Link(kind, a, b)))
        known = Link(kind, a, b) in analysis.links or Link(kind, b, a) in analysis.links
        values = {"kind": kind, "a": a, "b": b}
        if possible and not known:
            analysis = ACTIONS["add link"].apply(analysis, values, None)
        else:
            with pytest.raises(ValueError, match=r"twice|already|apart"):
                ACTIONS["add link"].apply(analysis, values, None)


def can_be_kept(links) -> bool:
    """Merge groups of rows until none changes; then check the cannot-links."""
    group = list(range(N))
    for _ in links:
        for link in links:
            if link.kind == "must":
                low, high = sorted((group[link.a], group[link.b]))
                group = [low if g == high else g for g in group]
    return all(group[k.a] != group[k.b] for k in links if k.kind == "cannot")


ROW_IDS = {
    "numbers": pd.RangeIndex(100, 100 + N),
    "whole floats": pd.Index(np.arange(N, dtype=float)),
    "words": pd.Index([f"row <{k}>" for k in range(N)]),
    "dates": pd.date_range("2024-01-01", periods=N),
    "numbers and their text": pd.Index([7, "7", *range(20, 18 + N)], dtype=object),
}


@pytest.mark.parametrize("kind", ROW_IDS)
def test_row_ids_of_any_type_are_logged_as_plain_values_and_found_again(kind):
    index = ROW_IDS[kind]
    session = session_of(index)
    a, b = plain_id(index[0]), plain_id(index[1])
    assert a != b
    assert session.act_now("add link", kind="must", a=a, b=b)
    assert session.history.steps[-1].values == {"kind": "must", "a": a, "b": b}
    assert plain_ids(session.analysis.samples.row_ids)[:2] == [a, b]
    assert linked_positions(session) == [[0, 1]]


def linked_positions(session: Session) -> list[list[int]]:
    async def main():
        session.derived.watch(["constraints?"], lambda results: None)
        await wait_until_idle(session)
        found = session.derived.get("constraints").value
        return None if found is None else found.must_link.tolist()

    return run(main())


def test_links_of_rows_that_a_run_leaves_out_stay_and_do_not_count():
    session = session_of()
    session.act_now("add link", kind="must", a=0, b=1)
    session.act_now("add link", kind="must", a=10, b=11)
    analysis = session.analysis
    shorter = prepare(make_dataset(analysis.table.table.iloc[5:], name="t"))
    ensemble = Ensemble(analysis.ensemble.labels[:, 5:])
    other = replace(analysis.run, id="r2", dataset=shorter, ensemble=ensemble)
    both = replace(analysis, runs=(*analysis.runs, other), run_id="r2")
    session.history.do(Step("test", "Test", both))
    assert len(session.analysis.links) == 2
    assert linked_positions(session) == [[5, 6]]


def test_linked_rows_that_a_preparation_leaves_out_are_named_and_come_back():
    frame = pd.DataFrame({"x": [1.0, 2.0, np.nan, 4.0], "y": [0.0, 1.0, 5.0, 2.0]})
    session, table = new_session(Server()), make_dataset(frame, name="t")
    analysis = Analysis(table, {}, prepare(table))
    session.history.do(Step("test", "Test", analysis))
    session.act_now("add link", kind="must", a=0, b=2)

    async def main():
        await session.act("prepare", missing="drop rows")

    run(main())
    assert "rows with links: 2" in session.jobs.notices[0].text
    fewer = session.analysis.dataset
    rows = {row: k for k, row in enumerate(plain_ids(fewer.row_ids))}
    models = Ensemble([[0, 0, 1], [0, 1, 1]])
    displayed = DisplayedPartition("a", 0)
    (state,) = link_states(session.analysis.links, rows, models, displayed, None, 0.2)
    assert (state.ends, state.missing) == (None, (2,))
    session.undo()
    assert 2 in plain_ids(session.analysis.dataset.row_ids)
    assert made_links(session) == [("must", 0, 2)]


def test_links_follow_their_rows_to_another_column_of_row_ids():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(N, 2)), columns=[*"xy"])
    frame["word"] = [f"row {k}" for k in reversed(range(N))]
    session, table = new_session(Server()), make_dataset(frame, name="t")
    dataset = prepare(table)
    assert plain_ids(dataset.row_ids) == list(range(N))
    made = Run("r1", "run 1", dataset, (), 0, Ensemble(np.arange(2 * N).reshape(2, N)))
    analysis = Analysis(table, {}, dataset, (made,), 1, "r1")
    session.history.do(Step("test", "Test", analysis))
    session.act_now("add link", kind="must", a=0, b=2)

    async def main():
        assert await session.act("prepare", roles={"word": "row id"})

    run(main())
    assert made_links(session) == [("must", "row 11", "row 9")]
    assert not session.act_now("add link", kind="must", a=0, b=1)
    assert "names its rows by another column" in session.jobs.notices[0].text
    again = replace(made, id="r2", dataset=session.analysis.dataset)
    read = replace(session.analysis, runs=(made, again), run_id="r2")
    assert linked_positions(session) is None
    later = new_session(Server())
    later.history.do(Step("test", "Test", read))
    assert later.act_now("add link", kind="cannot", a="row 10", b="row 9")
    text = "kind,row_a,row_b\ncannot-link,row 0,row 9\n"
    assert run(later.act("import links", text=text))
    assert linked_positions(later) == [[0, 2]]


def test_the_weight_of_the_links_is_one_action():
    session = session_of()
    assert session.analysis.link_weight == EVIDENCE
    session.act_now("set link weight", weight=1)
    assert session.analysis.link_weight == 1.0
    session.undo()
    assert session.analysis.link_weight == EVIDENCE


def index_of(*rows):
    return pd.Index(rows)


@pytest.mark.parametrize(
    "text",
    [
        "kind,row_a,row_b\nmust-link,a,b\ncannot-link,'=1+1,7\n",
        '{"must_link": [["a", "b"]], "cannot_link": [["=1+1", 7]]}',
    ],
)
def test_links_of_a_file_find_their_rows_by_id(text):
    found = links_from_text(text, index_of("a", "b", "=1+1", "7"))
    assert found == ((Link("must", "a", "b"), Link("cannot", "=1+1", "7")), ())


@pytest.mark.parametrize(
    "text",
    [
        "kind;row_a;row_b;why\nmust-link;3;5.0;seen\n",
        "Kind\tRow_A\tRow_B\r\nMust-Link\t 3 \t5\r\n",
        'kind,row_a,row_b\n"must-link","3.00","5"\n',
        '{"must_link": [["3", 5.0]]}',
    ],
)
def test_links_that_a_spreadsheet_saved_find_their_rows(text):
    assert links_from_text(text, pd.RangeIndex(9)) == ((Link("must", 3, 5),), ())


def test_a_row_that_is_called_so_comes_before_other_ways_to_write_it():
    text = "kind,row_a,row_b\nmust-link,5.0,'5\n"
    found = links_from_text(text, index_of("5", "5.0", "'5"))
    assert found == ((Link("must", "5.0", "'5"),), ())


def test_numbers_in_a_file_find_rows_that_are_numbered():
    found = links_from_text('{"must_link": [[3.0, 5]]}', pd.RangeIndex(9))
    assert found == ((Link("must", 3, 5),), ())
    found = links_from_text("kind,row_a,row_b\nmust-link,3,5\n", pd.RangeIndex(9))
    assert found == ((Link("must", 3, 5),), ())


def test_a_pair_that_cannot_be_told_is_kept_until_it_is_linked_or_asked_again():
    session = session_of()
    session.act_now("add link", kind="must", a=0, b=1)
    session.act_now("leave unsure", a=1, b=0)
    assert (session.analysis.links, session.analysis.unsure) == ((), ((1, 0),))
    session.undo()
    assert session.analysis.unsure == ()
    session.redo()
    session.act_now("add link", kind="cannot", a=0, b=1)
    assert session.analysis.unsure == ()
    session.undo()
    assert not session.act_now("ask again", a=2, b=3)
    assert session.act_now("ask again", a=0, b=1)
    assert session.analysis.unsure == ()
    assert not session.act_now("leave unsure", a=0, b=999)
    assert not session.act_now("leave unsure", a=0, b=0)


@pytest.mark.parametrize("write", [links_to_csv, links_to_json])
def test_a_file_keeps_unsure_pairs_and_the_library_reads_it(write):
    links = Link("must", 0, 1), Link("cannot", 2, 3, "=Ann <b>"), Link("must", 7, 8)
    unsure = (4, 5), (1, 0), (2, 6, "Bo")
    data = write(links, unsure)
    assert b'"by"' not in write(links[:1], unsure[:1])
    found = links_from_text(data.decode(), pd.RangeIndex(9))
    by_kind = tuple(sorted(links, key=lambda one: one.kind == "cannot"))
    # Linked pairs are not unsure.
    assert found == (
        links if write is links_to_csv else by_kind,
        (unsure[0], unsure[2]),
    )
    read = constraints_from_csv if write is links_to_csv else constraints_from_json
    assert read(data, range(9)).n_pairs == 3
    session = new_session(Server())

    async def main():
        await session.act("load example", name="iris")
        assert await session.act("import links", text=data.decode())
        assert session.analysis.unsure == ((4, 5), (2, 6, "Bo"))
        assert "2 unsure pairs read" in session.jobs.notices[-1].text
        assert set(session.analysis.links) == set(links)
        session.act_now("swap link", a=2, b=3)
        assert Link("must", 2, 3) in session.analysis.links
        session.undo()
        session.act_now("ask again", a=6, b=2)
        assert session.analysis.unsure == ((4, 5),)
        session.undo()
        assert set(session.analysis.links) == set(links)
        assert session.analysis.unsure == ((4, 5), (2, 6, "Bo"))

    run(main())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kind,row_a,row_b\nmust-link,a,x\nmust-link,y,b\n", "no row 'x', 'y'"),
        ('{"must_link": [["a", "x"]]}', "no row 'x'"),
        ("kind,row_a\nmust-link,a\n", "no column 'row_b'"),
        ("kind,row_a,row_b\nmust-link,a,b\ncannot-link,b,a\n", "twice"),
        ('{"must_link": [["a", "b"]], "cannot-link": []}', "'cannot-link' is no list"),
        ('{"must_link": [["a", null]]}', "no row 'None'"),
        ("kind,row_a,row_b\nmaybe,a,b\n", "'maybe'"),
        ('{"must_link": 5}', "no JSON"),
        ('{"must_link": [["a"]]}', "an entry is no pair"),
        ('{"must_link": [["a", "b", 3]]}', "who answered is no text"),
        (f"kind,row_a,row_b,by\nmust-link,a,b,{'x' * 81}\n", "81 characters"),
        ('{"must_link": ["ab"]}', "an entry is no pair"),
        ('[["a", "b"]]', "no JSON of links \\(it is a list"),
        ("{", "no JSON"),
        ('{"must_link": ' + 9999 * "[" + 9999 * "]" + "}", "no JSON"),
        ("kind,row_a,row_b\n" + 20_001 * "must-link,a,b\n", "20\u202f001 links"),
        ("", "no CSV"),
    ],
)
def test_a_file_that_is_no_list_of_known_links_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        links_from_text(text, index_of("a", "b"))


def test_a_file_is_taken_in_whole_or_not_at_all():
    session = new_session(Server())

    async def main():
        await session.act("load example", name="iris")
        session.act_now("add link", kind="must", a=0, b=1)
        rows = ("must-link,1,2", "cannot-link,0,1", "must-link,2,1")
        assert await session.act("import links", text=csv_of(*rows))
        assert session.analysis.links == (Link("cannot", 0, 1), Link("must", 2, 1))
        assert session.jobs.notices[-1].text == (
            "3 links read: 1 new, 1 of the other kind than before, 1 repeated in the "
            "file."
        )
        assert await session.act("import links", text=csv_of("must-link,1,2"))
        assert session.jobs.notices[-1].text == "1 link read: 1 there already."
        before = session.analysis
        rows = ("must-link,5,6", "must-link,0,2")
        assert not await session.act("import links", text=csv_of(*rows))
        assert session.analysis is before
        assert "apart" in session.jobs.notices[-1].text

    run(main())


def csv_of(*rows):
    return "\n".join(("kind,row_a,row_b", *rows))


def test_rows_of_one_class_are_spanned_by_must_links():
    session = new_session(Server())

    async def main():
        await session.act("load example", name="iris")

    run(main())
    assert session.act_now("join rows", rows=[4, 9, 2, 9])
    assert session.analysis.links == (Link("must", 4, 9), Link("must", 9, 2))
    session.act_now("add link", kind="cannot", a=4, b=100)
    assert not session.act_now("join rows", rows=[2, 100])
    assert not session.act_now("join rows", rows=[2])
    assert not session.act_now("join rows", rows=[2, 9999])


def test_a_file_of_links_with_very_many_columns_is_refused():
    text = "kind,row_a,row_b" + ",a" * 200_000 + "\nmust-link,r1,r2\n"
    with pytest.raises(ValueError, match="more than 100 columns"):
        links_from_text(text, pd.Index(["r1", "r2"]))


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("start", ["", "sep=,\n"])
def test_links_of_spreadsheets_and_dos(mark, start):
    text = f"{start}kind,row_a,row_b\nmust-link,3,5\n,,\n\x1a".replace(",", mark)
    found = links_from_text(text, pd.RangeIndex(9))
    assert found == ((Link("must", 3, 5),), ())
