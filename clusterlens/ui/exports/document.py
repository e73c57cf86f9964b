"""Document: the report as one HTML file that opens offline and prints well.

Every text that comes from the data is escaped by `safe`; pictures are embedded.
"""

from __future__ import annotations

import base64
import platform
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterlens import __version__
from clusterlens.compute.assigning.rules import ClusterRules
from clusterlens.compute.ensemble.agreement import Agreement
from clusterlens.compute.ensemble.ensemble import Ensemble, distinct_partitions
from clusterlens.compute.formatting import count, first_of, percent, whole
from clusterlens.compute.pool.catalogue import CLUSTERERS
from clusterlens.compute.pool.k_selection import KSelection
from clusterlens.compute.pool.stability import ClusterStability
from clusterlens.compute.ranking.ranking import SCORES, Ranking, Weight
from clusterlens.compute.ranking.robustness import Robustness
from clusterlens.compute.scale.result import ScaledRun
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.distributions import ColumnDistribution
from clusterlens.compute.table.profiles import ClusterProfiles
from clusterlens.compute.table.projection import Projection
from clusterlens.ui.actions import ACTIONS
from clusterlens.ui.exports.all_rows import write_all_rows
from clusterlens.ui.exports.lab import write_cns, write_labels, write_pairs
from clusterlens.ui.exports.new_rows import write_kept
from clusterlens.ui.exports.script import write_script
from clusterlens.ui.exports.step_words import step_words
from clusterlens.ui.exports.verdict import write_charts, write_deciding, write_verdict
from clusterlens.ui.plots.axes import plane_words
from clusterlens.ui.results.answers import Answers, answers_words
from clusterlens.ui.results.leading import (
    Joined,
    Leads,
    copies_words,
    doubt_words,
    enough_words,
    joined_words,
    likeliest,
    likeliest_words,
    typical,
)
from clusterlens.ui.results.links import LinkState, is_partly_counted
from clusterlens.ui.results.partition_verdict import passing
from clusterlens.ui.results.result import ExportPartition
from clusterlens.ui.results.result_verdict import Verdict
from clusterlens.ui.state.analysis import EVIDENCE, Analysis, KeptPartition, Run
from clusterlens.ui.state.checks import Check
from clusterlens.ui.state.history import Step
from clusterlens.ui.state.links import TITLES
from clusterlens.ui.state.shapes import as_moment
from clusterlens.ui.widgets.palette import cluster_colour, cluster_name
from clusterlens.ui.widgets.style import FONT
from clusterlens.ui.widgets.toolkit import safe, table_of
from clusterlens.ui.widgets.words import (
    NOISE_WORDS,
    fixed,
    span,
    voters,
    who_votes,
    with_minus,
    write_sentence,
)

