"""Formats of numbers, ranks and shares."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np

from clusterlens.compute.ensemble.ensemble import Ensemble, NoiseMeans
from clusterlens.compute.formatting import minus, whole, with_capital
from clusterlens.compute.fuzzy.adjusted import HIGH_EXPECTATION, AdjustedIndex
from clusterlens.compute.ranking.ranking import SCORES
from clusterlens.compute.ranking.voting import VoteBy

# Treatment of noise, in words.
NOISE_WORDS: dict[NoiseMeans, str] = {
    "cluster": "counts as a cluster",
    "singletons": "counts as single rows",
    "silent": "says nothing",
}

EQUAL = {"models": "models", "families": "families", "hubs": "groups of near-copies"}

# Shown while no worker process is free.
ALL_AT_WORK = "waiting for its turn, as other work takes all processors"

# Expert's terms that are too long for two lines of a select.
_BRIEF_SCORES = {"aari": "average ARI", "anmi": "average NMI"}

# Prefixes of names, and their short forms.
_BRIEFLY = {"Birch threshold=": "Birch ", "Gaussian mixture": "Gaussian mix"}


def score_words(key: str) -> str:
    """Name a score in plain words, if it has any, followed by the expert's term."""
    score = SCORES[key]
    title = _BRIEF_SCORES.get(key, score.title)
    return f"{score.plain} ({title})" if score.plain else title


def who_votes(by: VoteBy, ensemble: Ensemble) -> str:
    """Describe the votes: units with equal votes, or the number of voting models."""
    if by != "typical":
        return f"{EQUAL[by]} have equal votes"
    n_voters = whole(int(np.count_nonzero(ensemble.votes)))
    return f"typical half votes: {n_voters} of {len(ensemble)}"


def voters(ensemble: Ensemble) -> str:
    """Describe the voters: "56 models", "33 voting models", or votes if unequal."""
    noun = "votes"
    if ensemble.votes.max() == 1:
        noun = "models" if ensemble.votes.all() else "voting models"
    return f"{whole(ensemble.n_votes)} {noun}"


def in_models(value: float) -> str:
    """Format a number of models in tenths, or as a whole number.

    Rounded down, so that no number appears to reach a threshold that it misses. Values
    of pictures have seven digits.
    """
    return f"{math.floor(10 * value + 1e-4) / 10:.1f}".removesuffix(".0")


def number(value: Any, *, spread: float = 0.0) -> str:
    """Format a number with three digits or all of its whole part.

    Parameters
    ----------
    value : number or any
        Numbers are rounded; other values become text, midnight the day, and a missing
        value a dash.
    spread : float, default 0
        Size of typical differences; far smaller values are rounding errors, written 0.
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
        return minus(f"{value:.3g}")
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = minus(f"{value:,.{digits}f}").replace(",", "\u202f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def fixed(value: float, digits: int = 2, *, signed: bool = False) -> str:
    """Format a number with fixed decimals and a true minus; missing as a dash."""
    if not math.isfinite(value):
        return "–"
    text = f"{value:{'+' if signed else ''}.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("+-")
    return minus(text)


def with_minus(text: str) -> str:
    """Write the hyphens of a number as minus signs; other texts stay as they are."""
    return re.sub(r"^-(?=\d)|(?<=\de)-", "−", text)


def brief(name: str) -> str:
    """Shorten the prefix of a model's name for narrow places."""
    for begin, brief_begin in _BRIEFLY.items():
        if name.startswith(begin):
            return brief_begin + name.removeprefix(begin)
    return name


def drop_shared_settings(names: Sequence[str]) -> list[str]:
    """Drop settings and variants shared by all models of a clusterer, if several."""
    made: dict[str, list[set[str]]] = {}
    for name in names:
        clusterer, *words = name.split(" ")
        settings = {word for word in words if "=" in word or word.startswith("(")}
        made.setdefault(clusterer, []).append(settings)
    shared = {key: set.intersection(*all_) for key, all_ in made.items() if all_[1:]}
    return [
        " ".join(
            word
            for word in name.split(" ")
            if word not in shared.get(name.partition(" ")[0], ())
        )
        for name in names
    ]


def split_at_difference(names: Sequence[str]) -> list[tuple[str, str]]:
    """Split each name before the first word that distinguishes it from others.

    In a narrow place the first part may shrink. The second part is empty if no other
    name begins with the same word.
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
    """Format two standard errors of a random draw, or "exact" without a draw."""
    if standard_error == 0:
        return "exact"
    return f"± {2 * standard_error:.1g}" if standard_error > 5e-5 else "± <0.0001"


def caveat(value: AdjustedIndex) -> str:
    """Format the error of an adjusted value, or the reason why it has none."""
    if value.degenerate:
        return "by convention: nothing can vary"
    text = error(value.standard_error)
    if value.expected > HIGH_EXPECTATION:
        text += f"; expected {value.expected:.4f}, noise is magnified"
    return text


def typed(text: str) -> str:
    """Return a typed number in Python's notation.

    A comma is a decimal mark, groups of digits may be separated by spaces, and a minus
    sign is a hyphen.
    """
    return re.sub(r"(?<=\d)\s(?=\d)", "", text).replace(",", ".").replace("−", "-")


def span(low: float, high: float) -> str:
    """Format a range of ranks; a dash if there is none."""
    if np.isnan(low):
        return "–"
    return f"{low:.0f}" if low == high else f"{low:.0f}–{high:.0f}"


def duration(seconds: float) -> str:
    """Format a duration."""
    if seconds < 1:
        return "under a second"
    if seconds < 90:
        return f"about {seconds:.0f} s"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:.1f} h"


def write_sentence(text: str) -> str:
    """Begin a text with a capital letter and end it with a full stop."""
    return f"{with_capital(text)}."


def size_in_bytes(size: int) -> str:
    """Format a number of bytes."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size / 1e3:.0f} kB"
