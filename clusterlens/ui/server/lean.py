"""Lean: what the widget set does for a page while others wait, and nobody asked for.

Bokeh makes the default of a property of a model in three places where none is wanted:
each container when the model is made, every one that is not set when the model is sent,
only to leave it out, and every one that could hold a model in a walk over all models,
which takes place whenever some come or go. It reads the signature of each callback, and
Panel gives it one for each property of each model. Panel walks over the page for links
of figures and for methods that depend on parameters whenever some of it comes, and asks
the disk for the files of each of its components whenever a page is opened. Param copies
what a parameter is for each part of a page that it is looked at.

All of it holds for the whole process: figures of HoloViews that another app, served
beside this one, links with each other are linked there no longer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import NoneType
from typing import Any

import numpy as np
from bokeh.core.has_props import HasProps
from bokeh.core.property.descriptors import PropertyDescriptor
from bokeh.core.property.singletons import Intrinsic, Undefined
from bokeh.core.property.wrappers import PropertyValueContainer
from bokeh.model import Model, util
from bokeh.settings import settings
from panel.viewable import Viewable
from param.parameterized import no_instance_params

from clusterlens.ui.kit.components import (
    Connection,
    Excerpt,
    Keys,
    Query,
    Text,
    TextSize,
    Theme,
)
from clusterlens.ui.kit.form import Form
from clusterlens.ui.kit.widgets import pmu, pn
from clusterlens.ui.server.uploads import FileTaker

# Whose parameters are the same for all of a kind. Not widgets: they have bounds and
# options of their own, and unlock what is read-only for one of them at a time.
_ALIKE = (
    pn.Column,
    pn.Row,
    Text,
    Excerpt,
    Form,
    Keys,
    Theme,
    TextSize,
    Query,
    Connection,
    FileTaker,
)
# Walks of Panel over a page for what there is none of on ours: methods that depend on
# parameters as views, ECharts, figures of HoloViews and links between panes.
_WALKS = {"link_param_method", "setup_js_callbacks", "link_axes", "find_links"}
# What holds no model.
_PLAIN = {int, float, str, bool, bytes, NoneType, np.ndarray}
# By kind of model: properties whose default is made for each model of its own and holds
# others, so that it has to be there.
_MADE: dict[type[HasProps], list[str]] = {}


@cache
def make_lean() -> None:
    """Leave that out, from now on."""
    HasProps.__init__ = _init
    HasProps.properties_with_values = _values
    util.visit_immediate_value_references = _visit

    settings.perform_error_diagnostics = False
    settings.perform_document_validation = False
    for kind in _ALIKE:
        no_instance_params(kind)
    walks = Viewable._preprocessing_hooks
    walks[:] = [walk for walk in walks if walk.__name__ not in _WALKS]
    if not pn.config.autoreload:
        _look_for_files_once()


@cache
def _look_for_files_once() -> None:
    for kind in pmu.Page.__mro__:
        for name in ("_bundle_path", "_bundle_css"):
            if name in vars(kind):
                file = vars(kind)[name]
                file.f = cache(file.f)


def _init(model: HasProps, **properties: Any) -> None:
    """Make a model; containers that are not given are made when they are asked for."""
    super(HasProps, model).__init__()
    model._property_values = {}
    model._unstable_default_values = {}
    model._unstable_themed_values = {}
    for name, value in properties.items():
        if value is not Undefined and value is not Intrinsic:
            setattr(model, name, value)
    kind = type(model)
    if kind not in _MADE:
        _MADE[kind] = [
            name
            for name in kind.properties(_with_props=True)
            if kind.lookup(name).has_unstable_default(model)
            and not isinstance(_default(kind, name), PropertyValueContainer)
        ]
    for name in _MADE[kind]:
        if name not in properties:
            kind.lookup(name)._get(model)
    model._initialized = True


def _values(
    model: HasProps, *, include_defaults: bool = True, include_undefined: bool = False
) -> dict[str, Any]:
    """Return the properties of a model by name, as Bokeh does."""
    if include_defaults or include_undefined:
        return model.query_properties_with_values(
            lambda own: own.serialized,
            include_defaults=include_defaults,
            include_undefined=include_undefined,
        )
    own, made = model._property_values, model._unstable_default_values
    themed = model.themed_values() or {}
    values: dict[str, Any] = {}
    for name, descriptor, must_be_set in _sent(type(model)):
        if name in own or name in made or name in themed:
            value = descriptor.get_value(model)
            is_default = name in made and name not in themed
            if not (is_default and isinstance(value, PropertyValueContainer)):
                values[name] = value
        elif must_be_set:
            descriptor.get_value(model)
    return values


def _visit(value: Any, visitor: Callable[[Model], None]) -> None:
    """Visit the models that one holds itself, or those in a value."""
    if not isinstance(value, HasProps):
        _visit_in(value, visitor)
        return
    own, made = value._property_values, value._unstable_default_values
    for name, by_default in _holding(type(value)):
        if name in own:
            _visit_in(own[name], visitor)
        elif name in made:
            _visit_in(made[name], visitor)
        elif by_default:
            _visit_in(getattr(value, name), visitor)


def _visit_in(value: Any, visitor: Callable[[Model], None]) -> None:
    kind = type(value)
    if kind in _PLAIN:
        return
    if issubclass(kind, Model):
        visitor(value)
    elif issubclass(kind, (list, tuple)):
        for item in value:
            _visit_in(item, visitor)
    elif issubclass(kind, dict):
        for key, item in value.items():
            _visit_in(key, visitor)
            _visit_in(item, visitor)
    else:
        util.visit_value_and_its_immediate_references(value, visitor)


def _default(kind: type[HasProps], name: str) -> Any:
    return kind.lookup(name).class_default(kind)


@cache
def _sent(kind: type[HasProps]) -> list[tuple[str, PropertyDescriptor[Any], bool]]:
    """Properties of a kind that are sent, and whether it is refused without a value."""
    return [
        (name, kind.lookup(name), _default(kind, name) is Undefined)
        for name in kind.properties(_with_props=True)
        if kind.lookup(name).serialized
    ]


@cache
def _holding(kind: type[HasProps]) -> list[tuple[str, bool]]:
    """Properties that may hold models, and whether one does that nobody has set."""
    return [
        (name, bool(_models_in(_default(kind, name))))
        for name in kind.properties_with_refs()
    ]


def _models_in(value: Any) -> list[Model]:
    found: list[Model] = []
    _visit_in(value, found.append)
    return found