if TYPE_CHECKING:
    from clusterlens.ui.exports.pictures import Print

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas", "numba")
_SHOWN_MODELS = 20
_SHOWN_LINKS = 200
_SHOWN_COLUMNS = 6
_SHOWN_GAPS = 10
# Inputs of pictures that are compared by value.
_PLAIN = (int, str, dict)
# References, each with a test whether a report uses it.
SOURCES: dict[str, Callable[[Findings], bool]] = {
    "Ohl, L., Lindsten, F. Discriminative ordering through ensemble consensus (the "
    "ranking).": lambda found: found.ranking.score.startswith("discotec"),
    "Fred, A., Jain, A. Combining multiple clusterings using evidence accumulation. "
    "IEEE TPAMI 27 (2005), doi 10.1109/TPAMI.2005.113 (the consensus matrix).": (
        lambda found: (
            found.includes("matrix")
            or found.export_partition.made["kind"] == "consensus"
        )
    ),
    "Van Craenendonck, T., Blockeel, H. Constraint-based clustering selection. "
    "Machine Learning 106 (2017), doi 10.1007/s10994-017-5643-7 (choosing by "
    "answers).": lambda found: found.answers is not None,
    "Hennig, C. Cluster-wise assessment of cluster stability. Computational "
    "Statistics & Data Analysis 52 (2007), doi 10.1016/j.csda.2006.11.025 (found "
    "again).": lambda found: _stability(found) is not None,
    "Hofmeyr, D. Clustering by non-parametric smoothing (2025), arXiv:2503.09134 "
    "(CNS).": (
        lambda found: found.includes("cns") or "CNS" in found.ranking.ensemble.families
    ),
    "DeWolfe, R., Andrews, J. L. Random models for fuzzy clustering similarity "
    "measures. Adv. Data Anal. Classif. (2025), doi 10.1007/s11634-025-00625-w (fuzzy "
    "partitions).": lambda found: found.includes("fuzzy"),
    "Jeon, H., Aupetit, M., Shin, D., Cho, A., Park, S., Seo, J. Measuring the "
    "validity of clustering validation datasets. IEEE TPAMI 47(6) (2025), "
    "arXiv:2209.10042 (class labels).": lambda found: found.includes("labels"),
}
_STYLE = """
body { font-size: 15px; line-height: 1.45; color: #14181d;
  overflow-wrap: anywhere; max-width: 760px; margin: 32px auto; padding: 0 24px;
  background: #fff; }
h1 { font-size: 25px; line-height: 1.2; margin: 0 0 4px; }
h2 { font-size: 18px; margin: 28px 0 6px; }
.muted, figcaption { color: #586069; font-size: 12.5px; }
.answer { border-left: 4px solid #0b6e6e; padding: 4px 0 4px 14px; font-size: 15.5px; }
.caveat { color: #8a5a00; }
table { border-collapse: collapse; width: 100%; font-size: 13px;
  font-variant-numeric: tabular-nums; }
th { text-align: left; color: #586069; font-weight: 400; }
td, th { padding: 3px 8px 3px 0; border-bottom: 1px solid #dfe3e6; vertical-align: top;
  overflow-wrap: anywhere; }
td.number, th.number { text-align: right; white-space: nowrap; }
td:has(> .dot) { min-width: 7em; }
th { overflow-wrap: normal; }
figure { margin: 14px 0; break-inside: avoid; } img { max-width: 100%; }
.charts { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 18px; }
.charts figure { margin: 0; } .charts svg { width: 100%; height: 64px; }
.between { display: flex; justify-content: space-between; }
.cut { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.dot { display: inline-block; width: 10px; height: 10px; border-radius: 50%;
  margin-right: 6px; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
tr, li, .whole, table:not(:has(tr:nth-child(13))) { break-inside: avoid; }
h2, h2 + p { break-after: avoid; }
pre { white-space: pre-wrap; font: 14px/1.4 inherit; }
@media screen and (max-width: 560px) { body { padding: 0 12px; }
  table { display: block; overflow-x: auto; } td { overflow-wrap: break-word; } }
@media print { body { margin: 0; max-width: none; font-size: 11pt; } @page {
  margin: 18mm; } }
"""


class DrawnPictures:
    """The last picture of each kind, drawn again only if its inputs are others."""

    def __init__(self) -> None:
        self._last: dict[Callable[..., Print], tuple[partial[Print], bytes]] = {}

    def png(self, draw: partial[Print]) -> bytes:
        """Return a picture as PNG.

        Parameters
        ----------
        draw : partial
            Draws the picture; its arguments are the inputs.
        """
        last, picture = self._last.get(draw.func, (None, b""))
        if last is None or not _are_same(last.args, draw.args):
            picture = draw().to_bytes("png")
            self._last[draw.func] = draw, picture
        return picture


def _are_same(inputs: Sequence[Any], others: Sequence[Any]) -> bool:
    """Return whether inputs of a picture are the same objects, numbers or texts."""
    return all(
        one is other or (isinstance(one, _PLAIN) and one == other)
        for one, other in zip(inputs, others, strict=True)
    )


