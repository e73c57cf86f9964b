import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute.table.dataset import prepare
from clusterlens.compute.table.examples import load_example
from clusterlens.compute.table.profiles import cluster_profiles, group_profile

HOSTILE = "<b>x</b>"


def small():
    table = pd.DataFrame(
        {
            "id": list("abcdef"),
            "size": [1.0, 2.0, 3.0, 7.0, 8.0, None],
            HOSTILE: ["p", "p", "q", "q", None, "q"],
            "level": ["low", "low", "high", "high", "high", "low"],
            "fixed": 0,
        }
    )
    return prepare(table)


def naive(ds, labels):
    """Effects by their definition, one cluster and column at a time."""
    rows = {}
    table = ds.table.loc[ds.row_ids]
    for column, role in ds.roles.items():
        if role not in {"numeric", "categorical", "ordinal"}:
            continue
        values = table[column]
        for cluster in np.unique(labels):
            inside, present = labels == cluster, values.notna().to_numpy()
            mine = values[inside & present]
            if role == "numeric":
                all_values = values[present].to_numpy(float)
                mean = mine.to_numpy(float).mean()
                effect = (mean - all_values.mean()) / all_values.std()
                rows[cluster, column] = (None, effect, mean, all_values.mean())
            else:
                share = mine.value_counts(normalize=True)
                overall = values[present].value_counts(normalize=True).sort_index()
                gain = share.reindex(overall.index).fillna(0) - overall
                p = overall.iloc[int(np.argmax(gain))]
                level = gain.index[int(np.argmax(gain))]
                effect = gain[level] / np.sqrt(p * (1 - p))
                rows[cluster, column] = (level, effect, share.get(level, 0.0), p)
    return rows


def test_effects_agree_with_their_definition():
    ds, labels = small(), np.array([0, 0, 0, 5, 5, 5])
    expected = naive(ds, labels)
    table = cluster_profiles(ds, labels).table
    assert len(table) == len(expected)
    for row in table.itertuples():
        level, effect, value, overall = expected[row.cluster, row.column]
        if row.column != "level":  # its levels are in another order
            assert (row.level if isinstance(row.level, str) else None) == level
        assert np.allclose(
            [row.effect, row.value, row.overall], [effect, value, overall]
        )


def test_effects_of_a_real_table_agree_with_their_definition():
    ds = prepare(load_example("iris"), roles={"species": "categorical"})
    labels = np.arange(150) // 40
    expected = naive(ds, labels)
    for row in cluster_profiles(ds, labels).table.itertuples():
        assert np.isclose(row.effect, expected[row.cluster, row.column][1])


def test_rows_are_sorted_by_cluster_and_size_of_effect():
    ds = prepare(load_example("wine"))
    profiles = cluster_profiles(ds, ds.labels_true)
    assert profiles.clusters.tolist() == [0, 1, 2]
    assert profiles.sizes.tolist() == [59, 71, 48]
    for _, part in profiles.table.groupby("cluster"):
        assert part["effect"].abs().is_monotonic_decreasing
    assert profiles.table["cluster"].is_monotonic_increasing


def test_top_gives_the_first_rows_of_a_cluster():
    ds = prepare(load_example("wine"))
    profiles = cluster_profiles(ds, ds.labels_true)
    top = profiles.top(1, 4)
    assert len(top) == 4
    assert set(top["cluster"]) == {1}
    assert len(profiles.top(2, 99)) == 13
    with pytest.raises(
        ValueError, match=r"cluster is 9; give one of the labels 0, 1, 2"
    ):
        profiles.top(9)
    with pytest.raises(ValueError, match="k is 0"):
        profiles.top(1, 0)


def test_text_is_plain_and_names_stand_as_they_are():
    profiles = cluster_profiles(small(), [0, 0, 1, 1, 1, 1])
    assert profiles.texts[0] == (
        f"{HOSTILE} = p 100% (overall 40%), level = low 100% (overall 50%), "
        "size -1.0 sd (1.5)"
    )


