"""Rules: their figures against the definition, and SQL against Python."""

import sqlite3
from contextlib import closing

import duckdb
import numpy as np
import pandas as pd
import pytest

import clusterlens as cl
from clusterlens.compute.assigning._sql import identifier
from clusterlens.compute.assigning.rules import TEST, _parts
from tests.compute.assigning.hostile import (
    as_list,
    by_duckdb,
    hostile_dataset,
    hostile_table,
)


@pytest.fixture(scope="module")
def iris():
    ds = cl.prepare(cl.load_example("iris"))
    return ds, cl.describe_clusters(ds, ds.labels_true)


@pytest.fixture(scope="module")
def hostile():
    ds, group = hostile_dataset()
    return ds, group, cl.describe_clusters(ds, group)


def grid(n=600, seed=0, **more):
    """Two columns of numbers, a cluster in one corner of them, and other columns."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.uniform(0, 100, (n, 2)), columns=["x", "y"])
    corner = (table["x"] > 60) & (table["y"] <= 30)
    return table.assign(**more), corner.astype(int).to_numpy()


def test_the_rule_of_a_box_is_the_box():
    table, inside = grid(2000)
    rule = cl.describe_clusters(cl.prepare(table), inside).rules[1]
    x, y = sorted(rule.conditions, key=lambda condition: condition.source.name)
    assert (x.source.name, y.source.name) == ("x", "y")
    assert abs(x.low - 60) <= 1
    assert abs(y.high - 30) <= 1
    assert not np.isfinite([x.high, y.low]).any()
    assert min(rule.precision, rule.recall) > 0.95


def test_a_column_that_tells_nothing_is_in_no_rule():
    rng = np.random.default_rng(1)
    table, inside = grid(
        900, noise=rng.normal(size=900), word=rng.choice(list("abc"), 900)
    )
    rules = cl.describe_clusters(cl.prepare(table), inside)
    assert {c.source.name for c in rules.rules[1].conditions} == {"x", "y"}


def test_a_set_of_levels_is_found_whatever_their_order():
    rng = np.random.default_rng(0)
    letters = rng.choice(list("abcdefgh"), 800)
    inside = np.isin(letters, ["b", "e", "g"]).astype(int)
    table = pd.DataFrame({"letter": letters, "x": rng.normal(size=800)})
    rules = cl.describe_clusters(cl.prepare(table), inside)
    (condition,) = rules.rules[1].conditions
    assert condition.levels == ("b", "e", "g")
    assert rules.right == 1
    assert rules.texts[1] == (
        "letter is b, e or g: 100% of them are in cluster 1, which has 100% of its "
        "rows there."
    )


def test_figures_are_those_of_rows_that_did_not_search():
    """Which cannot be seen from outside, unless these rows alone have a wrong label."""
    table, inside = grid(1000)
    ds = cl.prepare(table)
    from clusterlens.compute.assigning.rules import TEST, _parts

    judging = _parts(inside, 0) == TEST
    rng = np.random.default_rng(0)
    flipped = inside.copy()
    chosen = np.flatnonzero(judging & (inside == 1))
    swapped = np.flatnonzero(judging & (inside == 0))
    n = len(chosen) // 2
    flipped[rng.choice(chosen, n, replace=False)] = 0
    flipped[rng.choice(swapped, n, replace=False)] = 1
    right, wrong = (cl.describe_clusters(ds, one).rules[1] for one in (inside, flipped))
    assert right.conditions == wrong.conditions or right.text == wrong.text
    assert wrong.recall == pytest.approx(right.recall / 2, abs=0.05)


def test_figures_follow_their_definitions(hostile):
    from clusterlens.compute.assigning.rules import TEST, _parts

    ds, group, rules = hostile
    held_out = _parts(group, 0) == TEST
    codes = ds.encoded.values[held_out]
    names = [column.name for column in ds.encoded.columns]

    def meets(conditions):
        met = np.ones(held_out.sum(), bool)
        for condition in conditions:
            x = codes[:, names.index(condition.source.name)]
            if condition.codes:
                met &= np.isin(x, condition.codes)
            else:
                met &= (x > condition.low) & (x <= condition.high)
        return met

    for k, rule in enumerate(rules.rules):
        met, inside = meets(rule.conditions), group[held_out] == k
        assert rule.precision == inside[met].mean()
        assert rule.recall == met[inside].mean()
        assert rule.lift == pytest.approx(rule.precision / inside.mean())
        for i, (precision, recall) in enumerate(rule.without):
            others = meets(rule.conditions[:i] + rule.conditions[i + 1 :])
            assert precision == inside[others].mean()
            assert recall == others[inside].mean()
            assert recall >= rule.recall


def test_bounds_have_two_digits_unless_the_values_are_closer_together():
    rng = np.random.default_rng(0)
    half = np.repeat([0, 1], 300)
    table = pd.DataFrame(
        {
            "plain": 12345.678 + half * 40000 + rng.normal(size=600) * 100,
            "year": 1990 + half * 20 + rng.integers(15, size=600),
        }
    )
    for name, digits in (("plain", 2), ("year", 4)):
        ds = cl.prepare(table[[name]])
        frame = cl.describe_clusters(ds, half).conditions()
        bounds = frame[["above", "at_most"]].to_numpy(float).ravel()
        for bound in bounds[np.isfinite(bounds)]:
            assert bound == float(f"{bound:.{digits}g}")


def test_predict_is_the_first_good_rule_by_precision(iris):
    ds, rules = iris
    good = sorted((r for r in rules.rules if r.is_good), key=lambda r: -r.precision)
    expected = np.full(len(ds.table), -1)
    for rule in reversed(good):
        met = np.ones(len(ds.table), bool)
        for c in rule.conditions:
            x = ds.table[c.source.name]
            met &= ((x > c.low) & (x <= c.high)).to_numpy()
        expected[met] = rule.cluster
    found = rules.predict(ds)
    np.testing.assert_array_equal(found.fillna(-1), expected)
    assert found.index.equals(ds.table.index)


def test_rules_are_right_for_nine_of_ten_held_out_flowers(iris):
    _, rules = iris
    assert rules.right >= 0.9
    assert rules.assigned.sum() == 45
    assert rules.right == np.trace(rules.assigned) / 45


def test_order_of_columns_and_other_columns_do_not_matter(iris):
    ds, rules = iris
    table = ds.table.iloc[:, ::-1].assign(more="=1+1")
    assert rules.predict(table).equals(rules.predict(ds.table))


def test_duckdb_gives_the_same_cluster_for_every_row(iris, hostile):
    ds, rules = iris
    assert by_duckdb(rules.to_sql(), ds.table) == as_list(rules.predict(ds))
    ds, _, rules = hostile
    name = 'ro"ws; --'
    found = by_duckdb(rules.to_sql(name), ds.table, name)
    assert found == as_list(rules.predict(ds))
    assert len(set(found)) > 2


@pytest.mark.parametrize("name", [" a", "a ", "\ta", "a\n", "\u00a0a ", " ", 'a" '])
def test_blanks_at_the_edges_of_a_name_are_part_of_a_quoted_name(name):
    for connect in (duckdb.connect, sqlite3.connect):
        quoted = identifier(name)
        with closing(connect(":memory:")) as engine:
            engine.execute(f"CREATE TABLE {quoted} (a INTEGER, {quoted} INTEGER)")
            engine.execute(f"INSERT INTO {quoted} VALUES (1, 2)")
            found = engine.execute(f"SELECT {quoted} FROM {quoted}")
            assert (found.description[0][0], found.fetchall()) == (name, [(2,)])


def test_a_query_names_the_columns_as_the_table_that_was_read():
    group = np.arange(200) % 2
    x = group * 5 + np.random.default_rng(0).normal(size=200)
    ds = cl.prepare(pd.DataFrame({" a ": x, "b": x[::-1]}))
    assert any("names of columns removed: ' a '." in note for note in ds.notes)
    rules = cl.describe_clusters(ds, group)
    found = by_duckdb(rules.to_sql(" rows "), ds.table, " rows ")
    assert found == as_list(rules.predict(ds))


def test_every_kind_of_column_is_in_sql_what_it_is_in_python():
    ds, group = hostile_dataset(200)
    for name in ds.roles:
        roles = {other: "ignore" for other in ds.roles if other != name}
        part = cl.prepare(ds, roles=roles)
        groups = group[np.isin(ds.row_ids, part.row_ids)]
        rules = cl.describe_clusters(part, groups, max_conditions=1)
        found = by_duckdb(rules.to_sql(), ds.table)
        assert found == as_list(rules.predict(ds)), name
        assert len(set(found)) > 1, name


def test_texts_as_labels_stay_texts_in_python_and_sql(iris):
    ds, _ = iris
    labels = np.array(["it's", '"b"', "=1"])[ds.labels_true]
    rules = cl.describe_clusters(ds, labels)
    found = rules.predict(ds)
    assert set(found.dropna()) == set(labels)
    assert by_duckdb(rules.to_sql(), ds.table) == as_list(found)


def test_a_missing_value_meets_no_rule_and_is_counted():
    rng = np.random.default_rng(0)
    inside = np.arange(400) % 2
    x = inside * 10 + rng.normal(size=400)
    x[rng.choice(400, 100, replace=False)] = np.nan
    table = pd.DataFrame({"x": x, "other": rng.normal(size=400)})
    rules = cl.describe_clusters(cl.prepare(table), inside)
    rule = rules.rules[1]
    assert 0.1 < rule.undecided < 0.4
    assert rule.recall == pytest.approx(1 - rule.undecided)
    assert "lacks a value for it in" in rule.sentence
    assert rules.predict(pd.DataFrame({"x": [np.nan]})).isna().all()


def test_a_level_that_was_not_there_before_is_missing_with_a_note():
    table = pd.DataFrame({"colour": list("abc") * 100, "x": np.arange(300) % 7})
    rules = cl.describe_clusters(cl.prepare(table), np.arange(300) % 3)
    found = rules.predict({"colour": ["a", "new"], "x": [1, 1]})
    assert found.isna().tolist() == [False, True]
    assert "'new'" in found.attrs["notes"][-1]


def test_a_column_that_is_not_there_is_named(iris):
    _, rules = iris
    with pytest.raises(cl.DataError, match="petal"):
        rules.predict({"sepal width": [1.0]})


def test_clusters_without_a_rule_say_so():
    rng = np.random.default_rng(0)
    ds = cl.prepare(pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc")))
    rules = cl.describe_clusters(ds, rng.integers(4, size=300))
    assert not rules.to_frame()["good"].any()
    assert all(text.startswith("No ") for text in rules.texts.values())
    assert rules.right == 0
    assert rules.predict(ds).isna().all()
    assert by_duckdb(rules.to_sql(), ds.table) == [None] * 300


def test_rules_of_wine_put_nine_of_ten_rows_right_that_they_were_not_made_of():
    ds = cl.prepare(cl.load_example("wine"))
    found = [
        cl.describe_clusters(ds, ds.labels_true, random_state=seed).right
        for seed in range(5)
    ]
    assert np.mean(found) >= 0.88


def test_noise_is_no_cluster_but_part_of_the_rest(iris):
    ds, _ = iris
    labels = np.where(ds.labels_true == 2, -1, ds.labels_true)
    rules = cl.describe_clusters(ds, labels)
    assert [rule.cluster for rule in rules.rules] == [0, 1]
    assert rules.rules[1].precision > 0.8
    assert rules.assigned.shape == (2, 3)
    assert rules.assigned.sum() == 30


def test_names_of_clusters_do_not_matter(iris):
    ds, rules = iris
    renamed = cl.describe_clusters(ds, ds.labels_true + 5)
    assert [r.text for r in renamed.rules] == [r.text for r in rules.rules]


def test_tiny_clusters_get_no_rule_instead_of_an_error():
    ds = cl.prepare({"x": [1.0, 2.0, 3.0, 4.0, 5.0]})
    rules = cl.describe_clusters(ds, [0, 0, 0, 0, 1])
    assert rules.texts[1] == "No rule for cluster 1 (1 row)."
    assert rules.conditions().shape == (len(rules.conditions()), 9)


def test_one_cluster_is_refused(iris):
    ds, _ = iris
    with pytest.raises(ValueError, match="labels has one cluster only"):
        cl.describe_clusters(ds, np.zeros(150, int))


def test_conditions_are_at_most_as_many_as_asked_for():
    table, group = hostile_table()
    ds = cl.prepare(table)
    group = group[ds.table.index.get_indexer(ds.row_ids)]
    rules = cl.describe_clusters(ds, group, max_conditions=1)
    assert (rules.to_frame()["n_conditions"] <= 1).all()


def test_numbers_near_the_largest_are_numbers_in_python_and_sql():
    group = np.arange(300) % 3
    noise = np.random.default_rng(0).normal(size=(300, 2))
    frame = pd.DataFrame(1e6 * (group[:, None] * [9, -9] + noise), columns=["x", "y"])
    ds, most = cl.prepare(frame), np.finfo(float).max
    rows = pd.DataFrame({"x": [1e308, -1e308, most, -most, np.inf, -np.inf, np.nan]})
    rows["y"] = -rows["x"]
    for tool in (cl.describe_clusters(ds, group), cl.typing_tool(ds, group)):
        found = as_list(tool.predict(rows))
        assert found == [2, 0, 2, 0, None, None, None]
        assert by_duckdb(tool.to_sql(), rows) == found


def test_rows_that_judge_rules_do_not_choose_them():
    """Which rules are good, and their order, stay if held-out rows are exchanged."""
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 3
    table = pd.DataFrame(rng.normal(size=(300, 3)) + 3 * np.eye(3)[labels])
    table = table.add_prefix("x")
    judging = np.flatnonzero(_parts(labels, 0) == TEST)
    exchanged = table.copy()
    exchanged.iloc[judging] = table.iloc[rng.permutation(judging)].to_numpy()
    rules, again = (
        cl.describe_clusters(cl.prepare(one), labels) for one in (table, exchanged)
    )
    assert again.right < rules.right
    assert [rule.is_good for rule in again.rules] == [True, True, True]
    assert again.predict(table).equals(rules.predict(table))
