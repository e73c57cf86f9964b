"""Versions of the presets, and detection of the preset of a pool.

A preset keeps its name if its models change and gets the next version, so that the
models behind its name in an old run are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from clusterlens.compute.pool.clusterer import Spec
from clusterlens.compute.pool.presets import POOLS, default_grids
from clusterlens.compute.pool.specs import pool_grids, preset_forms

PRESET_VERSIONS: dict[str, int] = {**dict.fromkeys(POOLS, 1), "default": 2}

# Content of earlier versions, to identify the presets of old runs.
FORMER_PRESETS: dict[tuple[str, int], Sequence[Spec]] = {
    ("default", 1): default_grids(
        "k-means",
        "mini-batch k-means",
        "bisecting k-means",
        "agglomerative",
        "Birch",
        "DBSCAN",
        "DBSCAN on a sample",
        "HDBSCAN",
        "OPTICS",
        "Gaussian mixture",
        "Bayesian mixture",
        "spectral",
        "affinity propagation",
    ),
}


class PresetUsed(NamedTuple):
    """The preset from which a pool was built.

    Parameters
    ----------
    name : str
        A key of POOLS at that time.
    version : int
        Its version at that time.
    n_entries : int
        Number of its entries in the pool, before added ones.
    """

    name: str
    version: int
    n_entries: int

    def words(self, n_entries: int) -> str:
        """Return the name of the preset of a pool with n_entries, as plain text."""
        more = ", with models added" if n_entries > self.n_entries else ""
        return f"preset {self.name}, version {self.version}{more}"


def preset_of(pool: Sequence[Mapping[str, Any]], n_samples: int) -> PresetUsed | None:
    """Find the preset of a pool.

    Parameters
    ----------
    pool : sequence of mapping
        Entries of the pool that take part.
    n_samples : int
        Number of samples; presets depend on it.

    Returns
    -------
    preset : PresetUsed or None
        The preset with these entries, in the same order, now or in an earlier version;
        None for a custom pool or a changed preset.
    """
    entries = list(map(_listed, pool))
    for name, version in PRESET_VERSIONS.items():
        asked = (name, _n_clusters(entries)) if callable(POOLS[name]) else name
        grids, _ = pool_grids(asked, n_samples)
        if list(map(_listed, grids)) == entries:
            return PresetUsed(name, version, len(entries))
    for (name, version), specs in FORMER_PRESETS.items():
        if list(map(_listed, sized_grids(specs, n_samples))) == entries:
            return PresetUsed(name, version, len(entries))
    return None


def sized_grids(specs: Sequence[Spec], n_samples: int) -> list[dict[str, Any]]:
    """Return the grids of the entries of a preset at a size.

    Parameters
    ----------
    specs : sequence of mapping
        Entries of a preset, of any version.
    n_samples : int
        Number of samples; entries that are too slow are replaced or left out.

    Returns
    -------
    grids : list of dict
        As `pool_grids` returns them for the name of a preset.
    """
    forms = [form for spec in specs for form in preset_forms(spec, n_samples, [])]
    return pool_grids(forms, n_samples)[0]


def _listed(grid: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry with a list for each setting, as on the page."""
    return {
        key: [value] if _is_single(key, value) else value for key, value in grid.items()
    }


def _is_single(key: str, value: Any) -> bool:
    """Whether a setting has one value, written without a list."""
    return key not in ("clusterer", "copies") and not isinstance(value, list)


def _n_clusters(entries: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of clusters that the first entry asks for, 2 if none."""
    values = entries[0].get("n_clusters") if entries else None
    first = values[0] if values else None
    return first if isinstance(first, int) and first >= 2 else 2
