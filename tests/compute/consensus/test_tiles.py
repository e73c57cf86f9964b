import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clusterlens.compute.consensus.tiles as tiles
from clusterlens.compute.consensus.tile_source import TileSource
from clusterlens.compute.consensus.tiles import consensus_tile
from clusterlens.compute.ensemble.agreement import count_agreements
from clusterlens.compute.ensemble.ensemble import Ensemble
from tests.definitions import agreement_counts, label_matrices


def pixel_means(matrix, tile):
    """Mean of the full matrix over the pairs of each pixel."""
    (r0, r1), (c0, c1) = tile.rows, tile.cols
    sums = np.add.reduceat(matrix[r0:r1, c0:c1], tile.row_edges[:-1] - r0, axis=0)
    sums = np.add.reduceat(sums, tile.col_edges[:-1] - c0, axis=1)
    return sums / np.outer(np.diff(tile.row_edges), np.diff(tile.col_edges))


def planted_labels(n_partitions, n_samples, n_clusters=5, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.sort(rng.integers(0, n_clusters, n_samples))
    noise = rng.integers(0, n_clusters, (n_partitions, n_samples))
    return np.where(rng.random(noise.shape) < 0.6, truth, noise)


@st.composite
def viewports(draw):
    labels = draw(label_matrices(max_samples=40))
    n_samples = labels.shape[1]
    spans = []
    for _ in range(2):
        start = draw(st.integers(0, n_samples - 1))
        spans.append((start, draw(st.integers(start + 1, n_samples))))
    shape = draw(st.tuples(st.integers(1, 45), st.integers(1, 45)))
    order = np.random.default_rng(draw(st.integers(0, 99))).permutation(n_samples)
    return labels, *spans, shape, order


@settings(max_examples=60)
@given(viewport=viewports(), prepared=st.booleans(), binarised=st.booleans())
def test_tiles_are_pixel_means_of_the_matrix(viewport, prepared, binarised):
    labels, rows, cols, shape, order = viewport
    ensemble = Ensemble(labels)
    counts = agreement_counts(labels[:, order])
    if binarised:
        matrix = counts >= count_agreements(ensemble).threshold
    else:
        matrix = counts / len(labels)
    kind = "binarised" if binarised else "consensus"
    if prepared:
        tile = consensus_tile(TileSource(ensemble, order), rows, cols, shape, kind=kind)
    else:
        tile = consensus_tile(ensemble, rows, cols, shape, order, kind)
    assert (tile.rows, tile.cols) == (rows, cols)
    assert tile.values.dtype == np.float32
    assert tile.values.shape == (
        min(shape[0], rows[1] - rows[0]),
        min(shape[1], cols[1] - cols[0]),
    )
    assert tile.exact
    np.testing.assert_allclose(
        tile.values, pixel_means(matrix.astype(float), tile), atol=1e-6
    )


@pytest.mark.parametrize(
    "labels",
    [
        planted_labels(300, 500),
        planted_labels(5, 700, n_clusters=400),
        planted_labels(6, 500)[[0, 1, 1, 2, 2, 2]],
        np.tile(np.arange(300), (4, 1)),
        np.zeros((3, 200), dtype=int),
    ],
    ids=["T > 255", "K > 255", "copies", "singletons", "one cluster"],
)
@pytest.mark.parametrize("kind", ["consensus", "binarised"])
def test_tiles_are_right_for_many_models_labels_and_copies(labels, kind):
    source = TileSource(Ensemble(labels))
    tile = consensus_tile(source, (7, 190), (50, 200), (64, 33), kind=kind)
    counts = agreement_counts(labels)
    matrix = counts / len(labels) if kind == "consensus" else counts >= tile.threshold
    np.testing.assert_allclose(
        tile.values, pixel_means(matrix.astype(float), tile), atol=1e-6
    )


def test_wide_partitions_and_groups_of_models_add_up(monkeypatch):
    labels = np.concatenate([planted_labels(9, 400), planted_labels(3, 400, 90)])
    plain = consensus_tile(TileSource(Ensemble(labels)), shape=(31, 17))
    monkeypatch.setattr("clusterlens.compute.consensus.tile_source._WIDE", 50)
    monkeypatch.setattr(tiles, "_PROFILE_ENTRIES", 12 * 31)
    source = TileSource(Ensemble(labels))
    assert (np.diff(source.starts) == 0).sum() == 3
    split = consensus_tile(source, shape=(31, 17))
    np.testing.assert_allclose(split.values, plain.values, atol=1e-6)


def test_every_zoom_of_a_large_ensemble_is_exact():
    labels = planted_labels(8, 5000, n_clusters=12)
    source = TileSource(Ensemble(labels))
    for rows, cols in [
        ((0, 5000), (0, 5000)),
        ((63, 4801), (1, 66)),
        ((2000, 2100), (100, 3000)),
        ((4999, 5000), (0, 5000)),
    ]:
        tile = consensus_tile(source, rows, cols, (40, 50))
        block = agreement_counts_between(labels, rows, cols) / 8
        edges = tile.row_edges - rows[0], tile.col_edges - cols[0]
        means = [
            [block[a:b, c:d].mean() for c, d in pairs(edges[1])]
            for a, b in pairs(edges[0])
        ]
        np.testing.assert_allclose(tile.values, means, atol=1e-6)


def pairs(edges):
    return list(itertools.pairwise(edges))


def agreement_counts_between(labels, rows, cols):
    return sum(
        (row[slice(*rows), None] == row[None, slice(*cols)]).astype(int)
        for row in labels
    )


def test_unit_pixels_hold_agreement_counts_over_t():
    labels = planted_labels(7, 30)
    tile = consensus_tile(Ensemble(labels), shape=(30, 30))
    np.testing.assert_array_equal(
        tile.values, (agreement_counts(labels) / 7).astype(np.float32)
    )
    np.testing.assert_array_equal(tile.row_edges, np.arange(31))


@pytest.mark.parametrize("threshold", [0, 3, 9])
def test_threshold_of_a_binarised_tile_can_be_chosen(threshold):
    labels = planted_labels(8, 50)
    tile = consensus_tile(
        Ensemble(labels), shape=(9, 9), kind="binarised", threshold=threshold
    )
    matrix = (agreement_counts(labels) >= threshold).astype(float)
    np.testing.assert_allclose(tile.values, pixel_means(matrix, tile), atol=1e-6)
    assert tile.threshold == threshold


def test_sampled_binarised_tiles_say_so_and_stay_within_their_error(monkeypatch):
    labels = planted_labels(10, 1200)
    source = TileSource(Ensemble(labels))
    exact = consensus_tile(source, shape=(20, 30), kind="binarised")
    monkeypatch.setattr(tiles, "_PAIR_COMPARISONS", 20 * 30 * 10 * 64)
    draws = [
        consensus_tile(source, shape=(20, 30), kind="binarised", random_state=seed)
        for seed in range(40)
    ]
    assert not draws[0].exact
    assert draws[0].sampled == 8
    errors = np.stack([tile.values - exact.values for tile in draws])
    assert np.abs(errors).max() > 0.01
    assert np.sqrt((errors**2).mean(axis=0)).max() < 1 / np.sqrt(2 * 8)
    bias = errors.mean(axis=0)
    assert np.abs(bias).max() < 5 / np.sqrt(2 * 8 * 40)
    assert abs(bias.mean()) < 0.005
    again = consensus_tile(source, shape=(20, 30), kind="binarised", random_state=3)
    np.testing.assert_array_equal(again.values, draws[3].values)


def test_few_pairs_per_pixel_are_never_sampled(monkeypatch):
    monkeypatch.setattr(tiles, "_PAIR_COMPARISONS", 1)
    ensemble = Ensemble(planted_labels(5, 20))
    assert consensus_tile(ensemble, shape=(20, 20), kind="binarised").exact
    assert not consensus_tile(ensemble, shape=(10, 10), kind="binarised").exact


def test_one_sample_has_one_pixel():
    assert consensus_tile(Ensemble([[3], [1], [4]])).values.tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rows": (0, 9)}, r"rows is \(0, 9\); give a half-open range"),
        ({"cols": (2, 2)}, r"cols is \(2, 2\)"),
        ({"cols": (-1, 2)}, r"cols is \(-1, 2\)"),
        ({"shape": (0, 3)}, "shape is 0"),
        ({"shape": (3, 10**6)}, "shape is 1000000; give a value from 1 to 8192"),
        ({"order": [0, 1, 1, 2]}, "names sample 1 2 times"),
        ({"order": [0, 1, 2, 4]}, "names sample 4, but there are 4"),
        ({"order": [0, 1]}, r"order has shape \(2,\)"),
        ({"kind": "mean"}, "kind is 'mean'"),
        ({"threshold": 1}, "kind 'consensus' has none"),
        ({"threshold": 5, "kind": "binarised"}, "threshold is 5"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        consensus_tile(Ensemble([[0, 1, 1, 0], [0, 0, 1, 0]]), **arguments)


def test_order_of_a_source_cannot_be_changed_afterwards():
    source = TileSource(Ensemble([[0, 1], [0, 0]]))
    with pytest.raises(ValueError, match="order is fixed by the TileSource"):
        consensus_tile(source, order=[1, 0])
