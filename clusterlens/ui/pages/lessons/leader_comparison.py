"""Two small maps for the coach: the leader, and the selected model."""

from __future__ import annotations

from collections.abc import Mapping

from sklearn.metrics import adjusted_rand_score

from clusterlens.compute.ensemble.contingency import match_labels
from clusterlens.ui.figures.canvas import data_address
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.plots.samples import draw_map
from clusterlens.ui.state.view_parameters import Viewport
from clusterlens.ui.widgets.palette import cluster_colours
from clusterlens.ui.widgets.toolkit import safe
from clusterlens.ui.widgets.words import fixed

SIZE = 120
# A narrow or low page has space only for the text.
BESIDE_CSS = """
.beside { display: flex; gap: 8px; margin: 8px 0; }
.beside figure { flex: 1 1 0; min-width: 0; margin: 0; padding: 6px; text-align: center;
  font-size: 12px; border-radius: 6px; border: 1px solid
  color-mix(in srgb, currentColor 16%, transparent); }
.beside figure:last-child { border-color: #0b8a8a; }
.beside img { width: 100%; max-width: 120px; }
@media (max-width: 1150px), (max-height: 800px) { .beside { display: none; } }
"""
RESULTS = ("selected", "ranking", "ensemble", "samples", "clusters", "projection")


def compare_with_leader(found: Mapping[str, Result]) -> str:
    """Draw both models with their ranks, and their agreement with labels if any.

    Empty if the leader itself is selected.
    """
    if not all(found[name].ready for name in RESULTS):
        return ""
    selected, ranking, ensemble, samples, clusters, projection = (
        found[name].value for name in RESULTS
    )
    leader = int(ranking.order[0])
    if selected == leader:
        return ""
    port, figures = Viewport(width=SIZE, height=SIZE), ""
    for model, words in ((leader, "the leader"), (selected, "yours")):
        # In the colours of the page, which shows the selected model on its map.
        codes = match_labels(clusters, ensemble.labels[model])
        picture = draw_map(projection.coordinates, cluster_colours(codes), port)
        name, rank = safe(ensemble.names[model]), int(ranking.ranks[model])
        agrees = ""
        if samples.labels_true is not None:
            value = adjusted_rand_score(samples.labels_true, ensemble.labels[model])
            agrees = f"<br>agrees with the labels <b>{fixed(value)}</b>"
        figures += (
            f"<figure title='{name}'><img alt='Map of {name}' "
            f"src='{data_address(picture.pixels)}'><figcaption>{words}, rank {rank} of "
            f"{ensemble.n_partitions}{agrees}</figcaption></figure>"
        )
    return f"<div class='beside'>{figures}</div>"
