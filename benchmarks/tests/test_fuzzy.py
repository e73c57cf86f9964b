"""The benchmark of fuzzy indices on pairs of few samples."""

import pytest

import clusterlens as cl
from benchmarks.fuzzy import INDICES, MODELS, compare_indices
from tests.fuzzy_definitions import concordance, soft


def test_the_benchmark_compares_all_indices():
    U, V = cl.FuzzyPartition(soft(9, 3, 0)), cl.FuzzyPartition(soft(9, 3, 1))
    table = compare_indices([(U, V), (U, U)], precision=0.1)
    assert list(table.columns) == [
        (name, value) for name in INDICES for value in ("observed", *MODELS)
    ]
    assert table["L2", "observed"][0] == pytest.approx(
        concordance(U.memberships, V.memberships, 2)
    )
    assert table["brouwer", "perm"][0] == cl.adjusted_brouwer(U, V).value
    assert (table.loc[1, ["L1", "L2", "max"]] == 1).all()
