"""Draft of a pool: entries, with their values as texts that can be read back.

A value is written in the shortest text that can be read: 4, ward, 5%. A share is a
share of samples or of distances, depending on the parameter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

from clusterlens.compute._plain import read_plain
from clusterlens.compute.ensemble.ensemble import NoiseMeans
from clusterlens.compute.formatting import whole
from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.compute.pool.presets import POOLS
from clusterlens.compute.pool.specs import pool_grids, preset_forms

# Meaning of a share, by parameter.
SHARES = {
    "eps": "neighbour distances",
    "threshold": "pair distances",
    "bandwidth": "pair distances",
    "min_cluster_size": "samples",
    "min_samples": "samples",
}
MAX_RANGE = 200
LONGEST_TEXT = 1_000_000
_WORDS = {"none": None, "yes": True, "no": False, "true": True, "false": False}


@dataclass(frozen=True)
class Entry:
    """One clusterer with its settings, switched on or off.

    Parameters
    ----------
    clusterer : str
        A key of CLUSTERERS.
    settings : mapping
        Parameter to the list of its values; "copies" to a number.
    on : bool
        Whether it takes part.
    """

    clusterer: str
    settings: Mapping[str, Any]
    on: bool = True

    @property
    def grid(self) -> dict[str, Any]:
        """The entry in the form of `run_pool`."""
        return {"clusterer": self.clusterer, **self.settings}

    @property
    def limit(self) -> int | None:
        """Number of samples above which presets drop or change the clusterer."""
        clusterer = CLUSTERERS[self.clusterer]
        if clusterer.beyond is not None and clusterer.beyond(self.grid) == [self.grid]:
            return None
        return clusterer.max_samples


@dataclass(frozen=True)
class Rejected:
    """Text that a field refuses, with its entry, its parameter and the reason."""

    entry: int
    setting: str
    text: str
    reason: str


@dataclass(frozen=True, eq=False)
class PoolDraft:
    """Draft of the next run.

    Parameters
    ----------
    preset : str
        A key of POOLS, or the name of a saved pool.
    own : tuple of Entry or None
        Entries of the saved pool; None if the preset is a key of POOLS.
    n_clusters : int
        Number of clusters of presets that need one.
    entries : tuple of Entry or None
        Edited entries; None for the entries of the preset at the size of the table.
    random_state : int
        Seed of the pool.
    distinct_only : bool
        Whether identical partitions count once.
    noise : {"cluster", "singletons", "silent"}
        Treatment of noise.
    rejected : Rejected or None
        The last refused text.
    """

    preset: str = "default"
    own: tuple[Entry, ...] | None = None
    n_clusters: int = 3
    entries: tuple[Entry, ...] | None = None
    random_state: int = 0
    distinct_only: bool = False
    noise: NoiseMeans = "cluster"
    rejected: Rejected | None = None


def needs_clusters(preset: str) -> bool:
    """Return whether a preset needs a number of clusters."""
    return callable(POOLS.get(preset))


def draft_entries(draft: PoolDraft, n_samples: int) -> tuple[Entry, ...]:
    """Return the entries of the draft, by default of its preset for the size."""
    if draft.entries is not None:
        return draft.entries
    if draft.own is not None:
        return draft.own
    preset = POOLS[draft.preset]
    specs = preset(draft.n_clusters) if callable(preset) else preset
    return tuple(entry for spec in specs for entry in _forms(spec, n_samples))


def _forms(spec: Mapping[str, Any], n_samples: int) -> list[Entry]:
    """Return the entries of one entry of a preset.

    If it is too slow, it is switched off and its replacements follow.
    """
    forms, _ = pool_grids(preset_forms(spec, n_samples, []), n_samples)
    taken = [_entry(form) for form in forms]
    limit = CLUSTERERS[spec["clusterer"]].max_samples
    if limit is None or n_samples <= limit:
        return taken
    (grid,), _ = pool_grids([spec], n_samples)
    for form in forms:  # parts that run in their plain form
        if form["clusterer"] == spec["clusterer"]:
            grid = {key: _without(value, form[key]) for key, value in grid.items()}
    return [replace(_entry(grid), on=False), *taken]


def _without(values: Any, taken: Any) -> Any:
    """Return the values that are not taken; all values if all are taken."""
    if not isinstance(values, list):
        return values
    return [value for value in values if value not in taken] or values


def _entry(grid: Mapping[str, Any]) -> Entry:
    settings = {
        key: value if key == "copies" or isinstance(value, list) else [value]
        for key, value in grid.items()
        if key not in ("clusterer", "use")
    }
    return Entry(grid["clusterer"], settings, grid.get("use", True))


Entries = tuple[Entry, ...]


def switch(entries: Entries, at: int) -> Entries:
    """Switch an entry on or off."""
    return _put(entries, at, replace(entries[at], on=not entries[at].on))


def add_clusterer(entries: Entries, name: str) -> Entries:
    """Add a clusterer with its default settings, after others of its family."""
    family = CLUSTERERS[name].family
    families = [CLUSTERERS[entry.clusterer].family for entry in entries]
    same = [k for k, other in enumerate(families) if other == family]
    at = same[-1] + 1 if same else len(entries)
    added = _entry({"clusterer": name, **CLUSTERERS[name].grid})
    return (*entries[:at], added, *entries[at:])


def add_values(entries: Entries, at: int, setting: str, text: str) -> Entries:
    """Add the values in a text; numbers are sorted.

    Raises
    ------
    ValueError
        If the text cannot be read, or the clusterer does not take a value.
    """
    entry = entries[at]
    if setting == "copies":
        return _set(entries, at, setting, _read_copies(text))
    present = list(entry.settings.get(setting, []))
    new = [v for v in read_values(entry.clusterer, setting, text) if v not in present]
    values = present + new
    if all(type(value) in (int, float) for value in values):
        values.sort()
    return _set(entries, at, setting, values)


def remove_value(entries: Entries, at: int, setting: str, index: int) -> Entries:
    """Remove a value; a setting without values returns to the clusterer's default."""
    values = [v for k, v in enumerate(entries[at].settings[setting]) if k != index]
    return _set(entries, at, setting, values)


