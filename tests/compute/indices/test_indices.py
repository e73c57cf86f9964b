"""Every index against stored values, naive definitions, its range and limits."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist, pdist
from sklearn import metrics
from sklearn.datasets import load_digits, load_iris, make_blobs, make_moons
from sklearn.preprocessing import StandardScaler

from clusterlens.compute._run.options import DEFAULT_RUN, Cancelled
from clusterlens.compute._validation import DataError
from clusterlens.compute.indices import _pairs
from clusterlens.compute.indices.indices import (
    INDICES,
    MAX_QUADRATIC_SAMPLES,
    external_index,
    internal_index,
)
from clusterlens.compute.table.dataset import prepare
from clusterlens.compute.table.examples import load_example
from tests.folders import REFERENCE

IRIS = json.loads((REFERENCE / "discotec.json").read_text())["internal_indices_iris"]
CLM = json.loads((REFERENCE / "clm.json").read_text())["datasets"]
INTERNAL = {key: index for key, index in INDICES.items() if index.kind == "internal"}
EXTERNAL = {key: index for key, index in INDICES.items() if index.kind == "external"}
INTERNAL_DEFINITIONS = [(n, d) for n in INTERNAL for d in INTERNAL[n].definitions]
EXTERNAL_DEFINITIONS = [(n, d) for n in EXTERNAL for d in EXTERNAL[n].definitions]
# Unchanged when all features are multiplied by one number.
SCALE_FREE = set(INTERNAL) - {"BHI", "BRI", "KDI", "WGSS", "PBM", "I"}

label_pairs = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        *2 * [st.lists(st.integers(0, 5), min_size=n, max_size=n).map(np.array)]
    )
)


def iris_kmeans():
    return StandardScaler().fit_transform(load_iris().data), np.array(IRIS["labels"])


def blobs(n_samples=60, n_clusters=4, n_features=3, seed=0):
    return make_blobs(n_samples, n_features, centers=n_clusters, random_state=seed)


# Stored values ----------------------------------------------------------------------


@pytest.mark.parametrize("name", IRIS["paper"])
def test_paper_definition_gives_the_stored_value(name):
    stored = IRIS["paper"][name]
    value = internal_index(name, *iris_kmeans(), definition="paper")
    assert value == pytest.approx(stored["value"], rel=1e-9, abs=1e-9)
    assert INDICES[name].direction == stored["better"]


@pytest.mark.parametrize(
    ("key", "name", "definition"),
    [
        ("BHI_standard", "BHI", "textbook"),
        ("BRI_standard", "BRI", "textbook"),
        ("KDI_standard", "KDI", "textbook"),
        ("SI_standard", "SI", "textbook"),
        ("WG_standard", "WG", "textbook"),
        ("XBI_assigned", "XBI", "textbook"),
        ("XBI_desgraupes", "XBI", "desgraupes"),
    ],
)
def test_textbook_definition_gives_the_stored_value(key, name, definition):
    value = internal_index(name, *iris_kmeans(), definition=definition)
    assert value == pytest.approx(IRIS["literature_variants"][key], rel=1e-9)


LITERALS = [case for case in CLM if "X" in case]


@pytest.mark.parametrize("case", LITERALS, ids=lambda case: case["name"])
@pytest.mark.parametrize(
    ("key", "name", "definition"),
    [
        ("calinski_harabasz", "CHI", "textbook"),
        ("silhouette", "SI", "textbook"),
        ("davies_bouldin", "DBI", "textbook"),
        ("xie_beni", "XBI", "textbook"),
        ("dunn_all_pairs", "DI", "textbook"),
        ("dunn_reference_first_two_classes", "DI", "first-two-classes"),
        ("i_index", "I", "textbook"),
    ],
)
def test_index_of_classes_gives_the_stored_value(case, key, name, definition):
    value = internal_index(name, case["X"], case["y"], definition=definition)
    assert value == pytest.approx(case["within"][key], rel=1e-6)


# Naive definitions ------------------------------------------------------------------


def naive_c_index(X, labels):
    distances = np.sort(pdist(X))
    within = np.array([a == b for a, b in combinations(labels, 2)])
    count, total = within.sum(), pdist(X)[within].sum()
    smallest, largest = distances[:count].sum(), distances[-count:].sum()
    return (total - smallest) / (largest - smallest)


def naive_mcclain_rao(X, labels):
    within = np.array([a == b for a, b in combinations(labels, 2)])
    return pdist(X)[within].mean() / pdist(X)[~within].mean()


def naive_dunn(X, labels):
    within = np.array([a == b for a, b in combinations(labels, 2)])
    return pdist(X)[~within].min() / pdist(X)[within].max()


def naive_dhi(X, labels):
    D = cdist(X, X)
    own = [labels == k for k in np.unique(labels)]
    return sum(D[k][:, k].mean() for k in own) / sum(D[k][:, ~k].mean() for k in own)


@pytest.mark.parametrize(
    ("name", "definition", "naive"),
    [
        ("CI", "textbook", naive_c_index),
        ("McRao", "textbook", naive_mcclain_rao),
        ("DI", "textbook", naive_dunn),
        ("DHI", "paper", naive_dhi),
    ],
)
@pytest.mark.parametrize("rounding", [0, 1, 12])
def test_distance_index_equals_its_naive_definition(name, definition, naive, rounding):
    for seed in range(4):
        X, labels = blobs(80, 3, seed=seed)
        X = np.round(X, rounding)
        labels = np.random.default_rng(seed).permutation(labels)
        value = internal_index(name, X, labels, definition=definition)
        assert value == pytest.approx(naive(X, labels), rel=1e-10, abs=1e-12)


def test_c_index_survives_outliers_and_many_equal_distances():
    X = np.concatenate([np.zeros((20, 1)), np.ones((20, 1)), [[1e9], [2e9]]])
    labels = np.arange(42) % 3
    assert internal_index("CI", X, labels) == pytest.approx(naive_c_index(X, labels))


@pytest.mark.parametrize("many", [False, True])
def test_sums_of_smallest_distances_are_those_of_sorted_ones(many, monkeypatch):
    monkeypatch.setattr(_pairs, "_BLOCK_PAIRS", 500)
    X, _ = blobs(120)
    distances = np.concatenate([[0], np.cumsum(np.sort(pdist(X)))])
    ranks = (0, 1, 2, 700, 7139, 7140)
    smallest = _pairs.SmallestDistances(X, DEFAULT_RUN, many)
    sums = [smallest.sum(rank) for rank in ranks]
    np.testing.assert_allclose(sums, distances[list(ranks)], rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("CHI", metrics.calinski_harabasz_score),
        ("DBI", metrics.davies_bouldin_score),
        ("SI", metrics.silhouette_score),
    ],
)
def test_textbook_index_equals_scikit_learn(name, score):
    X, labels = blobs(200)
    assert internal_index(name, X, labels) == pytest.approx(score(X, labels))


@pytest.mark.parametrize(("factor", "shift"), [(1e-8, 0), (1e-100, 0), (1, 1e8)])
def test_davies_bouldin_ignores_small_units_and_far_origins(factor, shift):
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    expected = pytest.approx(internal_index("DBI", X, labels), rel=1e-6)
    assert internal_index("DBI", X * factor + shift, labels) == expected


def test_davies_bouldin_of_clusters_about_one_centre_is_high():
    X = [[-1], [1], [-3], [3.00000001]]
    expected = pytest.approx((1 + 3) / 5e-9, rel=1e-6)
    assert internal_index("DBI", X, [0, 0, 1, 1]) == expected


def test_det_ratios_agree_with_determinants():
    X, labels = blobs(100)
    within = sum(np.cov(X[labels == k].T, ddof=0) * sum(labels == k) for k in range(4))
    total = np.cov(X.T, ddof=0) * 100
    expected = np.linalg.det(total) / np.linalg.det(within)
    assert internal_index("DRI", X, labels) == pytest.approx(expected)
    assert internal_index("LDRI", X, labels) == pytest.approx(100 * np.log(expected))


def test_i_index_is_pbm():
    X, labels = blobs()
    assert internal_index("I", X, labels) == internal_index("PBM", X, labels)


# Properties of all internal indices -------------------------------------------------


@pytest.mark.parametrize(("name", "definition"), INTERNAL_DEFINITIONS)
def test_internal_index_lies_in_its_declared_range(name, definition):
    low, high = INDICES[name].definitions[definition].range
    for seed in range(5):
        X, labels = blobs(40, 5, seed=seed)
        value = internal_index(
            name,
            X,
            np.random.default_rng(seed).permutation(labels),
            definition=definition,
        )
        assert low <= value <= high
        assert value.exact
        assert value.n_used == 40


@pytest.mark.parametrize(
    ("name", "definition"),
    [pair for pair in INTERNAL_DEFINITIONS if pair[1] != "first-two-classes"],
)
def test_internal_index_ignores_label_names(name, definition):
    X, labels = blobs()
    value = internal_index(name, X, labels, definition=definition)
    renamed = np.array([70, 3, 500, 12])[labels]
    assert internal_index(name, X, renamed, definition=definition) == value


@pytest.mark.parametrize(("name", "definition"), INTERNAL_DEFINITIONS)
def test_internal_index_ignores_the_order_of_rows(name, definition):
    X, labels = blobs()
    order = np.random.default_rng(3).permutation(len(X))
    value = internal_index(name, X, labels, definition=definition)
    moved = internal_index(name, X[order], labels[order], definition=definition)
    assert moved == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(("name", "definition"), INTERNAL_DEFINITIONS)
def test_internal_index_ignores_shifts_and_only_some_the_unit(name, definition):
    X, labels = blobs()
    value = internal_index(name, X, labels, definition=definition)
    shifted = internal_index(name, X + 7.5, labels, definition=definition)
    assert shifted == pytest.approx(value, rel=1e-8)
    scaled = internal_index(name, 1000 * X, labels, definition=definition)
    if name in SCALE_FREE or (name, definition) == ("KDI", "paper"):
        assert scaled == pytest.approx(value, rel=1e-8)
    else:
        assert scaled != pytest.approx(value, rel=1e-3)


@pytest.mark.parametrize("name", [n for n in INTERNAL if n != "HI"])
def test_every_index_prefers_blobs_to_shuffled_labels(name):
    definition = "textbook" if "textbook" in INDICES[name].definitions else "paper"
    X, labels = make_blobs(
        90, centers=[[0, 0], [30, 0], [0, 30]], cluster_std=0.5, random_state=0
    )
    good = internal_index(name, X, labels, definition=definition)
    shuffled = np.random.default_rng(0).permutation(labels)
    bad = internal_index(name, X, shuffled, definition=definition)
    assert (good > bad) if INDICES[name].greater_is_better else (good < bad)


# Limits of internal indices ---------------------------------------------------------

LIMIT_CASES = {
    "one sample": ([[1.0, 2.0]], [0]),
    "one cluster": (blobs(8)[0], [4] * 8),
    "all noise": (blobs(8)[0], [-1] * 8),
    "all singletons": (blobs(8)[0], range(8)),
    "all samples coincide": (np.full((8, 2), 0.1), [0, 0, 0, 0, 1, 1, 1, 1]),
    "each cluster in one point": (
        [[0.1, 0.2]] * 3 + [[0.3, 0.7]] * 3,
        [0, 0, 0, 1, 1, 1],
    ),
    "one feature": (np.arange(8.0)[:, None], [0, 0, 0, 0, 1, 1, 1, 1]),
    "a constant feature": (
        np.c_[np.arange(8.0) ** 2, np.ones(8)],
        [0, 0, 0, 0, 1, 1, 1, 1],
    ),
    "centres coincide": ([[1.0], [-1.0], [2.0], [-2.0]], [0, 0, 1, 1]),
}


@pytest.mark.parametrize("case", LIMIT_CASES)
@pytest.mark.parametrize(("name", "definition"), INTERNAL_DEFINITIONS)
def test_limit_cases_give_a_number_or_a_reason(name, definition, case):
    X, labels = LIMIT_CASES[case]
    value = internal_index(name, X, list(labels), definition=definition)
    assert math.isfinite(value) or value.reason
    low, high = INDICES[name].definitions[definition].range
    assert math.isnan(value) or low <= value <= high


def test_limits_are_those_of_the_formulas():
    points = LIMIT_CASES["each cluster in one point"]
    assert internal_index("WGSS", *points) == 0
    assert internal_index("LSRI", *points) == math.inf
    assert internal_index("BRI", *points) == -math.inf
    assert math.isnan(internal_index("CHI", *points))
    assert internal_index("DRI", *points, definition="paper") == 0
    assert internal_index("LDRI", *points, definition="paper") == -1e10
    singletons = LIMIT_CASES["all singletons"]
    assert internal_index("BRI", *singletons, definition="paper") == 1e10


def test_more_than_255_clusters_are_counted():
    X, labels = blobs(900, 300)
    own = [X[labels == k] for k in range(300)]
    expected = sum(((x - x.mean(axis=0)) ** 2).sum() for x in own)
    assert internal_index("WGSS", X, labels) == pytest.approx(expected)
    assert internal_index("DI", X, labels) == pytest.approx(naive_dunn(X, labels))


def test_quadratic_index_refuses_many_samples_and_names_the_way_out():
    X = np.zeros((MAX_QUADRATIC_SAMPLES + 1, 1))
    labels = np.arange(len(X)) % 2
    with pytest.raises(ValueError, match="give sample_size"):
        internal_index("DI", X, labels)
    assert internal_index("WGSS", X, labels) == 0


def test_sampled_index_is_seeded_reported_and_close():
    X, labels = blobs(4000)
    first, again, other = (
        internal_index("SI", X, labels, sample_size=800, random_state=seed)
        for seed in (0, 0, 1)
    )
    assert first == again != other
    assert not first.exact
    assert first.n_used == 800
    assert first == pytest.approx(internal_index("SI", X, labels), abs=0.05)


def test_sample_of_all_samples_is_exact():
    X, labels = blobs()
    value = internal_index("DI", X, labels, sample_size=60)
    assert value.exact
    assert value == internal_index("DI", X, labels)


@pytest.mark.parametrize("name", ["McRao", "CI", "DI", "DBCV", "XBI"])
def test_cancel_stops_an_index(name):
    X, labels = blobs()
    definition = "paper" if name == "XBI" else "textbook"
    with pytest.raises(Cancelled):
        internal_index(name, X, labels, definition=definition, cancel=lambda: True)


@pytest.mark.parametrize("name", ["CI", "McRao", "DI", "SI", "DBCV"])
def test_values_do_not_depend_on_the_threads(name, monkeypatch):
    monkeypatch.setattr(_pairs, "_BLOCK_PAIRS", 500)
    X, labels = blobs()
    one = internal_index(name, X, labels, n_jobs=1)
    with ThreadPoolExecutor(3) as executor:
        many = internal_index(name, X, labels, n_jobs=3, executor=executor)
    assert one == many


def test_bad_arguments_are_named():
    X, labels = blobs()
    with pytest.raises(ValueError, match="name is 'ari'"):
        internal_index("ari", X, labels)
    with pytest.raises(ValueError, match=r"DHI .* no such definition"):
        internal_index("DHI", X, labels, definition="textbook")
    with pytest.raises(ValueError, match="59 entries for 60 samples"):
        internal_index("CHI", X, labels[:-1])
    with pytest.raises(ValueError, match="sample_size is 61"):
        internal_index("CHI", X, labels, sample_size=61)
    with pytest.raises(DataError, match="row 0, column 0"):
        internal_index("CHI", [[np.nan]], [0])


# DBCV -------------------------------------------------------------------------------


def densest_tree(reach, core):
    """Kruskal's spanning tree; of tied edges the one with the densest end."""
    edges = sorted(
        (reach[i, j], min(core[i], core[j]), i, j)
        for i, j in combinations(range(len(core)), 2)
    )
    group, tree = list(range(len(core))), []
    for weight, _, i, j in edges:
        if group[i] != group[j]:
            tree.append((i, j, weight))
            group = [group[i] if g == group[j] else g for g in group]
    return tree


