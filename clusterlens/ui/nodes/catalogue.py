"""All nodes: shared ones, and the nodes of each page.

A new result is one function marked by `@node` in the file of its subject.
"""

from clusterlens.ui.nodes import (
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
from clusterlens.ui.pages import PAGES
from clusterlens.ui.state.analysis import Analysis
from clusterlens.ui.state.look import Look
from clusterlens.ui.work.derived import collect_nodes

SHARED = (
    *(agreement, answers, cluster_stability, inspector, evaluated_labels, leading),
    *(links, more_models, nulls, pictures, result, runs, export_evidence),
)
NODES = collect_nodes(
    (*SHARED, *(file for spec in PAGES for file in spec.nodes)),
    (*dir(Analysis()), *(f"look.{name}" for name in Look.param)),
)
