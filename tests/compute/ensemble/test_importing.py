import gzip
import io
from contextlib import suppress
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute._validation import DataError
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.importing import load_partitions

IDS = ["ada", "bob", "cy", "dan"]
TABLE = pd.DataFrame({"a": [0, 0, 1, 1], "b": ["x", "y", "y", "x"]}, index=IDS)


def same_partition(a, b):
    return np.array_equal(Ensemble([a]).codes, Ensemble([b]).codes)


def csv(frame, **options):
    return frame.to_csv(**options).encode()


def parquet(frame):
    file = io.BytesIO()
    frame.to_parquet(file)
    return file.getvalue()


@settings(max_examples=40)
@given(data=st.data())
def test_any_order_of_rows_and_any_gaps_are_joined_by_id(data):
    n = data.draw(st.integers(2, 12))
    ids = [f"id {i}" for i in range(n)]
    asked = data.draw(st.permutations(ids))
    labels = {}
    for name in "ab":
        rows = data.draw(
            st.lists(st.sampled_from(ids), min_size=2, max_size=n, unique=True)
        )
        labels[name] = pd.Series(
            data.draw(
                st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows))
            ),
            index=rows,
        )
    ensemble = load_partitions(labels, asked)
    alone = load_partitions(labels, asked, gaps="singletons")
    for t, series in enumerate(labels.values()):
        assert ensemble.seen_by(t).tolist() == [i in series.index for i in asked]
        for i, label, own in zip(
            asked, ensemble.labels[t], alone.labels[t], strict=True
        ):
            if i in series.index:
                assert label == own == series[i]
            else:
                assert label == -1
                assert (alone.labels[t] == own).sum() == 1


@pytest.mark.parametrize("write", [csv, parquet])
def test_files_and_frames_give_the_same_ensemble(write):
    asked = IDS[::-1]
    from_file = load_partitions(write(TABLE), asked)
    from_frame = load_partitions(TABLE, asked)
    assert np.array_equal(from_file.labels, from_frame.labels)
    assert from_file.names == from_frame.names == ("a", "b")
    assert from_file.labels.tolist() == [[1, 1, 0, 0], [0, 1, 1, 0]]


def test_codes_of_texts_keep_their_names():
    ensemble = load_partitions(TABLE)
    assert ensemble.specs[1]["classes"] == ["x", "y"]
    assert "classes" not in ensemble.specs[0]


def test_numbers_and_texts_name_the_same_row():
    numbers = pd.Series([1, 1, 2], index=[7.0, 8.0, 9.0])
    assert load_partitions({"m": numbers}, ["9", "8", "7"]).labels.tolist() == [
        [2, 1, 1]
    ]


def test_vectors_without_ids_are_taken_by_position():
    ensemble = load_partitions({"p": [0, 0, 1], "q": np.array(["u", "v", "v"])})
    assert ensemble.names == ("p", "q")
    assert ensemble.labels.tolist() == [[0, 0, 1], [0, 1, 1]]
    assert ensemble.notes == ("source: no row ids, rows taken by position.",)


def test_a_file_without_header_is_sample_names_and_classes(tmp_path):
    # as ConsensusClusterPlus writes its consensus classes
    path = tmp_path / "run.k=2.consensusClass.csv"
    path.write_text("ada,1\nbob,1\ncy,2\ndan,2\n")
    ensemble = load_partitions(path, IDS[::-1])
    assert ensemble.labels.tolist() == [[2, 2, 1, 1]]
    assert ensemble.names == ("run.k=2.consensusClass",)


def test_a_folder_is_one_model_per_file(tmp_path):
    for name in TABLE:
        TABLE[[name]].to_csv(tmp_path / f"{name}.csv")
    ensemble = load_partitions(tmp_path, IDS)
    assert ensemble.names == ("a", "b")
    assert same_partition(ensemble.labels[1], [0, 1, 1, 0])


def test_files_of_several_models_keep_apart_by_file_and_column(tmp_path):
    for name in ("one", "two"):
        TABLE.to_csv(tmp_path / f"{name}.csv")
    assert load_partitions(tmp_path).names == ("one a", "one b", "two a", "two b")


