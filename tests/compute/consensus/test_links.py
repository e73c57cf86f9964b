from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from clusterlens.compute._run.options import RunOptions
from clusterlens.compute.consensus import _links
from clusterlens.compute.consensus._links import (
    LinkedLloyd,
    NoColouringError,
    colour_graph,
    linked_rows,
)
from clusterlens.compute.consensus._lloyd import best_of_starts
from clusterlens.compute.consensus._one_hot import one_hot_rows
from clusterlens.compute.consensus._transfers import Transfers
from clusterlens.compute.consensus.criteria import one_hot_loss
from clusterlens.compute.consensus.partition import consensus_partition
from clusterlens.compute.ensemble.constraints import ConstraintError, Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble


def graph(edges, size):
    matrix = np.zeros((size, size), np.int8)
    for a, b in edges:
        matrix[a, b] = matrix[b, a] = 1
    return csr_array(matrix)


def cycle(size):
    return [(v, (v + 1) % size) for v in range(size)]


def colourable(edges, size, k):
    """Definition: some assignment of k colours leaves no edge of one colour."""
    return any(
        all(colours[a] != colours[b] for a, b in edges)
        for colours in product(range(k), repeat=size)
    )


def broken(constraints, labels):
    return constraints.violations(Ensemble([labels]))[0]


def noisy_copies(rng, n, k, n_partitions=8, share=0.2):
    """Planted labels (n,), and an ensemble of copies with that share redrawn."""
    planted = rng.integers(k, size=n)
    redrawn = rng.random((n_partitions, n)) < share
    noise = rng.integers(k, size=(n_partitions, n))
    return planted, Ensemble(np.where(redrawn, noise, planted))


@st.composite
def linked_problems(draw):
    """A small ensemble and links that some partition into n clusters obeys."""
    n = draw(st.integers(3, 12))
    vectors = st.lists(st.integers(0, 2), min_size=n, max_size=n)
    ensemble = Ensemble(draw(st.lists(vectors, min_size=1, max_size=4)))
    hidden = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    samples = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(samples, samples), min_size=1, max_size=15))
    pairs = [(a, b) for a, b in pairs if a != b]
    must = [(a, b) for a, b in pairs if hidden[a] == hidden[b]]
    cannot = [(a, b) for a, b in pairs if hidden[a] != hidden[b]]
    return ensemble, Constraints(must, cannot), len(set(hidden))


@pytest.mark.filterwarnings("ignore:n_clusters is")
@pytest.mark.parametrize("method", ["kmeans", "sec", "average", "complete"])
@settings(max_examples=80)
@given(problem=linked_problems())
def test_no_link_is_broken(method, problem):
    ensemble, links, k = problem
    try:
        labels = consensus_partition(ensemble, k, method, constraints=links, n_init=2)
    except ConstraintError:
        assert method in ("average", "complete"), "only a linkage may end too early"
        return
    assert broken(links, labels) == 0
    assert labels.max() < k


def test_no_link_is_broken_among_thousands():
    rng = np.random.default_rng(0)
    planted, ensemble = noisy_copies(rng, 3000, 6)
    pairs = rng.integers(3000, size=(4000, 2))
    same = planted[pairs[:, 0]] == planted[pairs[:, 1]]
    links = Constraints(pairs[same], pairs[~same])
    labels = consensus_partition(ensemble, 6, constraints=links, n_init=2)
    assert broken(links, labels) == 0
    assert links.n_pairs > 3900


@pytest.mark.parametrize("method", ["kmeans", "sec", "average", "mcla"])
def test_without_links_the_result_is_unchanged(method):
    if method == "mcla":
        pytest.importorskip("pymetis")
    _, ensemble = noisy_copies(np.random.default_rng(1), 200, 4)
    plain = consensus_partition(ensemble, 4, method)
    empty = consensus_partition(ensemble, 4, method, constraints=Constraints())
    assert np.array_equal(plain, empty)


