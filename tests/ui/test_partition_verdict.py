"""Tests of the verdict on a partition: its rule on stability and separation."""

from types import SimpleNamespace

import numpy as np
import pytest

from clusterlens.compute._run.options import Cancelled
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.ui.jobs.lanes import Job
from clusterlens.ui.results.cluster_stability import choose_stability_model
from clusterlens.ui.results.partition_verdict import (
    PARTITION_CONCLUSIONS,
    partition_grounds,
    weigh_partition,
)
from clusterlens.ui.server.server import Server

SIZES = np.array([50, 30, 20])
ALL, LARGEST, SMALL, NONE = (1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 0)


def weigh(stable, apart):
    def found(name, passed):
        if passed is None:
            return None
        return SimpleNamespace(sizes=SIZES, **{name: np.array(passed, bool)})

    return weigh_partition(found("stable", stable), found("apart", apart))


@pytest.mark.parametrize(
    ("stable", "apart", "answer"),
    [
        (ALL, ALL, "Yes"),
        (ALL, LARGEST, "Only in part"),
        (LARGEST, LARGEST, "Only in part"),
        (NONE, ALL, "Only in part"),
        (LARGEST, SMALL, "Hardly"),
        (NONE, LARGEST, "Hardly"),
        (NONE, NONE, "Hardly"),
        (None, ALL, "Not decided yet"),
        (ALL, None, "Not decided yet"),
    ],
)
def test_both_kinds_of_evidence_decide(stable, apart, answer):
    assert weigh(stable, apart).answer == answer
    assert answer in PARTITION_CONCLUSIONS


def test_clusters_count_by_their_rows():
    assert weigh(LARGEST, ALL).again == "in part"
    assert weigh(SMALL, ALL).again == "no"


def test_what_was_not_measured_is_said():
    grounds = partition_grounds(weigh(None, None), None, None)
    assert [light for _, light, _ in grounds] == ["unknown", "unknown"]
    assert "not been measured" in grounds[0][2]


def test_the_choice_of_the_judge_can_be_cancelled():
    ensemble = Ensemble([[0, 0, 1], [0, 1, 1]], seconds=[0.1, 0.1])
    partition = np.array([0, 1, 1])
    assert choose_stability_model(Job("", Server()), partition, ensemble).model == 1
    job = Job("", Server())
    job.stop.set()
    with pytest.raises(Cancelled):
        choose_stability_model(job, partition, ensemble)


def test_a_first_fit_that_compiled_its_code_does_not_set_the_estimate():
    labels = np.random.default_rng(0).integers(0, 3, (6, 60))
    kinds = ["Genie"] * 4 + ["k-means"] * 2
    specs = [
        {"clusterer": kind, "n_clusters": 3, "at": k} for k, kind in enumerate(kinds)
    ]
    seconds = np.array([3.85, 0.02, 0.01, 0.02, 0.2, np.nan])
    ensemble = Ensemble(labels, specs=specs, seconds=seconds)
    job = Job("", Server())

    def estimate(model):
        return choose_stability_model(job, labels[model], ensemble, model).seconds

    assert estimate(0) == pytest.approx(estimate(1) * (3 * 0.02 + 0.005) / 0.025)
    assert estimate(4) > 5 * estimate(1)
    assert estimate(2) < estimate(1)
