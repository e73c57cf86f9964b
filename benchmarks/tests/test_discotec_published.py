"""The published DISCOTEC results on FCPS that involve no randomness, set by set.

The pools and the order of their models are those of `benchmarks/discotec_protocol.py`.
"""

import json
from functools import cache

import numpy as np
import pytest

from benchmarks.discotec_protocol import (
    COLLECTIONS,
    METRICS,
    chosen_ari,
    correlations,
    fit,
    measure,
    read,
)
from clusterlens.compute.ensemble.ensemble import distinct_partitions
from tests.folders import DATA, REFERENCE

SCORES, INDICES = (
    json.loads((REFERENCE / name).read_text())
    for name in ("discotec_fcps.json", "internal_indices_fcps.json")
)
POOLS = {
    "agglomerative_fixed_K": ("fixed", "Agg"),
    "agglomerative_free_K": ("free", "Agg"),
    "dbscan_free": ("free", "DBSCAN"),
}
SETS = COLLECTIONS["FCPS"]
# Kendall's tau of a handful of models moves in steps; the tolerance is the stated one.
TOLERANCE = 0.02

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(
        not (DATA / "fcps").is_dir(),
        reason="the FCPS data sets are not part of the project",
    ),
    pytest.mark.parametrize("name", SETS),
    pytest.mark.parametrize("pool", POOLS),
]


def published(pool, name, field):
    return SCORES[pool][name][field] | INDICES[pool][name][field]


@cache
def case(pool, name):
    data = read(DATA, "FCPS", name)
    ensemble = fit(data, *POOLS[pool])
    return ensemble, measure(data, ensemble)


def test_pools_have_the_published_size(pool, name):
    ensemble, models = case(pool, name)
    expected = SCORES[pool][name]
    assert ensemble.n_partitions == expected["T"]
    # The published count takes equal partitions with other names of clusters for two.
    distinct = len(distinct_partitions(ensemble)[0])
    assert distinct <= expected["distinct"]
    assert distinct == expected["distinct"] or pool != "dbscan_free"
    assert models["ari"].max() == pytest.approx(
        INDICES[pool][name]["best_model_ari"], abs=1e-4
    )


def test_metrics_order_the_pool_as_published(pool, name):
    tau = correlations(case(pool, name)[1])
    expected = published(pool, name, "tau")
    assert set(expected) == set(METRICS)
    for metric, value in expected.items():
        if value is None:
            assert np.isnan(tau[metric]), metric
        else:
            assert tau[metric] == pytest.approx(value, abs=TOLERANCE), metric


def test_metrics_choose_the_published_model(pool, name):
    choice = chosen_ari(case(pool, name)[1])
    for metric, value in published(pool, name, "ari_of_choice").items():
        assert choice[metric] == pytest.approx(value, abs=1e-3), metric
