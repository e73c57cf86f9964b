"""Preview: effect of one more link on a ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clusterlens.compute._validation import (
    Frozen,
    check_range,
    plain_repr,
)
from clusterlens.compute.ensemble.constraints import (
    ConstraintError,
    Constraints,
    check_constraints,
)
from clusterlens.compute.ensemble.ensemble import check_ensemble
from clusterlens.compute.ranking._evidence import Weight
from clusterlens.compute.ranking.ranking import RankArray, Ranking


@dataclass(frozen=True, eq=False)
class LinkPreview(Frozen):
    """Ranks after a pair of samples becomes a link.

    Attributes
    ----------
    must_ranks, cannot_ranks : array of int64, shape (n_partitions,), or None
        Rank of each partition if the pair becomes a must-link or a cannot-link; None if
        that would contradict existing links.
    """

    must_ranks: RankArray | None
    cannot_ranks: RankArray | None


def preview_link(
    ranking: Ranking,
    pair: Sequence[int],
    constraints: Constraints | None = None,
    constraint_weight: Weight = 1.0,
) -> LinkPreview:
    """Rank the models as if a pair became a must-link or a cannot-link.

    Parameters
    ----------
    ranking : Ranking
        The current ranking.
    pair : sequence of two int
        Two different samples.
    constraints : Constraints, optional
        The current links.
    constraint_weight : float or "evidence", default 1.0
        Charge for breaking all links, as used for the ranking.

    Returns
    -------
    preview : LinkPreview
        Ranks after either answer.

    Raises
    ------
    ValueError
        If the pair is not two different samples, or an argument is out of range.

    Notes
    -----
    Scores without links do not change: O(T) time per link.

    Examples
    --------
    >>> from clusterlens.compute.ensemble.ensemble import Ensemble
    >>> from clusterlens.compute.ranking.ranking import rank_partitions
    >>> ensemble = Ensemble([[0, 0, 1, 1], [0, 0, 0, 1], [0, 1, 1, 1]])
    >>> preview = preview_link(rank_partitions(ensemble), (0, 1))
    >>> preview.must_ranks.tolist(), preview.cannot_ranks.tolist()
    ([1, 2, 3], [2, 3, 1])
    """
    if not isinstance(ranking, Ranking):
        raise ValueError(
            f"ranking is a {type(ranking).__name__}; give a Ranking: rank_partitions "
            "makes one."
        )
    known = check_constraints(constraints)
    link = _checked_pair(pair, check_ensemble(ranking.ensemble).n_samples)
    return LinkPreview(
        _ranks_with(ranking, known, constraint_weight, [link], []),
        _ranks_with(ranking, known, constraint_weight, [], [link]),
    )


def _checked_pair(pair: Sequence[int], n_samples: int) -> list[int]:
    """Return the positions of two different samples."""
    ends = np.asarray(pair, dtype=object).ravel().tolist()
    if len(ends) != 2:
        raise ValueError(
            f"pair is {plain_repr(pair)}; give the positions of two samples."
        )
    link = [check_range(i, 0, n_samples - 1, name="pair", integer=True) for i in ends]
    if link[0] == link[1]:
        raise ValueError(f"pair names sample {link[0]} twice; give two samples.")
    return link


def _ranks_with(
    ranking: Ranking,
    known: Constraints,
    weight: Weight,
    must: list[list[int]],
    cannot: list[list[int]],
) -> RankArray | None:
    """Return the ranks with more links, None if these contradict existing ones."""
    try:
        links = Constraints(
            [*known.must_link.tolist(), *must], [*known.cannot_link.tolist(), *cannot]
        )
    except ConstraintError:
        return None
    return ranking.with_constraints(links, weight).ranks
