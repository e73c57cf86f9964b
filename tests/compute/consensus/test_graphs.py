import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute.consensus._graphs import (
    cspa,
    cspa_spectral,
    import_metis,
    mcla,
    metis_parts,
)
from clusterlens.compute.consensus._one_hot import one_hot_rows
from clusterlens.compute.ensemble.ensemble import Ensemble


def planted(sizes, p, keep=0.8, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    kept = rng.random((p, len(truth))) < keep
    noisy = rng.integers(0, len(sizes), kept.shape)
    return np.where(kept, truth, noisy), truth


def test_mcla_finds_planted_clusters_of_unequal_sizes():
    pytest.importorskip("pymetis")
    labels, truth = planted([100, 40, 20], 15)
    found = mcla(*one_hot_rows(Ensemble(labels)), 3, 0)
    assert adjusted_rand_score(truth, found) > 0.95


def test_each_cluster_is_its_own_meta_cluster_when_there_are_few():
    labels = np.array([[0, 0, 1, 1], [0, 0, 0, 1]])
    # Columns 0 and 1, 2 and 3: of equal associations the first wins.
    found = mcla(*one_hot_rows(Ensemble(labels)), 4, 0)
    assert_array_equal(found, [0, 0, 1, 1])


def test_cspa_balances_sizes_and_its_spectral_relative_does_not():
    pytest.importorskip("pymetis")
    labels, truth = planted([90, 20, 10], 20, keep=0.85)
    rows, group = one_hot_rows(Ensemble(labels))
    assert np.bincount(cspa(rows, group, 3, 0)).max() <= 45
    spectral = cspa_spectral(rows, group, 3, 0)
    assert adjusted_rand_score(truth, spectral) > 0.9


def test_cspa_finds_planted_clusters_of_equal_sizes():
    pytest.importorskip("pymetis")
    labels, truth = planted([40] * 4, 12)
    found = cspa(*one_hot_rows(Ensemble(labels)), 4, 0)
    assert adjusted_rand_score(truth, found) > 0.95


def test_parts_do_not_change_with_equal_seeds():
    pytest.importorskip("pymetis")
    labels, _ = planted([60, 60, 60], 6, keep=0.3)
    rows, group = one_hot_rows(Ensemble(labels))
    for partition in (cspa, mcla, cspa_spectral):
        first, again = (partition(rows, group, 4, 3) for _ in range(2))
        assert_array_equal(first, again)


def test_the_scheme_with_the_smaller_cut_is_kept():
    pytest.importorskip("pymetis")
    rng = np.random.default_rng(0)
    weights = np.triu(rng.integers(0, 50, (60, 60)), 1)
    graph = csr_array(weights + weights.T)

    def cut(recursive):
        parts = metis_parts(graph, 8, 0, recursive=recursive)
        return weights[parts[:, None] != parts].sum()

    assert cut((True, False)) == min(cut((True,)), cut((False,)))


def test_vertices_without_edges_fill_the_smallest_parts():
    pytest.importorskip("pymetis")
    path = np.zeros((12, 12), np.int64)
    for i in range(5):
        path[i, i + 1] = path[i + 1, i] = 1
    parts = metis_parts(csr_array(path), 2, 0)
    assert_array_equal(np.bincount(parts), [6, 6])


def test_missing_metis_is_named_with_the_way_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(ImportError, match=r"'.\[metis\]'.*cspa-spectral"):
        import_metis()
