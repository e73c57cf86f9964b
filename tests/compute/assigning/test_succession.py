"""A later table: clusters that stay keep their names, rows that return are followed."""

import numpy as np
import pandas as pd
import pytest

import clusterlens as cl


def table(*groups, seed=0):
    """Rows around the given centres, by id, and the group of each."""
    rng = np.random.default_rng(seed)
    sizes = [size for _, size in groups]
    kinds = np.repeat(np.arange(len(groups)), sizes)
    centres = np.array([centre for centre, _ in groups], float)
    X = centres[kinds] + rng.normal(size=(len(kinds), 2))
    ids = [f"r{i}" for i in range(len(kinds))]
    return pd.DataFrame({"id": ids, "a": X[:, 0], "b": X[:, 1]}), kinds


A, B, C, D = (0, 0), (20, 0), (0, 20), (40, 40)


@pytest.fixture(scope="module")
def old():
    rows, kinds = table((A, 80), (B, 60), (C, 40))
    return cl.Segmentation(cl.prepare(rows), kinds, ["plain", "rich", "young"])


@pytest.fixture(scope="module")
def new(old):
    """A and B are there under other labels, C is gone, D is new."""
    rows, kinds = table((D, 50), (B, 70), (A, 60), seed=1)
    noise = np.append(kinds, -1)
    rows.loc[len(rows)] = ["far", 500.0, -500.0]
    return cl.refit(old, cl.prepare(rows), noise), noise


def test_clusters_that_are_still_there_keep_label_and_name(new):
    found, labels = new
    assert (found.labels[labels == 2] == 0).all()
    assert (found.labels[labels == 1] == 1).all()
    assert (found.labels[labels == 0] == 3).all()
    assert found.labels[-1] == -1
    assert found.segmentation.names == {
        0: "plain",
        1: "rich",
        3: "cluster 3",
        -1: "noise",
    }


def test_what_is_gone_and_what_is_new_is_said(new):
    matches = new[0].matches.set_index("name")
    assert matches["state"].to_dict() == {
        "plain": "stays",
        "rich": "stays",
        "young": "gone",
        "cluster 3": "new",
    }
    assert (matches.loc[["plain", "rich"], "likeness"] > 0.8).all()
    assert (matches.loc[["young", "cluster 3"], "likeness"] == 0).all()
    assert matches.loc["plain", ["then", "now"]].tolist() == [0, 2]
    assert matches[["then", "now"]].isna().sum().tolist() == [1, 1]


def test_a_cluster_that_fell_in_halves_is_dissolved(old):
    rows, kinds = table((A, 80), (B, 60), (C, 40))
    in_three = np.where(kinds == 0, 10 + np.arange(len(kinds)) % 3, kinds)
    states = cl.refit(old, cl.prepare(rows), in_three).matches["state"]
    assert states.value_counts().to_dict() == {"stays": 2, "gone": 1, "new": 3}


def test_the_same_rows_refitted_are_the_same_segmentation(old):
    rows, kinds = table((A, 80), (B, 60), (C, 40))
    found = cl.refit(old, cl.prepare(rows), 2 - kinds)
    assert (found.labels == kinds).all()
    assert found.segmentation.names == old.names
    # Rows that belong nowhere in the older segmentation, at its rate, do not count.
    assert (found.matches["likeness"] > 0.85).all()


def test_rows_that_return_are_counted_by_both_clusters():
    rng = np.random.default_rng(3)
    then = pd.Series(rng.integers(-1, 4, 200), [f"i{k}" for k in range(200)])
    now = pd.Series(rng.integers(-1, 5, 200), [f"i{k}" for k in range(50, 250)])
    found = cl.migration(then, now.sample(frac=1, random_state=0))
    assert (found.n_returned, found.n_gone, found.n_new) == (150, 50, 50)
    for a in range(-1, 5):
        for b in range(-1, 5):
            both = sum(
                then[i] == a and now[i] == b for i in then.index.intersection(now.index)
            )
            assert found.counts.loc[a, b] == both
    assert found.n_stayed == sum(then[i] == now[i] for i in now.index[:150])


def test_answers_of_a_segmentation_can_be_followed(old):
    rows, kinds = table((A, 80), (B, 60), (C, 40))
    moved = rows.copy()
    moved.loc[:9, ["a", "b"]] = [20.0, 0.0]  # ten of A are like B now
    moved.loc[10, ["a", "b"]] = [900.0, 900.0]
    before = pd.Series(kinds, rows["id"])
    found = cl.migration(before, old.assign(moved))
    assert found.counts.loc[0, 1] == 10
    assert found.counts.loc[0, -1] >= 1
    assert found.n_returned == 180
    assert "180 rows returned" in repr(found)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([0, 1], "give a Series"),
        (pd.Series([0, 1], ["a", "a"]), "'a' twice"),
        (pd.Series([0.5, 1]), "whole numbers"),
        (pd.DataFrame({"x": [1]}), "give a Series"),
    ],
)
def test_what_cannot_be_followed_is_refused(given, message):
    with pytest.raises(cl.DataError, match=message):
        cl.migration(given, pd.Series([0]))
    with pytest.raises(cl.DataError, match=message):
        cl.migration(pd.Series([0]), given)


def test_a_table_without_the_columns_is_refused(old):
    other = cl.prepare(pd.DataFrame({"a": [0.0, 1.0, 2.0]}))
    with pytest.raises(cl.DataError, match="'b'"):
        cl.refit(old, other, [0, 0, 1])