def test_links_that_hold_anyway_change_nothing():
    planted = np.repeat([0, 1, 2], 20)
    ensemble = Ensemble([planted, planted, np.roll(planted, 1)])
    links = Constraints(must_link=[(0, 5), (5, 9)], cannot_link=[(0, 25), (25, 45)])
    plain = consensus_partition(ensemble, 3)
    assert np.array_equal(consensus_partition(ensemble, 3, constraints=links), plain)


@settings(max_examples=60)
@given(problem=linked_problems(), seed=st.integers(0, 99))
def test_the_loss_never_rises_from_pass_to_pass(problem, seed):
    ensemble, links, k = problem
    if not links.n_pairs:
        return
    linked = linked_rows(*one_hot_rows(ensemble), links, k)
    lloyd = LinkedLloyd(linked, RunOptions())
    start = lloyd.start(linked.n_clusters, np.random.default_rng(seed))
    losses = [lloyd.run(start, max_iter=passes).loss for passes in range(1, 6)]
    assert all(np.diff(losses) <= 1e-9)


def test_the_best_of_many_starts_is_the_best_of_all_partitions():
    rng = np.random.default_rng(2)
    for _ in range(10):
        ensemble = Ensemble(rng.integers(3, size=(4, 7)))
        links = Constraints(must_link=[(0, 1)], cannot_link=[(1, 2), (2, 3), (3, 4)])
        lowest = min(
            one_hot_loss(ensemble, labels)
            for labels in product(range(3), repeat=7)
            if len(set(labels)) == 3 and not broken(links, np.array(labels))
        )
        labels = consensus_partition(ensemble, 3, constraints=links, n_init=50)
        assert one_hot_loss(ensemble, labels) == pytest.approx(lowest)


def test_equal_samples_are_told_apart_where_links_ask_for_it():
    ensemble = Ensemble([[0, 0, 0, 0]])
    links = Constraints(cannot_link=[(0, 1), (1, 2), (0, 2)])
    labels = consensus_partition(ensemble, 3, constraints=links)
    assert len(set(labels[:3].tolist())) == 3


def test_equal_samples_held_apart_leave_all_clusters_that_were_asked_for():
    ensemble = Ensemble([[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 0, 1]])
    links = Constraints(cannot_link=[(0, 1), (0, 2)])
    labels = consensus_partition(ensemble, 3, constraints=links)
    assert labels.tolist() == [0, 1, 2, 1]
    assert one_hot_loss(ensemble, labels) == 0


@pytest.mark.filterwarnings("ignore:n_clusters is")
def test_equal_samples_are_not_split_in_vain():
    ensemble = Ensemble([[0, 0, 0, 1, 1, 1]])
    links = Constraints(must_link=[(0, 1)], cannot_link=[(0, 3)])
    labels = consensus_partition(ensemble, 4, constraints=links)
    assert labels.tolist() == [0, 0, 0, 1, 1, 1]
    mixed = Constraints(must_link=[(0, 3)])
    labels = consensus_partition(ensemble, 4, constraints=mixed)
    assert labels.tolist() == [0, 1, 1, 0, 2, 2]


SMALL = [  # label matrix, clusters, must-links, cannot-links
    (
        [
            [0, 0, 2, 0, 2, 0],
            [0, 1, 0, 1, 2, 1],
            [1, 0, 2, 2, 1, 2],
            [1, 1, 0, 2, 0, 2],
        ],
        4,
        [],
        [(5, 3), (1, 4), (1, 2), (5, 1)],
    ),
    (
        [[0, 1, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0], [1, 1, 0, 1, 0, 0]],
        3,
        [(2, 1)],
        [(3, 2), (2, 5)],
    ),
]


@pytest.mark.parametrize(("labels", "k", "must", "cannot"), SMALL)
def test_problems_that_passes_alone_leave_unsolved_are_solved(labels, k, must, cannot):
    ensemble, links = Ensemble(labels), Constraints(must, cannot)
    lowest = min(
        one_hot_loss(ensemble, some)
        for some in product(range(k), repeat=6)
        if not broken(links, np.array(some))
    )
    found = consensus_partition(ensemble, k, constraints=links)
    assert one_hot_loss(ensemble, found) == pytest.approx(lowest)