def authors_tree(reach, core):
    """Prim's spanning tree as in the authors' program: the first of tied edges."""
    n = len(core)
    best, parent, tree = np.full(n, np.inf), np.zeros(n, dtype=int), []
    outside, new = np.arange(n), 0
    for _ in range(n - 1):
        outside = outside[outside != new]
        closer = outside[reach[new, outside] < best[outside]]
        best[closer], parent[closer] = reach[new, closer], new
        new = outside[np.argmin(best[outside])]
        tree.append((parent[new], new, best[new]))
    return tree


def scipy_tree(reach, core):
    tree = minimum_spanning_tree(reach).tocoo()
    return list(zip(tree.row, tree.col, tree.data, strict=True))


def naive_dbcv(X, labels, tree_of=densest_tree, metric="euclidean"):
    """Literal Moulavi et al., with a choice among tied edges."""
    dim, inner, cores, sparseness = X.shape[1], {}, {}, {}
    for k in np.unique(labels):
        members = X[labels == k]
        D = cdist(members, members, metric)
        with np.errstate(divide="ignore"):
            power = D ** -float(dim)
        np.fill_diagonal(power, 0)
        core = (power.sum(axis=1) / (len(members) - 1)) ** (-1 / dim)
        tree = tree_of(np.maximum(D, np.maximum(core[:, None], core)), core)
        degree = np.bincount([end for i, j, _ in tree for end in (i, j)])
        between = [w for i, j, w in tree if degree[i] > 1 and degree[j] > 1]
        sparseness[k] = max(between or [w for _, _, w in tree])
        inner[k], cores[k] = members[degree > 1], core[degree > 1]
    total = 0.0
    for k in inner:
        gap = min(
            np.maximum(
                cdist(inner[k], inner[l], metric),
                np.maximum(cores[k][:, None], cores[l]),
            ).min()
            for l in inner
            if l != k
        )
        validity = (gap - sparseness[k]) / max(gap, sparseness[k])
        total += np.mean(labels == k) * validity
    return total


