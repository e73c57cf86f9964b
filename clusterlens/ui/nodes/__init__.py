"""Nodes: what follows from the analysis and the look, one file per subject.

A new result is one function and one entry in `NODES` of the file it belongs to.
"""

from clusterlens.ui.nodes import (
    agreement,
    clusters,
    cns,
    cns_study,
    found_again,
    fuzzy,
    inspector,
    k_selection,
    labels,
    links,
    nulls,
    pictures,
    pools,
    report,
    result,
    runs,
    tables,
)

NODES = agreement.NODES | nulls.NODES | pictures.NODES | pools.NODES
NODES |= inspector.NODES | tables.NODES | cns.NODES | links.NODES | labels.NODES
NODES |= clusters.NODES | k_selection.NODES | runs.NODES
NODES |= fuzzy.NODES | report.NODES
NODES |= cns_study.NODES | result.NODES | found_again.NODES
