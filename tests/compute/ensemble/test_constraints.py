import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterlens.compute.ensemble.constraints import ConstraintError, Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble

PAIRS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=8)


def test_pairs_are_kept_once_and_sorted():
    constraints = Constraints(
        must_link=[(4, 2), (2, 4), (3, 3), (0, 1)], cannot_link=[(5, 4), (5, 4)]
    )
    assert constraints.must_link.tolist() == [[0, 1], [2, 4]]
    assert constraints.cannot_link.tolist() == [[4, 5]]
    assert constraints.n_pairs == 3
    assert not constraints.must_link.flags.writeable


def test_violations_are_the_broken_share_of_pairs():
    ensemble = Ensemble([[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0]])
    constraints = Constraints(must_link=[(0, 1), (0, 2)], cannot_link=[(1, 3)])
    expected = [1 / 3, 2 / 3, 1 / 3]
    np.testing.assert_allclose(constraints.violations(ensemble), expected)


def test_no_pairs_violate_nothing():
    assert Constraints().violations(Ensemble([[0, 1], [0, 0]])).tolist() == [0, 0]


def test_noise_that_means_singletons_is_not_joined():
    pairs = Constraints(must_link=[(0, 1)])
    labels = [[-1, -1, 0]]
    assert pairs.violations(Ensemble(labels)).tolist() == [0]
    assert pairs.violations(Ensemble(labels, noise="singletons")).tolist() == [1]


def test_direct_contradiction_names_both_links():
    with pytest.raises(ConstraintError, match="remove one of these pairs") as caught:
        Constraints(must_link=[(7, 3)], cannot_link=[(3, 7)])
    assert caught.value.chain == (("must-link", 3, 7), ("cannot-link", 3, 7))


def test_contradiction_through_other_samples_gives_the_shortest_chain():
    with pytest.raises(ConstraintError) as caught:
        Constraints(
            must_link=[(9, 4), (4, 6), (6, 2), (9, 20), (20, 2)], cannot_link=[(2, 9)]
        )
    *must, last = caught.value.chain
    assert last == ("cannot-link", 2, 9)
    assert must == [("must-link", 2, 20), ("must-link", 9, 20)]


@settings(max_examples=100)
@given(must=PAIRS, cannot=PAIRS)
def test_contradiction_is_refused_exactly_when_the_closure_joins_a_cannot_link(
    must, cannot
):
    group = list(range(8))
    for i, j in must:
        group = [group[i] if g == group[j] else g for g in group]
    contradictory = any(i != j and group[i] == group[j] for i, j in cannot)
    if not contradictory:
        assert Constraints(must, cannot).violations(Ensemble([group])).tolist() == [0]
        return
    with pytest.raises(ConstraintError) as caught:
        Constraints(must, cannot)
    *links, (kind, start, end) = caught.value.chain
    assert kind == "cannot-link"
    assert {(start, end), (end, start)} & set(cannot)
    at = start
    for kind, i, j in links:
        assert kind == "must-link"
        assert {(i, j), (j, i)} & set(must)
        assert at in (i, j)
        at = j if at == i else i
    assert at == end


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(0, -1)], "negative"),
        ([(0, 1, 2)], "shape"),
        ([0, 1], "shape"),
        ([(0.5, 1.0)], "whole numbers"),
    ],
)
def test_pairs_that_are_no_pairs_are_refused(pairs, message):
    with pytest.raises(ValueError, match=message):
        Constraints(must_link=pairs)


def test_pairs_past_the_last_sample_are_refused():
    with pytest.raises(ValueError, match=r"names sample 5, but there are 3 samples"):
        Constraints(cannot_link=[(0, 5)]).violations(Ensemble([[0, 1, 1]]))


def test_a_contradiction_keeps_its_chain_through_pickling():
    with pytest.raises(ConstraintError) as caught:
        Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)])
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is ConstraintError
    assert again.chain == caught.value.chain
    assert str(again) == str(caught.value)
