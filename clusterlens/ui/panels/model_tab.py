"""The selected model: its facts, and what characterises its clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clusterlens.compute._numbers import count, whole
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.ranking import Ranking
from clusterlens.ui.derived import Result
from clusterlens.ui.exports.rows import labelled_rows, rows_to_csv
from clusterlens.ui.jobs import explain
from clusterlens.ui.kit import badge, mark, safe
from clusterlens.ui.palette import cluster_colour, cluster_name
from clusterlens.ui.panels.saving import SaveButton
from clusterlens.ui.panels.tab import Tab, effect_rows
from clusterlens.ui.words import number

SHOWN_COLUMNS = 6


class ModelTab(Tab):
    """Facts at once; sizes, consensus and columns of the clusters when computed."""

    needs = ("selected", "ranking", "ensemble", "cluster_sizes")
    also = ("profiles", "held_together", "model_names")
    css = "cl-model"
    empty = "<b>No model.</b> Run a pool first; its models are listed in the ranking."

    def below(self) -> list[Any]:
        self._download = SaveButton(
            self.session,
            "Rows with labels",
            self._labelled_rows,
            margin=(6, 0, 0, 0),
            css_classes=["cl-download"],
            disabled=True,
        )
        self._shown = 0
        self._names: dict[int, str] = {}
        return [self._download.view]

    def prepare(self, results: Any) -> None:
        """Offer the rows only where there is a model."""
        super().prepare(results)
        self._download.button.disabled = not results["selected"].ready

    def show(
        self,
        selected: int,
        ranking: Ranking,
        ensemble: Ensemble,
        cluster_sizes: dict[int, int],
        profiles: Result,
        held_together: Result,
        model_names: Result,
    ) -> None:
        """Write the facts, then one section per cluster."""
        samples = self.session.analysis.samples
        self._shown, self._names = selected, model_names.value or {}
        self._download.filename = f"{samples.name} - {ensemble.names[selected]}.csv"
        self.text.body = (
            self._facts(selected, ranking, ensemble, cluster_sizes, held_together)
            + "<table class='profile'><tr><th>column</th><th class='sides'>"
            "<span>below</span><span>above</span></th><th class='number'>here</th>"
            "<th class='number'>all</th></tr></table>"
            + "".join(
                self._section(cluster, size, profiles, held_together)
                for cluster, size in cluster_sizes.items()
            )
        )

    def _facts(
        self,
        model: int,
        ranking: Ranking,
        ensemble: Ensemble,
        sizes: dict[int, int],
        held: Result,
    ) -> str:
        value, others = ranking.values[model], np.sort(ranking.values)
        after = np.searchsorted(others, value, side="right")
        beyond = f" · next {others[after]:.3f}" if after < len(others) else ""
        facts = {
            "score": f"<b>{value:.3f}</b><span class='muted'>{beyond} · median "
            f"{np.median(others):.3f}</span>",
            "clusters": count(len(sizes.keys() - {-1}), "cluster")
            + (f", {count(sizes[-1], 'sample')} {self._rest()}" if -1 in sizes else ""),
        }
        seconds = ensemble.seconds[model]
        if np.isfinite(seconds):
            facts["fit"] = f"{safe(_settings(ensemble, model))} · {seconds:.2f} s"
        if held.ready:
            doubtful = int(held.value.doubtful.sum())
            facts["doubtful"] = f"{whole(doubtful)} nearer to another cluster"
        if ranking.violated.any():
            facts["links"] = f"breaks {ranking.violated[model]:.0%} of the links"
        rows = "".join(
            f"<dt>{name}</dt><dd>{text}</dd>" for name, text in facts.items()
        )
        return (
            f"<p class='cl-model-name'><b style='font-size:15px'>"
            f"{safe(ensemble.names[model])}</b> "
            f"{badge(f'rank {ranking.ranks[model]}')}</p><dl>{rows}</dl>"
        )

    def _rest(self) -> str:
        """What samples outside of all clusters are."""
        return safe(cluster_name(-1, self._names))

    def _section(self, cluster: int, size: int, profiles: Result, held: Result) -> str:
        """Write one cluster: its size, how the pool holds it together, its columns."""
        within = ""
        if held.ready and size > 1:
            at = np.flatnonzero(held.value.clusters == cluster)[0]
            within = f"held together {held.value.within[at]:.2f}"
        if profiles.ready:
            body = effect_rows(profiles.value.top(cluster, SHOWN_COLUMNS))
            body = f"<table class='profile'>{body}</table>"
        elif profiles.state == "failed":
            body = f"<p class='failed'>{safe(explain(profiles.error))}</p>"
        else:
            body = "<div class='skeleton'></div><div class='skeleton'></div>"
        name = mark(
            cluster_colour(cluster),
            f"<b>{safe(cluster_name(cluster, self._names))}</b>",
        )
        return (
            f"<h3>{name} {count(size, 'sample')}<span class='right "
            f"muted'>{within}</span></h3>{body}"
        )

    def _labelled_rows(self) -> tuple[str, Callable[[], bytes]]:
        """Name the original rows with the labels of the model, and how to make them."""
        analysis, model = self.session.analysis, self._shown
        samples, ensemble = analysis.samples, analysis.ensemble
        found, names = self.session.derived.get("clusters"), None
        if self._names and found.ready:
            words = [cluster_name(k, self._names) for k in found.value.tolist()]
            names = np.array(words, object)
        return f"{samples.name} - {ensemble.names[model]}.csv", lambda: rows_to_csv(
            labelled_rows(samples, ensemble, model, names)
        )


def _settings(ensemble: Ensemble, model: int) -> str:
    """Write the parameters of a model."""
    spec = ensemble.specs[model] if ensemble.specs is not None else {}
    parts = [
        f"{name}={value if name == 'random_state' else number(value)}"
        for name, value in spec.items()
        if name != "clusterer"
    ]
    return ", ".join(parts)
