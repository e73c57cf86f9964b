"""Tests of records: every field and every type of column is restored exactly."""

import os
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from clusterlens.compute._validation import DataError
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.fuzzy.partition import FuzzyPartition
from clusterlens.compute.notes import Note
from clusterlens.compute.pool.preset_versions import (
    FORMER_PRESETS,
    PresetUsed,
    sized_grids,
)
from clusterlens.compute.pool.specs import pool_grids
from clusterlens.compute.table.dataset import make_dataset, prepare
from clusterlens.compute.table.storing import dataset_from_parquet, dataset_to_parquet
from clusterlens.ui.jobs.arrays import arrays_from_bytes, arrays_to_bytes
from clusterlens.ui.server.memory import packed, schema
from clusterlens.ui.server.memory.contents import Contents
from clusterlens.ui.server.memory.records import RecordError, Records
from clusterlens.ui.state.analysis import (
    Analysis,
    AnalysisResult,
    ClusterName,
    KeptPartition,
    LargeTable,
    Link,
    Run,
    SoftTable,
    Succession,
)
from clusterlens.ui.state.history import Step


def table(n: int = 30) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "count": rng.integers(0, 9, n),
            "word": rng.choice(["a", "b", "<i>", "ü"], n),
            "when": pd.date_range("2024-01-01", periods=n),
            "yes": rng.random(n) < 0.5,
            "whole with gaps": pd.array([1, None] * (n // 2), dtype="Int64"),
            "level": pd.Categorical(rng.choice(["low", "high"], n)),
        }
    )
    frame.loc[3, "x"] = np.nan
    return frame


def analysis() -> Analysis:
    raw = make_dataset(table(), name="täble")
    rules = {"roles": {"when": "ignore"}, "scale": "robust"}
    ready = prepare(raw, **rules)
    rng = np.random.default_rng(1)
    found = Ensemble(
        rng.integers(-1, 3, (4, len(ready.X))),
        ["a", "b", "<b>", "d"],
        ["k-means", "k-means", "x", "y"],
        "silent",
        specs=[
            *[{"clusterer": "k-means", "n_clusters": np.int64(2), "eps": 0.1}] * 3,
            {
                **{"clusterer": "k-means under links", "n_clusters": 2},
                **{"must_link": [[0, 1]], "cannot_link": []},
                "held_out": {"together": [], "apart": [[0, 1]], "uncertain": []},
            },
        ],
        seconds=[0.1, np.nan, 2, 3],
        notes=["as it came", Note("failed", "<b>", why="no luck")],
        memberships={1: rng.dirichlet(np.ones(3), len(ready.X))},
    )
    kept = (
        {"kind": "consensus", "k": 3},
        {"made": "for answers", "n_clusters": [2], "must_link": [[0, 1]], "models": 1},
    )
    run = Run(
        "r1",
        "run 1",
        ready,
        ({"clusterer": "k-means"},),
        7,
        found,
        kept,
        stopped_of=9,
        preset=PresetUsed("quick", 3, 4),
    )
    result = AnalysisResult(
        "r1",
        ready,
        {"kind": "consensus", "k": 2, "method": "kmeans", "obeys": True},
        "consensus kmeans k=2 with links",
        np.r_[-1, 0, 1, rng.integers(-1, 2, len(ready.X) - 3)],
        ((-1, -1), (0, 1), (5, 0)),
        (Link("must", 0, 1),),
        "Clusters",
    )
    return Analysis(
        table=raw,
        preparation=rules,
        dataset=ready,
        runs=(run,),
        runs_made=3,
        run_id="r1",
        score="aari",
        threshold=3,
        counted_fully=frozenset({"r1"}),
        links=(Link("must", 0, 1), Link("cannot", 2, 3, "Ann <b>")),
        unsure=((4, 5), (6, 7, "Bo")),
        link_weight=0.7,
        cluster_names=(ClusterName("small", (0, 1)),),
        memberships=(
            SoftTable("own.csv", ready.row_ids, FuzzyPartition(found.memberships[1])),
        ),
        result=result,
        segmentations=(
            KeptPartition("<b>", result, ((0, "small"),)),
            KeptPartition(
                "later", result, (), Succession("<b>", "both", ("small",), (), ("2",))
            ),
        ),
        new_table=make_dataset(table().head(5), name="later"),
        fuzzy_pairs=(("model 1", "labels"),),
        cns=(5, 0.2, 3),
        note="mine <b>",
        part=("sheet", "b"),
        parts=("a", "b"),
        new_part=("array", "c"),
        new_parts=("c", "d"),
        large=LargeTable("folder/<b>", 12_000_000, "ab" * 32, skips=True),
        labelled=("cd" * 32, "k-means <b>"),
    )


