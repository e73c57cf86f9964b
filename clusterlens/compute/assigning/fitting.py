"""Fitting an assigner: choice of the rule that reproduces the clusters best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from clusterlens.compute._run.options import DEFAULT_RUN, RunOptions
from clusterlens.compute._validation import UNLABELLED, FloatArray, IntArray, read_only
from clusterlens.compute.assigning._calibration import (
    calibration_error,
    fit_curve,
    widening,
)
from clusterlens.compute.assigning._prototypes import Prototypes, add_misplaced, draw
from clusterlens.compute.assigning._readings import (
    LEAST_SHOWN,
    Reading,
    centre_distance,
    left_out_stretch,
    read_centres,
    read_neighbors,
)
from clusterlens.compute.assigning._repeating import (
    find_clustering,
    repeat,
    with_noise,
)
from clusterlens.compute.assigning.assigner import (
    ALIKE,
    DENSE,
    NEAREST_CENTRE,
    ROUND_GAUSSIANS,
    VOTED,
    Assigner,
)
from clusterlens.compute.estimators.neighbors import NeighborSearch, OwnSearch

NEIGHBORS = (1, 5, 15, 31)
CORES = (5, 15, 31)
MOST_PROTOTYPES = 20_000
LEAST_KEPT = 0.99
MOST_REPEATED = 5_000


def fit_assigner(
    X: FloatArray,
    labels: IntArray,
    *,
    rows: bool = True,
    counts: IntArray | None = None,
    random_state: int = 0,
    run: RunOptions = DEFAULT_RUN,
    search: NeighborSearch | None = None,
) -> Assigner:
    """Learn the assigner of a partition.

    Parameters
    ----------
    X : array of float64, shape (n_samples, n_features)
        Features, finite.
    labels : array of int, shape (n_samples,)
        The partition; -1 is noise.
    rows : bool, default True
        Whether rows may be kept as prototypes. Otherwise centres and scales decide, and
        no row is assigned to noise.
    counts : array of int, shape (n_samples,), optional
        Number of rows of the table for each sample, used in the expected shares.
    random_state : int, default 0
        Draws prototypes if there are too many rows to keep all.
    run : RunOptions
        Cancel.
    search : NeighborSearch, optional
        `own_search(X)`, which the assigners of many partitions of X can share.

    Returns
    -------
    assigner : Assigner
        The assigner, with the share of the rows that keep their cluster.

    Notes
    -----
    The rules, each tried on rows left out one at a time: votes of 1, 5, 15 or 31
    prototypes, the nearest centre, and the densest of round Gaussians; with noise and
    up to 20,000 rows also the density of the 5, 15 or 31 nearest. Centres are preferred
    to neighbours if they are right as often and keep 99 % of the rows. Up to 20,000
    rows all are prototypes. From more rows 5,000 are drawn, at least 100 of each
    cluster, and rows that lose their cluster are added until 99 % keep it, with at most
    20,000 in all; if the added rows mislead more than they help, they are removed. Time
    of a neighbour search of n_samples among the prototypes.
    """
    if counts is None:
        counts = np.ones(len(X), np.int64)
    if search is None and rows:
        search = own_search(X)
    kept = _fitted(X, labels, counts, rows, random_state, run, search)
    noise = (labels == UNLABELLED).mean()
    if rows and len(X) <= MOST_REPEATED and 0 < noise < 1:
        kept = _widened(kept, X, labels, random_state, run)
    same = _sharing(kept, search).label(X) == labels
    return replace(kept, reproduced=float(same.mean()))


def own_search(X: FloatArray) -> NeighborSearch | None:
    """Return a search that finds the neighbours of each row (n, d) only once.

    None if there are more rows than an assigner keeps.
    """
    if len(X) > MOST_PROTOTYPES:
        return None
    return OwnSearch(X, max(max(NEIGHBORS), 2 * max(CORES)))


def _sharing(assigner: Assigner, search: NeighborSearch | None) -> Assigner:
    """Let an assigner use a search among its prototypes; return it."""
    if search is not None and len(assigner.rows):
        assigner.share_search(search)
    return assigner


def _fitted(
    X: FloatArray,
    labels: IntArray,
    counts: IntArray,
    rows: bool,
    random_state: int,
    run: RunOptions,
    search: NeighborSearch | None,
    like: Assigner | None = None,
) -> Assigner:
    """Fit an assigner with held-out rows left out one at a time.

    `search` is one among the rows, if all are prototypes. The assigner has the rule of
    another one, if it is given and fits.
    """
    rng = np.random.default_rng(random_state)
    known = np.ones(len(X), np.bool_) if rows else labels != UNLABELLED
    if not known.any():
        known[:] = True
    clusters, places = np.unique(labels[known], return_inverse=True)
    codes = np.full(len(X), UNLABELLED)
    codes[known] = places
    kept = _blank(X[known], places, clusters)
    few = len(X) <= MOST_PROTOTYPES
    held_out = np.arange(len(X)) if few else draw(codes, rng)
    inside = held_out[known[held_out]]
    if like and UNLABELLED in clusters and like.n_neighbors < len(X) - 1:
        kept = replace(kept, rule=like.rule, n_neighbors=like.n_neighbors)
    else:
        kept = _with_rule(
            kept, X[known], places, X[inside], codes[inside], rows, search
        )
    run.raise_if_cancelled()
    if rows:
        chosen = held_out
        if kept.rule == "neighbours" and not few:
            chosen = _condensed(kept, X, codes, held_out, rng)
        kept = replace(kept, rows=read_only(X[chosen]), codes=codes[chosen])
    run.raise_if_cancelled()
    # Rows of a small cluster are drawn more often than others.
    groups = np.unique(codes, return_inverse=True)[1]
    drawn = np.bincount(groups[held_out], counts[held_out])
    weights = counts * (np.bincount(groups, counts) / drawn)[groups]
    return _calibrated(
        _sharing(kept, search),
        X[held_out],
        codes[held_out],
        weights[held_out],
        random_state,
    )


def _widened(
    kept: Assigner,
    X: FloatArray,
    labels: IntArray,
    random_state: int,
    run: RunOptions,
) -> Assigner:
    """Correct the results of held-out rows by rows outside the partition."""
    clustering, alike = find_clustering(X, labels, run)
    if alike < ALIKE:
        return replace(kept, repeated=max(alike, 0.0))

    def fit(X: FloatArray, labels: IntArray) -> Assigner:
        run.raise_if_cancelled()
        counts = np.ones(len(X), int)
        return _fitted(
            X, labels, counts, True, random_state, run, own_search(X), like=kept
        )

    found = repeat(X, clustering, fit, np.random.default_rng(random_state))
    expected = with_noise(kept.expected, kept.expected[0] + found.gap)
    return replace(
        kept,
        expected=read_only(expected),
        dispersion=found.dispersion,
        widening=read_only(widening(found.p, found.least)),
        repeated=alike,
    )


def _blank(X: FloatArray, codes: IntArray, clusters: IntArray) -> Assigner:
    """Describe the clusters, without a rule yet."""
    sizes = np.bincount(codes)
    sums = np.zeros((len(clusters), X.shape[1]))
    np.add.at(sums, codes, X)
    centres = sums / sizes[:, None]
    squares = ((X - centres[codes]) ** 2).mean(axis=1)
    common = np.sqrt(squares.mean()) or 1.0
    scales = np.sqrt(np.bincount(codes, squares) / sizes)
    return Assigner(
        clusters=read_only(clusters),
        sizes=read_only(sizes),
        rule="centres",
        n_neighbors=0,
        centres=read_only(centres),
        scales=read_only(np.maximum(scales, 1e-3 * common)),
        rows=np.empty((0, X.shape[1])),
        codes=np.empty(0, np.int64),
        curve=fit_curve(np.empty(0), np.empty(0)),
        held_out=(np.empty(0),) * len(clusters),
        agreement={},
        reproduced=np.nan,
        calibration_error=np.nan,
        expected=read_only(sizes / sizes.sum()),
        dispersion=0.0,
        widening=np.empty((2, 0)),
        repeated=np.nan,
    )


def _with_rule(
    blank: Assigner,
    X: FloatArray,
    codes: IntArray,
    held_out: FloatArray,
    held_out_codes: IntArray,
    rows: bool,
    search: NeighborSearch | None,
) -> Assigner:
    """Choose the rule that gives most held-out rows their cluster."""
    common = np.sqrt(np.average(blank.scales**2, weights=blank.sizes))
    equal = np.full(len(blank.sizes), common)
    centred = {
        NEAREST_CENTRE: replace(blank, scales=read_only(equal)),
        ROUND_GAUSSIANS: blank,
    }
    right = {
        name: _mean_right(
            _without_itself(one, held_out, held_out_codes), held_out_codes
        )
        for name, one in centred.items()
    }
    best = max(right, key=lambda name: right[name])
    voted: dict[int, float] = {}
    if rows and len(held_out) > 1:
        prototypes = Prototypes(held_out, held_out_codes, search)
        voted = dict(_neighbor_agreement(prototypes, len(blank.sizes)))
    dense: dict[int, float] = {}
    if voted and len(held_out) == len(X) and UNLABELLED in blank.clusters:
        dense = dict(_density_agreement(prototypes))
    agreement = right | {VOTED.format(k): share for k, share in voted.items()}
    agreement |= {DENSE.format(k): share for k, share in dense.items()}
    chosen = centred[best]
    reading = read_centres(X, chosen.centres, chosen.scales)
    firm = (
        _mean_right(reading, codes) >= LEAST_KEPT and UNLABELLED not in blank.clusters
    )
    if voted and not (firm and right[best] >= max(voted.values())):
        k = max(voted, key=lambda k: voted[k])
        chosen = replace(blank, rule="neighbours", n_neighbors=k)
    if dense and max(dense.values()) > max(voted.values()):
        k = max(dense, key=lambda k: dense[k])
        chosen = replace(blank, rule="density", n_neighbors=k)
    return replace(chosen, agreement=agreement)


def _without_itself(assigner: Assigner, X: FloatArray, codes: IntArray) -> Reading:
    centres, scales, sizes = assigner.centres, assigner.scales, assigner.sizes
    return read_centres(X, centres, scales, sizes, codes)


def _neighbor_agreement(
    prototypes: Prototypes, n_clusters: int
) -> Iterator[tuple[int, float]]:
    """Yield each number of neighbours, with its accuracy without the row itself."""
    X, codes = prototypes.rows, prototypes.codes
    width = min(max(NEIGHBORS), len(X) - 1)
    found = prototypes.nearest(X, width, np.arange(len(X)))
    for k in NEIGHBORS:
        if k <= width:
            yield k, _mean_right(read_neighbors(*found, k, n_clusters), codes)


def _density_agreement(prototypes: Prototypes) -> Iterator[tuple[int, float]]:
    """Yield each size of a dense place, with its accuracy without the row itself."""
    X, codes = prototypes.rows, prototypes.codes
    for k in CORES:
        if k < len(X):
            cluster, _ = prototypes.in_reach(X, k, np.arange(len(X)))
            yield k, float((cluster == codes).mean())


def _mean_right(reading: Reading, codes: IntArray) -> float:
    return float((reading.cluster == codes).mean())


def _condensed(
    assigner: Assigner,
    X: FloatArray,
    codes: IntArray,
    candidates: IntArray,
    rng: np.random.Generator,
) -> IntArray:
    """Add rows to the drawn ones until 99 % of all keep their cluster."""

    def assigned(chosen: IntArray, asked: IntArray) -> IntArray:
        own = np.full(len(X), -1)
        own[chosen] = np.arange(len(chosen))
        one = replace(assigner, rows=X[chosen], codes=codes[chosen])
        found = one.prototypes.nearest(X[asked], one.n_neighbors, own[asked])
        return read_neighbors(*found, one.n_neighbors, len(one.sizes)).cluster

    return add_misplaced(candidates, codes, assigned, LEAST_KEPT, MOST_PROTOTYPES, rng)


def _calibrated(
    assigner: Assigner,
    X: FloatArray,
    codes: IntArray,
    weights: FloatArray,
    random_state: int,
) -> Assigner:
    """Learn shares and oddness from rows (m, d), which are the first prototypes.

    `codes` (m,) are -1 for rows without a known cluster, `weights` (m,) the number of
    rows of the table for each.
    """
    reading, odd = _left_out(assigner, X, codes)
    if reading is None:
        return assigner
    right = (reading.cluster == codes).astype(np.float64)
    scores = [np.sort(odd[reading.cluster == c]) for c in range(len(assigner.sizes))]
    return replace(
        assigner,
        curve=read_only(fit_curve(reading.clearness, right)),
        held_out=tuple(map(read_only, scores)),
        expected=read_only(
            np.bincount(reading.cluster, weights, len(scores)) / weights.sum()
        ),
        calibration_error=calibration_error(reading.clearness, right, random_state),
    )


def _left_out(
    assigner: Assigner, X: FloatArray, codes: IntArray
) -> tuple[Reading | None, FloatArray]:
    """Read rows left out one at a time, with their oddness: (m,)."""
    own, m = np.arange(len(X)), len(assigner.rows)
    if m == 1:
        return None, np.empty(0)
    reading = _without_itself(assigner, X, codes)
    if not m:
        stretch = left_out_stretch(assigner.sizes)[codes]
        odd = centre_distance(X, assigner.centres, assigner.scales, reading.cluster)
        return reading, np.where(reading.cluster == codes, odd * stretch, odd)
    width = min(m - 1, max(assigner.width, LEAST_SHOWN))
    found = assigner.prototypes.nearest(X, width, own)
    if assigner.rule != "centres":
        reading = assigner.read(X, found, own)
    return reading, assigner.prototypes.mean_distance(X, reading.cluster, found, own)
