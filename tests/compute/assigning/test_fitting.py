"""The rule of an assigner, the rows that it keeps, and its facts about them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_moons

from clusterlens.compute.assigning import _prototypes
from clusterlens.compute.assigning import fitting as module
from clusterlens.compute.assigning._prototypes import Prototypes
from clusterlens.compute.assigning.fitting import fit_assigner


def groups(n, seed=0, n_features=3):
    """Rows of three Gaussian groups, and which one each is drawn from."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    return rng.normal(size=(n, n_features)) + 4 * labels[:, None], labels


@pytest.fixture(scope="module")
def moons():
    return make_moons(400, noise=0.05, random_state=0)


@pytest.fixture(scope="module")
def large(request):
    """A partition of more rows than may all be prototypes, and its assigner."""
    patch = pytest.MonkeyPatch()
    patch.setattr(module, "MOST_PROTOTYPES", 700)
    patch.setattr(_prototypes, "FIRST_DRAWN", 300)
    X, _ = make_moons(3000, noise=0.3, random_state=1)
    labels = (np.sin(3 * X[:, 0]) > X[:, 1]).astype(int)
    assigner = fit_assigner(X, labels)
    patch.undo()
    return X, labels, assigner


def test_round_clusters_are_told_by_their_centres():
    X, labels = groups(300)
    assigner = fit_assigner(X, labels)
    assert assigner.rule == "centres"
    assert assigner.reproduced >= 0.99


def test_bent_clusters_are_told_by_neighbours(moons):
    assigner = fit_assigner(*moons)
    assert assigner.rule == "neighbours"
    assert assigner.n_neighbors in module.NEIGHBORS
    assert assigner.reproduced == 1


def test_agreement_is_that_of_rows_left_out_one_by_one(moons):
    X, labels = moons
    assigner = fit_assigner(X, labels)
    nearest = np.linalg.norm(X[:, None] - X, axis=2) + np.diag([np.inf] * len(X))
    right = labels[nearest.argmin(axis=1)] == labels
    assert assigner.agreement["1 neighbours"] == right.mean()
    centres = [
        [np.delete(X, i, 0)[np.delete(labels, i) == c].mean(0) for c in (0, 1)]
        for i in range(len(X))
    ]
    distances = np.linalg.norm(np.array(centres) - X[:, None], axis=2)
    right = distances.argmin(axis=1) == labels
    assert assigner.agreement["nearest centre"] == pytest.approx(right.mean())


def test_the_held_out_share_is_that_of_the_rule_without_the_row_itself(moons):
    X, labels = moons
    mixed = np.where(np.arange(len(X)) % 5, labels, 1 - labels)
    assigner = fit_assigner(X, mixed)
    assert assigner.rule == "neighbours"
    distances = np.linalg.norm(X[:, None] - X, axis=2) + np.diag([np.inf] * len(X))
    nearest = distances.argsort(axis=1)[:, : assigner.n_neighbors]
    votes = 1 / np.take_along_axis(distances, nearest, axis=1)
    for_one = np.where(mixed[nearest] == 1, votes, 0).sum(axis=1)
    right = (for_one > votes.sum(axis=1) / 2).astype(int) == mixed
    assert assigner.held_out_share == pytest.approx(right.mean(), abs=0.01)
    assert assigner.held_out_share < 0.9 < assigner.reproduced == 1


@pytest.mark.parametrize(
    ("rule", "n_neighbors", "share"),
    [("centres", 0, 0.7), ("neighbours", 5, 0.6), ("density", 5, 0.9)],
)
def test_each_rule_has_its_held_out_share(moons, rule, n_neighbors, share):
    tried = {"nearest centre": 0.7, "round Gaussians": 0.4}
    tried |= {"5 neighbours": 0.6, "density of 5": 0.9}
    fitted = fit_assigner(*moons)
    one = replace(fitted, rule=rule, n_neighbors=n_neighbors, agreement=tried)
    assert one.held_out_share == share
    assert np.isnan(replace(one, agreement={}).held_out_share)