def test_runs_that_left_samples_out_have_gaps_with_a_stated_meaning():
    # as diceR leaves NA where a subsample has no label
    table = csv(TABLE.assign(a=[0, None, 1, None]))
    seen = load_partitions(table)
    assert seen.missing.tolist() == [[False, True, False, True], [False] * 4]
    assert seen.specs[0]["gaps"] == 2
    alone = load_partitions(table, gaps="singletons")
    assert same_partition(alone.labels[0], [0, 1, 2, 3])
    assert any("'a': 2 of 4 samples" in note for note in alone.notes)
    assert alone.specs[0]["gaps"] == 2
    assert load_partitions(table, gaps="noise").labels[0].tolist() == [0, -1, 1, -1]
    with pytest.raises(DataError, match=r"column 'a': 2 of 4 .* 'bob', 'dan'"):
        load_partitions(table, gaps="refuse")


def test_noise_stays_noise():
    ensemble = load_partitions({"m": [-1, -1, 3]}, noise="singletons")
    assert ensemble.labels.tolist() == [[-1, -1, 3]]
    assert ensemble.n_clusters.tolist() == [1]
    assert ensemble.n_noise.tolist() == [2]


@pytest.mark.parametrize("kind", ["category", object])
def test_noise_stays_noise_among_categories_and_objects_that_are_whole_numbers(kind):
    obs = pd.DataFrame({"m": pd.Series([0, 0, -1, None], dtype="Int64").astype(kind)})
    ensemble = load_partitions(
        SimpleNamespace(obs=obs), noise="singletons", gaps="noise"
    )
    assert ensemble.labels.tolist() == [[0, 0, -1, -1]]
    assert ensemble.n_noise.tolist() == [2]


def test_truth_values_with_gaps_are_labels():
    column = pd.array([True, False, None, True], dtype="boolean")
    ensemble = load_partitions(pd.DataFrame({"m": column}), gaps="noise")
    assert ensemble.labels.tolist() == [[1, 0, -1, 1]]


@pytest.mark.parametrize(
    "column", [[1.0, 1e19, 2e19], np.array([1, 2**63, 2**64 - 1], np.uint64)]
)
def test_numbers_beyond_64_bits_are_no_labels(column):
    with pytest.raises(DataError, match=r"column 'm' holds .*e\+1.*2\^63"):
        load_partitions(pd.DataFrame({"m": column}))


def test_singletons_beside_the_greatest_label_are_clusters_of_their_own():
    column = pd.array([2**63 - 1, 2**63 - 1, None, None, 0], dtype="Int64")
    labels = load_partitions(pd.DataFrame({"m": column}), gaps="singletons").labels[0]
    assert pd.factorize(labels)[0].tolist() == [0, 0, 1, 2, 3]


def test_annotations_of_cells_are_label_columns():
    obs = TABLE.assign(n_genes=[10, 20, 30, 40]).astype({"a": "category"})
    ensemble = load_partitions(SimpleNamespace(obs=obs), IDS)
    assert ensemble.names == ("a", "b")
    assert any("'n_genes' left out" in note for note in ensemble.notes)


def test_columns_are_chosen_by_name():
    table = TABLE.assign(size=[0.5, 1.5, 2.0, 3.0])
    with pytest.raises(DataError, match=r"column 'm' holds \[0\], which is no label"):
        load_partitions({"m": [None, [0], [1]]})
    with pytest.raises(DataError, match=r"column 'size' holds 0\.5"):
        load_partitions(table)
    assert load_partitions(table, columns=["b"]).names == ("b",)
    with pytest.raises(DataError, match="no column 'c'; it has 'a', 'b', 'size'"):
        load_partitions(table, columns=["c"])


def test_a_named_column_holds_the_ids():
    table = pd.DataFrame({"a": [0, 1, 1], "key": [5, 6, 7], "other": [1, 2, 3]})
    ensemble = load_partitions(table, [7, 6, 5], row_id="key", columns=["a"])
    assert ensemble.labels.tolist() == [[1, 1, 0]]


def test_unknown_ids_are_named_or_skipped_when_asked():
    with pytest.raises(DataError, match=r"1 of 4 rows .* 'dan'"):
        load_partitions(TABLE, IDS[:3])
    ensemble = load_partitions(TABLE, IDS[:3], unknown="skip")
    assert ensemble.n_samples == 3
    assert any("1 row skipped, not known: 'dan'" in note for note in ensemble.notes)
    with pytest.raises(DataError, match="4 of 4 rows"):
        load_partitions(TABLE, ["x", "y"], unknown="skip")