@pytest.mark.parametrize("seed", range(4))
def test_dbcv_equals_its_naive_definition(seed):
    X, labels = blobs(70, 3, 2 + seed, seed)
    assert internal_index("DBCV", X, labels) == pytest.approx(naive_dbcv(X, labels))


def test_the_naive_dbcv_gives_the_published_value():
    # README of github.com/FelSiq/DBCV, which takes scipy's spanning tree.
    X, labels = make_moons(300, noise=0.05, random_state=1782)
    value = naive_dbcv(X, labels, scipy_tree, "sqeuclidean")
    assert value == pytest.approx(0.8545358723390613, rel=1e-10)


@pytest.mark.parametrize("name", ["blobs", "moons", "rings"])
def test_dbcv_is_about_that_of_the_authors_tree(name):
    ds = prepare(load_example(name))
    theirs = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(ds.X))
        theirs.append(naive_dbcv(ds.X[order], ds.labels_true[order], authors_tree))
    value = internal_index("DBCV", ds.X, ds.labels_true)
    assert max(theirs) - 0.01 < value < max(theirs) + 0.05


@pytest.mark.parametrize("definition", ["textbook", "squared"])
def test_dbcv_does_not_depend_on_the_order_of_the_rows(definition):
    X, labels = make_moons(300, noise=0.1, random_state=0)
    tied = np.round(2 * X)  # copies of a few rows, equal distances
    for features in (X, tied):
        value = internal_index("DBCV", features, labels, definition=definition)
        for seed in range(5):
            order = np.random.default_rng(seed).permutation(300)
            shuffled = internal_index(
                "DBCV", features[order], labels[order], definition=definition
            )
            assert shuffled == value


