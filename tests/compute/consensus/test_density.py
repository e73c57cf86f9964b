import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from sklearn.metrics import normalized_mutual_info_score

from clusterlens.compute.consensus.criteria import (
    cluster_densities,
    density,
    ensemble_nmi,
    one_hot_loss,
    weight_between,
)
from clusterlens.compute.ensemble.ensemble import Ensemble
from tests.folders import REFERENCE

CASES = json.loads((REFERENCE / "eac.json").read_text(encoding="utf-8"))["cases"]
EVALUATED = [
    pytest.param(case, evaluated, id=f"{case['name']}-{evaluated['partition']}")
    for case in CASES
    for evaluated in case["expected"]["evaluated"]
]
label_matrices = st.tuples(st.integers(1, 5), st.integers(1, 30)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-1, 6))
)


def codes_by_value(labels):
    return np.unique(labels, return_inverse=True)[1]


@pytest.mark.parametrize(("case", "evaluated"), EVALUATED)
def test_measures_equal_reference_values(case, evaluated):
    ensemble, labels = Ensemble(case["labels"]), evaluated["labels"]
    assert_allclose(density(ensemble, labels), evaluated["S"], atol=1e-9)
    assert_allclose(
        cluster_densities(ensemble, codes_by_value(labels)), evaluated["D"], atol=1e-9
    )
    assert_allclose(
        one_hot_loss(ensemble, labels),
        evaluated["kmeans_loss_on_H"],
        rtol=1e-9,
        atol=1e-9,
    )
    assert_allclose(
        ensemble_nmi(ensemble, labels), evaluated["ensemble_nmi"], atol=1e-9
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_base_partitions_have_reference_densities(case):
    ensemble = Ensemble(case["labels"])
    found = [density(ensemble, labels) for labels in case["labels"]]
    assert_allclose(found, case["expected"]["base_density"], atol=1e-9)


@pytest.mark.parametrize(("case", "evaluated"), EVALUATED)
def test_densities_between_clusters_equal_reference_values(case, evaluated):
    expected = np.array(evaluated.get("inter_density", []), dtype=float)
    codes = codes_by_value(evaluated["labels"])
    sizes = np.bincount(codes)
    sums = weight_between(Ensemble(case["labels"]), codes)
    between = sums / (len(case["labels"]) * np.outer(sizes, sizes))
    different = ~np.eye(len(sizes), dtype=bool)
    if expected.size:
        assert_allclose(between[different], expected[different], atol=1e-9)
    assert sums.sum() == pytest.approx(
        len(case["labels"]) * (case["expected"]["total_weight"] + case["n"])
    )


@settings(max_examples=60)
@given(label_matrices, st.data())
def test_density_is_affine_in_the_loss_up_to_the_densities_of_the_clusters(
    labels, data
):
    p, n = labels.shape
    codes = codes_by_value(data.draw(arrays(np.int64, n, elements=st.integers(0, 4))))
    ensemble, k = Ensemble(labels), int(codes.max()) + 1
    exact = (
        1
        - one_hot_loss(ensemble, codes) / (n * p)
        - k / n
        + cluster_densities(ensemble, codes).sum() / n
    )
    assert_allclose(density(ensemble, codes), exact, atol=1e-12)


@settings(max_examples=60)
@given(label_matrices, st.data())
def test_density_is_the_mean_of_the_consensus_matrix_over_pairs(labels, data):
    n = labels.shape[1]
    evaluated = data.draw(arrays(np.int64, n, elements=st.integers(-1, 3)))
    consensus = (labels[:, :, None] == labels[:, None, :]).mean(axis=0)
    expected = 0.0
    for name in np.unique(evaluated):
        inside = np.flatnonzero(evaluated == name)
        pairs = [consensus[i, j] for i in inside for j in inside if i != j]
        expected += len(inside) / n * (np.mean(pairs) if pairs else 0.0)
    assert_allclose(density(Ensemble(labels), evaluated), expected, atol=1e-12)


@settings(max_examples=60)
@given(label_matrices, st.data())
def test_ensemble_nmi_is_the_mean_of_scikit_learns_nmi(labels, data):
    n = labels.shape[1]
    evaluated = data.draw(arrays(np.int64, n, elements=st.integers(-1, 3)))
    expected = np.mean([normalized_mutual_info_score(row, evaluated) for row in labels])
    assert_allclose(ensemble_nmi(Ensemble(labels), evaluated), expected, atol=1e-10)


@settings(max_examples=30)
@given(label_matrices, st.randoms(use_true_random=False))
def test_measures_ignore_label_names_and_sample_order(labels, random):
    evaluated = labels[0]
    shuffled = np.array(random.sample(range(labels.shape[1]), labels.shape[1]))
    original, changed = Ensemble(labels), Ensemble(7 - 2 * labels[:, shuffled])
    for measure in (density, one_hot_loss, ensemble_nmi):
        assert_allclose(
            measure(original, evaluated),
            measure(changed, 3 * evaluated[shuffled] + 11),
            atol=1e-10,
        )


def test_noise_as_singletons_leaves_no_consensus_among_noise():
    labels = np.array([[-1, -1, -1, 0], [-1, -1, -1, 0]])
    assert density(Ensemble(labels), [0, 0, 0, 1]) == 0.75
    assert density(Ensemble(labels, noise="singletons"), [0, 0, 0, 1]) == 0.0


def test_memory_does_not_grow_with_the_number_of_judged_clusters():
    n = 3000
    rng = np.random.default_rng(0)
    ensemble = Ensemble(rng.integers(0, 400, (3, n)))
    # A dense table of these n clusters and 1200 columns would hold 29 MB.
    _ = ensemble.codes
    tracemalloc.start()
    assert density(ensemble, np.arange(n)) == 0.0
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()


def test_labels_of_another_length_are_refused():
    with pytest.raises(ValueError, match="labels has 3 entries for 4 samples"):
        density(Ensemble([[0, 0, 1, 1]]), [0, 1, 1])


def test_noise_of_the_judged_partition_is_what_the_ensemble_says():
    labels = [[0, 0, -1, -1, 1], [0, 0, 1, 1, 0]]
    evaluated, apart = [0, 0, -1, -1, 1], [0, 0, 2, 3, 1]
    single = Ensemble(labels, noise="singletons")
    together = Ensemble(labels)
    for measure in (density, ensemble_nmi, one_hot_loss):
        assert measure(single, evaluated) == measure(single, apart)
        assert measure(together, evaluated) == measure(together, [0, 0, 7, 7, 1])
        assert measure(single, evaluated) != measure(single, [0, 0, 7, 7, 1])
    assert ensemble_nmi(single.select([0]), evaluated) == 1.0