def _set(entries: Entries, at: int, setting: str, value: Any) -> Entries:
    settings = {**entries[at].settings, setting: value}
    if value == []:
        del settings[setting]
    return _put(entries, at, replace(entries[at], settings=settings))


def _put(entries: Entries, at: int, entry: Entry) -> Entries:
    return (*entries[:at], entry, *entries[at + 1 :])


def write_value(value: Any) -> str:
    """Format a value as a text that can be read back."""
    match value:
        case {"root": root, **rest}:
            return f"n^1/{root:g}" + (
                f"≥{rest['at_least']}" if rest.get("at_least") else ""
            )
        case {"share": share, "at_most": most}:
            return f"{100 * share:g}%≤{most}"
        case {"share": share}:
            return f"{100 * share:g}%"
        case {"quantile": [low, high], "at": at}:
            return f"{100 * low:g}–{100 * high:g}% at {at:.3g}"
        case {"quantile": share}:
            return f"{100 * share:g}%"
        case True:
            return "yes"
        case False:
            return "no"
        case None:
            return "none"
        case float():
            return f"{value:g}"
    return str(value)


def read_values(clusterer: str, setting: str, text: str) -> list[Any]:
    """Read typed values: 4, 0.5, ward, 5%, or 2-20 for a range.

    Parameters
    ----------
    clusterer : str
        A key of CLUSTERERS.
    setting : str
        The parameter.
    text : str
        Values, separated by spaces, or by commas if they are whole numbers.

    Raises
    ------
    ValueError
        If there is nothing to read, or the clusterer does not take a value.
    """
    _refuse_decimal_comma(clusterer, setting, text)
    pieces = re.split(r"[,;\s]+", re.sub(r"\s+%", "%", text.strip()))
    values = [value for piece in pieces if piece for value in _read(setting, piece)]
    if not values:
        raise ValueError("give a value, such as 4, or 2-20 for a range.")
    for value in values:
        _check(clusterer, setting, value)
    return values


def _refuse_decimal_comma(clusterer: str, setting: str, text: str) -> None:
    """Refuse a comma that may separate values or be a decimal comma."""
    kinds = {getattr(rule, "type", None) for rule in _rules(clusterer).get(setting, ())}
    are_fractions = "%" in text or (Real in kinds and Integral not in kinds)
    whole_part = r"\d+" if are_fractions else r"(?<!\d)0"
    if found := re.search(rf"({whole_part}),(\d+)", text):
        raise ValueError(
            f"{found[0]} may be one value or two; write {found[1]}.{found[2]} with a "
            f"point, or {found[1]} {found[2]} with a space between two values."
        )


