"""View state of the page Consensus."""

from __future__ import annotations

import param

from clusterlens.ui.state.view_parameters import Viewport, view_parameter


class ViewState(param.Parameterized):
    """View parameters of this page, which other pages may read."""

    order_by = view_parameter(
        param.Selector(default="model", objects=["model", "tree", "file"]), linked=True
    )
    shading = view_parameter(
        param.Selector(default="linear", objects=["linear", "eq_hist"]), linked=True
    )
    pool_alone = view_parameter(
        param.Boolean(
            False,
            doc="Whether the pool alone votes in the consensus despite answers.",
        ),
        linked=True,
    )
    by_distance = param.Boolean(
        False, doc="Whether the bars show the distance even if there are answers."
    )
    short_ranking = param.Boolean(
        False, doc="Whether the ranking leaves out the ranks of robustness checks."
    )
    streak = view_parameter(
        param.Boolean(
            False,
            doc="Whether an answer opens the next suggested pair.",
        ),
        until="run",
    )
    asking = view_parameter(
        param.Boolean(
            False, doc="Whether the first suggested pair is wanted once there is one."
        ),
        until="run",
    )
    tab = view_parameter(
        param.Selector(
            default="model", objects=["model", "sample", "selection", "links"]
        ),
        linked=True,
    )
    drawer = param.Boolean(False, doc="Whether the inspector is open on a small page.")
    linking = param.Boolean(False, doc="Whether clicks on the map pick a pair.")
    queue = view_parameter(
        param.ClassSelector(
            class_=tuple,
            default=(),
            doc="Suggested pairs: the one asked about, the next.",
        ),
        until="run",
    )
    refused = view_parameter(
        param.ClassSelector(
            class_=tuple, default=(), doc="Links of the contradiction refused last."
        ),
        until="table",
    )
    since = view_parameter(
        param.ClassSelector(
            class_=tuple, default=(), doc="Links that changes of rank are counted from."
        ),
        until="table",
    )
    map_of = param.Selector(
        default="samples", objects=["samples", "models"], doc="What the map shows."
    )
    matrix_view = view_parameter(
        param.ClassSelector(class_=Viewport, default=Viewport()),
        until="run",
        linked=True,
    )
    beside_run = view_parameter(
        param.String("", doc="Id of the run beside it; empty for the newest."),
        until="run",
    )
    enlarged = param.Selector(
        default="",
        objects=["", "map", "matrices"],
        doc="Card enlarged to the whole page; empty for none.",
    )
    table_open = param.Boolean(
        False, doc="Whether the ranking is a table over the whole page."
    )
    table_columns = param.ClassSelector(
        class_=tuple, default=(), doc="Its columns; empty for the usual ones."
    )
    table_sort = param.String("", doc='Column it is sorted by, "-" before it turns it.')
    threshold_preview = view_parameter(
        param.Integer(
            None, allow_None=True, doc="Threshold while its line is dragged."
        ),
        until="run",
    )
