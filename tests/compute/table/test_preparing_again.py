"""Another table prepared by the rules of one, alone or with its rows."""

import numpy as np
import pandas as pd
import pytest

import clusterlens as cl


def table(n=20, seed=0, first=0, **more):
    rng = np.random.default_rng(seed)
    kinds = np.array(["low", "medium", "high"])[np.arange(n) % 3]
    ids = [f"r{first + i}" for i in range(n)]
    return pd.DataFrame({"id": ids, "kind": kinds, "x": rng.gamma(2, size=n), **more})


RULES = {"scale": "robust", "transforms": {"x": "log"}, "weights": {"kind": 2.0}}


@pytest.fixture(scope="module")
def old():
    return cl.prepare(table(), {"kind": "categorical"}, **RULES)


def test_columns_roles_and_rules_are_those_of_the_older_table(old):
    later = table(9, 1, more=range(9))[["x", "more", "kind", "id"]]
    found = cl.prepare_again(old, later)
    assert list(found.table) == ["id", "kind", "x"]
    assert (found.feature_names, found.roles) == (old.feature_names, old.roles)
    by_hand = cl.prepare(table(9, 1), {"kind": "categorical"}, **RULES)
    np.testing.assert_array_equal(found.X, by_hand.X)


def test_a_row_that_returns_counts_once_as_it_is_now(old):
    later = table(9, 1, first=15)
    found = cl.prepare_again(old, later, both=True)
    assert list(found.row_ids) == [f"r{i}" for i in range(24)]
    assert found.table["x"].tolist() == [*table()["x"][:15], *later["x"]]
    assert found.notes[0] == "5 rows return by id and count once, as now."


def test_without_ids_all_rows_of_both_are_there(old):
    found = cl.prepare_again(old, table(9).drop(columns="id"), both=True)
    assert len(found.X) == 29


def test_lacking_columns_and_other_types_are_refused(old):
    with pytest.raises(cl.DataError, match="'x'"):
        cl.prepare_again(old, table().drop(columns="x"))
    words = table().assign(x=["much"] * 20)
    with pytest.raises(cl.DataError, match="'x'"):
        cl.prepare_again(old, words)
