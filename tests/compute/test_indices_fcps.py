"""The internal indices reproduce the tables of Ohl & Lindsten on the FCPS data sets."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import kendalltau
from sklearn.cluster import DBSCAN, AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from clusterlens.compute.indices import INDICES, internal_index

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "fcps"
EXPECTED = json.loads(
    (Path(__file__).parents[1] / "reference" / "internal_indices_fcps.json").read_text()
)
NAMES = [name for name in INDICES if "paper" in INDICES[name].definitions]
DATA_SETS = list(EXPECTED["agglomerative_fixed_K"])

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"no data sets in {DATA}"),
]


def agglomerative_fixed(X, n_clusters, cache):
    metrics = {"ward": ["euclidean"]}
    return [
        AgglomerativeClustering(n_clusters, linkage=linkage, metric=metric)
        .fit(X)
        .labels_
        for linkage in ("single", "complete", "ward", "average")
        for metric in metrics.get(linkage, ["euclidean", "manhattan"])
    ]


def agglomerative_free(X, n_clusters, cache):
    return [
        AgglomerativeClustering(
            k, linkage=linkage, memory=cache, compute_full_tree=True
        )
        .fit(X)
        .labels_
        for linkage in ("single", "complete", "ward", "average")
        for k in range(2, 21)
    ]


def dbscan_free(X, n_clusters, cache):
    distances = pdist(X)
    grid = np.linspace(*np.quantile(distances, [0.01, 0.25]), 20)
    labels = [DBSCAN(eps).fit(X).labels_ for eps in grid]
    return [each for each in labels if len(np.unique(each)) > 1 for _ in range(5)]


POOLS = {
    "agglomerative_fixed_K": agglomerative_fixed,
    "agglomerative_free_K": agglomerative_free,
    "dbscan_free": dbscan_free,
}


def read(data_set):
    table = pd.read_csv(DATA / f"{data_set.lower()}.csv.gz")
    return table.iloc[:, :-1].to_numpy(float), pd.factorize(table["label"])[0]


def values_once(name, X, partitions):
    """Value of an index for each partition; equal partitions are computed once."""
    known = {}
    for labels in partitions:
        key = labels.tobytes()
        if key not in known:
            known[key] = internal_index(name, X, labels, definition="paper")
    sign = 1 if INDICES[name].greater_is_better else -1
    return sign * np.array([known[labels.tobytes()] for labels in partitions])


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("data_set", DATA_SETS)
def test_indices_rank_fcps_pools_as_published(data_set, pool, tmp_path):
    raw, target = read(data_set)
    scaled = StandardScaler().fit_transform(raw)
    partitions = POOLS[pool](scaled, target.max() + 1, str(tmp_path))
    expected = EXPECTED[pool][data_set]
    assert len(partitions) == expected["T"]
    truth = np.array([adjusted_rand_score(target, labels) for labels in partitions])
    assert truth.max() == pytest.approx(expected["best_model_ari"], abs=1e-4)
    for name in NAMES:
        values = values_once(name, raw, partitions)
        tau = kendalltau(values, truth, nan_policy="omit").statistic
        published = expected["tau"][name]
        if published is None:
            assert np.isnan(tau), name
        else:
            assert tau == pytest.approx(published, abs=0.02), name
        choice = truth[np.nanargmax(values)]
        assert choice == pytest.approx(expected["ari_of_choice"][name], abs=1e-3), name
