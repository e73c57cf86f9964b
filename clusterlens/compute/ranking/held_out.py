"""Held-out answers: the predictions of a model made for answers, without each answer.

Such a model keeps the answers that it was given, which is no evidence for it. So its
specification stores, by pairs of samples, its prediction for each held-out answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clusterlens.compute.ensemble.constraints import Constraints, PairArray

HELD_OUT = "held_out"
ANSWERS = ("together", "apart", "uncertain")
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class HeldOut:
    """Predictions of a model for links, all of shape (n_links,).

    Attributes
    ----------
    given : array of bool
        Whether the model was made to obey the link.
    joined, uncertain : array of bool
        Whether it joined the ends with the link held out, and whether the
        prediction was left open.
    implied : array of bool
        Whether the link was not given but follows from the given ones.
    """

    given: BoolArray
    joined: BoolArray
    uncertain: BoolArray
    implied: BoolArray


def held_out(spec: Mapping[str, Any], links: PairArray, n_samples: int) -> HeldOut:
    """Look links up in the specification of a model that was made for answers."""
    keys = links[:, 0] * n_samples + links[:, 1]

    def listed_in(pairs: Any) -> BoolArray:
        known = np.array(pairs, np.int64).reshape(-1, 2)
        return np.isin(keys, known[:, 0] * n_samples + known[:, 1])

    joined, apart, uncertain = (listed_in(spec[HELD_OUT][name]) for name in ANSWERS)
    given = joined | apart | uncertain
    obeyed = Constraints(spec.get("must_link", ()), spec.get("cannot_link", ()))
    implied = obeyed.settles(links, n_samples) & ~given
    return HeldOut(given, joined, uncertain, implied)
