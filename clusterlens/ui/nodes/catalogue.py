"""Nodes: what follows from the analysis and the look, one file per subject.

A new result is one function and one entry in `NODES` of the file it belongs to.
"""

from clusterlens.ui.nodes import (
    agreement,
    found_again,
    inspector,
    links,
    nulls,
    pictures,
    result,
    runs,
)
from clusterlens.ui.pages.clusters import k_nodes as k_selection
from clusterlens.ui.pages.clusters import nodes as clusters
from clusterlens.ui.pages.cns import nodes as cns
from clusterlens.ui.pages.cns import study_nodes as cns_study
from clusterlens.ui.pages.data import nodes as tables
from clusterlens.ui.pages.fuzzy import nodes as fuzzy
from clusterlens.ui.pages.labels import nodes as labels
from clusterlens.ui.pages.new_rows import drift_nodes as drift
from clusterlens.ui.pages.new_rows import map_nodes as new_rows_map
from clusterlens.ui.pages.new_rows import nodes as new_rows
from clusterlens.ui.pages.new_rows import row_nodes as new_row
from clusterlens.ui.pages.pool import nodes as pools
from clusterlens.ui.pages.report import nodes as report

NODES = agreement.NODES | nulls.NODES | pictures.NODES | pools.NODES
NODES |= inspector.NODES | tables.NODES | cns.NODES | links.NODES | labels.NODES
NODES |= clusters.NODES | k_selection.NODES | runs.NODES
NODES |= fuzzy.NODES | report.NODES
NODES |= drift.NODES | new_rows_map.NODES | new_row.NODES
NODES |= cns_study.NODES | result.NODES | found_again.NODES | new_rows.NODES
