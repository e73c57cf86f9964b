"""Questions of a typing tool: a column, its features, and its effect on the scores.

A missing answer, or a level without a weight, adds nothing, because features are
centred.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterlens.compute._validation import FloatArray, Frozen, IntArray, read_only
from clusterlens.compute.assigning._sources import Source
from clusterlens.compute.assigning._sql import among, identifier, literal, real

_MOST_LEVELS = 30  # of a column, with a feature each
_DIGITS = 6  # of weights


@dataclass(frozen=True, eq=False)
class Question(Frozen):
    """A column and the weights of its answers.

    `weights` has shape (1, K) for a number, from which `centre` is subtracted first,
    and (n_levels, K) for levels.
    """

    source: Source
    centre: float
    weights: FloatArray

    def scores(self, values: FloatArray) -> FloatArray:
        """Return the contributions of answers (n,) to the cluster scores, (n, K)."""
        if self.source.is_number:
            apart = np.nan_to_num(values - self.centre)
            return np.asarray(apart[:, None] * self.weights)
        nothing = np.zeros((1, self.weights.shape[1]))
        codes = np.nan_to_num(values, nan=-1).astype(np.intp)
        return np.concatenate([self.weights, nothing])[codes]

    @property
    def answers(self) -> tuple[str, ...]:
        """Meaning of each row of weights."""
        if not self.source.is_number:
            return self.source.column.level_names
        return ("number",) if self.source.column.first_day is None else ("date",)

    @property
    def centre_shown(self) -> Any:
        """The centre in the units of the table, None for levels."""
        return self.source.shown(self.centre) if self.source.is_number else None

    @property
    def answer_sql(self) -> str:
        """Return the answer in SQL, NULL if there is none."""
        if self.source.is_number:
            return self.source.number_sql
        name = identifier(self.source.name)
        return f"CASE WHEN {among(name, self.source.column.levels)} THEN {name} END"

    def score_sql(self, answer: str, k: int) -> str:
        """Return the contribution of an answer to the score of cluster k, in SQL."""
        weights = self.weights[:, k].tolist()
        if self.source.is_number:
            apart = f"({answer} - {real(self.centre)})"
            return f"COALESCE({apart} * {real(weights[0])}, {real(0)})"
        cases = " ".join(
            f"WHEN {literal(level)} THEN {real(weight)}"
            for level, weight in zip(self.source.column.levels, weights, strict=True)
        )
        return f"CASE {answer} {cases} ELSE {real(0)} END"


@dataclass(frozen=True, eq=False)
class Coding:
    """Conversion of the values of a column to features, each with mean 0.

    Numbers and ordered levels are standardised by `mean` and `spread`. Other levels in
    `codes` have a column of 0 and 1 each, less their `shares`.
    """

    source: Source
    mean: float = 0.0
    spread: float = 1.0
    codes: IntArray | None = None
    shares: FloatArray | None = None

    def features(self, values: FloatArray) -> FloatArray:
        """Return the features (n, width) of values (n,)."""
        missing = np.isnan(values)[:, None]
        if self.codes is None:
            return np.where(missing, 0.0, (values[:, None] - self.mean) / self.spread)
        is_level = values[:, None] == self.codes
        other = missing | ~is_level.any(axis=1, keepdims=True)
        return np.where(other, 0.0, is_level - self.shares)

    def question(self, weights: FloatArray) -> Question:
        """Return the question with the weights (width, K) of these features."""
        if self.codes is None and self.source.is_number:
            # The centre is exact to a thousandth of the spread.
            digits = 3 - int(np.floor(np.log10(self.spread)))
            centre = round(self.mean, digits)
            return Question(self.source, centre, short(weights / self.spread))
        levels = np.arange(len(self.source.column.levels), dtype=np.float64)
        return Question(self.source, 0.0, short(self.features(levels) @ weights))


def codings(sources: Sequence[Source], values: FloatArray) -> list[Coding]:
    """Return the coding of each column (n, c)."""
    return [_coding(source, x) for source, x in zip(sources, values.T, strict=True)]


def _coding(source: Source, values: FloatArray) -> Coding:
    known = values[~np.isnan(values)]
    if source.is_ordered:
        spread = float(known.std()) if known.size else 0.0
        mean = float(known.mean()) if known.size else 0.0
        return Coding(source, mean, spread if spread > 0 else 1.0)
    counts = np.bincount(known.astype(np.intp), minlength=len(source.column.levels))
    codes = np.sort(np.argsort(-counts, kind="stable")[:_MOST_LEVELS])
    shares = counts[codes] / max(counts[codes].sum(), 1)
    return Coding(source, codes=codes, shares=shares)


def short(weights: FloatArray) -> FloatArray:
    """Return numbers with six significant digits, the shortest decimal form."""
    texts = [f"{weight:.{_DIGITS}g}" for weight in weights.ravel()]
    return read_only(np.array(texts, dtype=np.float64).reshape(weights.shape))
