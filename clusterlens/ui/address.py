"""Address: what is looked at as plain values, for a link and for the next visit.

What an address holds is checked like anything that comes from outside: a value that
does not fit is left out. Brushed samples and drafts are not part of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from clusterlens.ui.look import Look, Viewport

# The parameters of Look that a link restores, and those of them that are viewports.
LOOKED_AT = (
    "page",
    "model",
    "colour_by",
    "order_by",
    "shading",
    "tab",
    "inspected",
    "partition",
    "partition_k",
    "consensus_by",
    "obey_links",
    "cluster",
    "compared",
    "cns_metric",
    "cns_sample",
    "judged",
    "fuzzy_case",
    "fuzzy_u",
    "fuzzy_v",
    "fuzzy_model",
    "fuzzy_side",
    "report_without",
)
VIEWS = ("map_view", "matrix_view")


def plain_look(look: Look) -> dict[str, Any]:
    """Return what is looked at as plain values, defaults left out."""
    plain = {
        name: getattr(look, name)
        for name in LOOKED_AT
        if getattr(look, name) != look.param[name].default
    }
    for name in VIEWS:
        view = getattr(look, name)
        if view.x is not None and view.y is not None:
            plain[name] = [*map(float, (*view.x, *view.y))]
    return plain


def restore_look(look: Look, plain: Mapping[str, Any]) -> None:
    """Look at what plain values say; those that do not fit are left out."""
    wanted = {name: plain[name] for name in LOOKED_AT if name in plain}
    for name in VIEWS:
        if (view := _viewport(plain.get(name), getattr(look, name))) is not None:
            wanted[name] = view
    for name, value in list(wanted.items()):
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            wanted[name] = value = tuple(value)
        try:
            look.param[name]._validate(value)
        except (ValueError, TypeError):
            del wanted[name]
    look.param.update(**wanted)


def _viewport(ranges: Any, view: Viewport) -> Viewport | None:
    """Return a viewport of four finite numbers, None for anything else."""
    plain = isinstance(ranges, list) and len(ranges) == 4
    if not plain or not all(isinstance(end, (int, float)) for end in ranges):
        return None
    x0, x1, y0, y1 = map(float, ranges)
    if not (x0 < x1 and y0 < y1 and abs(x0) + abs(x1) + abs(y0) + abs(y1) < 1e300):
        return None
    return Viewport((x0, x1), (y0, y1), view.width, view.height)


def to_query(analysis: str | None, look: Look) -> dict[str, str]:
    """Return the arguments of a link to an analysis and what is looked at."""
    if analysis is None:
        return {}
    plain = plain_look(look)
    return {"analysis": analysis, **({"look": json.dumps(plain)} if plain else {})}


def from_query(query: Mapping[str, str]) -> tuple[str | None, dict[str, Any]]:
    """Return analysis and look of the arguments of a link."""
    try:
        look = json.loads(query.get("look", "{}"))
    except ValueError:
        look = {}
    return query.get("analysis"), look if isinstance(look, dict) else {}
