"""Orderings keep clusters together and the order of the tree within them."""

import numpy as np
import pytest

from clusterlens.compute.consensus.ordering import order_samples
from clusterlens.compute.consensus.tree import consensus_tree
from clusterlens.compute.ensemble.ensemble import Ensemble

LABELS = np.random.default_rng(0).integers(-1, 4, (6, 60))
ENSEMBLE = Ensemble(LABELS)
TREE = consensus_tree(ENSEMBLE, 8)


def test_file_order_is_that_of_the_samples():
    assert order_samples(ENSEMBLE, "file").tolist() == list(range(60))


def test_tree_order_is_that_of_the_tree():
    assert order_samples(ENSEMBLE, tree=TREE).tolist() == TREE.order.tolist()
    assert order_samples(ENSEMBLE, tree=TREE.order).tolist() == TREE.order.tolist()
    own = order_samples(ENSEMBLE, random_state=3)
    made = consensus_tree(ENSEMBLE, 60, random_state=3)
    assert own.tolist() == made.order.tolist()


@pytest.mark.parametrize("partition", [2, LABELS[2]], ids=["position", "labels"])
def test_a_partition_comes_cluster_by_cluster_noise_last(partition):
    order = order_samples(ENSEMBLE, "partition", partition=partition, tree=TREE)
    shown = LABELS[2][order].tolist()
    assert shown == sorted(shown, key=lambda label: (label == -1, label))
    place = np.argsort(TREE.order)
    for label in range(-1, 4):
        inside = order[LABELS[2][order] == label]
        assert (np.diff(place[inside]) > 0).all()


def test_without_a_tree_the_samples_of_a_cluster_stay_as_they_are():
    order = order_samples(ENSEMBLE, "partition", partition=0)
    for label in range(-1, 4):
        assert (np.diff(order[LABELS[0][order] == label]) > 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "size"}, "by is 'size'"),
        ({"by": "partition"}, "partition is None"),
        ({"by": "partition", "partition": 6}, "partition is 6"),
        ({"by": "partition", "partition": [0, 1]}, "partition has 2 entries"),
        ({"by": "tree", "tree": [0, 1]}, "tree has shape"),
    ],
)
def test_orderings_that_cannot_be_made_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        order_samples(ENSEMBLE, **options)
