"""View state of the page Clusters."""

from __future__ import annotations

import param

from clusterlens.ui.state.view_parameters import Brush, Viewport, view_parameter


class ViewState(param.Parameterized):
    """View parameters of this page, which other pages may read."""

    partition = view_parameter(
        param.Selector(
            default="auto",
            objects=["auto", "result", "consensus", "model", "group", "labels"],
            doc="What the page Clusters is about; auto for the result, else the model.",
        ),
        until="run",
        linked=True,
    )
    partition_k = view_parameter(
        param.Integer(
            None,
            allow_None=True,
            bounds=(0, None),
            doc="Clusters of the consensus partition; None for auto.",
        ),
        until="run",
        linked=True,
    )
    consensus_by = view_parameter(
        param.String(
            "bisecting-kmeans", doc="Consensus function, a key of CONSENSUS_FUNCTIONS."
        ),
        linked=True,
    )
    obey_links = view_parameter(
        param.Boolean(False, doc="Whether the consensus obeys the links."), linked=True
    )
    group = view_parameter(
        param.ClassSelector(
            class_=Brush,
            default=Brush(),
            doc="Samples that are looked at as a cluster.",
        ),
        until="run",
    )
    cluster = view_parameter(
        param.Integer(
            None,
            allow_None=True,
            bounds=(0, None),
            doc="Cluster that is read; None for the first.",
        ),
        until="run",
        linked=True,
    )
    compared = view_parameter(
        param.String(
            "auto", doc='Partition beside it: "auto", "consensus", "labels", "model 3".'
        ),
        until="run",
        linked=True,
    )
    compare_view = view_parameter(
        param.ClassSelector(class_=Viewport, default=Viewport()), until="run"
    )
    profile_query = param.String("", doc="Text that names of profiled columns hold.")
    profile_sort = param.Selector(
        default="all", objects=["all", "cluster", "name"], doc="Order of the columns."
    )
    typical_first = param.Boolean(False, doc="Whether typical rows come first.")
