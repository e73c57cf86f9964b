"""Links: knowledge of the analyst about pairs of rows, by plain row ids.

Row ids of any type become whole numbers or text, so that links can be logged, written
to a file, and found in another run of the same table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import IO, Any, Literal, get_args

import numpy as np
import pandas as pd

from clusterlens.compute._plain import read_plain
from clusterlens.compute.ensemble.constraint_files import split_links
from clusterlens.compute.ensemble.constraints import ConstraintError, Constraints
from clusterlens.compute.formatting import first_of, whole
from clusterlens.compute.table.dataset import Dataset
from clusterlens.ui.state.analysis import Link, Run

Kind = Literal["must", "cannot"]
PlainId = int | str
KINDS = get_args(Kind)
OTHER: dict[Kind, Kind] = {"must": "cannot", "cannot": "must"}
_SHOWN = 5  # ids listed in a message
_SHOWN_NAME = 30
MOST_LINKS = 20_000  # in a file
UNSURE = "unsure"
# Two rows, with the respondent if a file names one.
Unsure = tuple[tuple[PlainId, ...], ...]
MOST_NAME = 80  # characters of a respondent
TITLES: dict[Kind, str] = {"must": "must-link", "cannot": "cannot-link"}


class LinkError(ValueError):
    """Error of a link that contradicts others.

    Parameters
    ----------
    message : str
        The contradiction and the remedy.
    chain : tuple of Link
        Must-links that lead from one row to another, then the cannot-link of the two.
    """

    def __init__(self, message: str, chain: tuple[Link, ...]) -> None:
        super().__init__(message)
        self.chain = chain


def plain_id(row_id: Any) -> PlainId:
    """Write a row id as a whole number or as text."""
    if isinstance(row_id, (int, np.integer)) and not isinstance(row_id, bool):
        return int(row_id)
    if isinstance(row_id, (float, np.floating)) and float(row_id).is_integer():
        return int(row_id)
    return str(row_id)


def plain_ids(row_ids: Any) -> list[PlainId]:
    """Write row ids, array or index of shape (n,), as whole numbers or as text."""
    return [plain_id(row_id) for row_id in pd.Index(row_ids)]


def has_row(index: pd.Index, row: PlainId) -> bool:
    """Return whether the index of a table contains a row of this plain id."""
    if index.inferred_type in ("integer", "string"):
        return row in index
    return row in plain_ids(index)


def named_alike(one: Dataset, other: Dataset) -> bool:
    """Return whether both tables use the same row ids."""
    chosen = [
        [name for name, role in dataset.roles.items() if role == "row id"]
        for dataset in (one, other)
    ]
    return chosen[0] == chosen[1] or one.table.index.equals(other.table.index)


def find_link(links: Sequence[Link], a: PlainId, b: PlainId) -> int | None:
    """Return the position of the link between two rows in the list, or None."""
    pairs = ({link.a, link.b} for link in links)
    return next((k for k, pair in enumerate(pairs) if pair == {a, b}), None)


def with_link(links: tuple[Link, ...], link: Link) -> tuple[Link, ...]:
    """Return the links with one more, which replaces a link between the same rows."""
    at = find_link(links, link.a, link.b)
    if at is None:
        return (*links, link)
    return (*links[:at], link, *links[at + 1 :])


def as_constraints(
    links: Sequence[Link], positions: Mapping[PlainId, int]
) -> Constraints:
    """Return the links by positions of samples; links of other rows do not count."""
    pairs: dict[Kind, list[tuple[int, int]]] = {"must": [], "cannot": []}
    for link in links:
        if link.a in positions and link.b in positions:
            pairs[link.kind].append((positions[link.a], positions[link.b]))
    return Constraints(must_link=pairs["must"], cannot_link=pairs["cannot"])


def links_as_json(
    links: Sequence[Link],
    unsure: Unsure = (),
    *,
    indent: int | None = None,
) -> str:
    """Write links by row ids, as `constraints_from_json` reads them.

    A pair has a third entry if its respondent is known.
    """
    pairs = links_as_lists(links)
    if unsure:
        pairs[UNSURE] = [list(pair) for pair in unsure]
    return json.dumps(pairs, indent=indent)


def links_as_lists(links: Sequence[Link]) -> dict[str, list[list[PlainId]]]:
    """Return links by row ids as plain values, a list for each kind."""
    return {
        f"{kind}_link": [
            [link.a, link.b, *filter(None, [link.by])]
            for link in links
            if link.kind == kind
        ]
        for kind in KINDS
    }


def links_obeyed(run: Run, in_force: Sequence[Link]) -> Sequence[Link]:
    """Return the links that the latest kept partition of a run obeys.

    Runs made by an earlier version have no record of them; these obeyed the links in
    force before their step.
    """
    made = run.kept[-1] if run.kept else {}
    if "must_link" not in made:
        return in_force
    return [
        Link(kind, *pair) for kind in KINDS for pair in made.get(f"{kind}_link", ())
    ]


def rows_without(
    links: Sequence[Link], positions: Mapping[PlainId, int]
) -> list[PlainId]:
    """Return the linked rows that are not among the samples, in order."""
    rows = dict.fromkeys(row for link in links for row in (link.a, link.b))
    return [row for row in rows if row not in positions]


def shown_rows(rows: Sequence[PlainId]) -> str:
    """Name some rows, and the number of others."""
    return first_of([str(row) for row in rows], _SHOWN)


def refuse_contradiction(links: Sequence[Link]) -> None:
    """Raise LinkError if must-links join both ends of a cannot-link.

    Rows that a run leaves out count, too, because the next run may contain them.
    """
    rows = list(dict.fromkeys(row for link in links for row in (link.a, link.b)))
    try:
        as_constraints(links, {row: k for k, row in enumerate(rows)})
    except ConstraintError as error:
        *path, (_, start, end) = error.chain
        joined = ", ".join(f"{rows[i]} – {rows[j]}" for _, i, j in path)
        chain = (
            *(Link("must", rows[i], rows[j]) for _, i, j in path),
            Link("cannot", rows[start], rows[end]),
        )
        raise LinkError(
            f"a cannot-link keeps the rows {rows[start]} and {rows[end]} apart, but "
            f"must-links join them ({joined}); remove one of these links.",
            chain,
        ) from None


def without_pair(unsure: Unsure, a: PlainId, b: PlainId) -> Unsure:
    """Return the unsure pairs without the pair of two rows."""
    return tuple(pair for pair in unsure if {*pair[:2]} != {a, b})


def links_from_file(
    file: IO[bytes], index: pd.Index
) -> tuple[tuple[Link, ...], Unsure]:
    """Read links and unsure pairs from a file of UTF-8, as `links_from_text` does."""
    return links_from_text(file.read().decode(), index)


def links_from_text(text: str, index: pd.Index) -> tuple[tuple[Link, ...], Unsure]:
    """Read links and unsure pairs from CSV or JSON, as the Report page writes them.

    Columns may be separated by commas, semicolons, tabs, "|", "^" or "~". Spaces around
    a value and blank rows are ignored, and numbers may have the form of spreadsheets
    ("7.0").

    Parameters
    ----------
    text : str
        JSON with the lists must_link, cannot_link and unsure of pairs with an optional
        third entry, the respondent; or CSV with the columns kind ("must-link",
        "cannot-link" or "unsure"), row_a, row_b and optionally by.
    index : Index
        Row ids of the table, including rows that a preparation leaves out.

    Raises
    ------
    ValueError
        If the text is neither, names rows that the table lacks, or has too many links.
    """
    is_json = text.lstrip()[:1] in ("{", "[")
    given = _pairs_of_json(text) if is_json else _pairs_of_csv(text)
    if len(given) > MOST_LINKS:
        raise ValueError(
            f"the file has {whole(len(given))} links, {whole(MOST_LINKS)} can be "
            "taken in; keep those that matter, or give labels as a column of the table."
        )
    known = {str(row): row for row in plain_ids(index)}
    ends = {end: _find(end, known) for _, a, b, _ in given for end in (a, b)}
    rows = {end: row for end, row in ends.items() if row is not None}
    unknown = [end for end in ends if end not in rows]
    if unknown:
        raise ValueError(
            f"the table has no row {first_of([repr(end) for end in unknown], _SHOWN)}; "
            "correct the file. None of its links was taken."
        )
    odd = next((by for *_, by in given if len(by) > MOST_NAME), "")
    if odd:
        raise ValueError(
            f"an answer is by {odd[:_SHOWN_NAME]!r}…, {whole(len(odd))} characters; "
            f"give a name of up to {MOST_NAME}. None of its links was taken."
        )
    found = [(kind, rows[a], rows[b], by) for kind, a, b, by in given]
    links = tuple(Link(kind, a, b, by) for kind, a, b, by in found if kind != UNSURE)
    kinds: dict[frozenset[Any], Kind] = {}
    for link in links:
        pair = frozenset((link.a, link.b))
        if kinds.setdefault(pair, link.kind) != link.kind:
            raise ValueError(
                f"the file links the rows {link.a} and {link.b} twice, as a must-link "
                "and as a cannot-link; keep one of them."
            )
    unsure = (
        (a, b, *filter(None, [by]))
        for kind, a, b, by in found
        if kind == UNSURE and a != b and frozenset((a, b)) not in kinds
    )
    return links, tuple(dict.fromkeys(unsure))


def _find(end: str, known: Mapping[str, PlainId]) -> PlainId | None:
    """Return the row named in a file, exactly or as spreadsheets write it."""
    # An apostrophe in front keeps spreadsheets from evaluating an id.
    plain = end.strip().removeprefix("'")
    ways = (end, plain, re.sub(r"(?<=\d)\.0+$", "", plain))
    return next((known[way] for way in ways if way in known), None)


def _pairs_of_json(text: str) -> list[tuple[Any, str, str, str]]:
    try:
        content = read_plain(text, len(text))
        if not isinstance(content, dict):
            raise ValueError("it is a list")
        lists = {f"{kind}_link": kind for kind in KINDS} | {UNSURE: UNSURE}
        if odd := content.keys() - lists.keys():
            raise ValueError(f"{min(odd)!r} is no list of links")
        pairs = [
            (kind, pair)
            for name, kind in lists.items()
            for pair in content.get(name, [])
        ]
        if any(
            not isinstance(pair, list) or len(pair) not in (2, 3) for _, pair in pairs
        ):
            raise ValueError("an entry is no pair")
        if any(not isinstance(by, str) for _, pair in pairs for by in pair[2:]):
            raise ValueError("who answered is no text")
        return [
            (kind, str(plain_id(a)), str(plain_id(b)), "".join(by).strip())
            for kind, (a, b, *by) in pairs
        ]
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(
            f"the file is no JSON of links ({error}); give an object with the lists "
            "must_link and cannot_link of pairs of row ids."
        ) from None


def _pairs_of_csv(text: str) -> list[tuple[Any, str, str, str]]:
    try:
        table = split_links(text)
    except ValueError as error:
        raise ValueError(
            f"the file is no CSV of links ({error}); give the columns kind, row_a and "
            "row_b."
        ) from None
    kinds = {f"{kind}-link": kind for kind in KINDS} | {UNSURE: UNSURE}
    kinds_given = [kind.strip().lower() for kind in table["kind"]]
    odd = [kind for kind in kinds_given if kind not in kinds]
    if odd:
        raise ValueError(
            f"kind {odd[0]!r} is none of 'must-link', 'cannot-link' and 'unsure'; "
            "correct the file. None of its links was taken."
        )
    # As with ids, an apostrophe keeps a name from being evaluated.
    guarded = r"^'(?=[=+\-@])"
    who = [""] * len(table)
    if "by" in table:
        who = table["by"].str.strip().str.replace(guarded, "", regex=True).tolist()
    columns = kinds_given, table["row_a"], table["row_b"], who
    return [(kinds[kind], a, b, by) for kind, a, b, by in zip(*columns, strict=True)]