def assert_same_dataset(one, other):
    pd.testing.assert_frame_equal(one.table, other.table)
    assert type(one.table.index) is type(other.table.index)
    for name in ("roles", "role_reasons", "name", "reading_notes"):
        assert getattr(one, name) == getattr(other, name), name
    if one.prepared is not None:
        np.testing.assert_array_equal(one.X, other.X)
        assert one.feature_names == other.feature_names
        np.testing.assert_array_equal(one.row_ids, other.row_ids)
        assert one.notes == other.notes


def assert_same_run(one, other):
    for name in ("id", "name", "pool", "kept", "votes", "stopped_of", "preset"):
        assert getattr(one, name) == getattr(other, name), name
    assert one.random_state == other.random_state
    assert_same_dataset(one.dataset, other.dataset)
    a, b = one.ensemble, other.ensemble
    assert a.labels.dtype == b.labels.dtype
    for name in ("labels", "seconds", "weights"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for name in ("names", "families", "noise", "specs", "notes"):
        assert getattr(a, name) == getattr(b, name), name
    assert [n.kind for n in a.notes] == [n.kind for n in b.notes]
    assert a.memberships.keys() == b.memberships.keys()
    for t in a.memberships:
        np.testing.assert_array_equal(a.memberships[t], b.memberships[t])


def assert_same_result(one, other):
    assert_same_dataset(one.dataset, other.dataset)
    np.testing.assert_array_equal(one.clusters, other.clusters)
    for name in ("run_id", "made", "title", "numbers", "links", "chosen_on"):
        assert getattr(one, name) == getattr(other, name), name


def assert_same(one: Analysis, other: Analysis):
    for field in fields(Analysis):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name in ("table", "dataset", "new_table") and a is not None:
            assert_same_dataset(a, b)
        elif field.name == "result" and a is not None:
            assert_same_result(a, b)
        elif field.name == "segmentations":
            for x, y in zip(a, b, strict=True):
                assert (x.name, x.names, x.follows) == (y.name, y.names, y.follows)
                assert_same_result(x.result, y.result)
        elif field.name == "runs":
            assert len(a) == len(b)
            for x, y in zip(a, b, strict=True):
                assert_same_run(x, y)
        elif field.name == "memberships":
            for x, y in zip(a, b, strict=True):
                assert x.name == y.name
                np.testing.assert_array_equal(x.row_ids, y.row_ids)
                np.testing.assert_allclose(x.rows.memberships, y.rows.memberships)
        else:
            assert a == b, field.name


def written(step, before, contents):
    """Return the record of a step."""
    return Records(contents).write(step, before, {})


def there_and_back(steps, folder, *, anew=True):
    contents = Contents(folder)
    rows = [
        written(step, steps[k - 1].analysis if k else None, contents)
        for k, step in enumerate(steps)
    ]
    reader = Records(Contents(folder) if anew else contents)
    return reader.read(rows), reader


def test_every_field_comes_back_as_it_was(tmp_path):
    before = analysis()
    default = Analysis()
    for field in fields(Analysis):
        assert getattr(before, field.name) != getattr(default, field.name), field.name
    found, reader = there_and_back([Step("start", "X", before)], tmp_path)
    assert_same(found[0].analysis, before)
    assert reader.notes == []


def test_what_steps_share_is_shared_again(tmp_path):
    first = analysis()
    second = replace(first, score="anmi")
    third = replace(second, runs=(replace(first.runs[0], name="other"),))
    steps = [Step("start", str(k), one) for k, one in enumerate((first, second, third))]
    found, _ = there_and_back(steps, tmp_path)
    a, b, c = (step.analysis for step in found)
    assert a.table is b.table is c.table
    assert a.dataset is c.dataset is a.runs[0].dataset
    assert a.runs[0] is b.runs[0]
    assert a.runs[0].ensemble is c.runs[0].ensemble
    assert (
        len(list(tmp_path.iterdir())) == 5
    )  # two tables, a run, a result, memberships


def test_all_that_a_later_step_changed_of_a_run_comes_back(tmp_path):
    first = analysis()
    changes = {
        "name": "other",
        "pool": ({"clusterer": "spectral"},),
        "random_state": 8,
        "kept": (),
        "votes": "families",
        "stopped_of": 10,
        "preset": None,
    }
    made = [
        replace(first, runs=(replace(first.runs[0], **{name: value}),))
        for name, value in changes.items()
    ]
    steps = [Step("start", str(k), one) for k, one in enumerate((first, *made))]
    found, _ = there_and_back(steps, tmp_path)
    for step, one in zip(found[1:], made, strict=True):
        assert_same_run(step.analysis.runs[0], one.runs[0])


def test_what_a_step_holds_is_new_to_a_cleaning_until_the_step_is_written(tmp_path):
    contents, made = Contents(tmp_path), analysis()
    step = Step("start", "X", made, {"sha256": contents.put(b"a,b")})
    held = written(step, None, contents).holds
    for key in held:
        os.utime(contents.path(key), (0, 0))
    assert written(step, None, contents).holds == held
    assert contents.clean(set()) == 0


@pytest.mark.parametrize("anew", [True, False])
def test_two_uploads_of_the_same_memberships_keep_their_names(tmp_path, anew):
    first = analysis()
    (own,) = first.memberships
    both = replace(first, memberships=(own, replace(own, name="n.csv")))
    steps = [Step("start", str(k), one) for k, one in enumerate((both, first, both))]
    found, _ = there_and_back(steps, tmp_path, anew=anew)
    a, b, c = (step.analysis.memberships for step in found)
    assert [table.name for table in a] == ["own.csv", "n.csv"]
    assert (a, a[:1]) == (c, b)


def test_what_is_still_in_memory_is_not_read_again(tmp_path):
    before = analysis()
    found, _ = there_and_back([Step("start", "X", before)], tmp_path, anew=False)
    assert found[0].analysis.table is before.table
    assert found[0].analysis.ensemble is before.ensemble


@pytest.mark.parametrize(
    "frame",
    [
        table(),
        table().set_index("word", append=True).reset_index("word").iloc[::-1],
        table().set_index("when"),
        pd.DataFrame({"index": [1.0, 2.0], "__index_level_0__": [3.0, 4.0]}),
        pd.DataFrame({"=1+1\x00": [1.0, 2.0], "0": [3.0, 1.0]}, index=["a", "<b>"]),
    ],
)
def test_tables_of_all_kinds_come_back(frame):
    ds = make_dataset(frame, name="t")
    assert_same_dataset(dataset_from_parquet(dataset_to_parquet(ds)), ds)


def test_a_table_that_cannot_be_stored_says_so():
    ds = make_dataset(pd.DataFrame({"x": [1.0, 2.0]}))
    odd = replace(
        ds, table=ds.table.assign(z=[1j, 2j]), roles={**ds.roles, "z": "ignore"}
    )
    odd = replace(odd, role_reasons={**ds.role_reasons, "z": "complex"})
    with pytest.raises(DataError, match="cannot be stored"):
        dataset_to_parquet(odd)


def test_a_table_of_another_size_than_claimed_is_refused_before_it_is_made():
    data = dataset_to_parquet(make_dataset(table(1000)))
    with pytest.raises(DataError, match="limit"):
        dataset_from_parquet(data, max_bytes=10_000)


def test_damaged_tables_are_refused():
    data = dataset_to_parquet(make_dataset(table()))
    rng = np.random.default_rng(0)
    for _ in range(60):
        at = rng.integers(0, len(data), 6)
        broken = bytearray(data)
        for k in at:
            broken[k] ^= 1 + rng.integers(255)
        try:
            dataset_from_parquet(bytes(broken))
        except DataError:
            continue
    for end in (0, 10, len(data) // 2, len(data) - 1):
        with pytest.raises(DataError):
            dataset_from_parquet(data[:end])


def test_a_table_that_is_prepared_differently_now_is_noted(tmp_path):
    before = analysis()
    contents = Contents(tmp_path)
    row = written(Step("start", "X", before), None, contents)
    row.changes["dataset"]["fingerprint"]["sums"][0] *= 1.01
    reader = Records(Contents(tmp_path))
    reader.read([row])
    assert "differently" in reader.notes[0]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("table", "../../etc/passwd"),
        ("table", "0" * 64),
        ("links", [["must", 1]]),
        ("links", 5),
        ("link_weight", "half"),
        ("link_weight", -1),
        ("runs", [{"id": "r1"}]),
        ("runs", 3),
        ("segmentations", [{"name": "x"}]),
        ("new_table", "../../etc/passwd"),
        ("dataset", {"table": None}),
        ("unheard of", 1),
    ],
)
def test_records_that_describe_no_analysis_are_refused(tmp_path, field, value):
    row = written(Step("start", "X", Analysis()), None, Contents(tmp_path))
    broken = replace(row, changes={**row.changes, field: value})
    with pytest.raises(RecordError, match="cannot be read"):
        Records(Contents(tmp_path)).read([broken])