def test_dbcv_counts_noise_and_tiny_clusters_in_the_size_only():
    X, labels = blobs(100, 2)
    far = np.array([[99.0, 99, 99], [88, 88, 88], [88, 88, 89]])
    value = internal_index("DBCV", X, labels)
    with_noise = internal_index("DBCV", np.r_[X, far], np.r_[labels, -1, 7, 7])
    assert with_noise == pytest.approx(value * 100 / 103)


def test_dbcv_likes_rings_that_silhouette_does_not():
    angle = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    ring = np.c_[np.cos(angle), np.sin(angle)]
    X, labels = np.r_[ring, 3 * ring], np.repeat([0, 1], 200)
    assert internal_index("DBCV", X, labels) > 0.7
    assert internal_index("SI", X, labels) < 0.3


def test_dbcv_does_not_depend_on_unit_in_many_dimensions():
    X, labels = load_digits(return_X_y=True)
    X, labels = X[:400], labels[:400]
    value = internal_index("DBCV", X, labels)
    assert internal_index("DBCV", 1e9 * X, labels) == pytest.approx(value)
    assert internal_index("DBCV", 1e-9 * X, labels) == pytest.approx(value)


# External indices -------------------------------------------------------------------


def naive_pairwise_f(a, b):
    both = only_a = only_b = 0
    for i, j in combinations(range(len(a)), 2):
        both += a[i] == a[j] and b[i] == b[j]
        only_a += a[i] == a[j] and b[i] != b[j]
        only_b += a[i] != a[j] and b[i] == b[j]
    return 2 * both / (2 * both + only_a + only_b) if both + only_a + only_b else 1.0


