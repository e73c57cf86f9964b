"""label_match: do the classes of a labelled table form clusters?

CH_btwn of Jeon et al. measures every pair of classes by a Calinski-Harabasz ratio that
is comparable between data sets: distances are divided by their spread before they are
exponentiated, and the result is adjusted for the score of random classes of the same
sizes. It measures classes by their centres: perfectly separated nested rings score near
0.

Computations are in logarithms, because the exponentials overflow for classes far apart.
Cost per pair of classes: O(T n d) for T permutations of n samples with d features.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import logsumexp

from clusterlens.compute._run.blocks import run_blocks
from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import (
    Cancel,
    Progress,
    RunOptions,
    raise_if_cancelled,
)
from clusterlens.compute._run.process_settings import one_thread
from clusterlens.compute._validation import (
    FloatArray,
    RandomState,
    check_choice,
    check_features,
    check_random_state,
    check_range,
    split_labelled,
)
from clusterlens.compute.formatting import count, whole
from clusterlens.compute.indices._class_pairs import ADJUSTED_MEASURES
from clusterlens.compute.indices._clusters import Clusters, Undefined
from clusterlens.compute.indices.indices import MAX_QUADRATIC_SAMPLES

Convention = Literal["paper", "package"]

MAX_ENUMERATED = 20_000
MAX_ADAPTIVE_PERMUTATIONS = 5_000
SMALL_CLASS = 5
CH_BTWN = "CH_btwn"
MEASURES = (CH_BTWN, *ADJUSTED_MEASURES)

_ADAPTIVE_STEP = 250
_BLOCK_ENTRIES = 1 << 20
_SPREAD_FLOOR = 1e-12
_QUADRATIC = ("DI", "SI")


@dataclass(frozen=True, eq=False)
class LabelCheck:
    """How well class labels match clusters.

    Attributes
    ----------
    score : float
        Plain mean of the scores of the pairs of classes; at most 1, about 0 for classes
        without structure. It may be negative and is not clipped.
    standard_error : float
        Monte-Carlo error of `score` from the random assignments; 0 if all were
        enumerated. It does not include the sampling of the data.
    pairs : DataFrame
        One row per pair of classes: class_a, class_b, score, standard_error, n_a, n_b,
        n_permutations, exact, note. A low score marks classes that mix.
    measure : str
        Name of the measure.
    convention : {"paper", "package"}
        The quantity averaged over the random assignments: squashed or raw ratio.
    notes : tuple of str
        Samples left out, pairs skipped and scores that mean little, with reasons.
    n_left_out : int
        Number of samples without a class, which were left out.
    """

    score: float
    standard_error: float
    pairs: pd.DataFrame
    measure: str
    convention: Convention
    notes: tuple[str, ...]
    n_left_out: int = 0

    def matrix(self) -> pd.DataFrame:
        """Arrange the scores of the pairs as a symmetric table.

        Returns
        -------
        table : DataFrame, shape (n_classes, n_classes)
            Classes as rows and columns; NaN on the diagonal and for skipped pairs.
        """
        mirrored = self.pairs.rename(
            columns={"class_a": "class_b", "class_b": "class_a"}
        )
        both = pd.concat([self.pairs, mirrored])
        return both.pivot(index="class_a", columns="class_b", values="score")


@takes_running
def label_match(
    X: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    measure: str = CH_BTWN,
    n_permutations: int | Literal["adaptive"] = 1000,
    max_standard_error: float = 1e-3,
    convention: Convention = "paper",
    random_state: RandomState = 0,
    unlabelled: int | None = -1,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> LabelCheck:
    """Measure how well the classes of a labelled table match clusters.

    Parameters
    ----------
    X : array-like of float, shape (n_samples, n_features)
        Finite features. A common factor has no effect; the scaling of single features
        has.
    labels : array-like of int or str, shape (n_samples,)
        Class of each sample, at least two classes. Samples without one (None, NaN, NA,
        and `unlabelled`) are left out; a note says how many.
    measure : str, default "CH_btwn"
        "CH_btwn", or a later deterministic measure, which needs no permutations: "CHI",
        "DBI", "I", "XBI", "DI", "SI".
    n_permutations : int or "adaptive", default 1000
        Random assignments per pair of classes; "adaptive" draws until the standard
        error of the pair is below `max_standard_error`, at most 5000.
    max_standard_error : float, default 1e-3
        Target of "adaptive".
    convention : {"paper", "package"}, default "paper"
        Average the squashed ratio over the random assignments, as the paper defines, or
        the raw ratio, as its published package does (slightly smaller scores).
    random_state : int, default 0
        Seed. Each pair draws its own numbers, from the seed and its two labels.
    unlabelled : int or None, default -1
        The label of samples without a class; -1, as `prepare` marks missing classes.
        None if every whole number is a class, for instance the noise of a clustering.
    n_jobs : int, optional
        Threads, each for a pair of classes. Default all cores; the scores do not depend
        on it.
    progress : callable, optional
        Called as progress(done, total) after each pair of classes.
    cancel : callable, optional
        Called without argument between blocks; a true answer raises `Cancelled`.
    executor : concurrent.futures.Executor, optional
        Threads to use instead of new ones.

    Returns
    -------
    check : LabelCheck
        `check.score` is at most 1 (best); `check.pairs` has one row per pair.

    Raises
    ------
    ValueError
        If there are fewer than two classes, lengths disagree, or "DI" or "SI" gets
        pairs of more than 50,000 samples.
    Cancelled
        If `cancel` returns true.

    Notes
    -----
    For each pair of classes with mean c, class means c_i and sigma the population
    standard deviation of the n distances to c,

        CH_1 = sum_i n_i exp(d(c_i, c)/sigma) (n - 2) / sum_x exp(d(x, c_i)/sigma),

    CH_2 = CH_1 / (1 + CH_1), and the score is (CH_2 - E) / (1 - E), where E is the mean
    of CH_2 over random assignments that keep the class sizes. If there are at most
    20,000 assignments, all are enumerated and the score is exact. Time O(T n d) per
    pair, memory O(n d) and blocks of 8 MB.

    Unequal class sizes lower the greatest possible score: 0.995 at 30/70, 0.964 at
    10/90. One far outlier can hide a separation: it enlarges sigma, and its exponential
    dominates the sums (two classes of 100 samples that score 1.00 score 0.14 with one
    sample at six times their distance). Scores of classes with fewer than 5 samples
    mean little; a note names them.

    References
    ----------
    H. Jeon, M. Aupetit, D. Shin, A. Cho, S. Park, J. Seo, "Measuring the Validity of
    Clustering Validation Datasets", IEEE TPAMI 47(6), 2025; arXiv:2209.10042.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]]
    >>> check = label_match(X, [0, 0, 0, 1, 1, 1])
    >>> round(check.score, 3), check.standard_error
    (0.989, 0.0)
    >>> round(label_match(X, [0, 1, 0, 1, 0, 1]).score, 3)
    -0.116
    """
    run = RunOptions(n_jobs, progress, cancel, executor)
    seed = check_random_state(random_state)
    check_choice(measure, MEASURES, name="measure")
    sampling = _Sampling(n_permutations, max_standard_error, convention, cancel)
    features = check_features(X)
    labelled, values = split_labelled(labels, unlabelled, n_samples=len(features))
    names, codes = np.unique(values, return_inverse=True)
    classes = names.tolist()
    if len(classes) < 2:
        raise ValueError(
            f"labels has {len(classes)} class; give at least two classes to compare."
        )
    features = features[labelled]
    # Scaling by a power of two rounds nothing; fourth powers neither overflow nor
    # vanish.
    features = np.ldexp(features, -np.frexp(np.abs(features).max())[1])
    samples = {name: features[codes == code] for code, name in enumerate(classes)}

    def score_pair(a: int | str, b: int | str) -> _Row:
        first, second = samples[a], samples[b]
        if measure == CH_BTWN:
            rng = np.random.default_rng([seed, _seed_of(a), _seed_of(b)])
            result = _ch_btwn(first, second, sampling, rng)
        else:
            result = _adjusted(measure, first, second, cancel)
        return a, b, len(first), len(second), result

    pairs = list(combinations(classes, 2))
    # The matrix products are small: several BLAS threads would wait for each other and
    # make the computation several times slower on a busy machine.
    with one_thread():
        scored = run_blocks(score_pair, pairs, [1] * len(pairs), run)
        n_left_out = int(np.count_nonzero(~labelled))
        return _summarise(list(scored), measure, convention, n_left_out)


@dataclass(frozen=True)
class _Sampling:
    """Way to draw and average random assignments."""

    n_permutations: int | Literal["adaptive"]
    max_standard_error: float
    convention: Convention
    cancel: Cancel | None

    def __post_init__(self) -> None:
        check_choice(self.convention, ("paper", "package"), name="convention")
        check_range(self.max_standard_error, 0, np.inf, name="max_standard_error")
        if not isinstance(self.n_permutations, str):
            check_range(
                self.n_permutations, 2, 10**9, name="n_permutations", integer=True
            )
        elif self.n_permutations != "adaptive":
            check_choice(self.n_permutations, ("adaptive",), name="n_permutations")


@dataclass(frozen=True)
class _PairScore:
    """Score of one pair of classes, with its error and number of assignments."""

    score: float
    standard_error: float = 0.0
    n_permutations: int = 0
    exact: bool = True
    note: str = ""


# Two class labels, their sizes and the score of the pair.
_Row = tuple[int | str, int | str, int, int, _PairScore]


def _seed_of(label: int | str) -> int:
    """Number a class by its name alone; seeds have no sign, labels may have one."""
    if isinstance(label, str):
        return int.from_bytes(label.encode(), "little")
    return label % 2**64


def _ch_btwn(
    first: FloatArray,
    second: FloatArray,
    sampling: _Sampling,
    rng: np.random.Generator,
) -> _PairScore:
    """Score one pair of classes, given as samples (n_1, d) and (n_2, d)."""
    X = np.concatenate([first, second])
    n_samples, n_first = len(X), len(first)
    if n_samples < 3:
        return _PairScore(np.nan, note="skipped: there are two samples in all")
    X = X - X.mean(axis=0)
    to_centre = np.linalg.norm(X, axis=1)
    if to_centre.max() == 0:
        return _PairScore(0.0, note="all samples coincide, the score is set to 0")
    spread = max(float(np.std(to_centre)), _SPREAD_FLOOR * float(to_centre.mean()))
    X = X / spread
    if X.shape[1] > n_samples:
        # Coordinates in the span of the samples preserve all distances.
        X = np.linalg.qr(X.T)[1].T
    own = np.arange(n_samples) < n_first
    miss = -np.logaddexp(0, _log_ch1(X, own[None, :]))[0]
    if comb(n_samples, n_first) <= MAX_ENUMERATED:
        blocks = _all_assignments(n_samples, n_first)
        return _adjust_for_chance(X, miss, blocks, sampling, exact=True)
    blocks = _random_assignments(own, sampling.n_permutations, rng)
    return _adjust_for_chance(X, miss, blocks, sampling, exact=False)


def _adjust_for_chance(
    X: FloatArray,
    miss: float,
    blocks: Iterator[npt.NDArray[np.bool_]],
    sampling: _Sampling,
    exact: bool,
) -> _PairScore:
    """Adjust ln 1 / (1 + CH_1) of the classes for its mean over random assignments."""
    # (CH_2 - E) / (1 - E) would cancel: CH_1 grows with n, so CH_2 and E are near 1.
    sign = 1 if sampling.convention == "paper" else -1
    parts = []
    for masks in blocks:
        raise_if_cancelled(sampling.cancel)
        parts.append(-sign * np.logaddexp(0, _log_ch1(X, masks)))
        if sampling.n_permutations == "adaptive" and not exact:
            so_far = _relative_to_chance(miss, np.concatenate(parts), sign, exact)
            if so_far.standard_error <= sampling.max_standard_error:
                return so_far
    return _relative_to_chance(miss, np.concatenate(parts), sign, exact)


def _relative_to_chance(
    miss: float, random: FloatArray, sign: int, exact: bool
) -> _PairScore:
    """Compute score and standard error from ln 1 / (1 + CH_1) of assignments."""
    log_mean = float(logsumexp(random) - np.log(len(random)))
    shortfall = float(np.exp(miss - sign * log_mean))
    error = np.std(np.exp(random - log_mean), ddof=1) / np.sqrt(len(random))
    return _PairScore(
        1.0 - shortfall,
        0.0 if exact else shortfall * float(error),
        n_permutations=len(random),
        exact=exact,
    )


def _log_ch1(X: FloatArray, masks: npt.NDArray[np.bool_]) -> FloatArray:
    """Compute ln CH_1 (t,) of assignments (t, n); True marks the first class.

    X (n, d) is centred and divided by sigma.
    """
    n_samples = len(X)
    n_first = int(masks[0].sum())
    balance = n_first / (n_samples - n_first)
    first_mean = masks.astype(np.float64) @ X / n_first
    shift = np.linalg.norm(first_mean, axis=1)
    # The centre is 0, so the second mean is -balance times the first, and one product
    # gives the distances to both.
    side = np.where(masks, 1.0, -balance)
    squared = first_mean @ X.T
    squared *= -2 * side
    squared += np.einsum("ij,ij->i", X, X)
    squared += side**2 * shift[:, None] ** 2
    distances = np.sqrt(np.maximum(squared, 0, out=squared), out=squared)
    largest = distances.max(axis=1)
    distances -= largest[:, None]
    within = largest + np.log(np.exp(distances, out=distances).sum(axis=1))
    between = np.logaddexp(
        np.log(n_first) + shift, np.log(n_samples - n_first) + balance * shift
    )
    return between + np.log(n_samples - 2) - within


def _all_assignments(n_samples: int, n_first: int) -> Iterator[npt.NDArray[np.bool_]]:
    """Yield all choices of the first class, in blocks of masks (t, n_samples)."""
    choices = combinations(range(n_samples), n_first)
    step = max(1, _BLOCK_ENTRIES // n_samples)
    while block := list(islice(choices, step)):
        masks = np.zeros((len(block), n_samples), dtype=bool)
        np.put_along_axis(masks, np.array(block), True, axis=1)
        yield masks


def _random_assignments(
    own: npt.NDArray[np.bool_],
    n_permutations: int | Literal["adaptive"],
    rng: np.random.Generator,
) -> Iterator[npt.NDArray[np.bool_]]:
    """Yield random assignments of the same class sizes, in blocks (t, n_samples)."""
    step = max(2, _BLOCK_ENTRIES // len(own))
    left = n_permutations
    if left == "adaptive":
        step, left = min(step, _ADAPTIVE_STEP), MAX_ADAPTIVE_PERMUTATIONS
    while left > 0:
        size = min(step, left)
        # Shuffling rows of a block draws the same numbers in blocks of any size.
        yield rng.permuted(np.tile(own, (size, 1)), axis=1)
        left -= size


def _adjusted(
    measure: str, first: FloatArray, second: FloatArray, cancel: Cancel | None
) -> _PairScore:
    """Score one pair of classes by a deterministic measure."""
    n_samples = len(first) + len(second)
    if measure in _QUADRATIC and n_samples > MAX_QUADRATIC_SAMPLES:
        raise ValueError(
            f"{measure} compares all pairs of the {n_samples} samples of two classes, "
            f"the limit is {MAX_QUADRATIC_SAMPLES}; use 'CHI' or draw a sample first."
        )
    codes = np.repeat([0, 1], [len(first), len(second)])
    # Pairs already run on threads, so each pair uses one.
    run = RunOptions(n_jobs=1, cancel=cancel)
    pair = Clusters.sort(np.concatenate([first, second]), codes, run)
    try:
        return _PairScore(ADJUSTED_MEASURES[measure](pair))
    except Undefined as undefined:
        return _PairScore(undefined.limit, note=str(undefined))


def rename_check(check: LabelCheck, names: Mapping[int, int]) -> LabelCheck:
    """Return a check with other whole numbers for its classes; no score changes."""
    rows: list[_Row] = []
    for pair in check.pairs.to_dict("records"):
        ends = [(names[pair[f"class_{end}"]], pair[f"n_{end}"]) for end in "ab"]
        (a, n_a), (b, n_b) = sorted(ends)
        draws = ("score", "standard_error", "n_permutations", "exact", "note")
        rows.append((a, b, n_a, n_b, _PairScore(*(pair[name] for name in draws))))
    ordered = sorted(rows, key=lambda row: (row[0], row[1]))
    return _summarise(ordered, check.measure, check.convention, check.n_left_out)


def _summarise(
    rows: list[_Row], measure: str, convention: Convention, n_left_out: int
) -> LabelCheck:
    """Average the pairs of classes that have a score."""
    table = pd.DataFrame(
        {
            "class_a": [a for a, *_ in rows],
            "class_b": [b for _, b, *_ in rows],
            "score": [result.score for *_, result in rows],
            "standard_error": [result.standard_error for *_, result in rows],
            "n_a": [n_a for _, _, n_a, _, _ in rows],
            "n_b": [n_b for _, _, _, n_b, _ in rows],
            "n_permutations": [result.n_permutations for *_, result in rows],
            "exact": [result.exact for *_, result in rows],
            "note": [result.note for *_, result in rows],
        }
    )
    scored = table[table["score"].notna()]
    error = float(np.linalg.norm(scored["standard_error"])) / max(len(scored), 1)
    return LabelCheck(
        score=float(scored["score"].mean()),
        standard_error=error,
        pairs=table,
        measure=measure,
        convention=convention,
        notes=_notes(rows, n_left_out),
        n_left_out=n_left_out,
    )


def _notes(rows: list[_Row], n_left_out: int) -> tuple[str, ...]:
    """List samples left out, small classes, and pairs with a note."""
    sizes = {a: n_a for a, _, n_a, _, _ in rows} | {b: n_b for _, b, _, n_b, _ in rows}
    small = [
        f"class {label} has {count(size, 'sample')}; scores of fewer than "
        f"{SMALL_CLASS} mean little"
        for label, size in sizes.items()
        if size < SMALL_CLASS
    ]
    noted = [f"classes {a} and {b}: {r.note}" for a, b, _, _, r in rows if r.note]
    left_out = [f"{whole(n_left_out)} samples without a class were left out"]
    return (*left_out[: bool(n_left_out)], *small, *noted)
