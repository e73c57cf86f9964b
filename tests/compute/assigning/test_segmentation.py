"""Raw rows of another table: their clusters, and notes on missing values."""

import numpy as np
import pandas as pd
import pytest

import clusterlens as cl


def customers(n, seed=0):
    """Two kinds of customers with numbers, words, dates and gaps."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(2, size=n)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(300, size=n), "D")
    table = pd.DataFrame(
        {
            "id": [f"c{seed}-{i}" for i in range(n)],
            "age": 30 + 25 * kind + rng.normal(0, 3, n),
            "income": np.exp(rng.normal(8 + kind, 0.2)),
            "plan": np.where(rng.random(n) < 0.1 + 0.8 * kind, "gold", "basic"),
            "since": days,
            "children": rng.integers(4, size=n),
        }
    )
    table.loc[rng.random(n) < 0.05, "age"] = np.nan
    return table, kind


@pytest.fixture(scope="module")
def prepared():
    table, kind = customers(300)
    return cl.prepare(table, {"since": "numeric"}, transforms={"income": "log"}), kind


@pytest.fixture(scope="module")
def seg(prepared):
    return cl.Segmentation(*prepared, names=["young", "old"])


@pytest.fixture(scope="module")
def fresh():
    return customers(200, seed=1)


def test_new_rows_find_their_cluster_by_row_id(seg, fresh):
    table, kind = fresh
    assigned = seg.assign(table)
    assert list(assigned.columns) == [
        "cluster",
        "name",
        "margin",
        "nearest other",
        "nowhere",
    ]
    assert assigned.index.tolist() == table["id"].tolist()
    assert (assigned["cluster"] == kind).mean() > 0.97
    assert (assigned["name"] == np.array(["young", "old"])[assigned["cluster"]]).all()
    assert (assigned["nearest other"] == 1 - assigned["cluster"]).all()


def test_rows_of_the_table_keep_their_cluster(prepared, seg):
    dataset, labels = prepared
    assigned = seg.assign(dataset.table)
    assert (assigned["cluster"].to_numpy() == labels).mean() == seg.assigner.reproduced
    assert seg.assigner.reproduced > 0.99


def test_order_of_columns_and_rows_does_not_matter(seg, fresh):
    table, _ = fresh
    whole = seg.assign(table)
    mixed = seg.assign(table.iloc[::-1, ::-1])
    pd.testing.assert_frame_equal(mixed.loc[whole.index], whole)


def test_parts_of_a_table_get_the_answers_of_the_whole(seg, fresh):
    table, _ = fresh
    parts = [seg.assign(table.iloc[i : i + 37]) for i in range(0, 200, 37)]
    pd.testing.assert_frame_equal(pd.concat(parts), seg.assign(table))


def test_missing_columns_are_all_named(seg, fresh):
    table, _ = fresh
    with pytest.raises(cl.DataError, match=r"no columns 'age', 'plan'.*'income'"):
        seg.assign(table.drop(columns=["age", "plan"]))


def test_additional_columns_are_listed_and_not_used(seg, fresh):
    table, _ = fresh
    assigned = seg.assign(table.assign(extra=1, other="x"))
    assert "Columns not used: 'extra', 'other'." in assigned.attrs["notes"]
    assert assigned.equals(seg.assign(table))


def test_gaps_and_unknown_levels_go_by_the_rules_with_notes(seg, fresh):
    table, _ = fresh
    changed = table.assign(plan="platinum", income=np.nan)
    assigned = seg.assign(changed)
    assert assigned["cluster"].notna().all()
    notes = " ".join(assigned.attrs["notes"])
    assert "200 cells with an unknown level, the first 'platinum'" in notes
    assert "'income': 200 missing values (100.0% of the rows) filled" in notes


def test_rows_without_any_value_get_no_answer(seg, fresh):
    table = fresh[0].copy()
    table.loc[[3, 5], ["age", "income", "plan", "since", "children"]] = np.nan
    assigned = seg.assign(table)
    assert np.flatnonzero(assigned["cluster"].isna()).tolist() == [3, 5]
    assert assigned.iloc[3].isna().all()
    assert "Row c1-3 has no value" in " ".join(assigned.attrs["notes"])
    assert seg.assign(table.iloc[[3, 5]])["cluster"].isna().all()


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("plan", 3.5, "'plan' had words"),
        ("since", 17.0, "'since' had dates"),
        ("age", "old", "'age' has 'old'"),
        ("income", -1.0, "above 0"),
    ],
)
def test_other_kinds_of_values_are_refused(seg, fresh, column, values, message):
    with pytest.raises(cl.DataError, match=message):
        seg.assign(fresh[0].assign(**{column: values}))


def test_far_rows_belong_nowhere_and_usual_ones_rarely(seg, fresh):
    table, _ = fresh
    assert seg.assign(table)["nowhere"].mean() < 0.15
    assert seg.assign(table.assign(age=400.0))["nowhere"].all()
    assert seg.assign(table, alpha=0.3)["nowhere"].mean() > 0.15


def test_details_order_rows_of_one_margin_and_say_how_odd_a_row_is(seg, fresh):
    table, _ = fresh
    plain, assigned = seg.assign(table), seg.assign(table, details=True)
    pd.testing.assert_frame_equal(assigned[plain.columns], plain)
    assert assigned.columns[5:].tolist() == ["p", "clearness"]
    is_tested = assigned["nowhere"].notna() & (assigned["cluster"] >= 0)
    assert ((assigned["p"] <= 0.05) == assigned["nowhere"])[is_tested].all()
    ordered = assigned.sort_values("clearness")
    assert (ordered["margin"].diff().dropna() >= 0).all()
    assert assigned["p"].nunique() > assigned["margin"].nunique()


def test_nowhere_is_not_told_of_small_clusters_and_always_of_noise(prepared):
    dataset, _ = prepared
    labels = np.repeat([-1, 0, 1], [20, 270, 10])
    kept = cl.Segmentation(dataset, labels)
    assigned = kept.assign(dataset.table)
    assert assigned.loc[assigned["cluster"] == 1, "nowhere"].isna().all()
    assert assigned.loc[assigned["cluster"] == -1, "nowhere"].all()
    assert (assigned.loc[assigned["cluster"] == -1, "name"] == "noise").all()
    assert kept.to_frame()["nowhere can be told"].tolist() == [True, True, False]


def test_texts_are_names_of_clusters(prepared):
    dataset, kind = prepared
    words = np.array(["rich", "poor"])[kind]
    kept = cl.Segmentation(dataset, words)
    assert kept.names == {0: "poor", 1: "rich"}
    assert cl.Segmentation(dataset, words, {"rich": "well off"}).names[1] == "well off"
    assert (kept.assign(dataset.table)["name"].to_numpy() == words).mean() > 0.99


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA])
def test_a_gap_between_texts_is_noise_and_moves_no_name(prepared, nothing):
    dataset, kind = prepared
    words = [nothing, *np.array(["a", "z"])[kind[1:]].tolist()]
    for labels in (words, pd.Series(words)):
        names = cl.Segmentation(dataset, labels).names
        assert names == {-1: "noise", 0: "a", 1: "z"}


def test_names_that_do_not_fit_are_refused(prepared):
    dataset, kind = prepared
    for names, message in (
        (["one"], "1 entry for 2 labels"),
        ({7: "x"}, "7, which is no label"),
        ({0: ""}, "give a text"),
    ):
        with pytest.raises(ValueError, match=message):
            cl.Segmentation(dataset, kind, names)


def test_the_clusters_are_a_table(seg, prepared):
    frame = seg.to_frame()
    assert frame["rows"].tolist() == np.bincount(prepared[1]).tolist()
    assert frame["share"].sum() == pytest.approx(1)
    assert repr(seg).startswith("Segmentation('table', 2 clusters of 300 rows")


def test_every_copy_of_a_row_counts_as_a_row_of_its_cluster():
    table = pd.DataFrame({"a": np.tile([1.0, 2.0, 9.0, 10.0], 5)})
    once = cl.prepare(table, copies="once")
    assert cl.Segmentation(once, [0, 0, 1, 1]).to_frame()["rows"].tolist() == [10, 10]
