import io
from types import SimpleNamespace

import numpy as np
import pandas as pd
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
    assert any("1 rows skipped, not known: 'dan'" in note for note in ensemble.notes)
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