def test_a_record_of_before_a_field_was_added_has_its_default(tmp_path):
    row = written(Step("start", "X", Analysis()), None, Contents(tmp_path))
    older = {name: v for name, v in row.changes.items() if name != "link_weight"}
    found = Records(Contents(tmp_path)).read([replace(row, changes=older)])
    assert found[0].analysis.link_weight == Analysis().link_weight


@pytest.mark.parametrize("pool", ["quick", "default"])
def test_a_run_of_before_presets_had_versions_has_the_first(tmp_path, pool):
    made = analysis()
    n = len(made.dataset.X)
    if (pool, 1) in FORMER_PRESETS:
        grids = sized_grids(FORMER_PRESETS[pool, 1], n)
    else:
        grids, _ = pool_grids(pool, n)
    older = replace(made.runs[0], pool=tuple(grids), preset=None)
    own = replace(older, id="r2", pool=made.runs[0].pool)
    row = written(
        Step("start", "X", replace(made, runs=(older, own))), None, Contents(tmp_path)
    )
    for record in row.changes["runs"]:
        del record["preset"]
    first, second = Records(Contents(tmp_path)).read([row])[0].analysis.runs
    assert first.preset_words == f"preset {pool}, version 1"
    assert second.preset is None


def test_an_analysis_of_before_links_were_evidence_keeps_its_weight(tmp_path):
    assert Analysis().link_weight == "evidence"
    for weight in (0.2, "evidence"):
        made = Analysis(link_weight=weight)
        row = written(Step("start", "X", made), None, Contents(tmp_path))
        found = Records(Contents(tmp_path)).read([row])[0].analysis
        assert found.link_weight == weight


