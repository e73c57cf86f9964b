"""Landmarks: rows that stand for all rows, and the sizes of groups they show.

References
----------
Bachem, O., Lucic, M., Krause, A. Practical coreset constructions for machine learning.
arXiv:1703.06476 (2017), section 2.2.
Horvitz, D. G., Thompson, D. J. A generalization of sampling without replacement from a
finite universe. Journal of the American Statistical Association 47 (1952).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import hypergeom
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin_min

from clusterlens.compute._run.options import RunOptions
from clusterlens.compute._validation import FloatArray, Frozen, IntArray
from clusterlens.compute.scale.mapping import map_jobs
from clusterlens.compute.scale.source import ParquetSource, Piece, UnreadableFile
from clusterlens.compute.table.row_encoder import RowEncoder

CELLS = 64
# Landmarks from which the size of a cell is estimated, on average at least.
CELL_LANDMARKS = 50
CHANCE = 0.95


@dataclass(frozen=True, eq=False)
class Landmarks(Frozen):
    """Rows that stand for all rows.

    Parameters
    ----------
    X : array of float64, shape (n_landmarks, n_features)
        Their features.
    rows : array of int64, shape (n_landmarks,)
        Their places in the table, ascending.
    weights : array of float64, shape (n_landmarks,)
        Rows of the table that each stands for: weighted sums over the landmarks are
        unbiased for sums over all rows.
    uniform : array of bool, shape (n_landmarks,)
        Which were drawn with equal chances.
    """

    X: FloatArray
    rows: IntArray
    weights: FloatArray
    uniform: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RareRows(Frozen):
    """How likely a row is drawn into the sample that favours rare and outlying rows.

    A row of cell c at distance r from its centre is drawn with the chance `per_cell[c]`
    + `per_square` r², at most 1.

    Parameters
    ----------
    centres : array of float64, shape (n_cells, n_features)
        Centres of k-means of the uniform landmarks.
    per_cell : array of float64, shape (n_cells,)
        Half of the sample is divided equally among the cells, however few their rows.
    per_square : float
        The other half goes by squared distance.
    """

    centres: FloatArray
    per_cell: FloatArray
    per_square: float

    def chances(self, X: FloatArray) -> FloatArray:
        """Return the chance of each row (n, d) to be drawn, shape (n,)."""
        cell, distance = pairwise_distances_argmin_min(X, self.centres)
        return np.minimum(1.0, self.per_cell[cell] + self.per_square * distance**2)


def uniform_landmarks(X: FloatArray, rows: IntArray, n_rows: int) -> Landmarks:
    """Return rows (m, d) drawn uniformly from so many as landmarks."""
    weights = np.full(len(X), n_rows / len(X))
    return Landmarks(X, rows, weights, np.ones(len(X), bool))


def add_rare_landmarks(
    landmarks: Landmarks,
    n_wanted: int,
    source: ParquetSource,
    encoder: RowEncoder,
    seed: int,
    run: RunOptions,
) -> Landmarks:
    """Add about `n_wanted` rows of a second pass that favours rare and outlying ones.

    Rows are drawn independently of each other (Poisson sampling), with chances learnt
    from the uniform landmarks. Sums weighted by one over the chance are unbiased in
    each sample alone, and so is the mean of the two, by the numbers wanted. A row of
    both samples is one landmark with the weights of both.
    """
    rule = _learn_rule(landmarks, n_wanted, seed)
    jobs = source.jobs()
    work = [sum(piece.n_rows for piece in job) for job in jobs]
    parts = []
    shared = (source, encoder, rule, seed)
    for result in map_jobs(_draw, shared, jobs, work, run):
        if isinstance(result, UnreadableFile):
            raise result
        parts.append(result)
    X, rows, chances = (np.concatenate(some) for some in zip(*parts, strict=True))
    share = len(landmarks.X) / (len(landmarks.X) + n_wanted)
    places = np.concatenate([landmarks.rows, rows])
    weights = np.concatenate([share * landmarks.weights, (1 - share) / chances])
    distinct, first, again = np.unique(places, return_index=True, return_inverse=True)
    return Landmarks(
        np.concatenate([landmarks.X, X])[first],
        distinct,
        np.bincount(again, weights).astype(np.float64),
        first < len(landmarks.X),
    )


def smallest_group_seen(
    n_rows: int, n_drawn: int, at_least: int = 1, chance: float = CHANCE
) -> int:
    """Return the smallest group that landmarks show with a chance.

    Parameters
    ----------
    n_rows, n_drawn : int
        Rows of the table, and those drawn uniformly without replacement.
    at_least : int, default 1
        Landmarks that the group must have to be seen.
    chance : float, default 0.95
        Of having that many.

    Returns
    -------
    size : int
        Rows of the group; every larger one is seen with a higher chance.

    Notes
    -----
    The number of its landmarks is hypergeometric, so that the result is exact.

    Examples
    --------
    >>> smallest_group_seen(10_000_000, 20_000), smallest_group_seen(100, 100)
    (1497, 1)
    """
    low, high = at_least - 1, n_rows
    while high - low > 1:
        size = (low + high) // 2
        seen = hypergeom.sf(at_least - 1, n_rows, size, n_drawn) >= chance
        low, high = (low, size) if seen else (size, high)
    return high


def _learn_rule(landmarks: Landmarks, n_wanted: int, seed: int) -> RareRows:
    """Divide the space into cells; their sizes are estimated from the landmarks."""
    n_distinct = len(np.unique(landmarks.X, axis=0))
    n_cells = min(CELLS, max(1, n_distinct // CELL_LANDMARKS))
    means = KMeans(n_cells, n_init=1, random_state=seed).fit(landmarks.X)
    weight = landmarks.weights[0]
    sizes = np.bincount(means.labels_, minlength=n_cells) * weight
    squares = means.inertia_ * weight
    per_cell = n_wanted / 2 / n_cells / np.maximum(sizes, 1)
    per_square = n_wanted / 2 / squares if squares else 0.0
    return RareRows(means.cluster_centers_, per_cell, per_square)


def _draw(
    shared: tuple[ParquetSource, RowEncoder, RareRows, int], job: list[Piece]
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Draw rows of a job: their features (m, d), places (m,) and chances (m,)."""
    source, encoder, rule, seed = shared
    start, drawn = source.starts[job[0].file], []
    for piece, table in source.read(job, encoder.columns):
        X, kept = encoder.features(table)
        chances = rule.chances(X) if len(X) else np.empty(0)
        rng = np.random.default_rng([seed, piece.number])
        chosen = rng.random(len(X)) < chances
        rows = start + piece.start + np.flatnonzero(kept)
        drawn.append((X[chosen], rows[chosen], chances[chosen]))
    X, rows, chances = (np.concatenate(some) for some in zip(*drawn, strict=True))
    return X, rows, chances