def test_repeated_ids_are_named():
    with pytest.raises(DataError, match="more than one row for 'ada'"):
        load_partitions(TABLE.rename(index={"bob": "ada"}), IDS)


def test_lengths_that_disagree_without_ids_are_refused():
    with pytest.raises(DataError, match="2 rows without ids for 4 samples"):
        load_partitions({"m": [0, 1]}, IDS)


def test_empty_sources_are_refused():
    with pytest.raises(DataError, match="no partitions"):
        load_partitions({})
    with pytest.raises(DataError, match="no column of labels"):
        load_partitions(TABLE[[]])
    with pytest.raises(DataError, match="'a' has no label"):
        load_partitions(TABLE.assign(a=None))
    with pytest.raises(DataError, match="several columns 'a'"):
        load_partitions(TABLE.set_axis(["a", "a"], axis=1))


def test_families_are_given_for_all_or_by_name():
    assert load_partitions(TABLE).families == ("imported", "imported")
    families = {"a": "k-means", "b": "trees"}
    assert load_partitions(TABLE, families=families).families == ("k-means", "trees")
    with pytest.raises(DataError, match="leaves out 'b'"):
        load_partitions(TABLE, families={"a": "k-means"})
    with pytest.raises(DataError, match="names no model 'c'"):
        load_partitions(TABLE, families=families | {"c": "x"})


LABELS = pd.DataFrame({"a": [0, 0, 1, 2, 2], "b": ["x", "y", "y", "x", "x"]})


def of_polars(frame):
    return pytest.importorskip("polars").from_pandas(frame.reset_index())


@pytest.mark.parametrize(
    "rows", [[4, 3, 2, 1, 0], [1, 0, 2, 4, 3], [3, 1], [1, 2, 3, 4], [0, 2, 4], [4]]
)
@pytest.mark.parametrize("form", ["frame", "series", "parquet", "numbers"])
def test_rows_in_another_order_or_a_part_of_them_find_their_samples(rows, form):
    row_ids = range(10, 15) if form == "numbers" else range(5)
    part = LABELS.set_axis(row_ids).iloc[rows]
    sources = {"series": {"a": part["a"], "b": part["b"]}, "parquet": parquet(part)}
    ensemble = load_partitions(sources.get(form, part), row_ids, gaps="noise")
    assert ensemble.names == ("a", "b")
    expected = [LABELS["a"][k] if k in rows else -1 for k in range(5)]
    assert ensemble.labels[0].tolist() == expected
    assert not any("by position" in note for note in ensemble.notes)


def test_index_that_only_counts_is_a_position():
    for frame in (LABELS, LABELS.set_axis(np.arange(5)), LABELS.set_axis([*range(5)])):
        ensemble = load_partitions(frame, list("vwxyz"))
        assert ensemble.labels[0].tolist() == LABELS["a"].tolist()
        assert "source: no row ids, rows taken by position." in ensemble.notes
    with pytest.raises(DataError, match="3 rows without ids for 5 samples"):
        load_partitions(LABELS[:3], list("vwxyz"))


def test_index_of_several_levels_names_no_rows():
    index = pd.MultiIndex.from_product([["p"], range(5)])
    for source in (LABELS.set_axis(index), parquet(LABELS.set_axis(index))):
        ensemble = load_partitions(source, IDS + ["eve"])
        assert ensemble.labels[0].tolist() == LABELS["a"].tolist()
        assert any("by position" in note for note in ensemble.notes)


@pytest.mark.parametrize("name", ["id", "Sample ID", "barcode", "", "gene", "day"])
@pytest.mark.parametrize("write", [csv, parquet, of_polars])
def test_an_id_twice_is_refused_by_name(name, write):
    ids = ["ada", "bob", "ada", "dan", "eve"]
    if name == "day":
        ids = [f"2020-01-0{k}" for k in (1, 2, 1, 4, 5)]
    frame = LABELS.set_axis(pd.Index(ids, name=name or None))
    if write is of_polars and name in {"", "gene", "day"}:
        pytest.skip("a column of a DataFrame may hold anything")
    with pytest.raises(DataError, match=f"more than one row for '{ids[0]}'"):
        load_partitions(write(frame))
    with pytest.raises(DataError, match=f"more than one row for '{ids[0]}'"):
        load_partitions(write(frame), [*dict.fromkeys(ids), "new"])


