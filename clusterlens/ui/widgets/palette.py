"""Colours of clusters, noise, disagreement and links, each with one meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

NOISE_COLOUR = "#8a8f98"
# Rows that are too far from the cluster that they are assigned to.
NOWHERE_COLOUR = "#5f666e"
# Colours fade to this one as they become uncertain; lighter than noise.
PALE = "#c9ccd1"
SHADES = ("#a9d5d1", "#3a9c97", "#06464a")
DISAGREEMENT_COLOURS = ("#2b5c9e", "#9aa0ad", "#e0892b", "#c02a1b")
LINK_COLOURS = {"must": "#1769d2", "cannot": "#c2570c"}
PAIR_COLOUR = "#d0308f"
# Two classes beside each other, and their separation from none to full.
PAIR_OF_CLASSES = ("#0072b2", "#d55e00")
# Legible on light and on dark cards.
DISCORDANCE_COLOURS = ("#f0e4d0", "#e0892b", "#a03218")
APART_COLOURS = ("#b5562b", "#eee9e0", "#0b6e6e")

# Okabe and Ito's colour-blind safe colours, followed by colours of a grid that suit
# both themes. Each is as far as possible from earlier ones and from noise for normal,
# protanopic and deuteranopic vision (a test measures it).
_SAFE_COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"),
    *("#55eecc", "#aa2211", "#3322ff", "#5588ff", "#884466", "#eecc77"),
    *("#22ddff", "#ddaa88", "#cc0099", "#55ccbb", "#dd11cc", "#886655"),
    *("#3366ff", "#226688", "#ff5577", "#bb4400", "#ffbb00", "#8811bb"),
)


@cache
def palette() -> tuple[str, ...]:
    """Return colours of clusters: safe ones first, then distinct ones for many."""
    # Imported here so that the first page loads sooner.
    import colorcet

    return (*_SAFE_COLOURS, *colorcet.palette["glasbey_bw_minc_20_maxl_70"])


def cluster_name(cluster: int, names: Mapping[int, str] | None = None) -> str:
    """Name a cluster on screen, by its own name or a number from 1."""
    if names and cluster in names:
        return names[cluster]
    return "noise" if cluster < 0 else f"cluster {cluster + 1}"


def file_labels(clusters: np.ndarray) -> np.ndarray:
    """Number clusters for files: from 1 as in their names, noise -1."""
    wide = clusters.astype(np.int64)
    return np.where(wide < 0, -1, wide + 1)


def noise_last(clusters: np.ndarray) -> np.ndarray:
    """Return the clusters, int64, with noise as one more cluster after the others."""
    wide = clusters.astype(np.int64)
    return np.where(wide < 0, wide.max() + 1, wide)


def clusters_of(labels: np.ndarray, *, first: int = 1) -> np.ndarray:
    """Return the clusters that have these labels in files, where `first` is cluster 0.

    Files of the page begin with 1, those of `clusterlens run` with 0.
    """
    wide = labels.astype(np.int64)
    return np.where(wide < 0, -1, wide - first)


def label_title(label: object) -> str:
    """Return the title of a given label; numbers are marked as labels."""
    text = str(label)
    return f"label {text}" if text.lstrip("-").replace(".", "").isdigit() else text


def cluster_colour(cluster: int) -> str:
    """Return the colour of a cluster; beyond the palette colours repeat."""
    if cluster < 0:
        return NOISE_COLOUR
    if cluster < len(_SAFE_COLOURS):
        return _SAFE_COLOURS[cluster]
    return palette()[cluster % len(palette())]


def cluster_colours(clusters: np.ndarray) -> np.ndarray:
    """Colour cluster numbers, shape (n,), negative is noise; return uint8 (n, 3)."""
    table = rgb([*palette(), NOISE_COLOUR])
    noise = len(palette())
    return table[np.where(clusters < 0, noise, clusters % noise)]


def rgb(colours: Sequence[str]) -> np.ndarray:
    """Turn colours "#rrggbb" into an array of uint8, shape (n_colours, 3)."""
    return np.array([list(bytes.fromhex(c[1:])) for c in colours], dtype=np.uint8)


def disagreement_colours(values: np.ndarray) -> np.ndarray:
    """Colour values in [0, 1], shape (n,); return uint8, shape (n, 3)."""
    return _between(DISAGREEMENT_COLOURS, values)


def discordance_colours(values: np.ndarray) -> np.ndarray:
    """Colour values in [0, 1], shape (n,); return uint8, shape (n, 3)."""
    return _between(DISCORDANCE_COLOURS, values)


def shades(values: np.ndarray) -> np.ndarray:
    """Shade values in [0, 1], NaN grey, shape (n,); return uint8, shape (n, 3)."""
    known = np.isfinite(values)[:, None]
    return np.where(known, _between(SHADES, np.nan_to_num(values)), rgb([NOISE_COLOUR]))


def apart_colour(value: float) -> tuple[str, str]:
    """Return the colour of a score from 0 (mixed) to 1 (apart), and of text on it."""
    red, green, blue = _between(APART_COLOURS, np.array([value]))[0].tolist()
    colour = f"#{red:02x}{green:02x}{blue:02x}"
    return colour, ink_on(colour)


def _between(colours: Sequence[str], values: np.ndarray) -> np.ndarray:
    """Interpolate colours at equal steps from 0 to 1."""
    stops = np.linspace(0, 1, len(colours))
    channels = rgb(colours).T
    mixed = [np.interp(values, stops, channel) for channel in channels]
    return np.rint(np.stack(mixed, axis=1)).astype(np.uint8)


def certain_colours(
    clusters: np.ndarray, certainty: np.ndarray, n_clusters: int
) -> np.ndarray:
    """Colour cluster numbers, paler where they are uncertain; return uint8 (n, 3).

    Parameters
    ----------
    clusters : array of int, shape (n,)
        Cluster numbers, negative for undecided.
    certainty : array of float, shape (n,)
        From 1 / n_clusters, nearly grey, to 1, the full colour.
    n_clusters : int
        Number of clusters.
    """
    least = 1 / n_clusters if n_clusters > 1 else 0.0
    share = np.clip((certainty - least) / (1 - least), 0, 1)[:, None]
    grey = rgb([PALE]).astype(float)
    full = cluster_colours(clusters)
    mixed = np.rint(grey + (full - grey) * (0.15 + 0.85 * share)).astype(np.uint8)
    return np.where((clusters < 0)[:, None], full, mixed)


def ink_on(colour: str) -> str:
    """Return black or white, whichever is easier to read on a colour "#rrggbb".

    The contrast is at least 4.58 on every colour, above the 4.5 of WCAG AA.
    """
    share = np.frombuffer(bytes.fromhex(colour[1:]), np.uint8) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    light = float(linear @ (0.2126, 0.7152, 0.0722)) + 0.05
    # The luminance of black is 0.05 on this scale, of white 1.05.
    return "#000000" if light / 0.05 > 1.05 / light else "#ffffff"
