"""View state of the page Fuzzy."""

from __future__ import annotations

import param

from clusterlens.ui.state.view_parameters import Viewport, view_parameter


class ViewState(param.Parameterized):
    """View parameters of this page, which other pages may read."""

    fuzzy_case = view_parameter(
        param.Selector(default="table", objects=["table", "toy"]), linked=True
    )
    fuzzy_u = view_parameter(
        param.String("", doc="Key of the side U; empty for the first."),
        until="either",
        linked=True,
    )
    fuzzy_v = view_parameter(
        param.String("", doc="Key of the side V; empty for the next."),
        until="either",
        linked=True,
    )
    fuzzy_model = view_parameter(
        param.String("", doc="The random model to report; empty for none."), linked=True
    )
    fuzzy_side = view_parameter(
        param.Selector(default="", objects=["", "both", "u", "v"]), linked=True
    )
    fuzzy_hidden = param.Boolean(False, doc="Hide values until a model is chosen.")
    fuzzy_cards = param.ClassSelector(
        class_=tuple, default=(), doc="Cards beside the values; () for all."
    )
    fuzzy_precision = param.Number(5e-4, doc="Standard error to aim at.")
    fuzzy_set_model = param.String("permutation", doc="Model of all pairs.")
    fuzzy_set_fixed = param.Selector(
        default="", objects=["", "u"], doc="Side of all pairs that is fixed, if any."
    )
    fuzzy_set_aside = view_parameter(
        param.Tuple(("", ""), doc="Sides of the table while the toys are shown."),
        until="either",
    )
    fuzzy_sort = view_parameter(
        param.String("", doc="All pairs are sorted by likeness to this one."),
        until="either",
    )
    fuzzy_sample = view_parameter(
        param.Integer(None, allow_None=True, doc="Sample that is read."), until="either"
    )
    fuzzy_view = view_parameter(
        param.ClassSelector(class_=Viewport, default=Viewport()), until="either"
    )