def test_few_of_many_rows_are_kept_and_nearly_all_keep_their_cluster(large):
    X, labels, assigner = large
    assert 300 < len(assigner.rows) <= 700
    assert assigner.reproduced == (assigner.assign(X).cluster == labels).mean()
    assert assigner.reproduced >= 0.99


def test_rows_among_those_of_another_cluster_mislead_no_others(monkeypatch):
    monkeypatch.setattr(module, "MOST_PROTOTYPES", 600)
    monkeypatch.setattr(_prototypes, "FIRST_DRAWN", 300)
    X, labels = groups(6000)
    rng = np.random.default_rng(1)
    mixed = np.where(rng.random(6000) < 0.3, rng.integers(3, size=6000), labels)
    assigner = fit_assigner(X, mixed)
    assert assigner.rule == "neighbours"
    assert assigner.reproduced > 0.95 * (mixed == labels).mean()
    Y, truth = groups(3000, seed=2)
    assert (assigner.assign(Y).cluster == truth).mean() > 0.98


def test_prototypes_are_rows_of_the_table_with_their_labels(large):
    X, labels, assigner = large
    where = [np.flatnonzero((row == X).all(axis=1))[0] for row in assigner.rows[::50]]
    assert (labels[where] == assigner.codes[::50]).all()


def test_an_assigner_without_rows_keeps_none_and_says_how_many_it_loses(moons):
    X, labels = moons
    assigner = fit_assigner(X, labels, rows=False)
    assert len(assigner.rows) == 0
    assert assigner.reproduced == (assigner.assign(X).cluster == labels).mean() < 0.95


def test_without_rows_nothing_is_assigned_to_noise():
    X, labels = groups(200)
    noisy = np.where(np.arange(200) % 10, labels, -1)
    assert -1 not in fit_assigner(X, noisy, rows=False).clusters
    assert -1 in fit_assigner(X, noisy).clusters


def test_shares_are_calibrated_on_new_rows():
    X, labels = groups(2000, n_features=2)
    mixed = np.where(np.random.default_rng(1).random(2000) < 0.2, 0, labels)
    assigner = fit_assigner(X, mixed)
    Y, truth = groups(2000, seed=2, n_features=2)
    truth = np.where(np.random.default_rng(3).random(2000) < 0.2, 0, truth)
    result = assigner.assign(Y)
    right = result.cluster == truth
    assert assigner.calibration_error < 0.05
    for low, high in ((0.0, 0.9), (0.9, 1.0)):
        some = (result.share >= low) & (result.share <= high)
        assert right[some].mean() == pytest.approx(result.share[some].mean(), abs=0.06)


def test_rows_like_those_seen_are_too_odd_at_the_stated_rate():
    rates = []
    for seed in range(10):
        X, labels = groups(400, seed)
        Y, _ = groups(2000, seed + 100)
        rates.append((fit_assigner(X, labels).assign(Y).p <= 0.05).mean())
    assert 0.035 < np.mean(rates) < 0.055


def test_same_input_gives_the_same_assigner(large, monkeypatch):
    monkeypatch.setattr(module, "MOST_PROTOTYPES", 700)
    monkeypatch.setattr(_prototypes, "FIRST_DRAWN", 300)
    X, labels, assigner = large
    again = fit_assigner(X, labels)
    assert (again.rows == assigner.rows).all()


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_few_rows_are_enough(n):
    X = np.arange(2.0 * n).reshape(n, 2)
    labels = np.arange(n) // 3
    assert (fit_assigner(X, labels).assign(X).cluster == labels).all()


def test_equal_rows_are_assigned():
    X = np.ones((30, 2))
    assigned = fit_assigner(X, np.zeros(30, int)).assign(X)
    assert (assigned.cluster == 0).all()
    assert (assigned.p > 0.05).all()


def test_noise_between_dense_groups_is_told_by_density():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(c, 0.3, (150, 2)) for c in (0.0, 4.0)])
    X = np.vstack([X, rng.uniform(-3, 7, (150, 2))])
    labels = HDBSCAN(15, copy=True).fit(X).labels_.astype(np.int64)
    assigner = fit_assigner(X, labels)
    assert assigner.rule == "density"
    voted = [v for k, v in assigner.agreement.items() if k.endswith("neighbours")]
    assert max(voted) < assigner.agreement[f"density of {assigner.n_neighbors}"]
    assert assigner.reproduced == 1
    inside, between = assigner.assign(np.array([[0.0, 0.0], [-2.5, 6.5]])).cluster
    assert inside == labels[0] != -1
    assert between == -1


