"""Properties of the answers, whatever the partition."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_moons

from clusterlens.compute.assigning.fitting import fit_assigner


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.1, random_state=0)


@pytest.fixture(scope="module")
def assigner(moons):
    return fit_assigner(*moons)


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(1).uniform(-2, 3, size=(500, 2))


def test_batches_equal_the_whole(assigner, rows):
    whole = assigner.assign(rows)
    parts = [assigner.assign(rows[i : i + 7]) for i in range(0, len(rows), 7)]
    for entry, pieces in zip(whole, zip(*parts, strict=True), strict=True):
        np.testing.assert_array_equal(entry, np.concatenate(pieces))


def test_a_row_gets_its_answer_wherever_it_stands(assigner, rows):
    order = np.random.default_rng(2).permutation(len(rows))
    for entry, moved in zip(
        assigner.assign(rows), assigner.assign(rows[order]), strict=True
    ):
        np.testing.assert_array_equal(entry[order], moved)


def test_names_of_clusters_do_not_matter(moons, rows, assigner):
    X, labels = moons
    renamed = fit_assigner(X, np.array([8, 3])[labels]).assign(rows)
    plain = assigner.assign(rows)
    np.testing.assert_array_equal(renamed.cluster, np.array([8, 3])[plain.cluster])
    np.testing.assert_allclose(renamed.margin, plain.margin)
    np.testing.assert_allclose(renamed.p, plain.p)


def test_answers_are_within_their_ranges(assigner, rows):
    result = assigner.assign(rows)
    assert set(result.cluster) <= {0, 1}
    assert (result.other != result.cluster).all()
    for entry in (result.share, result.margin, result.p):
        assert (entry >= 0).all()
        assert (entry <= 1).all()


def test_oddness_is_the_mean_distance_to_five_of_the_cluster(moons, assigner, rows):
    X, labels = moons
    result = assigner.assign(rows)
    for c in (0, 1):
        mine = rows[result.cluster == c]
        distances = np.linalg.norm(mine[:, None] - X[labels == c], axis=2)
        odd = np.sort(distances, axis=1)[:, :5].mean(axis=1)
        held_out = assigner.held_out[c]
        at_least = (held_out >= odd[:, None] - 1e-12).sum(axis=1)
        p = (1 + at_least) / (1 + len(held_out))
        np.testing.assert_allclose(result.p[result.cluster == c], p)


def test_far_rows_are_the_oddest(assigner):
    p = assigner.assign(np.array([[50.0, 50.0], [-40.0, 0.0]])).p
    assert (p <= 1 / 100).all()


def test_the_next_cluster_of_a_clear_row_has_the_nearest_centre():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 50)
    angle = rng.uniform(0, np.pi, 150)
    X = np.c_[np.cos(angle) + 20 * labels, np.sin(angle)]
    middle = fit_assigner(X, labels).assign(np.array([[0.0, 1.0], [40.0, 1.0]]))
    np.testing.assert_array_equal(middle.cluster, [0, 2])
    np.testing.assert_array_equal(middle.other, [1, 1])


def test_small_clusters_cannot_be_judged():
    X = np.r_[np.random.default_rng(0).normal(size=(60, 2)), np.full((18, 2), 30.0)]
    X[60:] += np.random.default_rng(1).normal(size=(18, 2))
    assigner = fit_assigner(X, np.repeat([0, 1], [60, 18]))
    np.testing.assert_array_equal(assigner.can_judge(0.05), [True, False])
    assert (assigner.assign(X + 500).p[60:] > 0.05).all()


def test_a_single_cluster_has_no_other():
    X = np.random.default_rng(0).normal(size=(30, 2))
    result = fit_assigner(X, np.full(30, 4)).assign(X)
    np.testing.assert_array_equal(result.other, 4)
    np.testing.assert_array_equal(result.margin, 1)


def test_oddness_is_the_same_searched_among_all_and_among_the_cluster(moons, assigner):
    X, labels = moons
    codes = np.searchsorted(assigner.clusters, labels)
    prototypes = assigner.prototypes
    for width in (7, 10, 15):
        found = prototypes.nearest(X, width)
        among_all = prototypes.mean_distance(X, codes, found)
        assert_array_equal(among_all, prototypes.mean_distance(X, codes))
