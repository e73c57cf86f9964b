"""References: which models a model holds, found without making defaults.

Bokeh walks over all models of a page whenever some come or go, and makes the default of
every property on its way that could hold a model, though most hold none: two thirds of
the walk, which nobody else's question is answered during.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from bokeh.core.has_props import HasProps
from bokeh.model import Model, util


@cache
def walk_quickly() -> None:
    """Let every walk over models leave out such defaults, from now on."""
    util.visit_immediate_value_references = _visit


def _visit(value: Any, visitor: Callable[[Model], None]) -> None:
    """Visit the models that one holds itself, or those in a value."""
    visit = util.visit_value_and_its_immediate_references
    if not isinstance(value, HasProps):
        visit(value, visitor)
        return
    kind, own = type(value), value._property_values
    made = value._unstable_default_values
    for name in kind.properties_with_refs():
        if name in own or made.get(name) or _default_holds_models(kind, name):
            visit(getattr(value, name), visitor)


@cache
def _default_holds_models(kind: type[HasProps], name: str) -> bool:
    """Whether a property that nobody has set holds models."""
    held: list[Model] = []
    default = kind.lookup(name).class_default(kind)
    util.visit_value_and_its_immediate_references(default, held.append)
    return bool(held)