def test_rows_by_density_are_as_clear_as_reaches_leave_them():
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(c, 0.3, (80, 2)) for c in (0.0, 4.0)])
    X = np.vstack([X, rng.uniform(-3, 7, (60, 2))])
    labels = HDBSCAN(10, copy=True).fit(X).labels_.astype(np.int64)
    codes, k, n = labels + 1, 5, len(X)
    between = cdist(X, X)
    core = np.sort(between, axis=1)[:, k]

    def reaches(rows, own=None):
        """Mutual reachability of rows to each cluster, by the 2 k nearest."""
        result = np.full((len(rows), 3), np.inf)
        for i, distances in enumerate(cdist(rows, X)):
            if own is not None:
                distances[own[i]] = np.inf
            near = np.argsort(distances)[: 2 * k]
            dense = distances[near[k - 1]]
            for j in near:
                reach = max(distances[j], dense, core[j])
                result[i, codes[j]] = min(result[i, codes[j]], reach)
        return result

    own = reaches(X, np.arange(n))
    kept = own.argmin(axis=1) == codes
    ends = [own[kept & (codes == c), c].max() for c in range(3)]
    rows = rng.uniform(-4, 8, (200, 2))
    found, clear = Prototypes(X, codes).in_reach(rows, k)
    for result, cluster, clearness in zip(reaches(rows), found, clear, strict=True):
        first = int(result.argmin())
        if result[first] > ends[first] or first == 0:
            beyond = min(result[c] / ends[c] - 1 for c in (1, 2))
            assert (cluster, clearness) == (0, pytest.approx(min(beyond, 3)))
        else:
            end = min(ends[first], *(result[c] for c in range(3) if c != first))
            assert (cluster, clearness) == (
                first,
                pytest.approx(1 - result[first] / end),
            )
    assert {0, 1, 2} == set(found.tolist())


def test_a_row_left_out_makes_no_other_row_dense():
    rng = np.random.default_rng(2)
    X = np.vstack([rng.normal(c, 0.3, (40, 2)) for c in (0.0, 4.0)])
    X = np.vstack([X, rng.uniform(-3, 7, (40, 2))])
    codes = HDBSCAN(5, copy=True).fit_predict(X) + 1
    k, n = 5, len(X)
    prototypes = Prototypes(X, codes)
    found, _ = prototypes.in_reach(X, k, np.arange(n))
    between = cdist(X, X)
    np.fill_diagonal(between, np.inf)
    core = np.sort(between, axis=1)[:, k - 1]
    reach = np.maximum(between, np.maximum(core[:, None], core))
    near = np.argsort(between, axis=1)[:, : 2 * k]
    least = np.full((n, codes.max() + 1), np.inf)
    for i, j in zip(np.repeat(np.arange(n), 2 * k), near.ravel(), strict=True):
        least[i, codes[j]] = min(least[i, codes[j]], reach[i, j])
    kept = least.argmin(axis=1) == codes
    bounds = [least[kept & (codes == c), c].max() for c in range(codes.max() + 1)]
    for i in range(n):
        remaining = np.delete(np.arange(n), i)
        others = np.sort(between[np.ix_(remaining, remaining)], axis=1)[:, k - 1]
        distances = np.maximum(np.maximum(between[i, remaining], core[i]), others)
        mine = np.argsort(between[i, remaining])[: 2 * k]
        best = mine[distances[mine].argmin()]
        code = codes[remaining[best]]
        assert found[i] == (code if distances[best] <= bounds[code] else 0)


def test_a_partition_of_noise_alone_keeps_its_rows():
    X = np.random.default_rng(0).normal(size=(60, 2))
    assigned = fit_assigner(X, np.full(60, -1)).assign(X)
    assert (assigned.cluster == -1).all()
    assert (Prototypes(X, np.zeros(60, int)).in_reach(X, 5)[1] == 3).all()
