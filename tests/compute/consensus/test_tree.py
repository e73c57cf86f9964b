import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.consensus._one_hot import one_hot_rows
from clusterlens.compute.consensus.criteria import density, one_hot_loss
from clusterlens.compute.consensus.tree import consensus_tree
from clusterlens.compute.ensemble.ensemble import Ensemble
from tests.definitions import planted

label_matrices = st.tuples(st.integers(1, 6), st.integers(1, 30)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-1, 4))
)


def test_results_do_not_depend_on_the_number_of_threads():
    ensemble = Ensemble(planted(3000, 10, 5, keep=0.4)[0])
    one, two = (consensus_tree(ensemble, 9, n_jobs=j) for j in (1, 2))
    assert_array_equal(one.order, two.order)


def test_more_than_255_clusters():
    labels = np.arange(1000) // 3
    assert consensus_tree(Ensemble([labels]), 300).cut(300).max() == 299


@settings(max_examples=50)
@given(label_matrices, st.data())
def test_every_cut_is_contiguous_in_the_order_and_refines_the_cut_before(labels, data):
    ensemble = Ensemble(labels)
    limit = data.draw(st.integers(1, ensemble.n_samples))
    tree = consensus_tree(ensemble, limit, n_trials=2)
    assert tree.n_leaves == min(limit, one_hot_rows(ensemble)[0].n_rows)
    assert_array_equal(np.sort(tree.order), np.arange(ensemble.n_samples))
    coarser = np.zeros(ensemble.n_samples, np.int64)
    for k in range(1, tree.n_leaves + 1):
        cut = tree.cut(k)
        assert list(dict.fromkeys(cut.tolist())) == list(range(k))
        assert np.count_nonzero(np.diff(cut[tree.order])) == k - 1
        pairs = np.unique(np.stack([cut, coarser]), axis=1)
        assert pairs.shape[1] == k
        assert_allclose(tree.losses[k - 1], one_hot_loss(ensemble, cut), atol=1e-9)
        coarser = cut
    assert_array_equal(tree.leaves[tree.order], np.sort(tree.leaves))
    assert adjusted_rand_score(tree.cut(tree.n_leaves), tree.leaves) == 1.0


def test_equal_samples_are_neighbours_in_the_order():
    labels, _ = planted(40, 2, 3, seed=4)
    ensemble = Ensemble(np.tile(labels, 3))
    group = one_hot_rows(ensemble)[1][consensus_tree(ensemble, 3).order]
    runs = 1 + np.count_nonzero(np.diff(group))
    assert runs == group.max() + 1


def test_tree_of_fewer_leaves_is_the_top_of_a_larger_one():
    ensemble = Ensemble(planted(600, 6, 5, keep=0.4)[0])
    small, large = consensus_tree(ensemble, 4), consensus_tree(ensemble, 12)
    for k in range(1, 5):
        assert adjusted_rand_score(small.cut(k), large.cut(k)) == 1.0


def test_tree_stops_when_no_scatter_is_left():
    tree = consensus_tree(Ensemble([[0, 0, 1, 1, 2, 2]] * 3), 6)
    assert tree.n_leaves == 3
    assert tree.losses[-1] == 0.0
    with pytest.raises(ValueError, match="n_clusters is 4; give a value from 1 to 3"):
        tree.cut(4)