def test_cluster_like_the_average_says_so():
    ds = prepare({"a": [1.0, 2.0, 1.0, 2.0]})
    assert (
        cluster_profiles(ds, [0, 0, 1, 1]).text(0) == "like the average in every column"
    )
    assert cluster_profiles(ds, [3, 3, 3, 3]).top(3)["effect"].tolist() == [0.0]


def test_missing_values_are_left_out_and_counted():
    ds = small()
    profiles = cluster_profiles(ds, [0, 0, 0, 0, 0, 1])
    row = profiles.table.query("cluster == 1 and column == 'size'").iloc[0]
    assert row["n_missing"] == 1
    assert np.isnan(row["effect"])
    assert profiles.top(1, 9).iloc[-1]["column"] == "size"
    assert "size" not in profiles.text(1, 9)


def test_codes_for_missing_do_not_shift_the_means():
    table = pd.DataFrame({"a": [1.0, 2, 3, -999], "b": [1.0, 5, 2, 4]})
    profiles = cluster_profiles(prepare(table), [0, 0, 1, 1])
    row = profiles.table.query("cluster == 1 and column == 'a'").iloc[0]
    assert row["value"] == 3.0


def test_labels_belong_to_the_kept_rows():
    table = pd.DataFrame({"a": [1.0, None, 3.0, 9.0], "b": [1.0, 2, 3, 4]})
    ds = prepare(table, missing="drop rows")
    profiles = cluster_profiles(ds, [0, 1, 1])
    row = profiles.table.query("cluster == 1 and column == 'a'").iloc[0]
    assert row["value"] == 6.0
    with pytest.raises(ValueError, match="4 entries for 3 samples"):
        cluster_profiles(ds, [0, 0, 1, 1])


def test_large_means_keep_their_digits():
    values = 1e9 + np.array([0.0, 0.0, 1.0, 1.0])
    table = cluster_profiles(prepare({"a": values}), [0, 0, 1, 1]).table
    assert np.allclose(table["effect"], [-1, 1], atol=1e-6)


@settings(max_examples=60)
@given(st.lists(st.integers(-1, 3), min_size=12, max_size=12), st.randoms())
def test_order_of_rows_and_names_of_clusters_do_not_matter(labels, random):
    table = pd.DataFrame(
        {"a": np.arange(12.0) ** 2, "b": list("ppqqrr") * 2, "c": [0.5, 2, 9] * 4}
    )
    labels = np.array(labels)
    order = random.sample(range(12), 12)
    first = cluster_profiles(prepare(table), labels).table
    second = cluster_profiles(prepare(table.iloc[order]), labels[order] * 2 + 7).table
    key = ["cluster", "column"]
    first, second = (t.sort_values(key).reset_index(drop=True) for t in (first, second))
    assert np.allclose(first["effect"], second["effect"])
    assert (first["cluster"] * 2 + 7 == second["cluster"]).all()


def test_columns_are_encoded_once_per_dataset(monkeypatch):
    ds = small()
    first = ds.encoded
    assert ds.encoded is first
    assert not first.values.flags.writeable
    monkeypatch.setattr("clusterlens.compute.table.dataset.encode_columns", None)
    assert len(cluster_profiles(ds, [0, 0, 1, 1, 1, 1]).table) == 6
    assert len(cluster_profiles(ds, [0, 1, 0, 1, 0, 1]).table) == 6


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([-1.0, 1.0, -2.0, 2.0], ["0", "0"]),
        ([0.1 + 0.2, -0.3, 4.0, -4.0], ["0", "0"]),  # a sum of 5e-17
        ([10.0, 11.0, 52.0, 53.0], ["10.5", "52.5"]),
        ([43210.0, 43211.0, 87654.0, 87655.0], ["43\u202f210", "87\u202f654"]),
        ([1e-9, 2e-9, 3e-9, 4e-9], ["1.5e-09", "3.5e-09"]),
        ([1e12, 2e12, 3e12, 4e12], ["1.5e+12", "3.5e+12"]),
        ([0.123456, 0.123457, 0.5, 0.6], ["0.123", "0.55"]),
        ([0, 0, 1, 1], ["0%", "100%"]),
        ([0, 1, 1, 1], ["50%", "100%"]),
    ],
)
def test_values_are_written_with_the_digits_that_the_spread_deserves(values, texts):
    profiles = cluster_profiles(prepare({"a": values}), [0, 0, 1, 1])
    assert profiles.table["text"].tolist() == texts


