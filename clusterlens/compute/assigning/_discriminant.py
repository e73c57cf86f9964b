"""Discriminant columns of clusters: forward selection of linear discriminants.

Each fold keeps its counts, sums and cross products, from which the discriminant of any
columns and any training folds follows without another pass over the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clusterlens.compute._validation import FloatArray, IntArray
from clusterlens.compute.assigning._questions import Coding

N_FOLDS = 5
_MOST_COLUMNS = 30  # candidates: the columns that differ most by themselves
_SHRINKAGE = 0.01  # share of the total variance added to that within clusters


@dataclass(frozen=True, eq=False)
class Moments:
    """Counts (..., K), sums (..., K, d) and cross products (..., d, d) of features."""

    counts: FloatArray
    sums: FloatArray
    crosses: FloatArray

    def over(self, folds: Sequence[int]) -> Moments:
        """Return the moments of some folds together."""
        at = list(folds)
        return Moments(
            self.counts[at].sum(0), self.sums[at].sum(0), self.crosses[at].sum(0)
        )


def moments(
    Z: FloatArray, codes: IntArray, folds: IntArray, n_clusters: int
) -> Moments:
    """Return the moments of features (n, d), one entry per fold."""
    counts = np.zeros((N_FOLDS, n_clusters))
    np.add.at(counts, (folds, codes), 1)
    sums = np.zeros((N_FOLDS, n_clusters, Z.shape[1]))
    np.add.at(sums, (folds, codes), Z)
    crosses = np.stack([Z[folds == f].T @ Z[folds == f] for f in range(N_FOLDS)])
    return Moments(counts, sums, crosses)


def discriminant(of: Moments, at: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return weights (d, K) and constants (K,) of some features, adding up to 0 each.

    The score of cluster k is log p_k - m_k' S^-1 m_k / 2 + x' S^-1 m_k, with S the
    covariance within clusters plus a hundredth of the variances.
    """
    n, sizes = of.counts.sum(), np.maximum(of.counts, 1)
    means = of.sums[:, at] / sizes[:, None]
    cross = of.crosses[np.ix_(at, at)]
    within = (cross - (means.T * of.counts) @ means) / max(n - len(sizes), 1)
    total = np.diag(cross) / n - (of.sums[:, at].sum(axis=0) / n) ** 2
    ridge = _SHRINKAGE * np.maximum(total, 1e-6)
    weights = np.linalg.solve(within + np.diag(ridge), means.T)
    with np.errstate(divide="ignore"):
        start = np.log(of.counts / n) - 0.5 * (means * weights.T).sum(axis=1)
    weights -= weights.mean(axis=1, keepdims=True)
    return weights, start - start[of.counts > 0].mean()


@dataclass(frozen=True, eq=False)
class Selection:
    """Features (n, d) of columns, with `blocks` of each; clusters and folds (n,)."""

    Z: FloatArray
    blocks: Sequence[IntArray]
    codes: IntArray
    folds: IntArray
    n_clusters: int

    @classmethod
    def of(
        cls,
        coded: Sequence[Coding],
        values: FloatArray,
        codes: IntArray,
        n_clusters: int,
        seed: int,
    ) -> Selection:
        """Code columns (n, c) and draw folds."""
        parts = [coding.features(x) for coding, x in zip(coded, values.T, strict=True)]
        return cls(*joined(parts), codes, fold_numbers(codes, seed), n_clusters)

    def order(self, n_questions: int, folds: Sequence[int]) -> list[int]:
        """Return columns in the order of their selection, based on some folds."""
        columns = self._most_telling(folds)
        Z, places = joined([self.Z[:, self.blocks[j]] for j in columns])
        part = moments(Z, self.codes, self.folds, self.n_clusters)
        rows = {fold: np.flatnonzero(self.folds == fold) for fold in folds}
        tests = {fold: Z[rows[fold]] for fold in folds}
        training = {f: part.over([g for g in folds if g != f]) for f in folds}

        def hits(chosen: list[int]) -> int:
            features = np.concatenate([places[i] for i in chosen])
            return sum(
                int(
                    (best(tests[f], training[f], features) == self.codes[rows[f]]).sum()
                )
                for f in folds
            )

        chosen: list[int] = []
        while len(chosen) < min(n_questions, len(columns)):
            left = [i for i in range(len(columns)) if i not in chosen]
            chosen.append(max(left, key=lambda i: hits([*chosen, i])))
        return [columns[i] for i in chosen]

    def nested(
        self, n_questions: int, folds: Sequence[int] = range(N_FOLDS)
    ) -> IntArray:
        """Return the cluster (q, n) found for each row with 1, 2, ... columns.

        Columns and weights are chosen without the fold of the row. Rows outside the
        given folds take no part, and get -1.
        """
        n_steps = min(n_questions, len(self.blocks), _MOST_COLUMNS)
        found = np.full((n_steps, len(self.Z)), -1)
        for fold in folds:
            others = [f for f in folds if f != fold]
            order = self.order(n_steps, others)
            Z, places = joined([self.Z[:, self.blocks[j]] for j in order])
            part = moments(Z, self.codes, self.folds, self.n_clusters).over(others)
            rows = np.flatnonzero(self.folds == fold)
            for step in range(n_steps):
                at = np.concatenate(places[: step + 1])
                found[step, rows] = best(Z[rows], part, at)
        return found

    def _most_telling(self, folds: Sequence[int]) -> list[int]:
        """Return the columns with the most different cluster means, best first."""
        rows = np.isin(self.folds, folds)
        Z, codes = self.Z[rows], self.codes[rows]
        sums = np.zeros((self.n_clusters, Z.shape[1]))
        np.add.at(sums, codes, Z)
        sizes = np.bincount(codes, minlength=self.n_clusters)
        between = (sums**2 / np.maximum(sizes, 1)[:, None]).sum(axis=0)
        between -= sums.sum(axis=0) ** 2 / len(Z)
        total = Z.var(axis=0) * len(Z)
        shares = [between[at].sum() / max(total[at].sum(), 1e-12) for at in self.blocks]
        return np.argsort(shares)[::-1][:_MOST_COLUMNS].tolist()


def joined(parts: Sequence[FloatArray]) -> tuple[FloatArray, list[IntArray]]:
    """Return features side by side (n, d), and the positions of each part."""
    Z = np.column_stack(parts)
    ends = np.cumsum([part.shape[1] for part in parts])
    return Z, np.split(np.arange(Z.shape[1]), ends[:-1])


def best(x: FloatArray, of: Moments, at: IntArray) -> IntArray:
    """Return the cluster of the highest score of each row (n, d)."""
    weights, start = discriminant(of, at)
    return np.argmax(x[:, at] @ weights + start, axis=1)


def fold_numbers(codes: IntArray, seed: int) -> IntArray:
    """Spread the rows of each cluster (n,) evenly over the folds, at random."""
    order = np.random.default_rng(seed).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    folds = np.empty(len(codes), dtype=np.int64)
    folds[order] = np.arange(len(codes)) % N_FOLDS
    return folds