@dataclass(frozen=True, eq=False)
class Findings:
    """Content of a report: the decisions, and the results on screen.

    Parameters
    ----------
    steps : sequence of Step
        Steps in force, oldest first; the last holds the analysis.
    ranking, rows, agreement, export_partition, threshold, projection, links
        Results of the nodes with these names; `rows` are the models that are listed.
    verdict : Verdict
        The verdict on the partition.
    robustness, null, profiles, stability, numbers, distributions
        Results that may be missing.
    checks : dict of str to Check
        Checks that were measured or stopped, by node.
    without : frozenset of str
        Keys of the SECTIONS that the report leaves out.
    asked : dict of str to any
        Results of the SECTIONS that are computed on request, by key, if requested. A
        text instead of a result gives the reason why there is none.
    has_classes : bool
        Whether there are class labels, or clusters that are evaluated as classes.
    weighted_ensemble : Ensemble or None
        The models with the vote weights of the matrices. Default: the models' own
        weights.
    answers : Answers or None
        Evidence of the answers about the models.
    leads : Leads or None
        The models that lead with and without answers.
    near_copies : array of int or None
        The near-copies of the leader, with the leader itself, once they are known.
    likeness : array of float or None
        Adjusted Rand index of each model with the leader, once it is known.
    joined : Joined or None
        Share of the probabilities that models added to the run take.
    kept, rules
        The selected partition kept for new rows and its rules, if there are any.
    all_rows, all_rows_names
        Results for all rows of a large table, and names of their clusters, if any.
    drawn : DrawnPictures
        Pictures of earlier reports, which are drawn again if they change.
    """

    steps: Sequence[Step]
    ranking: Ranking
    rows: np.ndarray
    agreement: Agreement
    export_partition: ExportPartition
    threshold: int
    projection: Projection
    verdict: Verdict
    links: Sequence[LinkState] = ()
    robustness: Robustness | None = None
    null: Any = None
    profiles: ClusterProfiles | None = None
    stability: ClusterStability | None = None
    numbers: KSelection | None = None
    distributions: Mapping[int, Sequence[ColumnDistribution]] | None = None
    checks: Mapping[str, Check] = field(default_factory=dict)
    without: frozenset[str] = frozenset()
    asked: Mapping[str, Any] = field(default_factory=dict)
    has_classes: bool = False
    weighted_ensemble: Ensemble | None = None
    answers: Answers | None = None
    leads: Leads | None = None
    near_copies: np.ndarray | None = None
    likeness: np.ndarray | None = None
    joined: Joined | None = None
    kept: KeptPartition | None = None
    rules: ClusterRules | None = None
    all_rows: ScaledRun | None = None
    all_rows_names: Mapping[int, str] = field(default_factory=dict)
    drawn: DrawnPictures = field(default_factory=DrawnPictures)

    def includes(self, key: str) -> bool:
        """Return whether a section of SECTIONS is in the report."""
        section = SECTIONS[key]
        wanted = key in self.asked if section.node else key not in self.without
        return wanted and not section.lacks(self)

    @property
    def analysis(self) -> Analysis:
        """Return the analysis in force."""
        return self.steps[-1].analysis

    @property
    def table(self) -> Dataset:
        """Return the table that the run is of."""
        assert self.analysis.table is not None, "a run is of a table"
        return self.analysis.table

    def script(self) -> str:
        """Write the script that gives the same labels and scores."""
        return write_script(
            self.steps[1:], self.export_partition, exact=self.agreement.exact
        )


@dataclass(frozen=True)
class Section:
    """A part of the report that may be left out.

    Parameters
    ----------
    name : str
        Title on the page, and heading in the report.
    write : callable
        Takes the findings and returns markup.
    heading : str or None, default None
        Heading in the report if it differs from the name; empty for none.
    lacks : callable, optional
        Returns the reason why there is nothing to write; empty if there is something.
    node : str, default ""
        Node with the result of the section if it is computed only on request.
    """

    name: str
    write: Callable[[Findings], str]
    heading: str | None = None
    lacks: Callable[[Findings], str] = lambda found: ""
    node: str = ""


def _other_rows(found: Findings) -> str:
    """Return a reason to leave a section out if the result is of another run's rows."""
    if found.export_partition.is_here:
        return ""
    return "the result is of other rows than this run; read the run it was chosen in"