@settings(max_examples=40)
@given(problem=linked_problems(), seed=st.integers(0, 99))
def test_transfers_lower_the_loss_by_what_they_say_and_break_nothing(problem, seed):
    ensemble, links, k = problem
    if not links.n_pairs:
        return
    linked = linked_rows(*one_hot_rows(ensemble), links, k)
    lloyd = LinkedLloyd(linked, RunOptions())
    start = lloyd.start(linked.n_clusters, np.random.default_rng(seed))
    before = lloyd.run(start, max_iter=300)
    after = Transfers(lloyd).lower_loss(before)
    labels = after.labels[linked.group]
    assert broken(links, labels) == 0
    assert after.loss <= before.loss + 1e-9
    assert len(np.unique(labels)) == linked.n_clusters
    lost = one_hot_loss(ensemble, before.labels[linked.group])
    gained = lost - one_hot_loss(ensemble, labels)
    assert gained == pytest.approx(before.loss - after.loss)


def test_must_links_may_leave_fewer_clusters_and_say_so():
    ensemble = Ensemble([[0, 1, 2, 3]])
    links = Constraints(must_link=[(0, 1), (1, 2)])
    with pytest.warns(UserWarning, match="only 2"):
        labels = consensus_partition(ensemble, 3, constraints=links)
    assert labels.tolist() == [0, 0, 0, 1]


def test_too_few_clusters_name_the_samples_that_collide():
    ensemble = Ensemble([np.arange(6)])
    links = Constraints(cannot_link=[(1, 2), (2, 4), (1, 4), (4, 5)])
    with pytest.raises(ConstraintError, match=r"samples 1, 2, 4 .*ask for 3") as caught:
        consensus_partition(ensemble, 2, constraints=links)
    assert caught.value.chain == (
        ("cannot-link", 1, 2),
        ("cannot-link", 1, 4),
        ("cannot-link", 2, 4),
    )


def test_a_wheel_without_four_that_are_all_apart_needs_four_clusters():
    wheel = cycle(5) + [(v, 5) for v in range(5)]
    ensemble = Ensemble([np.arange(6)])
    with pytest.raises(ConstraintError, match=r"no assignment, all .*ask for 4"):
        consensus_partition(ensemble, 3, constraints=Constraints(cannot_link=wheel))
    labels = consensus_partition(
        ensemble, 4, constraints=Constraints(cannot_link=wheel)
    )
    assert broken(Constraints(cannot_link=wheel), labels) == 0


def test_a_search_that_ends_early_does_not_claim_a_proof(monkeypatch):
    monkeypatch.setattr(_links, "SEARCH_STEPS", 3)
    links = Constraints(cannot_link=cycle(7))
    with pytest.raises(ConstraintError, match="no assignment in 3 steps"):
        consensus_partition(Ensemble([np.arange(7)]), 2, constraints=links)


def test_methods_that_cannot_obey_links_say_which_can():
    links = Constraints(must_link=[(0, 1)])
    with pytest.raises(ValueError, match=r"'single' cannot obey .* 'average'"):
        consensus_partition(Ensemble([[0, 1, 1]]), 2, "single", constraints=links)


def joined_by_definition(apart, links, k, reduce):
    """Merge the nearest clusters that may be, units first; None where some tie."""
    clusters = [{i} for i in range(len(apart))]
    for a, b in links.must_link.tolist():
        one, other = (next(c for c in clusters if x in c) for x in (a, b))
        if one is not other:
            clusters.remove(other)
            one |= other
    while len(clusters) > k:
        options = [
            (reduce(apart[np.ix_([*one], [*other])]), p, q)
            for p, one in enumerate(clusters)
            for q, other in enumerate(clusters[:p])
            if not any(
                len({a, b} & one) == 1 == len({a, b} & other)
                for a, b in links.cannot_link.tolist()
            )
        ]
        (height, p, q), *others = sorted(options)
        if others and others[0][0] < height + 1e-9:
            return None
        clusters[q] |= clusters.pop(p)
    labels = np.empty(len(apart), int)
    for number, cluster in enumerate(clusters):
        labels[[*cluster]] = number
    return labels


