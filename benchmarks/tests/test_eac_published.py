"""Candel, "Linear time evidence accumulation clustering with KMeans", tables 4 to 7."""

import numpy as np
import pytest

from benchmarks.eac import METHODS, base_partitions, load, printed
from clusterlens.compute.consensus.criteria import density, ensemble_nmi
from clusterlens.compute.consensus.partition import consensus_partition
from tests.compute.consensus.test_entropy import loss_of
from tests.folders import DATA

UCI = DATA / "uci"
REPETITIONS = 4
# Ensemble NMI and density in percent, by data set and method.
PRINTED = printed()["methods"]
CASES = [(name, method) for name, methods in PRINTED.items() for method in methods]

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(
        not UCI.exists(), reason="the UCI data sets are not part of the project"
    ),
    # MCLA may leave meta-clusters empty, as published.
    pytest.mark.filterwarnings(
        "ignore:n_clusters is 20, but method='mcla':UserWarning"
    ),
]


@pytest.fixture(scope="module")
def ensembles():
    """A few ensembles of twenty k-means partitions for each data set."""
    return {
        name: [
            base_partitions(*load(UCI, name, standardise=False), seed)
            for seed in range(REPETITIONS)
        ]
        for name in PRINTED
    }


@pytest.mark.parametrize(("name", "method"), CASES)
def test_consensus_is_as_printed(ensembles, name, method):
    if method in ("cspa", "mcla"):
        pytest.importorskip("pymetis")
    found = [
        (ensemble_nmi(ensemble, labels), density(ensemble, labels))
        for ensemble in ensembles[name]
        for labels in [consensus_partition(ensemble, 20, method)]
    ]
    nmi, dense = 100 * np.mean(found, axis=0)
    assert abs(nmi - PRINTED[name][method][0]) < 4
    assert abs(dense - PRINTED[name][method][1]) < 4


@pytest.mark.parametrize("name", PRINTED)
def test_no_method_is_clearly_denser_than_kmeans(ensembles, name):
    pytest.importorskip("pymetis")
    found = {
        method: np.mean(
            [density(e, consensus_partition(e, 20, method)) for e in ensembles[name]]
        )
        for method in METHODS
    }
    assert max(found.values()) - found["kmeans"] < 0.003


@pytest.mark.parametrize(
    "name", ["glass", "wine", "ionosphere", "ecoli", "user_knowledge"]
)
def test_ecc_loses_no_more_than_kmeans_on(name):
    for seed in range(3):
        ensemble = base_partitions(*load(UCI, name, standardise=False), seed)
        ecc, kmeans = (
            loss_of(ensemble.labels, consensus_partition(ensemble, 20, method, seed))
            for method in ("ecc", "kmeans")
        )
        assert ecc <= kmeans + 1e-6
