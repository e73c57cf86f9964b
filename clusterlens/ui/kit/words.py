"""Words: numbers, ranks and shares as people read them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np

from clusterlens.compute._numbers import whole
from clusterlens.compute.ensemble.ensemble import Ensemble, NoiseMeans
from clusterlens.compute.fuzzy.adjusted import HIGH_EXPECTATION, AdjustedIndex
from clusterlens.compute.ranking.ranking import SCORES
from clusterlens.compute.ranking.voting import VoteBy

# What noise is or does, where a model calls a sample so.
NOISE_WORDS: dict[NoiseMeans, str] = {
    "cluster": "counts as a cluster",
    "singletons": "counts as single rows",
    "silent": "says nothing",
}

EQUAL = {"models": "models", "families": "families", "hubs": "groups of near-copies"}

# Of work for which no worker process is free.
ALL_AT_WORK = "waiting for its turn, as other work takes all processors"

# How names begin, and how they do where there is little room.
_BRIEFLY = {"Birch threshold=": "Birch ", "Gaussian mixture": "Gaussian mix"}


def score_words(key: str) -> str:
    """Name a score in plain words, if it has any, then as experts do."""
    score = SCORES[key]
    return f"{score.plain} ({score.title})" if score.plain else score.title


def who_votes(by: VoteBy, ensemble: Ensemble) -> str:
    """Say whose votes count: what has equal ones, or how many models have one."""
    if by != "typical":
        return f"{EQUAL[by]} have equal votes"
    n_voters = whole(np.count_nonzero(ensemble.votes))
    return f"typical half votes: {n_voters} of {len(ensemble)}"


def voters(ensemble: Ensemble) -> str:
    """Say who votes: "56 models", "33 voting models", or votes if these differ."""
    noun = "votes"
    if ensemble.votes.max() == 1:
        noun = "models" if ensemble.votes.all() else "voting models"
    return f"{whole(ensemble.n_votes)} {noun}"


def in_models(joined: int, seen: int, n_votes: int) -> str:
    """Write the votes that join a pair, of those on both rows, on the scale of n_votes.

    Rounded down, so that no number seems to reach a threshold that it does not reach.
    """
    tenths = 10 * n_votes * joined // seen
    return f"{tenths / 10:.1f}" if tenths % 10 else whole(tenths // 10)


def number(value: Any, *, spread: float = 0.0) -> str:
    """Write a number with three digits or all of its whole part.

    Parameters
    ----------
    value : number or any
        Numbers are rounded; anything else is written as it is, midnight as the day,
        missing as a dash.
    spread : float, default 0
        Size of typical differences; what is far below it is rounding and written 0.
    """
    if value is None or value is np.ma.masked:
        return "–"
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        text = str(value)
        is_day = isinstance(value, datetime) and text.endswith(" 00:00:00")
        return "–" if text in ("nan", "NaT", "<NA>") else text[: 10 if is_day else None]
    value = float(value)
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) <= 1e-9 * abs(spread) or value == 0:
        return "0"
    if abs(value) >= 1e7 or abs(value) < 1e-3:
        return f"{value:.3g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}".replace(",", "\u202f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def fixed(value: float, digits: int = 2, *, signed: bool = False) -> str:
    """Write a number with so many decimals and a true minus; missing as a dash."""
    if not math.isfinite(value):
        return "–"
    text = f"{value:{'+' if signed else ''}.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("+-")
    return text.replace("-", "−")


def brief(name: str) -> str:
    """Shorten how the name of a model begins, where there is little room for it."""
    for begin, brief_begin in _BRIEFLY.items():
        if name.startswith(begin):
            return brief_begin + name.removeprefix(begin)
    return name


def differing(names: Sequence[str]) -> list[str]:
    """Leave out settings that all models of a clusterer have, where it made several."""
    made: dict[str, list[set[str]]] = {}
    for name in names:
        clusterer, *words = name.split(" ")
        made.setdefault(clusterer, []).append({word for word in words if "=" in word})
    shared = {key: set.intersection(*all_) for key, all_ in made.items() if all_[1:]}
    return [
        " ".join(
            word
            for word in name.split(" ")
            if word not in shared.get(name.partition(" ")[0], ())
        )
        for name in names
    ]


def telling(names: Sequence[str]) -> list[tuple[str, str]]:
    """Part each name before the first word that tells it from the one most like it.

    Where there is no room for all of it, the first part can give way. The second is
    empty where no other name begins with the same word.
    """
    ordered = sorted({tuple(name.split(" ")) for name in names})
    shared = dict.fromkeys(ordered, 0)
    for a, b in pairwise(ordered):
        alike = next(k for k, pair in enumerate(zip_longest(a, b)) if len({*pair}) > 1)
        shared[a], shared[b] = max(shared[a], alike), max(shared[b], alike)
    parts = []
    for name in names:
        words = tuple(name.split(" "))
        at = shared[words] or len(words)
        parts.append((" ".join(words[:at]), " ".join(words[at:])))
    return parts


def error(standard_error: float) -> str:
    """Write two standard errors of a random draw, or that nothing was drawn."""
    if standard_error == 0:
        return "exact"
    return f"± {2 * standard_error:.1g}" if standard_error > 5e-5 else "± <0.0001"


def caveat(value: AdjustedIndex) -> str:
    """Write the error of an adjusted value, or what is special about it."""
    if value.degenerate:
        return "by convention: nothing can vary"
    text = error(value.standard_error)
    if value.expected > HIGH_EXPECTATION:
        text += f"; expected {value.expected:.4f}, noise is magnified"
    return text


def typed(text: str) -> str:
    """Return what Python reads as the number that was typed.

    A comma is the decimal mark, and groups of digits may stand apart.
    """
    return re.sub(r"(?<=\d)\s(?=\d)", "", text).replace(",", ".")


def span(low: float, high: float) -> str:
    """Write a range of ranks; a dash where there is none."""
    if np.isnan(low):
        return "–"
    return f"{low:.0f}" if low == high else f"{low:.0f}–{high:.0f}"


def duration(seconds: float) -> str:
    """Write how long something takes."""
    if seconds < 1:
        return "under a second"
    if seconds < 90:
        return f"about {seconds:.0f} s"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:.1f} h"


def size_in_bytes(size: int) -> str:
    """Write a number of bytes for people."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size / 1e3:.0f} kB"