def test_numbers_that_are_samples_are_ids_though_one_stands_twice():
    table = LABELS.assign(n=[101, 102, 103, 102, 105])[["n", "a", "b"]]
    with pytest.raises(DataError, match="more than one row for '102'"):
        load_partitions(csv(table, index=False), range(101, 106))
    with pytest.raises(DataError, match=r"more than one row for '1'"):
        load_partitions({"m": pd.Series([0, 1], index=["1", "1.0"])}, [1, 2])


def test_an_index_and_ids_in_one_file_are_both_no_labels():
    table = LABELS[["a"]].assign(id=[*IDS, "eve"])[["id", "a"]]
    for row_ids in ([*IDS, "eve"], range(5), None):
        ensemble = load_partitions(csv(table), row_ids)
        assert ensemble.labels.tolist() == [LABELS["a"].tolist()]
    with pytest.raises(DataError, match="more than one row for 'ada'"):
        load_partitions(csv(table.assign(id=["ada", *IDS])))


def test_a_first_column_of_names_is_labels_if_it_is_asked_for():
    table = b"gene,k\nTP53,1\nMYC,1\nTP53,2\nEGFR,2\n"
    with pytest.raises(DataError, match="more than one row for 'TP53'"):
        load_partitions(table)
    assert load_partitions(table, columns=["gene"]).labels.tolist() == [[2, 1, 2, 0]]


def test_columns_of_cluster_ids_are_labels_and_other_ids_are_none():
    table = LABELS.assign(
        cluster_id=[7, 7, 8, 8, 8], id=range(5), sample_id=IDS + ["eve"]
    )
    for source in (csv(table, index=False), table):
        ensemble = load_partitions(source, IDS + ["eve"])
        assert ensemble.names == ("a", "b", "cluster_id")
        assert any("Other columns of ids left out: 'id'" in n for n in ensemble.notes)
    assert load_partitions(table, range(5)[::-1]).labels[0].tolist() == [2, 2, 1, 0, 0]
    assert load_partitions(table, columns=["sample_id"]).names == ("sample_id",)


@pytest.mark.parametrize("kind", ["category", object, "str"])
@pytest.mark.parametrize(
    "words",
    [["-1", "0", "1", "0"], ["-1.0", "0.0", "1.0", "0.0"], ["-1", "u", "v", "u"]],
)
def test_noise_as_a_word_is_noise(kind, words):
    column = pd.Series(words, dtype=kind)
    for source in ({"m": column}, SimpleNamespace(obs=column.to_frame("m"))):
        ensemble = load_partitions(source, noise="silent")
        assert ensemble.labels.tolist() == [[-1, 0, 1, 0]]
        assert ensemble.specs[0].get("classes") in (None, ["u", "v"])
    file = load_partitions(csv(column.to_frame("m"), index=False))
    assert file.labels.tolist() == [[-1, 0, 1, 0]]


def test_codes_as_words_are_no_numbers():
    ensemble = load_partitions({"m": pd.Series(["01", "1", "01"])})
    assert ensemble.specs[0]["classes"] == ["01", "1"]


@pytest.mark.parametrize("dates", [str, pd.Timestamp, lambda d: pd.Timestamp(d).date()])
@pytest.mark.parametrize("name", ["day", "id", ""])
def test_dates_name_rows(dates, name):
    days = [f"2020-01-0{k}" for k in range(1, 6)]
    row_ids = pd.Index([*map(dates, days)], dtype=object)
    frame = LABELS.set_axis(pd.Index(days, name=name or None))[::-1]
    stamped = frame.set_axis(pd.DatetimeIndex(frame.index))
    for source in (csv(frame), csv(frame, sep=";"), parquet(stamped), frame, stamped):
        ensemble = load_partitions(source, row_ids)
        assert ensemble.labels[0].tolist() == LABELS["a"].tolist()


def test_moments_are_one_row_however_they_are_written():
    row_ids = [f"2020-12-31T{k:02}:00:00Z" for k in range(10, 15)]
    moments = pd.DatetimeIndex(row_ids).tz_convert("Asia/Tokyo")
    for ids in (row_ids, [i.replace("T", " ") for i in row_ids], moments):
        frame = LABELS.set_axis(ids)[::-1]
        for source in (csv(frame), frame):
            found = load_partitions(source, row_ids)
            assert found.labels[0].tolist() == LABELS["a"].tolist()