SECTIONS = {
    "verdict": Section(
        "Verdict",
        lambda found: write_verdict(found.verdict, found.checks, found.analysis.note),
    ),
    "clusters": Section("Clusters", lambda found: _clusters(found), heading="Result"),
    "answer": Section("Answer", lambda found: _answer(found), heading="Leading model"),
    "map": Section("Map", lambda found: _picture(found, "map"), lacks=_other_rows),
    "matrix": Section(
        "Matrix",
        lambda found: _picture(found, "consensus matrix"),
        lacks=_other_rows,
    ),
    "null": Section(
        "Structureless data",
        lambda found: _check(found, "null_check", found.null, copies_words),
        lacks=lambda found: (
            ""
            if "null_check" in found.checks
            else "not compared yet; the Consensus page does it"
        ),
    ),
    "numbers": Section(
        "Number of clusters",
        lambda found: _check(
            found, "k_selection", found.numbers, lambda one: one.sentence
        ),
        lacks=lambda found: (
            ""
            if "k_selection" in found.checks
            else "not compared yet; the Clusters page does it"
        ),
    ),
    "ranking": Section("Ranking", lambda found: _ranking(found)),
    "pool": Section("Pool", lambda found: _pool(found)),
    "all rows": Section(
        "All rows",
        lambda found: (
            write_all_rows(found.all_rows, found.all_rows_names)
            if found.all_rows
            else ""
        ),
        lacks=lambda found: (
            "" if found.all_rows else "no rows beyond memory are labelled"
        ),
    ),
    "new rows": Section(
        "New rows",
        lambda found: write_kept(found.analysis, found.kept, found.rules),
        heading="Kept for new rows",
        lacks=lambda found: (
            "" if found.analysis.segmentations else "no result is kept for new rows"
        ),
    ),
    "links": Section(
        "Links",
        lambda found: _links(found),
        lacks=lambda found: "" if found.links else "there are no links",
    ),
    "cns": Section(
        "CNS",
        lambda found: _asked(
            found, "cns", lambda cns: write_cns(cns, partial(_figure, found))
        ),
        node="report_cns",
    ),
    "fuzzy": Section(
        "Fuzzy",
        lambda found: _asked(found, "fuzzy", write_pairs),
        heading="Soft partitions",
        lacks=lambda found: (
            "" if found.analysis.fuzzy_pairs else "no pair is saved; Fuzzy does it"
        ),
        node="report_fuzzy",
    ),
    "labels": Section(
        "Class labels",
        lambda found: _asked(found, "labels", write_labels),
        lacks=lambda found: "" if found.has_classes else "the table has no labels",
        node="report_labels",
    ),
    "data": Section(
        "Data", lambda found: _list(found.analysis.selected_run.dataset.notes)
    ),
    "steps": Section("Steps", lambda found: _steps(found)),
    "versions": Section("Versions", lambda found: _versions(found)),
    "sources": Section("How to cite", lambda found: _sources(found)),
}


def _check(found: Findings, name: str, result: Any, words: Callable[[Any], str]) -> str:
    """Write the result of a check with its draws, seed and day, or its progress."""
    check = found.checks[name]
    if result is None:
        return f"<p class='caveat'>Unfinished: {check.stopped}.</p>"
    return f"<p>{safe(words(result))} <span class='muted'>{check.settings}.</span></p>"


def write_report(found: Findings) -> str:
    """Write the report as HTML, without the sections that are left out."""
    names = found.ranking.ensemble.names
    title = f"What {count(len(names), 'clustering')} of {found.table.name} agree on"
    body = "".join(
        _headed(section.name if section.heading is None else section.heading)
        + section.write(found)
        for key, section in SECTIONS.items()
        if found.includes(key)
    )
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f"<title>{safe(title)}</title><style>"
        f"body {{ font-family: {FONT}; }}{_STYLE}</style></head><body>"
        f"<h1>{safe(title)}</h1><p class='muted'>{_about(found)}</p>{body}"
        "</body></html>"
    )


def _asked(found: Findings, key: str, write: Callable[[Any], str]) -> str:
    """Write a section that was requested, or the reason why it is missing."""
    content = found.asked[key]
    return (
        f"<p class='caveat'>{safe(content)}</p>"
        if isinstance(content, str)
        else write(content)
    )


def _headed(heading: str) -> str:
    return f"<h2>{safe(heading)}</h2>" if heading else ""


def _about(found: Findings) -> str:
    analysis = found.analysis
    # A check may have ended after the last step.
    times = [found.steps[-1].at, *(check.at for check in found.checks.values())]
    rows, columns = map(whole, found.table.table.shape)
    shape = f"{rows} rows, {columns} columns"
    if analysis.large is not None:
        shape = (
            f"{rows} landmarks of {whole(analysis.large.n_rows)} rows, {columns} "
            "columns; everything is of the landmarks but for the section All rows"
        )
    loaded = [step for step in found.steps if step.kind == "load file"]
    known = [f"SHA-256 {step.values['sha256']}" for step in loaded[-1:]]
    parts = [
        _when(max(times, key=as_moment)),
        analysis.selected_run.name,
        shape,
        *known,
        f"ClusterLens {__version__}",
    ]
    return " · ".join(safe(part) for part in parts)


def _when(at: str) -> str:
    """Format a time in UTC for people."""
    time = as_moment(at)
    return f"{time.day} {time:%B %Y, %H:%M} UTC"


