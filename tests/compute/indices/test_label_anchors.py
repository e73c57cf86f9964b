"""Anchors of the label checks equal the results of the library."""

import pytest

from clusterlens.compute.indices.class_match import label_match
from clusterlens.compute.indices.indices import internal_index
from clusterlens.compute.indices.label_anchors import LABEL_ANCHORS
from clusterlens.compute.table.dataset import prepare
from clusterlens.compute.table.examples import load_example


@pytest.mark.parametrize("anchor", LABEL_ANCHORS, ids=lambda anchor: anchor.example)
def test_an_anchor_is_what_the_library_gives(anchor):
    ds = prepare(load_example(anchor.example))
    check = label_match(ds.X, ds.labels_true, n_permutations=200)
    error = 1e-3 + 4 * check.standard_error
    assert check.score == pytest.approx(anchor.score, abs=error)
    dbcv = internal_index("DBCV", ds.X, ds.labels_true)
    assert dbcv == pytest.approx(anchor.dbcv, abs=1e-3)
