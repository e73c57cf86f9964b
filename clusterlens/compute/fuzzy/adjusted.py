"""Agreement of two partitions adjusted for chance, under explicit random models.

With the expected concordance E = 1 - E|X - Y|, X and Y the independent pair distances
of the two sides, the adjusted value is (observed - E) / (1 - E). A random side has the
distances of its model, a fixed side its observed ones. Brouwer's index has products in
place of differences, so its expectation follows from the mean agreement of either side.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    IntArray,
    RandomState,
    check_choice,
    check_flag,
    check_random_state,
    check_range,
    warn_caller,
)
from clusterlens.compute.fuzzy._expected_cosine import expected_cosine_discordance
from clusterlens.compute.fuzzy._expected_difference import (
    Observed,
    SideDistribution,
    expected_difference,
    expected_difference_in_norm,
)
from clusterlens.compute.fuzzy._pair_distances import Estimate, PairWalk
from clusterlens.compute.fuzzy.concordance import (
    brouwer_index,
    check_norm,
    discordance,
    hard_discordance,
)
from clusterlens.compute.fuzzy.dirichlet import DirichletFit
from clusterlens.compute.fuzzy.partition import (
    FuzzyPartition,
    Partition,
    check_partitions,
)
from clusterlens.compute.fuzzy.random_models import RANDOM_MODELS, Side, observed_share

DEGENERATE_BELOW = 1e-12
HIGH_EXPECTATION = 0.99


@dataclass(frozen=True)
class AdjustedIndex:
    """A concordance of two partitions, adjusted for chance.

    Attributes
    ----------
    value : float
        (observed - expected) / (1 - expected): 1 at best, 0 at the level of chance,
        without a useful lower bound.
    observed : float
        The concordance itself: NDC, Brouwer's index, or the Rand index of hard
        partitions.
    expected : float
        Its expectation under the model.
    standard_error : float
        Monte-Carlo standard error of `value`; 0 if nothing was drawn at random.
    expected_standard_error : float
        Standard error of `expected`.
    error_bound : float
        Upper bound of the increase of `expected` by binning; 0 if exact.
    degenerate : bool
        Whether no variation is possible: observed and expected are 1, and `value` is 1
        by convention in place of 0 / 0.
    n_floored : int
        Number of memberships raised to `floor` for Dirichlet fits.
    floor : float
        The floor for these fits.
    n_drawn : int
        Number of random pairs used: rows of a random side, or samples; 0 if exact.
    model : str
        Name of the random model.
    fixed : {"u", "v"} or None
        The side that was not random.
    notes : tuple of str
        Unusual properties of the input or the result.
    """

    value: float
    observed: float
    expected: float
    standard_error: float
    expected_standard_error: float
    error_bound: float
    degenerate: bool
    n_floored: int
    floor: float
    n_drawn: int
    model: str
    fixed: Literal["u", "v"] | None
    notes: tuple[str, ...]

    def __float__(self) -> float:
        """Return the value."""
        return self.value

    @property
    def sentence(self) -> str:
        """The computed value in words, as for a report."""
        error = "exact" if self.n_drawn == 0 else f"± {2 * self.standard_error:.1g}"
        sides = "both sides random"
        if self.fixed is not None:
            kept, drawn = ("U", "V") if self.fixed == "u" else ("V", "U")
            sides = f"{kept} kept as it is, {drawn} random"
        title = RANDOM_MODELS[self.model].title
        return (
            f"Adjusted for chance: {self.value:z.3f} ({error}; {title} model, "
            f"{sides}); {self.observed:.3f} unadjusted, {self.expected:.3f} expected."
        )


@takes_running
def adjusted_ndc(
    U: Partition,
    V: Partition,
    model: str = "permutation",
    fixed: Literal["u", "v"] | None = None,
    random_state: RandomState = 0,
    *,
    norm: float = 1.0,
    precision: float = 5e-4,
    floor: float = 1e-6,
    keep_empty: bool = False,
    exact_limit: int = 20_000,
    n_pairs: int = 1_000_000,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> AdjustedIndex:
    """Compute the degree of concordance of two fuzzy partitions, adjusted for chance.

    Parameters
    ----------
    U, V : FuzzyPartition or array-like, shape (n_samples, n_clusters) or (n_samples,)
        Memberships, or hard labels, of the same samples (at least two).
    model : {"permutation", "fit", "sym", "flat"}, default "permutation"
        The random element: the order of the samples; rows of the Dirichlet distribution
        fitted to the partition; of the symmetric one fitted to it; or rows uniform on
        the simplex. See RANDOM_MODELS.
    fixed : {"u", "v"} or None, default None
        The side that stays as it is (a reference clustering), while the other one is
        random under the model fitted to it; None makes both random. The permutation
        model gives the same value in both cases.
    random_state : int, Generator or None, default 0
        Seed of all draws.
    norm : float of at least 1, or infinite, default 1.0
        Order of the norm that compares two membership rows, as in `ndc`.
    precision : float, default 5e-4
        Target standard error of the result; it decides the number of draws (up to 268
        million pairs a side). A note reports if it was not reached.
    floor : float in [1e-300, 0.1], default 1e-6
        Memberships below it are raised to it for Dirichlet fits only.
    keep_empty : bool, default False
        Count clusters without members in the "flat" model.
    exact_limit : int, default 20_000
        With more samples, results that need all pairs of two soft partitions are
        estimated from random pairs.
    n_pairs : int, default 1_000_000
        Number of pairs to draw in that case.
    n_jobs : int, optional
        Number of threads; all cores by default. Does not change the result.
    progress : callable, optional
        Called as progress(done, total), in pairs, after each block; once through for
        each pass over pairs and each round of draws.
    cancel : callable, optional
        Called between blocks and draws; true stops with Cancelled.
    executor : Executor, optional
        Runs blocks and draws in place of a new pool of threads.

    Returns
    -------
    adjusted : AdjustedIndex
        `value` at most 1 (equal pair agreements), 0 at the expectation; with
        `observed`, `expected`, `standard_error`, `error_bound`, `degenerate`,
        `n_floored` and `notes`.

    Raises
    ------
    DataError
        If the memberships are not valid, see FuzzyPartition.
    ValueError
        If the numbers of samples differ or are below two, or an option is unknown.

    Warns
    -----
    UserWarning
        If more than 0.99 is expected, so that the adjustment magnifies small noise.

    Notes
    -----
    Exact results: the flat model with both sides random; every model if a side is hard
    (under "flat" if it is also fixed); and the permutation and one-sided flat models up
    to 1000 samples. Above, pair distances are counted in 65,536 bins, O(n² K) time and
    O(n K) memory, with the given `error_bound`, typically below 1e-8. Two Dirichlet
    sides, or one against observed distances, are drawn as many times as `precision`
    requires. With a norm other than 1, all random sides with soft rows are drawn, up to
    4 million pairs. Above `exact_limit` samples, observed distances of soft rows come
    from random pairs, and the standard error includes that.

    References
    ----------
    R. DeWolfe, J. L. Andrews, "Random models for fuzzy clustering similarity measures",
    Adv. Data Anal. Classif. (2025), doi 10.1007/s11634-025-00625-w. Its equation (5)
    lacks a square of the number of pairs; its equation (15) and its code keep different
    sides fixed, hence the explicit `fixed` here.

    Examples
    --------
    >>> U = [[0.98, 0.02], [0.9, 0.1], [0.2, 0.8], [0.1, 0.9]]
    >>> V = [[0.8, 0.2], [0.7, 0.3], [0.4, 0.6], [0.1, 0.9]]
    >>> round(adjusted_ndc(U, V).value, 3)
    0.367
    >>> result = adjusted_ndc(U, V, model="fit", fixed="v")
    >>> result.standard_error < 5e-4
    True
    """
    options = _Options(model, fixed, precision, floor, keep_empty)
    u, v = check_partitions(U, V)
    norm = check_norm(norm)
    run = RunOptions(n_jobs, progress, cancel, executor)
    walk = PairWalk(exact_limit, n_pairs, run)
    streams = np.random.default_rng(check_random_state(random_state)).spawn(4)
    difference = discordance(u, v, streams[0], walk, norm)
    x = options.side("u", Observed(u, streams[1], walk, norm))
    y = options.side("v", Observed(v, streams[2], walk, norm))
    target = options.target(difference.value)
    if norm == 1:
        chance = expected_difference(x, y, target, streams[3], walk)
    else:
        chance = expected_difference_in_norm(x, y, norm, target, streams[3], walk)
    return options.adjust(difference, chance, x, y, _notes(u, v))


@takes_running
def adjusted_brouwer(
    U: Partition,
    V: Partition,
    model: str = "permutation",
    fixed: Literal["u", "v"] | None = None,
    random_state: RandomState = 0,
    *,
    precision: float = 5e-4,
    floor: float = 1e-6,
    keep_empty: bool = False,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> AdjustedIndex:
    """Compute Brouwer's fuzzy Rand index, adjusted for chance.

    Parameters
    ----------
    U, V, model, fixed, random_state, precision, floor, keep_empty
        As in `adjusted_ndc`.
    n_jobs, progress, cancel, executor
        As in `adjusted_ndc`.

    Returns
    -------
    adjusted : AdjustedIndex
        `value` is 0 at the expectation and at most 1, which only equal hard
        partitions reach: compare with the value of a partition with itself.

    Raises
    ------
    DataError
        If the memberships are not valid, see FuzzyPartition.
    ValueError
        If the numbers of samples differ or are below two, or an option is unknown.

    Warns
    -----
    UserWarning
        If more than 0.99 is expected, so that the adjustment magnifies small noise.

    Notes
    -----
    The agreement a of a pair is the cosine of its membership rows. With p and q its
    mean on either side, under the model or as observed, the expectation is
    `p q + (1 - p)(1 - q)`. Means of observed and of hard rows are exact, O(n K²) time;
    means of random soft rows come from up to 4 million drawn rows.

    References
    ----------
    R. K. Brouwer, "Extending the Rand, adjusted Rand and Jaccard indices to fuzzy
    partitions", J. Intell. Inf. Syst. 32 (2009), doi 10.1007/s10844-008-0054-7.
    R. DeWolfe, J. L. Andrews, "Random models for fuzzy clustering similarity measures",
    Adv. Data Anal. Classif. (2025), doi 10.1007/s11634-025-00625-w.

    Examples
    --------
    >>> U = [[0.98, 0.02], [0.9, 0.1], [0.2, 0.8], [0.1, 0.9]]
    >>> V = [[0.8, 0.2], [0.7, 0.3], [0.4, 0.6], [0.1, 0.9]]
    >>> round(adjusted_brouwer(U, V).value, 3)
    0.26
    """
    options = _Options(model, fixed, precision, floor, keep_empty)
    u, v = check_partitions(U, V)
    walk = PairWalk(run=RunOptions(n_jobs, progress, cancel, executor))
    streams = np.random.default_rng(check_random_state(random_state)).spawn(3)
    difference = Estimate(1 - brouwer_index(u, v).value)
    x = options.side("u", Observed(u, streams[0], walk))
    y = options.side("v", Observed(v, streams[1], walk))
    target = options.target(difference.value)
    chance = expected_cosine_discordance(x, y, target, streams[2], walk)
    return options.adjust(difference, chance, x, y, _notes(u, v))


@dataclass(frozen=True)
class _Options:
    """Options of an adjustment by a random model of soft partitions, checked."""

    model: str
    fixed: Literal["u", "v"] | None
    precision: float
    floor: float
    keep_empty: bool

    def __post_init__(self) -> None:
        """Check the options."""
        check_choice(self.model, _names_of("distribution"), name="model")
        if self.fixed is not None:
            check_choice(self.fixed, ("u", "v"), name="fixed")
        check_flag(self.keep_empty, name="keep_empty")
        check_range(self.floor, 1e-300, 0.1, name="floor")
        check_range(self.precision, 1e-9, np.inf, name="precision")

    def side(self, name: str, observed: Observed) -> SideDistribution:
        """Return the distribution of a side: its model, or as observed if fixed."""
        of_model = RANDOM_MODELS[self.model].distribution
        if of_model is None or self.fixed == name:
            return observed
        side = Side(observed.partition, observed, self.floor, self.keep_empty)
        return of_model(side)

    def target(self, difference: float) -> Callable[[float], float]:
        """Return the standard error of E to reach, as a function of 1 - E."""

        def target(chance: float) -> float:
            # d(value) = difference / chance² d(chance); the error of expected is to be
            # as small.
            chance = max(chance, DEGENERATE_BELOW)
            return self.precision * min(1.0, chance**2 / max(difference, 1e-300))

        return target

    def adjust(
        self,
        difference: Estimate,
        chance: Estimate,
        x: SideDistribution,
        y: SideDistribution,
        notes: tuple[str, ...],
    ) -> AdjustedIndex:
        """Adjust 1 - difference; warn and note unusual properties."""
        if DEGENERATE_BELOW < chance.value < 1 - HIGH_EXPECTATION:
            warn_caller(
                f"The {self.model!r} model expects a concordance of "
                f"{1 - chance.value:.4f}; adjusting so high a value magnifies small "
                "differences.",
            )
        floored = sum(fit.n_floored for fit in (x, y) if isinstance(fit, DirichletFit))
        result = _adjust(
            difference, chance, self.model, self.fixed, notes, floored, self.floor
        )
        if result.standard_error <= self.precision:
            return result
        note = (
            f"The standard error is above the requested precision of "
            f"{self.precision:g}."
        )
        return replace(result, notes=(*result.notes, note))


def adjusted_rand(
    a: Partition,
    b: Partition,
    model: str = "permutation",
    fixed: Literal["u", "v"] | None = None,
) -> AdjustedIndex:
    """Compute the Rand index of two hard partitions, adjusted for chance.

    Parameters
    ----------
    a, b : array-like of int, shape (n_samples,), or hard FuzzyPartition
        Labels of the same samples (at least two); values are names only.
    model : {"permutation", "categorical", "sym", "num", "all"}, default "permutation"
        The random element: the order of the samples (the usual adjusted Rand index); a
        label per sample with the observed or with equal probabilities; or a partition
        drawn uniformly among those with the same number of clusters, or among all. See
        RANDOM_MODELS.
    fixed : {"u", "v"} or None, default None
        The side that stays as it is: "u" is a, "v" is b; None makes both random.

    Returns
    -------
    adjusted : AdjustedIndex
        `value` at most 1 (equal partitions), 0 at the expectation; exact.

    Raises
    ------
    ValueError
        If a partition is not hard, the numbers of samples differ or are below two, or
        an option is unknown.

    Notes
    -----
    With q the share of pairs that a side joins, under the model or as observed if it
    is fixed, E = q_a q_b + (1 - q_a)(1 - q_b). Time O(n_samples).

    References
    ----------
    L. Hubert, P. Arabie, "Comparing partitions", J. Classification 2 (1985),
    doi 10.1007/BF01908075 ("permutation").
    L. C. Morey, A. Agresti, "The measurement of classification agreement", Educ.
    Psychol. Meas. 44 (1984), doi 10.1177/0013164484441003 ("categorical").
    A. J. Gates, Y.-Y. Ahn, "The impact of random models on clustering similarity",
    J. Mach. Learn. Res. 18 (2017) ("num", "all").

    Examples
    --------
    >>> round(adjusted_rand([0, 0, 1, 1], [0, 0, 1, 2]).value, 4)
    0.5714
    >>> round(adjusted_rand([0, 0, 1, 1], [0, 0, 1, 2], model="num").value, 4)
    0.6316
    """
    check_choice(model, _names_of("share_together"), name="model")
    if fixed is not None:
        check_choice(fixed, ("u", "v"), name="fixed")
    u, v = check_partitions(a, b, names=("a", "b"))
    difference = hard_discordance(_hard_codes(u, "a"), _hard_codes(v, "b"))
    q_u, q_v = _share(u, model, fixed == "u"), _share(v, model, fixed == "v")
    chance = Estimate(q_u * (1 - q_v) + (1 - q_u) * q_v)
    return _adjust(difference, chance, model, fixed, _notes(u, v))


def _adjust(
    difference: Estimate,
    chance: Estimate,
    model: str,
    fixed: Literal["u", "v"] | None,
    notes: tuple[str, ...],
    n_floored: int = 0,
    floor: float = 0.0,
) -> AdjustedIndex:
    """Adjust 1 - difference by its expectation 1 - chance."""
    degenerate = chance.value <= DEGENERATE_BELOW
    ratio = 0.0 if degenerate else difference.value / chance.value
    error = np.hypot(difference.standard_error, ratio * chance.standard_error)
    return AdjustedIndex(
        value=1 - ratio,
        observed=1 - difference.value,
        expected=1 - chance.value,
        standard_error=0.0 if degenerate else float(error) / chance.value,
        expected_standard_error=chance.standard_error,
        error_bound=chance.error_bound,
        degenerate=degenerate,
        n_floored=n_floored,
        floor=floor,
        n_drawn=max(difference.n_drawn, chance.n_drawn),
        model=model,
        fixed=fixed,
        notes=notes,
    )


def _notes(u: FuzzyPartition, v: FuzzyPartition) -> tuple[str, ...]:
    """Collect the notes of both partitions under their names."""
    return tuple(
        f"{name}: {note}"
        for name, partition in (("U", u), ("V", v))
        for note in partition.notes
    )


def _share(partition: FuzzyPartition, model: str, fixed: bool) -> float:
    """Share of pairs in one cluster, as observed or as the model expects."""
    share = None if fixed else RANDOM_MODELS[model].share_together
    return (share or observed_share)(partition.sizes[partition.sizes > 0])


def _hard_codes(partition: FuzzyPartition, name: str) -> IntArray:
    """Return the codes (n,) of a partition that must be hard."""
    if partition.codes is None:
        raise ValueError(
            f"{name} has memberships between 0 and 1; give hard labels, or use "
            "adjusted_ndc."
        )
    return partition.codes


def _names_of(field: str) -> list[str]:
    """List the models that define the given function."""
    return [name for name, model in RANDOM_MODELS.items() if getattr(model, field)]