def test_notes_that_earlier_versions_wrote_as_sentences_are_read():
    ensemble = Ensemble([[0, 0, 1]], notes=[Note("failed", "a", why="no luck")])
    arrays, about = arrays_from_bytes(packed.pack(ensemble))
    about["notes"] = list(ensemble.notes)
    (note,) = packed.unpack(arrays_to_bytes(arrays, about)).notes
    assert (note, note.kind) == ("a: no luck", "said")


@pytest.mark.parametrize("name", [{"a": 1}, ["k-means"], 1, None])
def test_a_clusterer_of_a_kept_model_is_a_text(name):
    data = packed.pack(Ensemble([[0, 0, 1]], specs=[{"clusterer": name}]))
    with pytest.raises(ValueError, match="clusterer"):
        packed.unpack(data)


@pytest.mark.parametrize("value", [10**400, -(10**400), float("inf"), float("nan")])
def test_a_setting_of_a_kept_model_is_a_number_of_double_precision(value):
    arrays, about = arrays_from_bytes(packed.pack(Ensemble([[0, 0, 1]])))
    about["specs"] = [{"clusterer": "k-means", "tol": value}]
    with pytest.raises(ValueError, match="tol"):
        packed.unpack(arrays_to_bytes(arrays, about))


def test_arrays_come_back_and_cannot_claim_more_than_there_is():
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array(["x", "yy"])}
    data = arrays_to_bytes(arrays, {"k": [1, "two"]})
    found, about = arrays_from_bytes(data)
    assert about == {"k": [1, "two"]}
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
    with pytest.raises(ValueError, match="cannot be read"):
        arrays_from_bytes(data.replace(b"(2, 3)", b"(9, 9)"))
    with pytest.raises(ValueError, match="cannot be read"):
        arrays_from_bytes(data[: len(data) // 2])


def test_pickled_arrays_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, a=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="cannot be read"):
        arrays_from_bytes(path.read_bytes())


def test_every_field_has_a_shape():
    assert schema._FIELDS.keys() == {field.name for field in fields(Analysis)}