def _answer(found: Findings) -> str:
    """Write whether there are groups, which model leads, and the limits of that."""
    ranking, first = found.ranking, int(found.ranking.order[0])
    names = ranking.ensemble.names
    if found.answers is not None:
        parts = [_answers(found, found.answers)]
    else:
        parts = [typical(ranking).strip()]
        if ranking.violated.any():
            alone = int(np.argmin(_signed(ranking, ranking.unconstrained)))
            words = "would lead without the links" if alone != first else "leads anyway"
            parts.append(
                f"<span class='caveat'>{count(len(found.links), 'link')} are counted "
                f"{_weight_words(found.analysis.link_weight)}; "
                f"<b>{safe(names[alone])}</b> {words}.</span>"
            )
    run = found.analysis.selected_run
    parts.append(doubt_words(found.likeness, ranking, run, found.answers).strip())
    if found.robustness is not None:
        subject = "it" if found.answers is None else "this model"
        parts.append(safe(found.robustness.sentence(first, subject)))
    if not found.agreement.exact:
        parts.append(
            "<span class='caveat'>Estimated from "
            f"{whole(found.agreement.n_compared)} of "
            f"{whole(ranking.ensemble.n_samples)} samples.</span>"
        )
    means = "most typical of this pool"
    if found.answers is not None:
        means = f"most likely {enough_words(found.answers)}"
    parts.append(f"First means {means}, not proven true.")
    return f"<p class='answer'>{' '.join(filter(None, parts))}</p>"


def _answers(found: Findings, answers: Answers) -> str:
    """Write which model is likeliest, by how many answers, and their error rate."""
    names = found.ranking.ensemble.names
    first, before = int(found.ranking.order[0]), int(answers.before.argmax())
    n_unsure = len(found.analysis.unsure)
    unsure = f" and {count(n_unsure, 'pair')} left unsure" if n_unsure else ""
    text = f"By {count(answers.n_answers, 'answer')} of the analyst{unsure}, "
    if answers.posterior.none_fits:
        text += "no model of this pool fits better than coin tosses would"
    else:
        one = likeliest(found.ranking, answers, found.near_copies)
        near = likeliest_words(one.n_near, one.chance)
        text += f"<b>{safe(names[first])}</b> is likeliest{near}"
        if (leads := found.leads) is not None and leads.safest:
            text += (
                f", and <b>{safe(leads.safest)}</b> "
                f"({count(leads.k_safest, 'cluster')}) is expected to be most like the "
                "right one"
            )
    rate = percent(answers.posterior.error_rate)
    text += (
        f"; the best model contradicts {answers.broken} of them, and about {rate} of "
        "such answers are counted as mistakes. "
    )
    names_of = Counter(link.by for link in found.analysis.links if link.by)
    who = ", ".join(f"{n} by {safe(name)}" for name, n in names_of.most_common())
    text += f"Of the links {who} came from files. " if who else ""
    text += joined_words(found.joined)
    if answers.before[before] > answers.before[first]:
        text += f"Without answers <b>{safe(names[before])}</b> would be first."
    else:
        text += f"<b>{safe(names[first])}</b> would be first without them, too."
    return f"<span class='caveat cl-answers'>{text}</span>"


def _weight_words(weight: Weight) -> str:
    """Format how links count."""
    if weight == EVIDENCE:
        return "as evidence, some of which may mislead"
    return f"as a share at weight {weight:.2f}"


def _signed(ranking: Ranking, values: np.ndarray) -> np.ndarray:
    return -values if ranking.greater_is_better else values


def picture_makers(found: Findings) -> dict[str, partial[Print]]:
    """Return a function that draws each figure, by name."""
    # Imported here because Matplotlib would delay the start of every server.
    from clusterlens.ui.exports.pictures import print_map, print_matrix, print_ranking

    pool, clusters = found.ranking.ensemble, found.export_partition.clusters
    weighted = found.weighted_ensemble or pool
    alone = None if weighted is pool else pool
    of_result = {
        "map": partial(
            print_map,
            found.projection,
            clusters,
            found.links,
            found.export_partition.names,
        ),
        "consensus matrix": partial(
            print_matrix, weighted, clusters, "consensus", found.threshold, alone
        ),
        "binarised matrix": partial(
            print_matrix, weighted, clusters, "binarised", found.threshold, alone
        ),
    }
    return (of_result if found.export_partition.is_here else {}) | {
        "ranking": partial(print_ranking, found.ranking, found.rows),
    }


