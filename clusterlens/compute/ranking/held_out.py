"""Answers held out: what a model that was made to obey answers said without each.

Such a model keeps what it was given, which says nothing for it. So its specification
holds what it said of each answer when that was held out, by pairs of samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clusterlens.compute.ensemble.constraints import Constraints, PairArray

HELD_OUT = "held_out"
SAID = ("together", "apart", "uncertain")
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class HeldOut:
    """What a model says of links, all shape (n_links,).

    Attributes
    ----------
    given : array of bool
        Whether it was made to obey the link.
    joined, uncertain : array of bool
        Whether it joined the ends when the link was held out, and whether nothing
        certain was said.
    follows : array of bool
        Whether the link was not given but follows from those that were.
    """

    given: BoolArray
    joined: BoolArray
    uncertain: BoolArray
    follows: BoolArray


def held_out(spec: Mapping[str, Any], links: PairArray, n_samples: int) -> HeldOut:
    """Look links up in the specification of a model that was made for answers."""
    keys = links[:, 0] * n_samples + links[:, 1]

    def among(pairs: Any) -> BoolArray:
        told = np.array(pairs, np.int64).reshape(-1, 2)
        return np.isin(keys, told[:, 0] * n_samples + told[:, 1])

    joined, apart, uncertain = (among(spec[HELD_OUT][name]) for name in SAID)
    given = joined | apart | uncertain
    obeyed = Constraints(spec.get("must_link", ()), spec.get("cannot_link", ()))
    follows = obeyed.settles(links, n_samples) & ~given
    return HeldOut(given, joined, uncertain, follows)