def naive_accuracy(a, b):
    table = np.array([[np.sum((a == k) & (b == l)) for l in set(b)] for k in set(a)])
    return table[linear_sum_assignment(-table)].sum() / len(a)


@settings(max_examples=40)
@given(label_pairs)
def test_external_indices_equal_their_definitions(pair):
    a, b = pair
    assert external_index("pairwise-f", a, b) == pytest.approx(naive_pairwise_f(a, b))
    assert external_index("accuracy", a, b) == pytest.approx(naive_accuracy(a, b))
    assert external_index("ari", a, b) == pytest.approx(
        metrics.adjusted_rand_score(a, b)
    )
    single = [len(set(labels)) == len(labels) for labels in pair]
    for mean in ("arithmetic", "geometric", "max", "min"):
        # Where one partition has single samples only, all of it is rounding there.
        assert external_index("ami", a, b, definition=mean) == pytest.approx(
            metrics.adjusted_mutual_info_score(a, b, average_method=mean)
            if all(single) or not any(single)
            else 0
        )
        assert external_index("nmi", a, b, definition=mean) == pytest.approx(
            metrics.normalized_mutual_info_score(a, b, average_method=mean)
        )


@pytest.mark.parametrize(("name", "definition"), EXTERNAL_DEFINITIONS)
@settings(max_examples=25)
@given(label_pairs)
@example(pair=(np.array([0, 0, 0, 0, 0, 1]), np.arange(6)))
@example(pair=(np.array([0, 0, 1]), np.arange(3)))
def test_external_index_keeps_range_symmetry_and_names(name, definition, pair):
    a, b = pair
    value = external_index(name, a, b, definition=definition)
    low, high = INDICES[name].definitions[definition].range
    assert low - 1e-12 <= value <= high + 1e-12
    assert external_index(name, b, a, definition=definition) == pytest.approx(value)
    renamed = np.array([9, 4, -3, 0, 77, 5])[b]
    assert external_index(name, a, renamed, definition=definition) == pytest.approx(
        value
    )


