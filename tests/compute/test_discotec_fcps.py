"""The published DISCOTEC results on FCPS that involve no randomness, set by set."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import kendalltau
from sklearn.cluster import DBSCAN, AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from clusterlens.compute.ensemble import Ensemble
from clusterlens.compute.ranking import TIE_DECIMALS, rank_partitions

PROJECT = Path(__file__).parents[2]
DATA = PROJECT.parent / "shared" / "data" / "fcps"
REFERENCE = json.loads((PROJECT / "tests/reference/discotec_fcps.json").read_text())
POOLS = ("agglomerative_fixed_K", "agglomerative_free_K", "dbscan_free")
SETS = tuple(REFERENCE[POOLS[0]])
SCORES = {
    "KL": "discotec-kl",
    "TV": "discotec-tv",
    "H": "discotec-hellinger",
    "Binary": "discotec-binary",
    "AARI": "aari",
    "ANMI": "anmi",
}
# Kendall's tau of a handful of models moves in steps; the tolerance is the stated one.
TOLERANCE = 0.02

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(
        not DATA.exists(), reason="the FCPS data sets are not part of the project"
    ),
]


def read(name):
    table = pd.read_csv(DATA / f"{name.lower()}.csv.gz")
    features = StandardScaler().fit_transform(table.drop(columns="label"))
    return features, pd.factorize(table["label"])[0]


def agglomerative_fixed_K(X, n_classes, memory):
    for linkage in ("single", "complete", "ward", "average"):
        for metric in ("euclidean", "manhattan"):
            if (linkage, metric) != ("ward", "manhattan"):
                yield AgglomerativeClustering(
                    n_classes, linkage=linkage, metric=metric
                ).fit_predict(X)


def agglomerative_free_K(X, n_classes, memory):
    for linkage in ("single", "complete", "ward", "average"):
        for n_clusters in range(2, 21):  # cuts of one tree, kept in memory
            yield AgglomerativeClustering(
                n_clusters, linkage=linkage, memory=memory
            ).fit_predict(X)


def dbscan_free(X, n_classes, memory):
    for eps in np.linspace(*np.quantile(pdist(X), [0.01, 0.25]), 20):
        labels = DBSCAN(eps=eps).fit_predict(X)
        if len(np.unique(labels)) > 1:
            yield from [labels] * 5


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Function of pool and data set: T, distinct label vectors, tau, ARI of choice."""
    memory = str(tmp_path_factory.mktemp("trees"))
    return cache(lambda pool, name: measure(pool, name, memory))


def measure(pool, name, memory):
    X, target = read(name)
    labels = list(globals()[pool](X, len(np.unique(target)), memory))
    ensemble = Ensemble(labels)
    truth = np.array([adjusted_rand_score(target, row) for row in labels])
    tau, choice = {}, {}
    for column, score in SCORES.items():
        ranking = rank_partitions(ensemble, score)
        value = np.round(ranking.values, TIE_DECIMALS)
        oriented = value if ranking.greater_is_better else -value
        tau[column] = kendalltau(oriented, truth).statistic
        choice[column] = truth[ranking.order[0]]
    return len(labels), len(np.unique(labels, axis=0)), tau, choice


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("pool", POOLS)
def test_pools_have_the_published_size(pool, name, measured):
    n_models, distinct, *_ = measured(pool, name)
    assert n_models == REFERENCE[pool][name]["T"]
    assert distinct == REFERENCE[pool][name]["distinct"]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("pool", POOLS)
def test_scores_order_the_pool_as_published(pool, name, measured):
    tau = measured(pool, name)[2]
    expected = REFERENCE[pool][name]["tau"]
    for column in SCORES:
        if expected[column] is None:
            assert np.isnan(tau[column]), column
        else:
            assert tau[column] == pytest.approx(expected[column], abs=TOLERANCE), column


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("pool", POOLS)
def test_scores_choose_the_published_model(pool, name, measured):
    choice = measured(pool, name)[3]
    expected = REFERENCE[pool][name]["ari_of_choice"]
    for column in SCORES:
        assert choice[column] == pytest.approx(expected[column], abs=TOLERANCE), column
