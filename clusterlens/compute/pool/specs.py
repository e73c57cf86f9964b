"""Specifications: the models of a pool, as plain values.

A spec is a mapping of plain values, {"clusterer": "k-means", "n_clusters": 4,
"random_state": 7}, so that a log can store it. A list as value means one spec per entry
(several lists: all combinations), "copies": 5 five of each. A value that depends on the
data is a mapping:

- {"quantile": 0.1, "of": "pair distances"}: of the distances of all pairs of samples;
- {"quantile": 0.9, "of": "neighbour distances"}: to the fifth nearest neighbour;
- {"quantile": [0.01, 0.25], "at": 0.5, "of": ...}: that far between two quantiles;
- {"share": 0.02, "of": "samples"}: that share of the number of samples, at least 5;
  with "at_most": 200 it grows up to there;
- {"root": 3, "of": "samples"}: that root of the number of samples; with "at_least": 15
  it grows from there.

The spec of a fitted model has the resulting number instead.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from clusterlens.compute._validation import (
    RandomState,
    check_random_state,
    check_range,
    plain_repr,
)
from clusterlens.compute.formatting import whole
from clusterlens.compute.notes import Note
from clusterlens.compute.pool._quantiles import DataScale, root_of
from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.compute.pool.clusterer import Clusterer, Spec
from clusterlens.compute.pool.presets import find_preset

# Far more than anyone runs; the plan of more would fill the memory.
_MOST_MODELS = 100_000

Pool = str | tuple[str, int] | Spec | Sequence[Any]


@dataclass(frozen=True)
class Model:
    """One model of a pool: its names, its plain spec, and its estimator.

    Runs of one specification share the title; names are unique. The clusterer makes an
    estimator from the spec, unless the caller gave an estimator that a spec cannot
    express.
    """

    title: str
    name: str
    family: str
    spec: Spec
    clusterer: Clusterer
    make: Callable[[], Any] | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The spec without the name of the clusterer."""
        return {key: v for key, v in self.spec.items() if key != "clusterer"}


def pool_specs(
    pool: Pool,
    X: npt.ArrayLike | tuple[int, int],
    random_state: RandomState = 0,
) -> list[dict[str, Any]]:
    """Expand a pool to the plain list of its specs, to view, edit and run.

    Parameters
    ----------
    pool : str or sequence
        Name in POOLS, ("paper-fixed-k", n_clusters), or a list of specs with lists as
        values.
    X : array-like of shape (n_samples, n_features), or tuple of int
        The data, or only their shape; values that depend on the data then stay open.
    random_state : int, default 0
        Seed; each model gets its own seed, written into its spec.

    Returns
    -------
    specs : list of dict
        One per model. Running this list gives the same models as the pool.

    Raises
    ------
    ValueError
        If the pool or a clusterer is unknown, or a value is not plain.

    Examples
    --------
    >>> for spec in pool_specs([{"clusterer": "DBSCAN", "eps": [0.1, 0.2]}], (100, 2)):
    ...     print(spec)
    {'clusterer': 'DBSCAN', 'eps': 0.1}
    {'clusterer': 'DBSCAN', 'eps': 0.2}
    """
    return [dict(model.spec) for model in plan_pool(pool, X, random_state).models]