def test_neighbouring_leaves_share_a_coarse_cluster():
    fine = np.random.default_rng(0).permutation(np.repeat(np.arange(12), 10))
    # A chain: each partition joins runs of the twelve groups, at shifted borders.
    ensemble = Ensemble([(fine + shift) // 3 for shift in range(3)])
    tree = consensus_tree(ensemble, 12, n_trials=10)
    chain = fine[tree.order][::10]
    assert np.abs(np.diff(chain)).mean() < 1.8


def test_split_by_size_halves_the_largest_cluster():
    labels, _ = planted(900, 8, 9, seed=2)
    tree = consensus_tree(Ensemble(labels), 5, split="size")
    for k in range(2, 6):
        before, after = tree.cut(k - 1), tree.cut(k)
        pairs = np.unique(np.stack([before, after]), axis=1)
        divided = np.bincount(pairs[0]).argmax()
        assert np.bincount(before)[divided] == np.bincount(before).max()


def test_split_by_density_gains_most_in_the_first_step():
    labels, _ = planted(200, 5, 6, keep=0.5, seed=3)
    ensemble = Ensemble(labels)
    tree = consensus_tree(ensemble, 4, split="density")
    gain = density(ensemble, tree.cut(3)) - density(ensemble, tree.cut(2))
    for split in ("scatter", "size"):
        other = consensus_tree(ensemble, 4, split=split)
        assert adjusted_rand_score(tree.cut(2), other.cut(2)) == 1.0
        rise = density(ensemble, other.cut(3)) - density(ensemble, other.cut(2))
        assert gain >= rise - 1e-12


def test_large_clusters_are_refined_on_all_rows(monkeypatch):
    labels, _ = planted(3000, 8, 4, seed=3)
    whole = consensus_tree(Ensemble(labels), 4)
    monkeypatch.setattr("clusterlens.compute.consensus.tree.TRIAL_ROWS", 200)
    sampled = consensus_tree(Ensemble(labels), 4)
    assert_allclose(sampled.losses[-1], whole.losses[-1], rtol=1e-3)


def test_one_sample():
    assert consensus_tree(Ensemble([[5]]), 1).order.tolist() == [0]


def test_progress_counts_splits():
    seen = []
    ensemble = Ensemble(planted(200, 4, 4)[0])
    consensus_tree(ensemble, 4, progress=lambda *step: seen.append(step))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_cancel_is_heard():
    ensemble = Ensemble(planted(200, 4, 4)[0])
    with pytest.raises(Cancelled):
        consensus_tree(ensemble, 3, cancel=lambda: True)


def test_bad_tree_arguments_are_named():
    with pytest.raises(ValueError, match="max_clusters is 9"):
        consensus_tree(Ensemble([[0, 1]]), 9)
    with pytest.raises(ValueError, match="split is 'loss'"):
        consensus_tree(Ensemble([[0, 1]]), 2, split="loss")


def random_tree(seed, n_samples=60, max_clusters=9):
    rng = np.random.default_rng(seed)
    return consensus_tree(Ensemble(rng.integers(4, size=(5, n_samples))), max_clusters)


@pytest.mark.parametrize("seed", range(4))
def test_icicle_rows_are_the_cuts(seed):
    tree = random_tree(seed)
    frame = tree.to_frame()
    for k in range(1, tree.n_leaves + 1):
        row = frame[(frame["first_k"] <= k) & (k <= frame["last_k"])]
        row = row.sort_values("start")
        ends = (row["start"] + row["size"]).tolist()
        assert row["start"].tolist() == [0, *ends[:-1]]
        labels = tree.cut(k)[tree.order]
        runs = [set(labels[a:b]) for a, b in zip(row["start"], ends, strict=True)]
        assert sorted(runs, key=min) == [{label} for label in range(k)]


@pytest.mark.parametrize("seed", range(4))
def test_the_larger_half_keeps_the_colour_of_its_parent(seed):
    frame = random_tree(seed).to_frame()
    for parent, halves in frame.iloc[1:].groupby("parent"):
        kept = halves[halves["colour"] == frame["colour"][parent]]
        assert len(kept) == 1
        assert kept["size"].iloc[0] == halves["size"].max()
        other = halves.drop(kept.index)
        assert other["colour"].tolist() == other.index.tolist()


def test_a_tree_of_one_leaf_has_one_row():
    frame = consensus_tree(Ensemble([[0, 0, 0]]), 3).to_frame()
    assert frame.to_dict("records") == [
        {"parent": -1, "first_k": 1, "last_k": 1, "start": 0, "size": 3, "colour": 0}
    ]