def test_label_vectors_of_other_libraries_are_read():
    vectors = {"m": pa.chunked_array([[0, 1, 1]]), "n": pa.array(["u", "u", "v"])}
    assert load_partitions(vectors).labels.tolist() == [[0, 1, 1], [0, 0, 1]]


def test_columns_of_lists_hold_no_labels():
    with pytest.raises(DataError, match="no label"):
        load_partitions(parquet(TABLE.assign(c=[["p"], ["q", "r"], [], ["p"]])))


DAY = pd.Timestamp("2020-01-02")


@pytest.mark.parametrize(
    "cells",
    [
        pd.Series([1 + 2j, 1 + 2j, 0j]),
        pd.Series([1 + 0j, 1 + 0j, 0j]),
        pd.Series([DAY, DAY, pd.NaT]),
        pd.Series([DAY - DAY, DAY - DAY, pd.NaT]),
        pd.Series([DAY.date(), DAY.time(), None]),
        pd.Series([[1, 2], [1], None]),
        pd.Series([{"a": 1}, {"a": 1}, None]),
        pd.Series([{1}, (1, 2), np.arange(2)]),
        pd.Series([b"a", b"b", None]),
        pd.Series([1, "a", object]),
        pd.Series([np.inf, 1.0, np.nan]),
        pd.Series([Decimal("1"), Decimal("2"), Decimal("NaN")]),
        pd.Series([None, None, None]),
        pd.Series(pd.period_range("2020", periods=3)),
        pd.Series(pd.interval_range(0, 3)),
    ],
    ids=lambda cells: repr(cells.tolist())[:40],
)
def test_cells_of_any_kind_are_labels_or_ids_or_are_refused(cells):
    table = pd.DataFrame({"a": [0, 1, 0], "m": cells})
    for asked in ({}, {"columns": ["m"]}, {"row_id": "m"}):
        for row_ids in (None, ["x", "y", "z"]):
            with suppress(DataError):
                ensemble = load_partitions(table, row_ids, **asked)
                assert ensemble.n_samples == 3


@pytest.mark.parametrize("row_id", [None, "id"])
@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("id,p,q\na,1,x\nb,2,y\n,,\nc,1,x\n,,\n", "'3', '5'"),
        ("id,p,q\na,1,x\nb,2,y\nc,1,x\n,,\n,,\n , ,\n", "'4', '5'"),
        ("id,p,q\n,,\na,1,x\nb,2,y\nc,1,x\n", "'1'"),
        ("p,q,id\n1,x,a\n2,y,b\n,,\n1,x,c\n", "'3'"),
        ("id,p,q\n001,1,x\n002,2,y\n,,\n003,1,x\n", "'3'"),
    ],
)
def test_blank_rows_of_a_file_with_ids_are_left_out(text, rows, row_id):
    for mark in (",", ";", "\t", "|"):
        data = text.replace(",", mark).encode()
        for form in (data, gzip.compress(data)):
            ensemble = load_partitions(form, row_id=row_id)
            assert ensemble.labels.tolist() == [[1, 2, 1], [0, 1, 0]]
            assert [n for n in ensemble.notes if f"left out: {rows}" in n]


def test_a_blank_row_without_ids_is_a_sample_without_labels():
    ensemble = load_partitions(b"p,q\n1,1\n2,3\n,\n1,3\n")
    assert ensemble.labels.tolist() == [[1, 2, -1, 1], [1, 3, -1, 3]]
    assert not [n for n in ensemble.notes if "blank row" in n]


def test_words_that_mean_noise_elsewhere_are_noted():
    table = {"p": ["Noise", "a", "b"], "q": ["a", "noise ratio", "b"], "r": [0, -1, 1]}
    ens = load_partitions(pd.DataFrame(table))
    noted = [note for note in ens.notes if "a cluster like the others" in note]
    assert noted == [
        "'p': 'Noise' is a cluster like the others; write -1 for samples in no cluster."
    ]


def test_columns_that_are_the_clusters_of_one_partition_are_noted():
    one = pd.DataFrame(np.eye(3, dtype=int)[[0, 1, 2, 0]], columns=["a", "b", "c"])
    assert any(
        "1 in one of the 3 columns" in note for note in load_partitions(one).notes
    )
    for other in (one.assign(d=[1, 0, 0, 0]), one[["a"]], one - 1):
        assert not any("1 in one of" in note for note in load_partitions(other).notes)