def pool_grids(pool: Pool, n_samples: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a pool as plain grids, one per clusterer and setting, for editing.

    Parameters
    ----------
    pool : str or sequence
        As for `pool_specs`, mappings only.
    n_samples : int
        Number of samples; presets leave out models that are too slow at this size.

    Returns
    -------
    grids : list of dict
        JSON values only; a list stands for one model per entry.
    notes : list of str
        Models left out, with reasons.

    Raises
    ------
    ValueError
        If the pool or a clusterer is unknown, or a value is not plain or is an invalid
        reference to the data.

    Examples
    --------
    >>> pool_grids(("paper-fixed-k", 3), 150)[0][0]
    {'clusterer': 'k-means', 'n_clusters': 3, 'copies': 50}
    """
    n_samples = check_range(n_samples, 1, np.inf, name="n_samples", integer=True)
    notes: list[str] = []
    entries = _entries(pool, n_samples, notes)
    scale = DataScale((n_samples, 1), random_state=0)
    for entry in entries:
        if not isinstance(entry, Mapping):
            raise ValueError(
                f"pool has the entry {plain_repr(entry)}; give specs (dicts) only."
            )
        _check_grid(entry)
        for key, value in entry.items():
            for one in value if _is_list(value) else [value]:
                scale.resolve(_plain(key, one), key)
    grids = [
        {key: list(v) if _is_list(v) else v for key, v in entry.items()}
        for entry in entries
    ]
    return grids, notes


@dataclass(frozen=True)
class Plan:
    """The models of a pool on given data; notes list omissions and samples."""

    models: list[Model]
    scale: DataScale
    notes: list[str]


def plan_pool(
    pool: Pool, X: npt.ArrayLike | tuple[int, int], random_state: RandomState
) -> Plan:
    """Return the models of a pool on given data."""
    seed = check_random_state(random_state)
    scale = DataScale(X, seed)
    notes = scale.notes
    models: list[Model] = []
    copies: Counter[str] = Counter()
    for entry in _entries(pool, scale.n_samples, notes):
        if isinstance(entry, Mapping):
            n_models = len(models) + _count_models(entry)
            if n_models > _MOST_MODELS:
                raise ValueError(
                    f"pool stands for {whole(n_models)} models, the limit is "
                    f"{whole(_MOST_MODELS)}; give fewer values or copies."
                )
            models += _models_of_grid(entry, scale, seed, copies)
        else:
            models.append(_model_of_estimator(entry, seed, copies))
    if not models:
        raise ValueError(
            "pool is empty for these data; give at least one spec. " + " ".join(notes)
        )
    return Plan(_with_unique_names(models), scale, notes)


def _entries(pool: Pool, n_samples: int, notes: list[str]) -> list[Any]:
    """Return the list of a pool, without entries that are too slow at this size."""
    if isinstance(pool, Mapping):
        return [pool]
    if not isinstance(pool, Sequence | np.ndarray) or isinstance(pool, bytes):
        raise ValueError(
            f"pool is {plain_repr(pool)}; give a name in POOLS, or a list of specs and "
            "estimators."
        )
    if isinstance(pool, str):
        preset = find_preset(pool)
    elif len(pool) == 2 and isinstance(pool[0], str):
        preset = find_preset(*pool)
    else:
        return list(pool)
    return [form for entry in preset for form in preset_forms(entry, n_samples, notes)]


def preset_forms(entry: Any, n_samples: int, notes: list[str]) -> list[Any]:
    """Return the forms of an entry of a preset at a size.

    The result is the entry with its numbers for the size, or, if it is too slow, its
    replacements; empty if there are none. `notes` gets a text about omissions and
    replacements.
    """
    return _scaled(_grown(entry, n_samples), n_samples, notes)


def _grown(entry: Any, n_samples: int) -> Any:
    """Compute the numbers of a preset that grow with the number of samples."""
    if not isinstance(entry, Mapping):
        return entry
    grown = dict(entry)
    for key, values in entry.items():
        if _is_list(values) and any(map(_is_root, values)):
            numbers = [root_of(v, n_samples) if _is_root(v) else v for v in values]
            grown[key] = list(dict.fromkeys(numbers))
    return grown


def _is_root(value: Any) -> bool:
    """Whether a value of a grid is a root of the number of samples."""
    return isinstance(value, Mapping) and "root" in value


def _scaled(entry: Any, n_samples: int, notes: list[str]) -> list[Any]:
    """Return the form of a preset's entry for this size, and note a replacement."""
    clusterer = _clusterer(entry) if isinstance(entry, Mapping) else None
    if clusterer and n_samples <= (clusterer.least_samples or 0):
        return []
    limit = clusterer.max_samples if clusterer else None
    if clusterer is None or limit is None or n_samples <= limit:
        return [entry]
    forms = clusterer.beyond(entry) if clusterer.beyond else []
    others = [f["clusterer"] for f in forms if f["clusterer"] != entry["clusterer"]]
    if others == [] and forms:
        return forms
    scale = {"limit": limit, "samples": n_samples}
    if others:
        note = Note("replaced", entry["clusterer"], other=others[0], **scale)
    else:
        note = Note("left out", entry["clusterer"], **scale)
    notes.append(note)
    return forms


def _clusterer(spec: Spec) -> Clusterer:
    """Look the clusterer of a spec up."""
    name = spec.get("clusterer")
    if not isinstance(name, str) or name not in CLUSTERERS:
        raise ValueError(
            f"clusterer is {plain_repr(name)}; give one of "
            f"{', '.join(map(repr, CLUSTERERS))}, or add it to CLUSTERERS."
        )
    return CLUSTERERS[name]


def _models_of_grid(
    grid: Spec, scale: DataScale, random_state: int, copies: Counter[str]
) -> Iterator[Model]:
    """Make the models of one grid; values that resolve to the same are one model."""
    clusterer = _check_grid(grid)
    seen = set()
    for spec in _product(grid):
        resolved = {key: scale.resolve(value, key) for key, value in spec.items()}
        if _key(resolved) in seen:
            continue
        seen.add(_key(resolved))
        for _ in range(int(grid.get("copies", 1))):
            if clusterer.seeded and spec.get("random_state") is None:
                resolved["random_state"] = _seed(_key(spec), random_state, copies)
            title = clusterer.name({k: resolved[k] for k in spec if k != "clusterer"})
            yield Model(title, title, clusterer.family, dict(resolved), clusterer)


def _count_models(grid: Spec) -> int:
    """Return the largest possible number of models of a grid."""
    _check_grid(grid)
    lengths = [len(value) for value in grid.values() if _is_list(value)]
    return math.prod(lengths) * int(grid.get("copies", 1))


def _check_grid(grid: Spec) -> Clusterer:
    """Return the clusterer of a grid after checking names, lists and copies."""
    clusterer = _clusterer(grid)
    unknown = grid.keys() - clusterer.defaults.keys() - {"clusterer", "copies"}
    if unknown and not clusterer.takes_any:
        raise ValueError(
            f"{grid['clusterer']} has no parameter {', '.join(map(repr, unknown))}; "
            f"give some of {', '.join(map(repr, clusterer.defaults))}."
        )
    for key, value in grid.items():
        if _is_list(value) and len(value) == 0:
            raise ValueError(
                f"{key} of {grid['clusterer']} is an empty list; give at least one "
                "value, or leave it out."
            )
    check_range(grid.get("copies", 1), 1, 10_000, name="copies", integer=True)
    if grid.get("memory") is not None:
        raise ValueError(
            f"memory of {grid['clusterer']} is a folder of pickled results, which "
            "plain values cannot ask for; put the estimator itself into the pool."
        )
    return clusterer


def _product(grid: Spec) -> Iterator[dict[str, Any]]:
    """Yield the combinations of the values of a grid, plain."""
    values = {
        key: list(value) if _is_list(value) else [value]
        for key, value in grid.items()
        if key != "copies"
    }
    for combination in itertools.product(*values.values()):
        yield {k: _plain(k, v) for k, v in zip(values, combination, strict=True)}


def _is_list(value: Any) -> bool:
    """Whether a value of a grid stands for several values."""
    return isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str)


