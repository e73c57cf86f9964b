"""All nodes: shared ones, and the nodes of each page.

A new result is one function marked by `@node` in the file of its subject.
"""

from clusterlens.ui.jobs.derived import collect_nodes
from clusterlens.ui.pages import PAGES
from clusterlens.ui.results import (
    agreement,
    answers,
    cluster_stability,
    evaluated_labels,
    export_evidence,
    inspector,
    leading,
    links,
    more_models,
    nulls,
    pictures,
    result,
    runs,
)
from clusterlens.ui.state.analysis import Analysis
from clusterlens.ui.state.view_state import ViewState

SHARED = (
    *(agreement, answers, cluster_stability, inspector, evaluated_labels, leading),
    *(links, more_models, nulls, pictures, result, runs, export_evidence),
)
NODES = collect_nodes(
    (*SHARED, *(file for spec in PAGES for file in spec.nodes)),
    (*dir(Analysis()), *(f"view.{name}" for name in ViewState.param)),
)
