"""View state of the page Clusters."""

from __future__ import annotations

import param

from clusterlens.ui.state.looking import Brush, Viewport, kept


class Look(param.Parameterized):
    """View parameters of this page, which other pages may read."""

    partition = kept(
        param.Selector(
            default="auto",
            objects=["auto", "result", "consensus", "model", "group", "labels"],
            doc="What the page Clusters is about; auto for the result, else the model.",
        ),
        until="run",
        linked=True,
    )
    partition_k = kept(
        param.Integer(
            None,
            allow_None=True,
            bounds=(0, None),
            doc="Clusters of the consensus partition; None for auto.",
        ),
        until="run",
        linked=True,
    )
    consensus_by = kept(
        param.String(
            "bisecting-kmeans", doc="Consensus function, a key of CONSENSUS_FUNCTIONS."
        ),
        linked=True,
    )
    obey_links = kept(
        param.Boolean(False, doc="Whether the consensus obeys the links."), linked=True
    )
    group = kept(
        param.ClassSelector(
            class_=Brush,
            default=Brush(),
            doc="Samples that are looked at as a cluster.",
        ),
        until="run",
    )
    cluster = kept(
        param.Integer(
            None,
            allow_None=True,
            bounds=(0, None),
            doc="Cluster that is read; None for the first.",
        ),
        until="run",
        linked=True,
    )
    compared = kept(
        param.String(
            "auto", doc='Partition beside it: "auto", "consensus", "labels", "model 3".'
        ),
        until="run",
        linked=True,
    )
    compare_view = kept(
        param.ClassSelector(class_=Viewport, default=Viewport()), until="run"
    )
    profile_query = param.String("", doc="Text that names of profiled columns hold.")
    profile_sort = param.Selector(
        default="all", objects=["all", "cluster", "name"], doc="Order of the columns."
    )
    typical_first = param.Boolean(False, doc="Whether typical rows come first.")