@pytest.mark.parametrize(("name", "definition"), EXTERNAL_DEFINITIONS)
@pytest.mark.parametrize("labels", [[5], [1, 1, 1], [1, 2, 3], [-3, -3, 0], [0] * 300])
def test_equal_partitions_score_one(name, definition, labels):
    value = external_index(name, labels, labels, definition=definition)
    assert value == pytest.approx(1)


def test_v_measure_is_nmi_with_the_arithmetic_mean():
    a, b = np.arange(50) % 4, np.arange(50) % 7
    assert external_index("v-measure", a, b) == pytest.approx(
        external_index("nmi", a, b)
    )


def test_accuracy_matches_clusters_of_unequal_number():
    assert external_index("accuracy", [0, 0, 1, 1], [3, 4, 5, 5]) == 0.75


def test_accuracy_refuses_a_table_that_does_not_fit_in_memory():
    labels = np.arange(20_000)
    with pytest.raises(MemoryError, match="contingency table"):
        external_index("accuracy", labels, labels)


# The registry -----------------------------------------------------------------------


@pytest.mark.parametrize("name", INDICES)
def test_every_index_declares_what_users_need(name):
    index = INDICES[name]
    assert index.direction in ("max", "min")
    assert index.cost in ("linear", "quadratic")
    assert index.range[0] < index.range[1]
    assert index.title
    assert any(character.isdigit() for character in index.reference) or (
        "Ohl" in index.reference
    )


def test_the_registry_holds_the_18_indices_of_the_paper():
    assert {n for n in INTERNAL if "paper" in INTERNAL[n].definitions} == set(
        IRIS["paper"]
    )


