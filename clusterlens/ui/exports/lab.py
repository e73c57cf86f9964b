"""The lab in the report: CNS, saved pairs of soft partitions, class labels.

Every number equals the number on the page, with the same samples and seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from clusterlens.compute.formatting import count, whole
from clusterlens.compute.fuzzy.adjusted import AdjustedIndex
from clusterlens.compute.fuzzy.random_models import RANDOM_MODELS
from clusterlens.compute.indices.agreement_reached import PoolAgreement
from clusterlens.compute.indices.class_match import LabelCheck
from clusterlens.compute.indices.evidence import LabelEvidence
from clusterlens.ui.plots.axes import plane_words
from clusterlens.ui.results.evaluated_labels import question
from clusterlens.ui.results.lab import SIDES, Labelled, SavedPair, SavedPairs, Smoothing
from clusterlens.ui.results.label_verdict import LIGHTS
from clusterlens.ui.widgets.toolkit import safe, table_of
from clusterlens.ui.widgets.words import caveat, error, fixed, number

if TYPE_CHECKING:
    from clusterlens.ui.exports.pictures import Print

SHOWN_PAIRS = 20


def write_cns(found: Smoothing, show: Callable[[partial[Print], str], str]) -> str:
    """Write the setting in force, its criterion, the map and the other settings.

    Parameters
    ----------
    found : Smoothing
        Results to write.
    show : callable
        Called with what draws a figure, and its caption; returns markup.
    """
    from clusterlens.ui.exports.pictures import print_criterion, print_memberships

    solution, summary, best = found.solution, found.summary, found.automatic
    own = best.setting
    setting = (
        f"K = {solution.n_clusters}, {solution.n_neighbors} neighbours "
        f"({safe(found.metric)}), alpha = {number(solution.alpha)}"
    )
    automatic = (
        f"The automatic choice is K = {own.n_clusters}, {own.n_neighbors} neighbours, "
        f"alpha = {number(own.alpha)} with criterion {fixed(best.criterion, 3)}."
    )
    sizes = ", ".join(f"{whole(size)}" for size in summary.sizes)
    text = (
        f"<p><b>{count(solution.n_clusters, 'cluster')}</b> of "
        f"{whole(len(solution.labels))} samples ({sizes}), {whole(summary.between)} of "
        f"them between clusters (less than {found.certain:.0%} of the seed stops at "
        f"one seed), {whole(summary.undecided)} undecided. Criterion "
        f"<b>{fixed(summary.criterion, 3)}</b> at {setting}. {automatic}</p>"
        "<p class='muted'>The criterion compares settings on this table; it is no test "
        f"that clusters exist. No membership is off by more than "
        f"{number(summary.error_bound)}, proven. No random numbers are drawn, so there "
        "is no seed.</p>"
    )
    text += show(
        partial(print_memberships, found.projection, solution),
        f"Samples on {safe(plane_words(found.projection))}: hue by the likeliest seed, "
        "paler the less of the walks that reach a seed stop there; stars are the "
        "seeds.",
    )
    if found.grid is None:
        return f"{text}<p class='muted'>The other settings are being compared.</p>"
    return text + show(
        partial(print_criterion, found.grid, solution, own),
        f"The criterion at K = {solution.n_clusters} over neighbourhoods and alpha: "
        "circle in force, diamond chosen automatically"
        + (
            "."
            if own.n_clusters == solution.n_clusters
            else f" (at K = {own.n_clusters})."
        ),
    )


def write_pairs(found: SavedPairs) -> str:
    """Write every saved pair with its values under the random models."""
    missing = ""
    if found.n_missing:
        pairs = count(found.n_missing, "saved pair")
        missing = f"<p class='caveat'>{pairs} of partitions that this run lacks.</p>"
    return (
        "<p class='muted'>NDC is the mean concordance of all pairs of samples; "
        "adjusted values are 0 where a random model expects them and 1 where both are "
        "equal. ± is Monte-Carlo error, two standard errors, not uncertainty of the "
        f"samples; seed 0.</p>{''.join(map(_pair, found.pairs))}{missing}"
    )


def _pair(found: SavedPair) -> str:
    heads = "".join(
        f"<th{' class=number' if k else ''}>{name}</th>"
        for k, name in enumerate(("random model", "both random", "U fixed", "V fixed"))
    )
    lines = "".join(
        f"<tr><td>{RANDOM_MODELS[model].title}</td>"
        + "".join(
            f"<td class='number'>{_value(model, values[side], side)}</td>"
            for side in SIDES
        )
        + "</tr>"
        for model, values in found.values.items()
    )
    return (
        f"<div class='whole'><p>U is <b>{safe(found.u)}</b>, V is <b>{safe(found.v)}"
        f"</b>: NDC <b>{fixed(float(found.ndc), 3)}</b> "
        f"{error(found.ndc.standard_error)}, {whole(found.n_samples)} samples.</p>"
        f"{table_of(heads, lines)}</div>"
    )


def _value(model: str, value: AdjustedIndex, side: Any) -> str:
    """Write one value with its error, or the reason why it has none."""
    if model == "permutation" and side is not None:
        return "the same"
    return f"{fixed(float(value), 3)} <span class='muted'>{caveat(value)}</span>"


def write_labels(found: Labelled) -> str:
    """Write the verdict on classes or clusters, its grounds, and the pairs."""
    labels, check = found.labels, found.check
    sizes = ", ".join(
        f"{safe(labels.name(code))} {whole(size)}"
        for code, size in labels.sizes.items()
    )
    left_out = ""
    if labels.n_left_out:
        left_out = f" {count(labels.n_left_out, 'row')} without a {labels.noun}."
    grounds = "".join(
        f"<li><b>{title}: {LIGHTS[light]}.</b> {text}</li>"
        for title, light, text in found.grounds.lines
    )
    reached = "" if found.reached is None else _reached(found.reached.now)
    return (
        f"<p>{safe(question(labels))} <b>"
        f"{found.verdict.answer}.</b> {whole(len(labels.codes))} samples ({sizes})."
        f"{left_out} {safe(labels.note)}</p>"
        f"<p>CH<sub>btwn</sub> <b>{fixed(check.score)}</b> "
        f"{error(check.standard_error)} (at most 1{_chance(found.evidence)}), "
        f"{_dbcv(found.evidence)}{reached}. Seed 0.</p>"
        f"<ul>{grounds}</ul><p><b>So:</b> {found.grounds.conclusion}</p>"
        + _class_pairs(labels, check)
    )


def _chance(found: LabelEvidence) -> str:
    if not len(found.shuffled):
        return ""
    mean, spread = found.shuffled["score"].mean(), found.shuffled["score"].std()
    return f"; shuffled: {fixed(mean)} ± {fixed(2 * spread)}"


def _dbcv(found: LabelEvidence) -> str:
    if found.dbcv.reason:
        return f"no DBCV: {safe(found.dbcv.reason)}"
    rows = "" if found.dbcv.exact else f" (from {whole(found.dbcv.n_used)} rows)"
    return f"DBCV <b>{fixed(float(found.dbcv))}</b>{rows}"


def _reached(found: PoolAgreement) -> str:
    """Write the best agreement of the pool with the classes."""
    name = safe(found.ensemble.names[found.highest])
    highest = fixed(float(found.values[found.highest]))
    text = f", highest ARI of the pool <b>{highest}</b> "
    if found.leader is None:
        return f"{text}({name})"
    return f"{text}({name}), of the leader {fixed(float(found.values[found.leader]))}"


def _class_pairs(labels: Any, check: LabelCheck) -> str:
    """Write the pairs of classes, the least separated first."""
    table = check.pairs.sort_values("score", kind="stable", na_position="last")
    rows: Iterable[Any] = table.head(SHOWN_PAIRS).itertuples()
    lines = "".join(
        f"<tr><td>{safe(labels.name(int(row.class_a)))}</td>"
        f"<td>{safe(labels.name(int(row.class_b)))}</td><td class='number'>"
        f"{fixed(row.score)}</td></tr>"
        for row in rows
    )
    more = len(table) - SHOWN_PAIRS
    note = f"<p class='muted'>and {whole(more)} more pairs</p>" if more > 0 else ""
    heads = f"<th>{labels.noun}</th>" * 2
    return table_of(f"{heads}<th class='number'>CH<sub>btwn</sub></th>", lines) + note
