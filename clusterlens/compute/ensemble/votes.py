"""Votes: number of votes that put samples together, for one sample or a set.

One row of the consensus matrix, or the mean of a block of it, in time linear in the
number of samples; the matrix itself is never stored.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clusterlens.compute._validation import IntArray, as_array, check_range
from clusterlens.compute.ensemble.ensemble import (
    Ensemble,
    check_ensemble,
    distinct_votes,
)


def votes_together(ensemble: Ensemble, sample: int) -> npt.NDArray[np.int32]:
    """Count for each sample the votes that join it with a given sample.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    sample : int
        Position of the given sample, from 0 to n - 1.

    Returns
    -------
    votes : array of int32, shape (n_samples,)
        From 0 to n_votes (T unless the ensemble has weights), which is the value of the
        sample itself. Divided by n_votes it is one row of the consensus matrix; for
        partial partitions divide by `votes_together(ensemble.presence, sample)`, the
        votes that saw both.

    Raises
    ------
    ValueError
        If there is no such sample.

    Notes
    -----
    O(n T) time and O(n) memory.

    Examples
    --------
    >>> votes_together(Ensemble([[0, 0, 1, 1], [0, 0, 0, 1]]), 2).tolist()
    [1, 1, 2, 1]
    """
    check_ensemble(ensemble)
    sample = check_range(sample, 0, ensemble.n_samples - 1, name="sample", integer=True)
    votes = np.zeros(ensemble.n_samples, np.int32)
    for model, count in zip(*distinct_votes(ensemble), strict=True):
        codes = ensemble.codes_and_gaps[model]
        if codes[sample] < ensemble.n_codes[model]:
            votes += np.int32(count) * (codes == codes[sample])
    return votes


def seen_together(ensemble: Ensemble, sample: int) -> npt.NDArray[np.int32]:
    """Count the votes that saw each sample and a given one, (n_samples,)."""
    return votes_together(ensemble.presence, sample)


def mean_consensus(ensemble: Ensemble, samples: npt.ArrayLike) -> float:
    """Mean consensus of the pairs of different samples inside a set.

    Parameters
    ----------
    ensemble : Ensemble
        T partitions of n samples.
    samples : array-like
        Positions of the m samples of the set, or a boolean mask of shape (n_samples,).

    Returns
    -------
    mean : float
        In [0, 1]; higher is more alike. NaN for fewer than two samples. For partial
        partitions, the votes that join pairs over the votes that saw them.

    Raises
    ------
    ValueError
        If a position names no sample, or one is named twice.

    Notes
    -----
    (sum of x² - V m) / (V m (m - 1)) with x the number of members in each cluster of
    each vote; V is the number of votes. O(m T) time.

    Examples
    --------
    >>> mean_consensus(Ensemble([[0, 0, 1, 1], [0, 0, 0, 1]]), [0, 1, 2])
    0.6666666666666666
    """
    check_ensemble(ensemble)
    chosen = _positions(samples, ensemble.n_samples)
    size = len(chosen)
    if size < 2:
        return float("nan")
    joined = _joined_inside(ensemble, chosen)
    seen = _joined_inside(ensemble.presence, chosen)
    return joined / seen if seen else float("nan")


def _joined_inside(ensemble: Ensemble, samples: IntArray) -> int:
    """Votes that join the ordered pairs of different samples of a set."""
    joined = 0
    for model, vote in zip(*distinct_votes(ensemble), strict=True):
        codes = ensemble.codes_and_gaps[model][samples]
        counts = np.bincount(codes)[: ensemble.n_codes[model]].astype(np.int64)
        joined += int(vote) * int(counts @ (counts - 1))
    return joined


def _positions(samples: npt.ArrayLike, n_samples: int) -> IntArray:
    """Return different positions of samples, from positions or a mask."""
    array = as_array(samples, "samples", "positions of samples, or a mask")
    if array.dtype.kind == "b" and array.shape == (n_samples,):
        return np.flatnonzero(array)
    if array.shape == (0,):
        return np.empty(0, np.intp)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"samples has shape {array.shape} and type {array.dtype}; give positions "
            f"of samples, or a mask of shape ({n_samples},)."
        )
    outside = array[(array < 0) | (array >= n_samples)]
    if outside.size:
        raise ValueError(
            f"samples names sample {outside[0]}, but there are {n_samples}; give "
            f"positions from 0 to {n_samples - 1}."
        )
    if len(np.unique(array)) < len(array):
        raise ValueError("samples names a sample twice; give each one once.")
    return array
