"""Settings of clusterers in plain words for the screen; scripts keep the code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterlens.compute.ranking.held_out import HELD_OUT
from clusterlens.ui.state.drafts import write_value
from clusterlens.ui.widgets.words import number

# Text before and after the values of a setting.
WORDS = {
    "n_clusters": ("k =", ""),
    "n_components": ("k =", ""),
    "random_state": ("seed", ""),
    "eps": ("radius", ""),
    "bandwidth": ("radius", ""),
    "threshold": ("radius of a group", ""),
    "min_cluster_size": ("smallest cluster", "rows"),
    "min_samples": ("density from", "neighbours"),
    "xi": ("steepness of a valley", ""),
    "covariance_type": ("", "covariance"),
    "linkage": ("", "linkage"),
    "n_neighbors": ("", "neighbours"),
    "affinity": ("graph", ""),
    "copies": ("", "runs each"),
    "bin_seeding": ("seeds on a grid", ""),
    "gini_threshold": ("inequality of sizes up to", ""),
}
# Settings that change no partition, and links, which are listed separately.
HIDDEN = ("copy", "max_neighbors", "must_link", "cannot_link", HELD_OUT)
_ROOTS = {2: "square root", 3: "cube root"}


def named(setting: str) -> str:
    """Return the name of a setting without its value."""
    if setting == "n_clusters":
        return "k"
    return " ".join(filter(None, WORDS.get(setting, (setting, ""))))


def plain_value(value: Any) -> str:
    """Format a value for reading; typed text would show a formula."""
    match value:
        case {"root": root, **rest}:
            root = _ROOTS.get(root, f"{root:g}th root")
            return f"{root}, at least {rest['at_least']}" if rest else root
        case {"share": share, "at_most": most}:
            return f"{100 * share:g}%, at most {most}"
        case str():
            return value.replace("_", " ")
    return write_value(value)


def plain_settings(spec: Mapping[str, Any]) -> str:
    """Format the settings of one fitted model: "k = 4 · seed 5797815"."""
    parts = []
    for name, value in spec.items():
        if name == "clusterer" or name in HIDDEN:
            continue
        before, after = WORDS.get(name, (name.replace("_", " "), ""))
        text = str(value) if name == "random_state" else number(value)
        text = text.replace("_", " ")
        parts.append(" ".join(filter(None, (before, text, after))))
    return " · ".join(parts)
