import numpy as np
import pytest
from scipy.spatial.distance import cdist

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.indices.borders import border_ratios


def naive_ratio(a, b, k=5):
    """Return the ratio of two classes of different points, by its definition."""
    ratios = []
    for own, other in ((a, b), (b, a)):
        between = cdist(own, other)
        for i in np.unique(between.argmin(axis=0)):
            neighbours = np.sort(cdist(own[[i]], own)[0])
            ratios.append(between[i].min() / neighbours[min(k, len(own) - 1)])
    return np.median(ratios)


def three_classes():
    X = np.random.default_rng(0).normal(size=(40, 3))
    labels = np.array(list("abc"))[np.r_[[2] * 4, np.arange(36) % 3]]
    return X + 2.0 * (labels == "b")[:, None], labels


@pytest.mark.parametrize("n_neighbors", [1, 5, 30])
def test_ratios_are_those_of_the_definition(n_neighbors):
    X, labels = three_classes()
    found = border_ratios(X, labels, n_neighbors=n_neighbors)
    assert found[["class_a", "class_b"]].to_numpy().tolist() == [
        ["a", "b"],
        ["a", "c"],
        ["b", "c"],
    ]
    for row in found.itertuples():
        a, b = (X[labels == name] for name in (row.class_a, row.class_b))
        assert row.ratio == pytest.approx(naive_ratio(a, b, n_neighbors))


def test_order_scale_names_and_repeated_rows_do_not_matter():
    X, labels = three_classes()
    X = X.round(1)  # with ties
    expected = border_ratios(X, labels)
    order = np.random.default_rng(1).permutation(np.r_[np.arange(40), np.arange(40)])
    assert border_ratios(X[order], labels[order]).equals(expected)
    for factor in (2.0**-60, 2.0**60):
        assert border_ratios(X * factor, labels).equals(expected)
    codes = np.searchsorted(["a", "b", "c"], labels)
    assert border_ratios(X, codes)["ratio"].equals(expected["ratio"])
    gappy = np.append(labels.astype(object), [None])
    assert border_ratios(np.r_[X, X[:1] + 9], gappy).equals(expected)


@pytest.mark.parametrize("n_features", [1, 2, 20])
def test_one_group_cut_in_two_has_no_gap_and_two_groups_have_one(n_features):
    for seed in range(5):
        X = np.random.default_rng(seed).uniform(size=(200, n_features))
        right = X[:, 0] > 0.5
        assert border_ratios(X, right.astype(int))["ratio"][0] < 1
        X[:, 0] += 3 * right
        assert border_ratios(X, right.astype(int))["ratio"][0] > 1


def test_whole_numbers_cut_in_two_have_no_gap():
    X = np.random.default_rng(0).integers(0, 20, size=(300, 1))
    assert border_ratios(X, (X[:, 0] > 9).astype(int))["ratio"][0] < 1


def test_classes_in_one_point_have_no_ratio_and_equal_classes_have_zero():
    assert np.isnan(border_ratios([[0.0], [0.0], [1.0]], [0, 0, 1])["ratio"][0])
    assert border_ratios([[0.0], [1.0], [0.0], [1.0]], [0, 0, 1, 1])["ratio"][0] == 0


def test_a_sample_has_members_of_every_class():
    X, labels = three_classes()
    drawn = border_ratios(X, labels, sample_size=6)
    assert drawn["ratio"].notna().all()
    assert drawn.equals(border_ratios(X, labels, sample_size=6, random_state=0))
    assert border_ratios(X, labels, sample_size=40).equals(border_ratios(X, labels))


def test_bad_input_is_refused_and_cancel_is_heeded():
    with pytest.raises(ValueError, match="at least two classes"):
        border_ratios([[0.0], [1.0]], [1, 1])
    with pytest.raises(ValueError, match="sample_size"):
        border_ratios([[0.0], [1.0]], [0, 1], sample_size=0)
    with pytest.raises(Cancelled):
        border_ratios([[0.0], [1.0]], [0, 1], cancel=lambda: True)