def _read(setting: str, piece: str) -> list[Any]:
    """Read one piece; a range stands for several values."""
    if found := re.fullmatch(r"(\d+)[-–](\d+)", piece):
        low, high = map(int, found.groups())
        if not 0 < high - low < MAX_RANGE:
            raise ValueError(
                f"{piece} is no range of 2 to {MAX_RANGE} numbers; write it like 2-20."
            )
        return list(range(low, high + 1))
    if found := re.fullmatch(r"n\^1/([\d.]+)(?:(?:≥|>=)(\d+))?", piece):
        least = {"at_least": int(found[2])} if found[2] else {}
        return [{"root": float(found[1]), "of": "samples", **least}]
    if found := re.fullmatch(r"(.+%)(?:≤|<=)(\d+)", piece):
        return [{**_read_share(setting, found[1]), "at_most": int(found[2])}]
    if piece.endswith("%"):
        return [_read_share(setting, piece)]
    if piece.lower() in _WORDS:
        return [_WORDS[piece.lower()]]
    for kind in (int, float):
        try:
            return [kind(piece)]
        except ValueError:
            continue
    return [piece]


def _read_share(setting: str, piece: str) -> dict[str, Any]:
    if setting not in SHARES:
        raise ValueError(f"{piece} is a share, {setting} cannot be one; give a value.")
    try:
        share = round(float(piece[:-1]) / 100, 12)
    except ValueError:
        raise ValueError(f"{piece} is no share; write it like 5%.") from None
    if not 0 <= share <= 1:
        raise ValueError(f"{piece} is no share; give one from 0 to 100%.")
    kind = "share" if SHARES[setting] == "samples" else "quantile"
    return {kind: share, "of": SHARES[setting]}


def _read_copies(text: str) -> int:
    if not text.strip().isdecimal() or not 1 <= int(text) <= 10_000:
        raise ValueError(
            f"the number of runs is a whole number from 1 to {whole(10_000)}."
        )
    return int(text)


def _rules(clusterer: str) -> Mapping[str, Any]:
    """Return the rules of an algorithm for its parameters."""
    return getattr(CLUSTERERS[clusterer].make, "_parameter_constraints", {})


def _check(clusterer: str, setting: str, value: Any) -> None:
    """Refuse a value that the rules of the algorithm exclude."""
    rules = _rules(clusterer).get(setting, [type(value)])
    if isinstance(value, Mapping) or any(_takes(rule, value) for rule in rules):
        return
    takes = " or ".join(str(rule) for rule in rules if hasattr(rule, "is_satisfied_by"))
    raise ValueError(
        f"{setting} of {clusterer} cannot be {write_value(value)}; give "
        f"{takes or 'another value'}."
    )


def _takes(rule: Any, value: Any) -> bool:
    """Return whether a rule of scikit-learn for a parameter allows a typed value."""
    if isinstance(rule, type):
        return isinstance(value, rule)
    if hasattr(rule, "is_satisfied_by"):
        return bool(rule.is_satisfied_by(value))
    if rule in ("random_state", "verbose"):
        return value is None or (isinstance(value, Integral) and int(value) >= 0)
    return isinstance(value, bool) if rule == "boolean" else value is rule is None


def write_entries(entries: Sequence[Entry]) -> str:
    """Write the entries as JSON, one per line; disabled ones have "use": false."""
    lines = [
        json.dumps(entry.grid if entry.on else {**entry.grid, "use": False})
        for entry in entries
    ]
    return "[\n  " + ",\n  ".join(lines) + "\n]"


def read_entries(text: str) -> Entries:
    """Read the output of `write_entries`, which users may have edited.

    Raises
    ------
    ValueError
        If the text is no JSON list of mappings with a known clusterer.
    """
    try:
        grids = read_plain(text, LONGEST_TEXT)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"Line {error.lineno}, column {error.colno} is not JSON ({error.msg}); "
            'write entries like {"clusterer": "k-means", "n_clusters": [2, 3]}.'
        ) from None
    except ValueError as error:
        raise ValueError(f"The pool cannot be read: {error}.") from None
    if not isinstance(grids, list):
        raise ValueError("The pool is a list; put its entries between [ and ].")
    for grid in grids:
        if not isinstance(grid, dict) or str(grid.get("clusterer")) not in CLUSTERERS:
            raise ValueError(
                f"{json.dumps(grid)[:80]} has no known clusterer; give one of "
                f"{', '.join(CLUSTERERS)}."
            )
    return tuple(_entry(grid) for grid in grids)
