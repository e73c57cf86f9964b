"""View state of the page CNS."""

from __future__ import annotations

import param

from clusterlens.ui.state.view_parameters import Viewport, view_parameter


class ViewState(param.Parameterized):
    """View parameters of this page, which other pages may read."""

    cns_preview = view_parameter(
        param.ClassSelector(
            class_=tuple,
            default=None,
            allow_None=True,
            doc="Neighbours, alpha and K while a slider of CNS is held.",
        ),
        until="table",
    )
    cns_metric = view_parameter(
        param.Selector(default="euclidean", objects=["euclidean", "cosine"]),
        linked=True,
    )
    cns_certain = param.Number(
        0.75, doc="Samples lie between clusters below this share of seed stops."
    )
    cns_step = view_parameter(
        param.Integer(
            None,
            allow_None=True,
            doc="State of the smoothing on the map; None for exact.",
        ),
        until="table",
    )
    cns_version = view_parameter(
        param.String(
            "",
            doc='Published version on the map, as "v2 cosine"; empty for the setting.',
        ),
        until="table",
    )
    cns_sample = view_parameter(
        param.Integer(
            None,
            allow_None=True,
            bounds=(0, None),
            doc="Position of the sample read on the page CNS.",
        ),
        until="table",
        linked=True,
    )
    cns_view = view_parameter(
        param.ClassSelector(class_=Viewport, default=Viewport()), until="table"
    )
