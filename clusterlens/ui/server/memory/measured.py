"""Checks as plain values and typed bytes, and back.

Reading validates the sizes of all arrays, the range of all numbers and which may be
missing. Whether a check belongs to the clusters on screen is validated by its node
(`Node.fitted`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute.consensus.cohesion import CONSENSUS_GRID
from clusterlens.compute.indices.class_match import LabelCheck
from clusterlens.compute.indices.evidence import LabelEvidence
from clusterlens.compute.indices.indices import IndexValue
from clusterlens.compute.pool.k_selection import Curves, KSelection
from clusterlens.compute.pool.nulls import COPIES as NULL_KINDS
from clusterlens.compute.pool.nulls import NullAgreement, null_p_value
from clusterlens.compute.pool.separation import ClusterSeparation
from clusterlens.compute.pool.stability import ClusterStability
from clusterlens.compute.ranking.ranking import SCORES
from clusterlens.ui.jobs.arrays import arrays_from_bytes, arrays_to_bytes
from clusterlens.ui.server.memory.contents import Contents
from clusterlens.ui.server.memory.packed import RecordError
from clusterlens.ui.server.memory.rows import CheckRow
from clusterlens.ui.server.memory.schema import CHECK, CHECK_VALUES
from clusterlens.ui.state.checks import (
    APART,
    COPIES,
    DENSITY,
    FOUND_AGAIN,
    NUMBERS,
    Check,
)

Arrays = Mapping[str, npt.NDArray[Any]]
About = dict[str, Any]
_ROOM = 1e-9  # tolerance for rounded sums
_CURVES = ("cdf", "area", "pac", "stability", "valley")
# Whole numbers and scores of a pair of classes, with the range of each score.
_PAIRS = ("class_a", "class_b", "n_a", "n_b", "n_permutations", "exact")
_MOST_GAIN = 3.0  # decimal digits between all pairs and the floor of `select_k`
_SCORES = {
    "score": (-np.inf, 1.0),
    "standard_error": (0.0, np.inf),
    "dbcv": (-1.0, 1.0),
}
_SHUFFLED = ("score", "dbcv")


def write_checks(checks: Iterable[Check], contents: Contents) -> list[CheckRow]:
    """Store the values of checks in the contents; return their rows."""
    return [
        CheckRow(
            check.key,
            {
                "kind": check.kind,
                "at": check.at,
                "done": check.done,
                "total": check.total,
            },
            contents.put(pack_check(check)) if check.is_whole else "",
        )
        for check in checks
    ]


def read_checks(rows: Iterable[CheckRow], contents: Any) -> list[Check]:
    """Read checks; raise RecordError if one is damaged or forged."""
    return [_read_check(row, contents) for row in rows]


def _read_check(row: CheckRow, contents: Any) -> Check:
    try:
        CHECK(vars(row))
        value = None
        kind = row.record["kind"]
        if row.content:
            value = unpack_check(kind, contents.get(row.content))
        return Check(row.key, value=value, **row.record)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise RecordError(f"a check cannot be read: {error}") from error


def pack_check(check: Check) -> bytes:
    """Write the value of a check as typed bytes."""
    return arrays_to_bytes(*_KINDS[check.kind].pack(check.value))


def unpack_check(kind: str, data: bytes) -> Any:
    """Read the value of a check; raise ValueError or KeyError for another kind."""
    arrays, about = arrays_from_bytes(data)
    CHECK_VALUES[kind](about)
    return _KINDS[kind].unpack(arrays, about)


def _take(
    arrays: Arrays,
    name: str,
    shape: tuple[int | None, ...],
    low: float = -np.inf,
    high: float = np.inf,
    *,
    gaps: bool = False,
    whole: bool = False,
) -> npt.NDArray[Any]:
    """Return an array of a shape (None: any length from 1) with values in a range."""
    array = arrays[name]
    fits = array.ndim == len(shape) and all(
        have == side or (side is None and have > 0)
        for have, side in zip(array.shape, shape, strict=True)
    )
    if not fits:
        raise RecordError(f"“{name}” has the shape {array.shape}")
    if array.dtype.kind not in ("iub" if whole else "f"):
        raise RecordError(f"“{name}” has values of the type {array.dtype}")
    array = array.astype(np.int64 if whole else np.float64)
    inside = (array >= low - _ROOM) & (array <= high + _ROOM) & np.isfinite(array)
    if not (inside | (np.isnan(array) & gaps)).all():
        raise RecordError(f"“{name}” has values that cannot be")
    return array


def _pack_null(found: NullAgreement) -> tuple[Arrays, About]:
    arrays = {"cdf": found.cdf}
    for kind in NULL_KINDS:
        arrays[f"best {kind}"] = found.null_best[kind]
        arrays[f"cdf {kind}"] = found.null_cdf[kind]
    names = ("score", "best", "n_compared", "notes", "random_state")
    return arrays, {name: getattr(found, name) for name in names}


def _unpack_null(arrays: Arrays, about: About) -> NullAgreement:
    sides = len(CONSENSUS_GRID)
    n_draws = len(_take(arrays, "best permuted", (None,), -1, 1, gaps=True))
    best = {
        k: _take(arrays, f"best {k}", (n_draws,), -1, 1, gaps=True) for k in NULL_KINDS
    }
    greater = SCORES[about["score"]].greater_is_better
    return NullAgreement(
        about["score"],
        about["best"],
        best,
        {k: null_p_value(one, about["best"], greater) for k, one in best.items()},
        CONSENSUS_GRID,
        _take(arrays, "cdf", (sides,), 0, 1),
        {
            k: _take(arrays, f"cdf {k}", (n_draws, sides), 0, 1, gaps=True)
            for k in NULL_KINDS
        },
        about["n_compared"],
        tuple(about["notes"]),
        about["random_state"],
    )


def _pack_numbers(found: KSelection) -> tuple[Arrays, About]:
    arrays = {"n_clusters": found.n_clusters, "gain": found.gain}
    for kind, curves in {"data": found.data, **found.references}.items():
        arrays |= {f"{kind} {name}": getattr(curves, name) for name in _CURVES}
    arrays |= {f"p {kind}": one for kind, one in found.p_values.items()}
    names = ("k", "level", "clusterer", "n_resamples", "n_samples", "n_compared")
    about = {name: getattr(found, name) for name in (*names, "random_state", "notes")}
    return arrays, {**about, "references": [*found.references]}


def _unpack_numbers(arrays: Arrays, about: About) -> KSelection:
    numbers = _take(arrays, "n_clusters", (None,), 2, about["n_samples"], whole=True)
    if (np.diff(numbers) <= 0).any() or about["k"] not in (None, *numbers.tolist()):
        raise RecordError("its numbers of clusters are none")
    n, kinds = len(numbers), about.pop("references")
    deepest = 2 * np.sqrt(about["n_samples"] + 1)  # bound of valleys by definition
    data = _curves(arrays, "data", (n,), deepest)
    more: dict[str, Any] = {
        "references": {k: _curves(arrays, k, (None, n), deepest) for k in kinds},
        "p_values": {k: _take(arrays, f"p {k}", (n,), 0, 1) for k in kinds},
        "gain": _take(arrays, "gain", (n,), -_MOST_GAIN, _MOST_GAIN),
        "notes": tuple(about.pop("notes")),
    }
    return KSelection(n_clusters=numbers, data=data, **more, **about)


def _curves(
    arrays: Arrays, kind: str, shape: tuple[int | None, ...], deepest: float
) -> Curves:
    """Return the measures of one table, or of several copies."""
    area = _take(arrays, f"{kind} area", shape, 0, 1)
    shares = _take(arrays, f"{kind} pac", area.shape, 0, 1)
    cdf = _take(arrays, f"{kind} cdf", (*area.shape, len(CONSENSUS_GRID)), 0, 1)
    stability = _take(arrays, f"{kind} stability", area.shape, -1, 1, gaps=True)
    valley = _take(arrays, f"{kind} valley", area.shape, -deepest, deepest, gaps=True)
    return Curves(cdf, area, shares, stability, valley)


def _pack_again(found: ClusterStability) -> tuple[Arrays, About]:
    names = ("sizes", "similarities", "by_chance")
    about = ("n_resamples", "random_state", "notes", "n_copies")
    return _parts(found, names), _parts(found, about)


def _unpack_again(arrays: Arrays, about: About) -> ClusterStability:
    sizes = _take(arrays, "sizes", (None,), 1, whole=True)
    n, notes = len(sizes), tuple(about.pop("notes"))
    values = _take(arrays, "similarities", (None, n), 0, 1, gaps=True)
    if len(values) > about["n_resamples"]:
        raise RecordError("it has more runs than resamples")
    return ClusterStability(
        labels=np.repeat(np.arange(n), sizes),
        clusters=np.arange(n),
        sizes=sizes,
        similarities=values,
        by_chance=_take(arrays, "by_chance", (n,), 0, 1),
        notes=notes,
        **about,
    )


def _pack_apart(found: ClusterSeparation) -> tuple[Arrays, About]:
    names = ("sizes", "consistency", "by_chance")
    about = ("n_neighbors", "n_copies", "n_compared", "random_state")
    return _parts(found, names), _parts(found, about)


def _unpack_apart(arrays: Arrays, about: About) -> ClusterSeparation:
    sizes = _take(arrays, "sizes", (None,), 1, whole=True)
    n = len(sizes)
    return ClusterSeparation(
        clusters=np.arange(n),
        sizes=sizes,
        consistency=_take(arrays, "consistency", (n,), 0, 1, gaps=True),
        by_chance=_take(arrays, "by_chance", (n,), 0, 1, gaps=True),
        **about,
    )


def _parts(found: Any, names: Collection[str]) -> dict[str, Any]:
    return {name: getattr(found, name) for name in names}


def _pack_density(found: LabelEvidence) -> tuple[Arrays, About]:
    check, dbcv = found.check, found.dbcv
    arrays = {name: found.pairs[name].to_numpy() for name in (*_PAIRS, *_SCORES)}
    for name in _SHUFFLED:
        arrays[f"shuffled {name}"] = found.shuffled[name].to_numpy()
    about = _parts(check, ("measure", "convention", "notes", "n_left_out"))
    about |= {"score": _or_none(check.score), "error": _or_none(check.standard_error)}
    about |= {"pairs": found.pairs["note"].tolist(), "dbcv": _or_none(float(dbcv))}
    return arrays, about | _parts(dbcv, ("reason", "n_used", "exact"))


def _unpack_density(arrays: Arrays, about: About) -> LabelEvidence:
    n = len(_take(arrays, "class_a", (None,), 0, whole=True))
    columns = {name: _take(arrays, name, (n,), 0, whole=True) for name in _PAIRS}
    columns |= {
        name: _take(arrays, name, (n,), *ends, gaps=True)
        for name, ends in _SCORES.items()
    }
    columns |= {"exact": columns["exact"] > 0, "note": about["pairs"]}
    order = (*_PAIRS[:2], "score", "standard_error", *_PAIRS[2:], "note", "dbcv")
    pairs = pd.DataFrame({name: columns[name] for name in order})
    shuffled = {
        k: _take(arrays, f"shuffled {k}", (None,), *_SCORES[k], gaps=True)
        for k in _SHUFFLED
    }
    check = LabelCheck(
        _or_nan(about["score"]),
        _or_nan(about["error"]),
        pairs.drop(columns="dbcv"),
        about["measure"],
        about["convention"],
        tuple(about["notes"]),
        about["n_left_out"],
    )
    known = {name: about[name] for name in ("reason", "n_used", "n_left_out", "exact")}
    dbcv = IndexValue(_or_nan(about["dbcv"]), **known)
    return LabelEvidence(check, dbcv, pairs, pd.DataFrame(shuffled))


def _or_none(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else float(value)


class _Kind(NamedTuple):
    """Functions that write and read the values of one kind of check."""

    pack: Callable[[Any], tuple[Arrays, About]]
    unpack: Callable[[Arrays, About], Any]


_KINDS = {
    COPIES: _Kind(_pack_null, _unpack_null),
    NUMBERS: _Kind(_pack_numbers, _unpack_numbers),
    FOUND_AGAIN: _Kind(_pack_again, _unpack_again),
    APART: _Kind(_pack_apart, _unpack_apart),
    DENSITY: _Kind(_pack_density, _unpack_density),
}
