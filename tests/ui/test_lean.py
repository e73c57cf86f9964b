"""What is left out of the ways of the widget set changes nothing of what is sent."""

import re
from pathlib import Path

import numpy as np
import pytest
from bokeh.core.has_props import HasProps
from bokeh.core.json_encoder import serialize_json
from bokeh.core.property.descriptors import UnsetValueError
from bokeh.core.serialization import Serializer
from bokeh.model import Model, util
from bokeh.models import Button, ColumnDataSource, GlyphRenderer, Range1d, Title
from bokeh.plotting import figure
from panel.viewable import Viewable

from clusterlens.ui.kit.components import Text
from clusterlens.ui.kit.widgets import pmu
from clusterlens.ui.server.lean import make_lean

PLACES = (
    (HasProps, "__init__"),
    (HasProps, "properties_with_values"),
    (util, "visit_immediate_value_references"),
)
BOKEHS = [getattr(*place) for place in PLACES]
KINDS = sorted(
    {
        kind
        for kind in Model.model_class_reverse_map.values()
        if issubclass(kind, Model) and kind.__module__.startswith("bokeh.models")
    },
    key=lambda kind: kind.__name__,
)


@pytest.fixture
def turn():
    """Switch to Bokeh's own ways, or to ours."""
    before = [getattr(*place) for place in PLACES]

    def to(ours):
        for place, bokehs in zip(PLACES, BOKEHS, strict=True):
            setattr(*place, bokehs)
        if ours:
            make_lean.__wrapped__()

    yield to
    for place, found in zip(PLACES, before, strict=True):
        setattr(*place, found)


def sent(model):
    """What a browser is sent of a model, and the models in it, by order of mention."""
    text = serialize_json(Serializer().serialize(model))
    ids = list(dict.fromkeys(re.findall(r'"id":"([^"]+)"', text)))
    for k, found in enumerate(ids):
        text = text.replace(f'"{found}"', f'"#{k}"')
    return text


def compare(model, turn):
    turn(False)
    theirs = model.references(), sent(model)
    turn(True)
    ours = model.references(), sent(model)
    assert ours == theirs
    return ours[0]


def make(kind):
    """A model and what is sent of it, or None and why it cannot be made."""
    try:
        model = kind()
        return model, sent(model)
    except (UnsetValueError, TypeError, ValueError, Warning) as error:
        return None, re.sub(r"id='\w+'", "", repr(error))


def test_of_every_kind_of_model(turn):
    seen = 0
    for kind in KINDS:
        turn(False)
        _, theirs = make(kind)
        turn(True)
        model, ours = make(kind)
        assert ours == theirs
        if model is not None:
            compare(model, turn)
            seen += 1
    assert seen > 200


def test_what_was_put_into_defaults(turn):
    turn(True)
    plot = figure(tools=["pan", "box_select", "hover"])
    source = ColumnDataSource({"x": np.arange(3), "y": np.arange(3)})
    added = Range1d()
    plot.extra_x_ranges["more"] = added
    renderer = plot.scatter("x", "y", source=source)
    assert {source, added, renderer} <= compare(plot, turn)
    plot.renderers.remove(renderer)
    assert not {source, renderer} & compare(plot, turn)


def test_containers_that_are_changed_are_sent(turn):
    turn(True)
    button = Button()
    assert "css_classes" not in button.properties_with_values(include_defaults=False)
    button.css_classes.append("cl-one")
    button.styles["color"] = "red"
    held = button.properties_with_values(include_defaults=False)
    assert held["css_classes"] == ["cl-one"]
    assert held["styles"] == {"color": "red"}
    assert button.css_classes is button.css_classes


def test_what_must_be_set_is_asked_for(turn):
    for ours in (False, True):
        turn(ours)
        with pytest.raises(UnsetValueError):
            sent(GlyphRenderer())


def test_all_values_can_be_asked_for(turn):
    turn(True)
    title = Title(text="one")
    held = title.properties_with_values()
    assert held["text"] == "one"
    turn(False)
    assert held == title.properties_with_values()


def test_of_the_walks_of_the_widget_set_none_is_left(turn):
    turn(True)
    assert Viewable._preprocessing_hooks == []


def test_files_of_components_are_looked_for_once(turn, monkeypatch):
    turn(True)
    kinds = (pmu.Button, pmu.Select, Text)
    found = [(kind._bundle_path, kind._bundle_css) for kind in kinds]
    monkeypatch.setattr(Path, "is_file", None)
    assert found == [(kind._bundle_path, kind._bundle_css) for kind in kinds]