def test_labels_may_be_texts() -> None:
    assert external_index("ari", ["b", "b", "a"], [0, 0, 4]) == 1.0
    X = [[0.0], [1.0], [10.0], [11.0]]
    assert internal_index("DI", X, ["x", "x", "y", "y"]) == 9.0


# Names and missing labels -----------------------------------------------------------


@pytest.mark.parametrize("name", INTERNAL)
def test_internal_index_has_a_value_by_default_and_under_its_aliases(name):
    X, labels = blobs()
    value = internal_index(name, X, labels)
    assert np.isfinite(value)
    for alias in (name.lower(), *INDICES[name].aliases):
        assert internal_index(alias, X, labels) == value
        assert internal_index(alias.upper().replace("-", "_"), X, labels) == value


def test_aliases_name_one_index_each_and_the_message_lists_them():
    for indices in (INTERNAL, EXTERNAL):
        names = [n.lower() for n in indices]
        names += [alias for index in indices.values() for alias in index.aliases]
        assert len(names) == len(set(names))
    with pytest.raises(ValueError, match=r"'SI' \(silhouette\), 'WGSS'"):
        internal_index("gap", *blobs())
    with pytest.raises(ValueError, match=r"name is 'dunn'.*'ari' \(adjusted-rand\)"):
        external_index("dunn", [0, 1], [0, 1])


@pytest.mark.parametrize("name", ["ari", "nmi", "accuracy", "pairwise-f"])
def test_samples_without_a_class_are_left_out_of_external_indices(name):
    classes = np.array([0, 0, 1, 1, 2, 2, -1, -1])
    labels = np.array([5, 5, 6, 6, 6, -1, 5, 6])
    expected = external_index(name, classes[:6], labels[:6])
    texts = np.array(["a", "b", "c"], dtype=object)[classes]
    for missing in (None, np.nan, pd.NA):
        texts[6:] = missing
        with pytest.warns(UserWarning, match="labels_true has no label for 2 of 8"):
            value = external_index(name, texts, labels)
        assert (value, value.n_left_out, value.n_used) == (expected, 2, 6)
    with pytest.warns(UserWarning, match="2 of 8 samples, -1 counted as none"):
        assert external_index(name, classes, labels) == expected
    whole = external_index(name, classes, labels, unlabelled=None)
    assert whole == external_index(name, classes + 3, labels)
    assert (whole.n_left_out, whole.n_used) == (0, 8)


def test_samples_without_a_cluster_are_left_out_of_external_indices():
    with pytest.warns(UserWarning, match="labels has no label for 1 of 4"):
        value = external_index("ari", ["a", "a", "b", "b"], [1, 1, None, 2])
    assert (value, value.n_left_out, value.n_used) == (1.0, 1, 3)
    with (
        pytest.warns(UserWarning, match="no label"),
        pytest.raises(ValueError, match="No sample has a label in both"),
    ):
        external_index("ari", ["a", None], [None, "b"])
    with pytest.raises(ValueError, match="labels_true has no label but -1"):
        external_index("ari", [-1, -1], [0, 1])


@pytest.mark.parametrize("name", INTERNAL)
def test_samples_without_a_class_are_left_out_of_internal_indices(name):
    X, labels = blobs()
    kept = np.arange(60) % 10 > 0
    expected = internal_index(name, X[kept], labels[kept])
    marked = np.where(kept, labels, -1)
    with pytest.warns(UserWarning, match="6 of 60 samples"):
        value = internal_index(name, X, marked, unlabelled=-1)
    assert (value, value.n_left_out, value.n_used) == (expected, 6, 54)
    assert value.exact
    texts = np.array(["a", "b", "c", "d"], dtype=object)[labels]
    texts[~kept] = None
    with pytest.warns(UserWarning, match="6 of 60 samples"):
        assert internal_index(name, X, texts) == pytest.approx(expected, rel=1e-12)


def test_noise_of_a_clustering_stays_a_cluster_except_in_dbcv():
    X, labels = blobs()
    noisy = np.where(np.arange(60) % 4 > 0, labels, -1)
    assert internal_index("CHI", X, noisy) == internal_index("CHI", X, noisy + 1)
    core = internal_index("DBCV", X[noisy >= 0], noisy[noisy >= 0])
    value = internal_index("DBCV", X, noisy)
    assert value == pytest.approx(core * np.mean(noisy >= 0))
    assert value.n_left_out == 0
