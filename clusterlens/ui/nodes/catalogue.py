"""All nodes: what several pages watch, and what belongs to one.

A new result is one function and one entry in `NODES` of the file it belongs to.
"""

from clusterlens.ui.nodes import (
    agreement,
    answers,
    found_again,
    inspector,
    links,
    nulls,
    pictures,
    result,
    runs,
)
from clusterlens.ui.pages import PAGES

SHARED = (
    *(agreement, answers, found_again, inspector, links),
    *(nulls, pictures, result, runs),
)
NODES = {name: node for part in SHARED for name, node in part.NODES.items()}
for room in PAGES:
    NODES |= room.nodes
