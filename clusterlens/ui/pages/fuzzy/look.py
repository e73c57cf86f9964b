"""View state of the page Fuzzy."""

from __future__ import annotations

import param

from clusterlens.ui.state.looking import Viewport, kept


class Look(param.Parameterized):
    """View parameters of this page, which other pages may read."""

    fuzzy_case = kept(
        param.Selector(default="table", objects=["table", "toy"]), linked=True
    )
    fuzzy_u = kept(
        param.String("", doc="Key of the side U; empty for the first."),
        until="either",
        linked=True,
    )
    fuzzy_v = kept(
        param.String("", doc="Key of the side V; empty for the next."),
        until="either",
        linked=True,
    )
    fuzzy_model = kept(
        param.String("", doc="The random model to report; empty for none."), linked=True
    )
    fuzzy_side = kept(
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
    fuzzy_set_aside = kept(
        param.Tuple(("", ""), doc="Sides of the table while the toys are shown."),
        until="either",
    )
    fuzzy_sort = kept(
        param.String("", doc="All pairs are sorted by likeness to this one."),
        until="either",
    )
    fuzzy_sample = kept(
        param.Integer(None, allow_None=True, doc="Sample that is read."), until="either"
    )
    fuzzy_view = kept(
        param.ClassSelector(class_=Viewport, default=Viewport()), until="either"
    )