def test_dates_are_written_as_dates():
    ds = prepare({"day": pd.date_range("2020-01-01", periods=4)}, {"day": "numeric"})
    profiles = cluster_profiles(ds, [0, 0, 0, 1])
    assert profiles.table["text"].tolist() == ["2020-01-02", "2020-01-04"]


def test_columns_of_yes_and_no_are_shares():
    table = pd.DataFrame({"bought": [0, 1, 1, 1], "size": [1.0, 2, 5, 6]})
    profiles = cluster_profiles(prepare(table), [0, 0, 1, 1])
    assert "bought 100% (overall 75%)" in profiles.text(1)


def test_columns_come_by_weighted_mean_squared_effect():
    ds = prepare(load_example("wine"))
    profiles = cluster_profiles(ds, ds.labels_true)
    table = profiles.table.assign(
        part=profiles.table["effect"] ** 2
        * profiles.table["cluster"].map(dict(enumerate(profiles.sizes / 178)))
    )
    expected = table.groupby("column")["part"].sum().sort_values(ascending=False)
    assert list(profiles.columns.index) == list(expected.index)
    assert np.allclose(profiles.columns, expected)
    assert profiles.effects.shape == profiles.cells.shape == (3, 13)
    assert list(profiles.effects.columns) == list(expected.index)
    row = profiles.table.iloc[0]
    assert profiles.effects.loc[row["cluster"], row["column"]] == row["effect"]
    assert profiles.cells.loc[row["cluster"], row["column"]] == row["text"]


def test_a_group_is_compared_with_the_rest():
    ds = prepare(load_example("iris"), roles={"species": "categorical"})
    inside = np.zeros(150, dtype=bool)
    inside[40:70] = True
    profile = group_profile(ds, inside)
    assert profile.sizes.tolist() == [30]
    assert profile.against == "rest"
    table = ds.table
    for row in profile.table.itertuples():
        values = table[row.column]
        if isinstance(row.level, str):
            values = (values == row.level).astype(float)
        a, b = values[inside].mean(), values[~inside].mean()
        assert np.isclose(row.value, a)
        assert np.isclose(row.overall, b)
        assert np.isclose(row.effect, (a - b) / values.std(ddof=0))
    same = group_profile(ds, np.flatnonzero(inside))
    pd.testing.assert_frame_equal(profile.table, same.table)
    assert "(rest " in profile.text(1, 9)


@pytest.mark.parametrize(
    "samples",
    [
        [],
        [7],
        [-1],
        [0.5],
        [[0]],
        np.zeros(6, bool),
        np.ones(6, bool),
        [True, False],
        range(6),
    ],
)
def test_groups_without_a_rest_or_outside_the_rows_are_refused(samples):
    with pytest.raises(ValueError, match="samples"):
        group_profile(small(), samples)


def test_no_share_is_written_as_less_than_nothing():
    """The mean of zeros may come out as -1e-17, which is 0%, not -0%."""
    texts = []
    for ones in range(1, 12):
        values = np.repeat([0.0, 1.0], [40, ones])
        ds = prepare(pd.DataFrame({"flag": values, "x": np.arange(len(values))}))
        profile = cluster_profiles(ds, (np.arange(len(values)) >= 40).astype(int))
        texts += profile.table.query("column == 'flag'")["text"].tolist()
    assert set(texts) == {"0%", "100%"}