def _picture(found: Findings, key: str) -> str:
    name = safe(found.export_partition.title)
    drawn = (state.ends is not None for state in found.links)
    captions = {
        "map": f"Samples on {safe(plane_words(found.projection))}, coloured by {name}"
        f"{'; links solid for must, dashed for cannot' * any(drawn)}.",
        "consensus matrix": f"Share of the {_voters(found)} that put two samples "
        f"together, in the order of the clusters of {name}{_votes(found)}.",
    }
    return _figure(found, picture_makers(found)[key], captions[key])


def _is_weighted(found: Findings) -> bool:
    """Return whether the matrices weigh the models by the answers."""
    weighted = found.weighted_ensemble
    return weighted is not None and weighted is not found.ranking.ensemble


def _voters(found: Findings) -> str:
    """Describe the voters of the matrices; with answers all models vote."""
    ensemble = found.ranking.ensemble
    return count(len(ensemble), "model") if _is_weighted(found) else voters(ensemble)


def _votes(found: Findings) -> str:
    """Write the voters: the pool alone, or its models weighted by the answers."""
    if found.answers is None:
        return ""
    if not _is_weighted(found):
        return "; the pool alone votes, without the answers"
    silent = int(np.count_nonzero(found.ranking.ensemble.votes == 0))
    also = (
        f", also the {whole(silent)} without a vote in the ranking," if silent else ""
    )
    answers = answers_words(found.answers)
    return f"; all models{also} vote by how likely each is, given the {answers}"