@pytest.mark.filterwarnings("ignore:n_clusters is")
@pytest.mark.parametrize(
    ("method", "reduce"), [("average", np.mean), ("complete", np.max)]
)
def test_linkage_under_links_merges_what_it_may_by_definition(method, reduce):
    compared = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        planted, ensemble = noisy_copies(rng, 14, 2, n_partitions=12, share=0.5)
        # Votes make ties between distances improbable.
        ensemble = ensemble.with_weights(rng.integers(1, 300, 12))
        pairs = rng.choice(14, (4, 2), replace=False)
        same = planted[pairs[:, 0]] == planted[pairs[:, 1]]
        links = Constraints(pairs[same], pairs[~same])
        joined = ensemble.codes[:, :, None] == ensemble.codes[:, None, :]
        apart = 1 - np.average(joined, axis=0, weights=ensemble.votes)
        expected = joined_by_definition(apart, links, 4, reduce)
        if expected is not None:
            labels = consensus_partition(ensemble, 4, method, constraints=links)
            assert adjusted_rand_score(expected, labels) == 1
            compared += 1
    assert compared > 8


@pytest.mark.parametrize("method", ["average", "complete"])
def test_linkage_says_where_it_ends_before_enough_is_merged(method):
    # 0 and 3 are nearest; once they are one, it, 1 and 2 are all kept apart.
    ensemble = Ensemble([[0, 1, 2, 0], [0, 1, 1, 0], [0, 1, 0, 1]])
    links = Constraints(cannot_link=[(0, 1), (1, 2), (2, 3)])
    with pytest.raises(ConstraintError, match=r"ends at 3 clusters.*'kmeans'"):
        consensus_partition(ensemble, 2, method, constraints=links)
    three = consensus_partition(ensemble, 3, method, constraints=links)
    assert three.tolist() == [0, 1, 2, 0]
    two = consensus_partition(ensemble, 2, "kmeans", constraints=links)
    assert two.tolist() == [0, 1, 0, 1]


def test_links_to_samples_that_are_not_there_are_refused():
    links = Constraints(must_link=[(0, 9)])
    with pytest.raises(ValueError, match="names sample 9"):
        consensus_partition(Ensemble([[0, 1, 1]]), 2, constraints=links)


@settings(max_examples=150)
@given(data=st.data())
def test_a_colouring_is_found_exactly_where_there_is_one(data):
    size, k = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 3))
    vertices = st.integers(0, size - 1)
    edges = data.draw(st.lists(st.tuples(vertices, vertices), max_size=15))
    edges = [(a, b) for a, b in edges if a != b]
    if colourable(edges, size, k):
        colours = colour_graph(graph(edges, size), k)
        assert all(colours[a] != colours[b] for a, b in edges)
        assert set(colours.tolist()) <= set(range(k))
    else:
        with pytest.raises(NoColouringError) as caught:
            colour_graph(graph(edges, size), k)
        assert caught.value.proven


def test_more_seedings_are_never_worse():
    _, ensemble = noisy_copies(np.random.default_rng(3), 120, 5, share=0.5)
    links = Constraints(must_link=[(0, 1)], cannot_link=[(2, 3), (3, 4)])
    linked = linked_rows(*one_hot_rows(ensemble), links, 5)
    lloyd = LinkedLloyd(linked, RunOptions())
    rng = np.random.default_rng(0)
    losses = [result.loss for result in best_of_starts(lloyd, 5, 6, 100, rng)]
    assert losses == sorted(losses, reverse=True)
