"""The make-up of a pool: families and distinct partitions."""

import pytest

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ensemble.make_up import pool_make_up


def test_the_make_up_counts_families_and_distinct_partitions():
    labels = [[0, 0, 1], [5, 5, 2], [0, 1, 1], [0, 0, 1], [0, 1, 2]]
    ensemble = Ensemble(labels, families=["b", "a", "a", "a", "c"])
    make_up = pool_make_up(ensemble)
    assert list(make_up.families.items()) == [("a", 3), ("b", 1), ("c", 1)]
    assert (make_up.n_partitions, make_up.n_distinct) == (5, 3)
    assert make_up.distinct == {"a": 2, "b": 1, "c": 1}
    assert make_up.text == "5 models: 3 a, 1 b, 1 c · 3 distinct"
    frame = make_up.to_frame()
    assert frame.index.tolist() == ["a", "b", "c"]
    assert frame["models"].tolist() == [3, 1, 1]
    assert frame["share"].sum() == pytest.approx(1)
