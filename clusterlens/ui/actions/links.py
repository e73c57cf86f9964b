"""Actions on the links of the analyst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from clusterlens.compute.formatting import count, whole
from clusterlens.ui.actions.action import Action, Values
from clusterlens.ui.actions.tables import rows_of
from clusterlens.ui.jobs.reading import read_in_process
from clusterlens.ui.state.analysis import EVIDENCE, Analysis, Link
from clusterlens.ui.state.links import (
    OTHER,
    TITLES,
    PlainId,
    find_link,
    has_row,
    links_from_file,
    named_alike,
    refuse_contradiction,
    with_link,
    without_pair,
)
from clusterlens.ui.state.shapes import (
    LINK,
    LINK_WEIGHT,
    LONG_TEXT,
    ROW_ID,
    ROW_IDS,
    record,
)


def add_link(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Link two rows; a link of the other kind between them is replaced."""
    kind, a, b = (values[name] for name in ("kind", "a", "b"))
    _check_rows(analysis, [a, b])
    if a == b:
        raise ValueError(f"row {a} is given twice; link two different rows.")
    at = find_link(analysis.links, a, b)
    if at is not None and analysis.links[at].kind == kind:
        raise ValueError(f"the rows {a} and {b} have that {TITLES[kind]} already.")
    return _linked(analysis, with_link(analysis.links, Link(kind, a, b)))


def leave_unsure(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Mark a pair as unsure; its link is removed, and it is not suggested again."""
    a, b = values["a"], values["b"]
    _check_rows(analysis, [a, b])
    if a == b:
        raise ValueError(f"row {a} is given twice; name two different rows.")
    at = find_link(analysis.links, a, b)
    links = analysis.links if at is None else _without(analysis.links, at)
    unsure = (*without_pair(analysis.unsure, a, b), (a, b))
    return replace(analysis, links=links, unsure=unsure)


def ask_again(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Allow an unsure pair to be suggested again."""
    unsure = without_pair(analysis.unsure, values["a"], values["b"])
    if unsure == analysis.unsure:
        raise ValueError("that pair may be asked about already; choose one listed.")
    return replace(analysis, unsure=unsure)


def join_rows(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Link rows as one class: must-links from each to the next span them."""
    rows = list(dict.fromkeys(values["rows"]))
    if len(rows) < 2:
        raise ValueError("fewer than two rows are given; select at least two.")
    _check_rows(analysis, rows)
    new = [Link("must", a, b) for a, b in pairwise(rows)]
    return _with_links(analysis, new)


def _check_rows(analysis: Analysis, rows: Sequence[PlainId]) -> None:
    """Refuse unknown rows, and a run with row ids from another column."""
    index, samples, dataset = rows_of(analysis), analysis.samples, analysis.dataset
    if samples and dataset and not named_alike(samples, dataset):
        raise ValueError(
            "the selected run names its rows by another column than the table does "
            "now; run the pool again, or choose its column of row ids on Data."
        )
    unknown = [row for row in rows if not has_row(index, row)]
    if unknown:
        raise ValueError(f"there is no row {unknown[0]!r}; name rows by their ids.")


def import_links(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Import the links of a file; they replace links between the same rows."""
    text, rows = values["text"].encode(), rows_of(analysis)
    new, unsure = read_in_process(job, "links", text, links_from_file, rows)
    if not new and not unsure:
        raise ValueError("the file holds no link.")
    result = _with_links(analysis, new)
    for a, b, *by in unsure:
        if find_link(result.links, a, b) is None:
            more = (*without_pair(result.unsure, a, b), (a, b, *by))
            result = replace(result, unsure=more)
    messages = [_imported(analysis.links, new)] * bool(new)
    messages += [f"{count(len(unsure), 'unsure pair')} read."] * bool(unsure)
    job.notify("success", " ".join(messages))
    return result


def _imported(before: Sequence[Link], new: Sequence[Link]) -> str:
    """Describe the effect of the links of a file."""
    kinds = {frozenset((link.a, link.b)): link.kind for link in before}
    pairs = {frozenset((link.a, link.b)): link.kind for link in new}
    n_new = len(pairs.keys() - kinds.keys())
    n_swapped = sum(kinds.get(pair, kind) != kind for pair, kind in pairs.items())
    parts = {
        "new": n_new,
        "of the other kind than before": n_swapped,
        "there already": len(pairs) - n_new - n_swapped,
        "repeated in the file": len(new) - len(pairs),
    }
    counts = ", ".join(f"{whole(n)} {what}" for what, n in parts.items() if n)
    return f"{count(len(new), 'link')} read: {counts}."


def _with_links(analysis: Analysis, new: Sequence[Link]) -> Analysis:
    """Add links; the latest link between two rows wins."""
    pairs = {frozenset((link.a, link.b)): link for link in (*analysis.links, *new)}
    if any(len(pair) < 2 for pair in pairs):
        raise ValueError("a row is linked with itself; link two different rows.")
    return _linked(analysis, tuple(pairs.values()))


def remove_link(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Remove the link between two rows."""
    at = _linked_at(analysis, values)
    return replace(analysis, links=_without(analysis.links, at))


def _without(links: tuple[Link, ...], at: int) -> tuple[Link, ...]:
    return links[:at] + links[at + 1 :]


def swap_link(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Turn a must-link into a cannot-link, or the reverse."""
    link = analysis.links[_linked_at(analysis, values)]
    # The respondent did not give this answer.
    swapped = replace(link, kind=OTHER[link.kind], by="")
    return _linked(analysis, with_link(analysis.links, swapped))


def _linked_at(analysis: Analysis, values: Values) -> int:
    at = find_link(analysis.links, values["a"], values["b"])
    if at is None:
        raise ValueError(
            f"the rows {values['a']} and {values['b']} are not linked; choose a link "
            "that is listed."
        )
    return at


def _linked(analysis: Analysis, links: tuple[Link, ...]) -> Analysis:
    """Put links in force; linked pairs are no longer unsure."""
    refuse_contradiction(links)
    if not analysis.unsure:
        return replace(analysis, links=links)
    known = {frozenset((link.a, link.b)) for link in links}
    unsure = tuple(pair for pair in analysis.unsure if frozenset(pair[:2]) not in known)
    return replace(analysis, links=links, unsure=unsure)


def set_link_weight(analysis: Analysis, values: Values, job: Any) -> Analysis:
    """Count links as evidence, or charge an amount for breaking all of them."""
    weight = values["weight"]
    weight = weight if weight == EVIDENCE else float(weight)
    return replace(analysis, link_weight=weight)


_PAIR = record({"a": ROW_ID, "b": ROW_ID})
ACTIONS = {
    "add link": Action(
        "Link two rows", add_link, record({"kind": LINK, "a": ROW_ID, "b": ROW_ID})
    ),
    "leave unsure": Action("Leave a pair unsure", leave_unsure, _PAIR),
    "ask again": Action("Ask about a pair again", ask_again, _PAIR),
    "join rows": Action(
        "Must-link the selection", join_rows, record({"rows": ROW_IDS})
    ),
    "import links": Action(
        "Import links", import_links, record({"text": LONG_TEXT}), slow=True
    ),
    "remove link": Action("Remove the link", remove_link, _PAIR),
    "swap link": Action("Swap the link", swap_link, _PAIR),
    "set link weight": Action(
        "Set the weight of the links",
        set_link_weight,
        record({"weight": LINK_WEIGHT}),
    ),
}
