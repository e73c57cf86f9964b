"""Tab of the selected model: its facts, and the features of its clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.formatting import count, percent, whole
from clusterlens.compute.ranking.ranking import Ranking
from clusterlens.ui.components.commands import choose_result
from clusterlens.ui.components.result_button import offer_result, result_button
from clusterlens.ui.components.saving import SaveButton
from clusterlens.ui.components.settings import plain_settings
from clusterlens.ui.components.tab import Tab, effect_rows
from clusterlens.ui.exports.rows import labelled_rows, rows_to_csv
from clusterlens.ui.jobs.derived import Result
from clusterlens.ui.results.links import is_partly_counted
from clusterlens.ui.results.result import DisplayedPartition
from clusterlens.ui.state.partitions import Choice
from clusterlens.ui.widgets.palette import cluster_colour, cluster_name
from clusterlens.ui.widgets.toolkit import badge, mark, pn, safe
from clusterlens.ui.widgets.words import fixed

SHOWN_COLUMNS = 6


class ModelTab(Tab):
    """Facts at once; sizes, consensus and columns of the clusters when ready."""

    needs = ("displayed_partition", "ranking", "ensemble", "cluster_sizes", "clusters")
    also = (
        *("profiles", "held_together", "held_by_answers?", "model_names"),
        *("null_check", "export_stability"),
    )
    css = "cl-model"
    empty = "<b>No model.</b> Run a pool first; its models are listed in the ranking."

    def below(self) -> list[Any]:
        self._choose = result_button(
            self._make_it_the_result, margin=(6, 6, 0, 0), disabled=True
        )
        self._download = SaveButton(
            self.session,
            "Rows with labels",
            self._labelled_rows,
            margin=(6, 0, 0, 0),
            css_classes=["cl-download"],
            disabled=True,
        )
        self._shown = DisplayedPartition("", None)
        self._clusters = np.empty(0, np.int64)
        self._names: dict[int, str] = {}
        return [pn.Row(self._choose, self._download.view, margin=0)]

    def prepare(self, results: Any) -> None:
        """Offer the rows only if there is a model."""
        super().prepare(results)
        self._download.button.disabled = not results["clusters"].ready
        found = results["displayed_partition"]
        self._choose.visible = not (found.ready and found.value.is_result)
        self._choose.disabled = not (found.ready and results["clusters"].ready)
        stability = results["export_stability"].value
        is_exported = found.ready and not found.value.result_title
        offer_result(
            self._choose,
            results["null_check"].value,
            stability if is_exported else None,
        )

    def show(
        self,
        displayed_partition: DisplayedPartition,
        ranking: Ranking,
        ensemble: Ensemble,
        cluster_sizes: dict[int, int],
        clusters: np.ndarray,
        profiles: Result,
        held_together: Result,
        held_by_answers: Result,
        model_names: Result,
        **checks: Result,
    ) -> None:
        """Write the facts, then one section per cluster."""
        self._shown, self._clusters = displayed_partition, clusters
        self._names = model_names.value or {}
        self.text.body = (
            self._facts(
                displayed_partition, ranking, ensemble, cluster_sizes, held_together
            )
            + "<table class='profile'><tr><th>column</th><th class='sides'>"
            "<span>below</span><span>above</span></th><th class='number'>here</th>"
            "<th class='number'>all</th></tr></table>"
            + "".join(
                self._section(cluster, size, profiles, held_together, held_by_answers)
                for cluster, size in cluster_sizes.items()
            )
        )

    def _facts(
        self,
        shown: DisplayedPartition,
        ranking: Ranking,
        ensemble: Ensemble,
        sizes: dict[int, int],
        held: Result,
    ) -> str:
        facts = _score(shown.model, ranking) if shown.model is not None else {}
        facts["clusters"] = count(len(sizes.keys() - {-1}), "cluster")
        if -1 in sizes:
            outside = safe(cluster_name(-1, self._names))
            facts["clusters"] += f", {count(sizes[-1], 'sample')} {outside}"
        if shown.model is not None and np.isfinite(ensemble.seconds[shown.model]):
            seconds = ensemble.seconds[shown.model]
            settings = safe(plain_settings(ensemble.specs[shown.model]))
            facts["fit"] = " · ".join(filter(None, (settings, f"{seconds:.2f} s")))
        if held.ready:
            doubtful = int(held.value.doubtful.sum())
            facts["doubtful"] = f"{whole(doubtful)} nearer to another cluster"
        if shown.model is not None and ranking.violated.any():
            seen = " that it saw" if is_partly_counted(ranking, shown.model) else ""
            facts["links"] = (
                f"breaks {percent(ranking.violated[shown.model])} of the links{seen}"
            )
        rows = "".join(
            f"<dt>{name}</dt><dd>{text}</dd>" for name, text in facts.items()
        )
        marks = []
        if shown.model is not None:
            marks.append(badge(f"rank {ranking.ranks[shown.model]}"))
            if not ensemble.votes[shown.model]:
                marks.append(badge("no vote", kind="estimate cl-no-vote"))
        if shown.is_result:
            marks.append(badge("the result"))
        if shown.result_title:
            marks.append(badge("beside the result", kind="estimate"))
        return (
            f"<p class='cl-model-name'><b style='font-size:16px'>"
            f"{safe(shown.title)}</b> {' '.join(marks)}</p><dl>{rows}</dl>"
        )

    async def _make_it_the_result(self, event: Any) -> None:
        """Make the displayed model the result."""
        model, ensemble = self._shown.model, self.session.analysis.ensemble
        if model is not None and ensemble is not None:
            labels, choice = ensemble.labels[model], Choice("model", model=model)
            await choose_result(self.session, choice, labels, self._clusters)

    def _section(
        self, cluster: int, size: int, profiles: Result, held: Result, answered: Result
    ) -> str:
        """Write one cluster: its size, its agreement inside, its columns."""
        within = ""
        if held.ready and size > 1:
            at = np.flatnonzero(held.value.clusters == cluster)[0]
            within = _inside(float(held.value.within[at]))
            if answered.value is not None:
                share = percent(answered.value.within[at])
                within += f" · with your answers {share}"
        if profiles.ready:
            body = effect_rows(profiles.value.top(cluster, SHOWN_COLUMNS))
            body = f"<table class='profile'>{body}</table>"
        elif profiles.state == "failed":
            body = f"<p class='failed'>{safe(profiles.failure)}</p>"
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
        """Return the name and the maker of the file of rows with clusters."""
        run, shown, names = self.session.analysis.selected_run, self._shown, self._names
        samples, soft = run.dataset, None
        if shown.model is not None:
            soft = run.ensemble.memberships.get(shown.model)
        clusters = self._clusters
        return f"{samples.name} - {shown.title}.csv", lambda: rows_to_csv(
            labelled_rows(samples, clusters, names, soft)
        )


def _inside(share: float) -> str:
    """Format how many models keep two rows of a cluster together."""
    text = f"{percent(share)} of models keep two of its rows together"
    return f"<span title='{text} (cluster consensus)'>inside {percent(share)}</span>"


def _score(model: int, ranking: Ranking) -> dict[str, str]:
    """Format the score of a model relative to the others."""
    value, others = ranking.values[model], np.sort(ranking.values)
    after = np.searchsorted(others, value, side="right")
    beyond = f" · next {fixed(others[after], 3)}" if after < len(others) else ""
    return {
        "score": f"<b>{fixed(value, 3)}</b><span class='muted'>{beyond} · median "
        f"{fixed(np.median(others), 3)}</span>"
    }