def _plain(key: str, value: Any) -> Any:
    """Return a value in a form that JSON can store, or refuse it."""
    if isinstance(value, np.generic):
        value = value.item()
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError(
            f"{key} is {plain_repr(value)}; give a number, a string or another plain "
            "value, or put the estimator itself into the pool."
        ) from None
    return value


def _key(spec: Spec) -> str:
    """Return the same text for equal specs."""
    return json.dumps(spec, sort_keys=True)


def _seed(key: str, random_state: int, copies: Counter[str]) -> int:
    """Derive a seed from the model, not from its position in the pool."""
    copies[key] += 1
    text = f"{random_state} {copies[key]} {key}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little") >> 1


def _model_of_estimator(
    estimator: Any, random_state: int, copies: Counter[str]
) -> Model:
    """Describe an estimator of the caller, as a spec if a spec can express it."""
    cls = type(estimator)
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise ValueError(
            f"pool has the entry {plain_repr(estimator)}; give specs (mappings with a "
            "'clusterer') or estimator instances."
        )
    known = next((name for name, one in CLUSTERERS.items() if one.makes(cls)), None)
    clusterer = (
        CLUSTERERS[known] if known else Clusterer(cls.__name__, cls.__name__, cls)
    )
    given = _changed_parameters(estimator)
    name = known or f"{cls.__module__}.{cls.__qualname__}"
    spec: dict[str, Any] = {"clusterer": name}
    spec |= {key: _plain_or_text(value) for key, value in given.items()}
    seed = None
    if clusterer.seeded and "random_state" not in given:
        seed = spec["random_state"] = _seed(_key(spec), random_state, copies)
    title = clusterer.name({k: v for k, v in spec.items() if k != "clusterer"})
    is_plain = known and all(spec[key] is value for key, value in given.items())
    make = None if is_plain else partial(_fresh, estimator, seed)
    return Model(title, title, clusterer.family, spec, clusterer, make)


def _changed_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters that differ from the defaults of the class."""
    if not hasattr(estimator, "get_params"):
        return {}
    defaults = Clusterer("", "", type(estimator)).defaults
    return {
        key: value
        for key, value in estimator.get_params(deep=False).items()
        if repr(value) != repr(defaults.get(key))
    }


def _plain_or_text(value: Any) -> Any:
    """Return a plain value unchanged, another as its name (its text has an address)."""
    try:
        return _plain("", value)
    except ValueError:
        return f"<{getattr(value, '__name__', type(value).__name__)}>"


def _fresh(estimator: Any, seed: int | None) -> Any:
    """Return an unfitted copy of an estimator, with a seed if it needs one."""
    copy = clone(estimator, safe=False)
    return copy if seed is None else copy.set_params(random_state=seed)


def _with_unique_names(models: list[Model]) -> list[Model]:
    """Number the models of equal title."""
    total = Counter(model.title for model in models)
    seen: Counter[str] = Counter()
    named = []
    for model in models:
        seen[model.title] += 1
        run = f" run {seen[model.title]}" if total[model.title] > 1 else ""
        named.append(replace(model, name=model.title + run))
    return named
