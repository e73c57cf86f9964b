"""The quick walk over models finds what Bokeh's own finds."""

import numpy as np
import pytest
from bokeh.core.property.descriptors import UnsetValueError
from bokeh.model import Model, util
from bokeh.models import ColumnDataSource, Range1d
from bokeh.plotting import figure

from clusterlens.ui.server.references import walk_quickly

BOKEHS = util.visit_immediate_value_references
KINDS = sorted(
    {
        kind
        for kind in Model.model_class_reverse_map.values()
        if issubclass(kind, Model) and kind.__module__.startswith("bokeh.models")
    },
    key=lambda kind: kind.__name__,
)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(util, "visit_immediate_value_references", BOKEHS)
    walk_quickly.__wrapped__()
    return util.visit_immediate_value_references


def compare(model, quick, monkeypatch):
    found = model.references()
    monkeypatch.setattr(util, "visit_immediate_value_references", BOKEHS)
    assert found == model.references()
    monkeypatch.setattr(util, "visit_immediate_value_references", quick)
    return found


def test_of_every_kind_of_model(quick, monkeypatch):
    seen = 0
    for kind in KINDS:
        try:
            model = kind()
            compare(model, quick, monkeypatch)
        except (UnsetValueError, TypeError, ValueError, Warning):
            continue  # it cannot be made from nothing
        finally:
            monkeypatch.setattr(util, "visit_immediate_value_references", quick)
        seen += 1
    assert seen > 200


def test_what_was_put_into_defaults(quick, monkeypatch):
    plot = figure(tools=["pan", "box_select", "hover"])
    source = ColumnDataSource({"x": np.arange(3), "y": np.arange(3)})
    added = Range1d()
    plot.extra_x_ranges["more"] = added
    renderer = plot.scatter("x", "y", source=source)
    assert {source, added, renderer} <= compare(plot, quick, monkeypatch)
    plot.renderers.remove(renderer)
    assert not {source, renderer} & compare(plot, quick, monkeypatch)