def _figure(found: Findings, draw: partial[Print], caption: str) -> str:
    """Embed a figure with its caption, which is markup."""
    picture = base64.b64encode(found.drawn.png(draw)).decode()
    words = re.sub(r"<[^>]+>", "", caption).replace("'", "’")
    return (
        f"<figure><img alt='{words}' src='data:image/png;base64,{picture}'>"
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _ranking(found: Findings) -> str:
    ranking, robust = found.ranking, found.robustness
    header = ["#", "model", "family", "clusters", "score"]
    header += ["links broken"] if ranking.violated.any() else []
    header += ["range", "majority"] if robust is not None else []
    lines = []
    copies = distinct_partitions(ranking.ensemble)[1]
    times = np.bincount(copies)[copies]
    for t in found.rows[:_SHOWN_MODELS]:
        alike = f" (×{times[t]})" if times[t] > 1 else ""
        cells = [
            f"{ranking.ranks[t]}",
            f"{safe(ranking.ensemble.names[t])}{alike}",
            safe(ranking.ensemble.families[t]),
            f"{ranking.ensemble.n_clusters[t]}",
            fixed(ranking.values[t], 4),
        ]
        if ranking.violated.any():
            seen = " of those seen" if is_partly_counted(ranking, t) else ""
            cells.append(percent(ranking.violated[t]) + seen)
        if robust is not None:
            low, high = robust.lowest[t], robust.highest[t]
            known = np.isfinite([low, high]).all()
            cells += [span(low, high) if known else "–", f"{robust.ranks_majority[t]}"]
        written = "".join(map(_ranking_cell, header, cells))
        lines.append(f"<tr>{written}</tr>")
    more = len(found.rows) - _SHOWN_MODELS
    score = SCORES[ranking.score]
    note = f"{safe(score.title)}; " + (
        "higher is better." if ranking.greater_is_better else "lower is better."
    )
    if (ranking.values != ranking.unconstrained).any():
        note += " The score includes a charge for the links that a model breaks."
    if robust is not None:
        note += " Range: ranks when any one family is left out."
    if len(found.rows) < len(copies):
        note += " ×2: this model and another one are equal, ×10: ten are; ranks count"
        note += " each."
    if more > 0:
        shown = times[found.rows[:_SHOWN_MODELS]].sum()
        left = count(len(copies) - int(shown), "more model")
        note += f" {left} in the full table, {whole(more)} of them distinct."
    heads = "".join(f"<th>{name}</th>" for name in header)
    return f"{table_of(heads, ''.join(lines))}<p class='muted'>{note}</p>"


def _ranking_cell(name: str, cell: str) -> str:
    """Write a cell of a column; only names may be broken into lines."""
    is_name = name in ("model", "family")
    css = "min-width:7em" if is_name else "white-space:nowrap"
    return f"<td style='{css}'>{cell}</td>"


def _pool(found: Findings) -> str:
    families, counts = np.unique(found.ranking.ensemble.families, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    made = ", ".join(f"{counts[k]} {safe(families[k])}" for k in order)
    ensemble, run = found.ranking.ensemble, found.analysis.run
    preset = safe(run.preset_words) if run else ""
    preset = f"{write_sentence(preset)} " if preset else ""
    return (
        f"<p>{preset}{whole(ensemble.n_partitions)} models, "
        f"{whole(len(found.rows))} of them distinct: {made}. "
        f"Seed {safe(found.analysis.random_state)}."
        f"{_noise(ensemble)}{_who_votes(run)}</p>" + _list(ensemble.notes[:40])
    )


def _noise(ensemble: Ensemble) -> str:
    """Write how noise is treated if a model has some."""
    if not ensemble.n_noise.any():
        return ""
    return f" Noise {NOISE_WORDS[ensemble.noise]}."


def _who_votes(run: Run | None) -> str:
    """Write the voters if not every model votes equally."""
    if run is None or run.votes == "models":
        return ""
    words = who_votes(run.votes, run.ensemble)
    words += ", those most like the others" * (run.votes == "typical")
    return f" {write_sentence(words)}"


def _clusters(found: Findings) -> str:
    """Write the exported partition, the sizes of its clusters, and their separation."""
    partition, stable = found.export_partition, _stability(found)
    lines = []
    for k in np.unique(partition.clusters).tolist():
        size = int((partition.clusters == k).sum())
        apart = ""
        if found.profiles is not None:
            top = found.profiles.top(k, _SHOWN_COLUMNS).dropna(subset="effect")
            apart = "; ".join(_column(row) for row in top.to_dict("records"))
        back = ""
        if stable is not None:
            values = stable.get(k, ("–", "–"))
            back = "".join(f"<td class='number'>{value}</td>" for value in values)
        lines.append(
            f"<tr><td><span class='dot' style='background:{cluster_colour(k)}'></span>"
            f"{safe(cluster_name(k, partition.names))}</td>"
            f"<td class='number'>{whole(size)}</td>{back}<td>{apart}</td></tr>"
        )
    heads = "<th>cluster</th><th class='number'>samples</th>"
    if stable is not None:
        heads += "<th class='number'>found again</th>"
        heads += "<th class='number'>in copies without groups</th>"
    heads += "<th>what sets it apart: here, of all</th>"
    table = table_of(heads, "".join(lines))
    charts = write_charts(found.distributions or {}, found.export_partition.names)
    deciding = write_deciding(found.verdict)
    gaps = _gaps(partition)
    return f"{_chosen(found)}{_found_again(found)}{table}{gaps}{deciding}{charts}"


def _gaps(partition: ExportPartition) -> str:
    """Explain missing numbers among those of the clusters, if there are any."""
    present = np.unique(partition.clusters[partition.clusters >= 0]).tolist()
    missing = [k + 1 for k in range(max(present, default=-1)) if k not in present]
    if not missing or all(k in partition.names for k in present):
        return ""
    one = len(missing) == 1
    numbers = first_of(list(map(str, missing)), _SHOWN_GAPS)
    return (
        f"<p class='muted'>There is no cluster {numbers}: clusters have the number of "
        "the cluster that they resemble in the partition that set the numbers and "
        "colours of this run, and none here resembles "
        f"{'the one with this number' if one else 'those with these numbers'}.</p>"
    )


def _chosen(found: Findings) -> str:
    """Write the kind of the partition and how it was chosen."""
    partition, analysis = found.export_partition, found.analysis
    n_clusters = len(np.unique(partition.clusters[partition.clusters >= 0]))
    text = f"<b>{safe(partition.title)}</b>, {count(n_clusters, 'cluster')}"
    if not partition.is_result or analysis.result is None:
        return (
            f"<p>{text}. <span class='caveat'>No result was chosen; this is the model "
            "that was looked at.</span></p>"
        )
    steps = [step for step in found.steps if step.analysis.result is analysis.result]
    text += f", chosen on {safe(analysis.result.chosen_on)}, {_when(steps[0].at)}"
    if partition.run_id != analysis.run_id:
        runs = {run.id: run.name for run in analysis.runs}
        of = runs.get(partition.run_id, "a run that was deleted since")
        text += f", in {safe(of)}"
    if partition.links:
        text += f", with {count(len(partition.links), 'link')} in force"
    return f"<p>{text}.</p>"


def _stability(found: Findings) -> dict[int, tuple[str, str]] | None:
    """Return stability and its chance level for each cluster; None if not measured."""
    stability, clusters = found.stability, found.export_partition.clusters
    if stability is None or not np.array_equal(stability.labels, clusters):
        return None
    pairs = zip(stability.jaccard, stability.by_chance, strict=True)
    texts = [
        (fixed(value), fixed(chance) if chance else "–") for value, chance in pairs
    ]
    return dict(zip(stability.clusters.tolist(), texts, strict=True))


def _found_again(found: Findings) -> str:
    check, stability = found.checks.get("export_stability"), found.stability
    if check is None or stability is None or _stability(found) is None:
        stopped = check.stopped if check else ""
        state = f"is unfinished ({stopped})" if stopped else "was not measured"
        return (
            "<p class='muted'>How well the clusters are found again in bootstrap "
            f"samples {state}; the page Clusters does it.</p>"
        )
    part = passing(stability.stable, stability.sizes, ("is", "are"))
    return (
        f"<p>{part} found again in other samples. "
        "<span class='muted'>Mean Jaccard similarity "
        f"with the nearest cluster of {stability.n_resamples} bootstrap samples "
        f"(Hennig 2007; {check.settings}), beside what clusters as large reach in "
        f"{stability.n_copies} copies of the table without groups (– if these have no "
        "cluster as large).</span></p>"
    )


def _column(row: dict[Any, Any]) -> str:
    level = f" = {row['level']}" if isinstance(row["level"], str) else ""
    return (
        f"{safe(row['column'])}{safe(level)} {safe(with_minus(row['text']))}, "
        f"{safe(with_minus(row['overall_text']))}"
    )


def _links(found: Findings) -> str:
    lines = "".join(
        f"<tr><td>{TITLES[state.link.kind]}</td><td>{safe(state.link.a)}</td>"
        f"<td>{safe(state.link.b)}</td><td>{_kept(state)}</td></tr>"
        for state in found.links[:_SHOWN_LINKS]
    )
    more = len(found.links) - _SHOWN_LINKS
    note = f"<p class='muted'>and {whole(more)} more</p>" if more > 0 else ""
    heads = "<th>link</th><th>row</th><th>row</th><th>by the model</th>"
    return table_of(heads, lines) + note


def _kept(state: LinkState) -> str:
    if state.ends is None:
        return safe(f"not in this run: {' and '.join(map(str, state.missing))}")
    if state.uncertain:
        return "uncertain (noise, or left out)"
    return "broken" if state.broken else "kept"


def _steps(found: Findings) -> str:
    """List the steps; consecutive steps that set the same thing share a line."""
    lines = []
    for kind, group in groupby(found.steps[1:], key=lambda step: step.kind):
        steps = list(group)
        if kind in ACTIONS and ACTIONS[kind].python is None:
            lines.append(_step(steps))
        else:
            lines += [_step([step]) for step in steps]
    return _list(lines)


def _step(steps: Sequence[Step]) -> str:
    """Write steps of one kind in a line: time, kind, number, and the last value."""
    first, last = _when(steps[0].at), _when(steps[-1].at)
    when = first if first == last else f"{first} to {last}"
    words, title = step_words(steps[-1]), steps[-1].title
    if len(steps) == 1:
        return f"{when}: {title}" + (f" ({words})" if words else "")
    times = f"{when}: {title}, {len(steps)} times"
    return f"{times}, last {words}" if words else times


def _sources(found: Findings) -> str:
    """List the references of the methods and the clusterers of this report."""
    used = [text for text, is_used in SOURCES.items() if is_used(found)]
    asked = [spec.get("clusterer") for spec in found.ranking.ensemble.specs]
    for name in dict.fromkeys(asked):
        if name in CLUSTERERS and CLUSTERERS[name].reference:
            used.append(f"{CLUSTERERS[name].reference} ({name}).")
    return _list(used)


def _versions(found: Findings) -> str:
    parts = [f"ClusterLens {__version__}", f"Python {platform.python_version()}"]
    parts += [f"{name} {version(name)}" for name in _LIBRARIES]
    return f"<p>{safe(', '.join(parts))}</p>"


def _list(texts: Any) -> str:
    items = "".join(f"<li>{safe(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""
