"""Constraint files: constraints as CSV and JSON by row ids, and from known labels.

Files name rows by their ids, never by position, so that constraints stay valid after
another preparation of the table. Reading and writing are linear in rows and pairs.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._plain import read_plain
from clusterlens.compute._validation import (
    DataError,
    check_choice,
    check_labels,
    check_memory,
    check_range,
)
from clusterlens.compute.ensemble.constraints import (
    Constraints,
    PairArray,
    check_constraints,
)
from clusterlens.compute.ensemble.ensemble import NOISE
from clusterlens.compute.ensemble.row_ids import RowIds, as_text, plain_ids
from clusterlens.compute.table.export import to_csv_bytes
from clusterlens.compute.table.reading import SEPARATOR_NAMES

Missing = Literal["refuse", "skip"]

CSV_COLUMNS = ("kind", "row_a", "row_b")
KINDS = ("must-link", "cannot-link")

_JSON_KEYS = ("must_link", "cannot_link")
# Files may hold pairs that an analyst could not answer; these constrain nothing.
_UNSURE = "unsure"
_SEPARATORS = "".join(SEPARATOR_NAMES).strip(" ")
_SEPARATOR_LINE = re.compile(r'\A"?sep=."?[ \t,;]*+\r?\n\s*+', re.IGNORECASE)
_END_OF_FILE = "\x1a"  # of DOS
_MOST_COLUMNS = 100
_PAIR_BYTES = 1_000_000_000


def constraints_from_labels(labels: npt.ArrayLike, unknown: int = NOISE) -> Constraints:
    """Make constraints of all pairs of samples with known labels.

    Parameters
    ----------
    labels : array-like of int, shape (n_samples,)
        Partial labels.
    unknown : int, default -1
        Label of the samples without a known class.

    Returns
    -------
    constraints : Constraints
        A must-link for every pair of equal known labels, a cannot-link for every pair
        of different ones.

    Raises
    ------
    MemoryError
        If the pairs would take more than 1 GB, from about 5,000 known labels;
        nothing has been allocated then.

    Notes
    -----
    O(n_samples + m²) time and memory for m known labels.

    References
    ----------
    Ohl, L., Lindsten, F. Discriminative ordering through ensemble consensus, section
    4.4.

    Examples
    --------
    >>> constraints = constraints_from_labels([0, -1, 0, 1])
    >>> constraints.must_link.tolist(), constraints.cannot_link.tolist()
    ([[0, 2]], [[0, 3], [2, 3]])
    """
    given = check_labels(labels)
    unknown = check_range(unknown, -(2.0**63), 2.0**63, name="unknown", integer=True)
    known = np.flatnonzero(given != unknown)
    check_memory(
        40 * len(known) * (len(known) - 1),  # pairs, their order, sorted copies
        _PAIR_BYTES,
        what=f"The pairs of {len(known)} known labels",
        remedy="keep the labels of fewer samples, chosen at random.",
    )
    first, second = np.triu_indices(len(known), k=1)
    pairs = np.stack([known[first], known[second]], axis=1)
    same = given[pairs[:, 0]] == given[pairs[:, 1]]
    return Constraints(pairs[same], pairs[~same])


def constraints_to_csv(constraints: Constraints, row_ids: npt.ArrayLike) -> bytes:
    r"""Write constraints as CSV, one line per pair.

    Parameters
    ----------
    constraints : Constraints
        Pairs of positions.
    row_ids : array-like, shape (n_samples,)
        Id of each sample; as text they must differ.

    Returns
    -------
    data : bytes
        Columns kind ("must-link" or "cannot-link"), row_a and row_b. Ids that a
        spreadsheet would compute get an apostrophe in front, see `to_csv_bytes`.

    Raises
    ------
    DataError
        If ids are equal as text, or a pair names a sample beyond the last id.

    Examples
    --------
    >>> constraints_to_csv(Constraints(must_link=[(0, 2)]), ["ada", "bob", "cy"])
    b'"kind","row_a","row_b"\n"must-link","ada","cy"\n'
    """
    constraints = check_constraints(constraints)
    names = np.array([as_text(i) for i in _checked_ids(constraints, row_ids)], object)
    pairs = np.concatenate([constraints.must_link, constraints.cannot_link])
    sizes = len(constraints.must_link), len(constraints.cannot_link)
    columns = (np.repeat(KINDS, sizes), *names[pairs].T)
    return to_csv_bytes(
        pd.DataFrame(
            {
                name: pd.Series(column, dtype="str")
                for name, column in zip(CSV_COLUMNS, columns, strict=True)
            }
        )
    )


def constraints_from_csv(
    data: bytes | str, row_ids: npt.ArrayLike, missing: Missing = "refuse"
) -> Constraints:
    """Read constraints from the CSV that `constraints_to_csv` writes.

    Parameters
    ----------
    data : bytes or str
        Content of the file, UTF-8, with columns kind, row_a and row_b in any order,
        separated by commas, semicolons, tabs, "|", "^" or "~". Lines of the kind
        "unsure" and other columns are left out.
    row_ids : array-like, shape (n_samples,)
        Id of each sample, compared as text; a whole number may be written as 1.0 or
        1,0, a date with a time.
    missing : {"refuse", "skip"}, default "refuse"
        What to do with pairs of rows that are not among row_ids, for instance because a
        preparation dropped them.

    Returns
    -------
    constraints : Constraints
        Pairs of positions in row_ids.

    Raises
    ------
    DataError
        If the file does not have this form, or it names unknown rows and missing is
        "refuse".
    ConstraintError
        If the constraints contradict each other.

    Examples
    --------
    >>> text = "kind,row_a,row_b\\ncannot-link,7,9"
    >>> constraints_from_csv(text, [9, 8, 7]).cannot_link.tolist()
    [[0, 2]]
    """
    try:
        table = split_links(_as_text(data, "data"))
    except DataError:
        raise
    except ValueError as why:
        raise DataError(
            f"data cannot be read as CSV ({why}); give UTF-8 text with the "
            f"columns {', '.join(CSV_COLUMNS)}."
        ) from None
    odd = ~table["kind"].isin((*KINDS, _UNSURE))
    if odd.any():
        raise DataError(
            f"data has the kind {table['kind'][odd].iloc[0]!r} in line "
            f"{odd.idxmax()}; give 'must-link' or 'cannot-link'."
        )
    ends = table[["row_a", "row_b"]]
    return _constraints(
        [ends[table["kind"] == kind].to_numpy().tolist() for kind in KINDS],
        row_ids,
        missing,
    )


def split_links(text: str) -> pd.DataFrame:
    r"""Split CSV of links into columns of text, without blank rows.

    Parameters
    ----------
    text : str
        A header that names at least kind, row_a and row_b, and a line per link. A line
        such as "sep=;" in front and the end-of-file mark of DOS are left out.

    Returns
    -------
    table : DataFrame
        The columns in the order of the file, by names in lower case. The index holds
        the numbers of the lines.

    Raises
    ------
    ValueError
        If the text has no such header, or a line has more cells than it.

    Examples
    --------
    >>> table = split_links("sep=;\nkind;row_a;row_b\nmust-link;1;2\n;;\n")
    >>> table.to_dict("list")
    {'kind': ['must-link'], 'row_a': ['1'], 'row_b': ['2']}
    """
    body = _SEPARATOR_LINE.sub("", text.lstrip("\ufeff\r\n")).rstrip(
        f"\r\n{_END_OF_FILE}"
    )
    before = text[: text.find(body)].count("\n")
    separator = max(_SEPARATORS, key=body.partition("\n")[0].count)
    reader = csv.reader(
        io.StringIO(body, newline=""),
        delimiter=separator,
        skipinitialspace=True,
        strict=True,
    )
    try:
        names = [name.strip().lower() for name in next(reader, [])]
        lacking = [name for name in CSV_COLUMNS if name not in names]
        if lacking:
            raise ValueError(f"no column {lacking[0]!r}")
        if len(names) > _MOST_COLUMNS:
            raise ValueError(f"it has more than {_MOST_COLUMNS} columns")
        rows = {}
        for row in reader:
            if any(cell.strip() for cell in row[len(names) :]):
                raise ValueError(
                    f"line {before + reader.line_num} has {len(row)} cells"
                )
            if any(cell.strip() for cell in row):
                cells = [*row, *[""] * len(names)]
                rows[before + reader.line_num] = cells[: len(names)]
    except csv.Error as error:
        raise ValueError(str(error)) from None
    table = pd.DataFrame(list(rows.values()), list(rows), names, dtype="str")
    return table.loc[:, ~table.columns.duplicated()]


def constraints_to_json(constraints: Constraints, row_ids: npt.ArrayLike) -> str:
    """Write constraints as JSON.

    Parameters
    ----------
    constraints : Constraints
        Pairs of positions.
    row_ids : array-like, shape (n_samples,)
        Id of each sample; as text they must differ.

    Returns
    -------
    text : str
        An object with the lists of pairs "must_link" and "cannot_link". Whole numbers
        stay numbers, other ids become text.

    Raises
    ------
    DataError
        If ids are equal as text, or a pair names a sample beyond the last id.

    Examples
    --------
    >>> constraints_to_json(Constraints(must_link=[(0, 1)]), [10, 11])
    '{"must_link": [[10, 11]], "cannot_link": []}'
    """
    constraints = check_constraints(constraints)
    ids = _checked_ids(constraints, row_ids)
    plain = [i if type(i) is int else as_text(i) for i in ids]
    return json.dumps(
        {
            key: [[plain[a], plain[b]] for a, b in getattr(constraints, key).tolist()]
            for key in _JSON_KEYS
        },
        ensure_ascii=False,
    )


def constraints_from_json(
    text: bytes | str, row_ids: npt.ArrayLike, missing: Missing = "refuse"
) -> Constraints:
    """Read constraints from the JSON that `constraints_to_json` writes.

    Parameters
    ----------
    text : bytes or str
        An object with "must_link", "cannot_link" or both: lists of pairs of row ids. A
        third entry of a pair, the analyst, and a list "unsure" are ignored.
    row_ids : array-like, shape (n_samples,)
        Id of each sample, compared as text; a whole number may be written as 1.0, a
        date with a time.
    missing : {"refuse", "skip"}, default "refuse"
        What to do with pairs of rows that are not among row_ids.

    Returns
    -------
    constraints : Constraints
        Pairs of positions in row_ids.

    Raises
    ------
    DataError
        If the text does not have this form, or it names unknown rows and missing is
        "refuse".
    ConstraintError
        If the constraints contradict each other.

    Examples
    --------
    >>> constraints_from_json('{"must_link": [["b", "a"]]}', ["a", "b"])
    Constraints(1 must-links, 0 cannot-links)
    """
    try:
        text = _as_text(text, "text")
        content = read_plain(text, len(text), len(text))
    except DataError:
        raise
    except ValueError as why:
        raise DataError(
            f"text cannot be read as JSON ({why}); give an object with "
            "must_link and cannot_link."
        ) from None
    if not isinstance(content, dict) or not set(content) <= {*_JSON_KEYS, _UNSURE}:
        raise DataError(
            "text is no JSON object of must_link and cannot_link only; give the two "
            "lists of pairs of row ids."
        )
    given = [content.get(key, []) for key in _JSON_KEYS]
    for key, pairs in zip(_JSON_KEYS, given, strict=True):
        if not isinstance(pairs, list) or not all(map(_is_pair, pairs)):
            raise DataError(
                f"{key} is not a list of pairs; give [[id, id], ...] with ids "
                "that are text or numbers."
            )
    pairs = [[pair[:2] for pair in some] for some in given]
    return _constraints(pairs, row_ids, missing)


def _as_text(content: Any, name: str) -> str:
    """Return the content of a file as text."""
    if isinstance(content, bytes):
        return content.decode("utf-8-sig")
    if not isinstance(content, str):
        raise DataError(
            f"{name} is a {type(content).__name__}; give the content of the file, as "
            "bytes or text."
        )
    return content


def _is_pair(value: Any) -> bool:
    """Check whether a JSON value is a pair of row ids, perhaps with an analyst."""
    return (
        isinstance(value, list)
        and len(value) in (2, 3)
        and all(isinstance(by, str) for by in value[2:])
        and all(isinstance(i, (str, int, float)) for i in value)
    )


def _constraints(
    pairs: Sequence[Sequence[Any]], row_ids: npt.ArrayLike, missing: Missing
) -> Constraints:
    """Look up the rows of must-links and cannot-links."""
    check_choice(missing, ("refuse", "skip"), name="missing")
    known = RowIds(row_ids)
    return Constraints(*(_look_up(some, known, missing) for some in pairs))


def _look_up(
    pairs: Iterable[Sequence[Any]], known: RowIds, missing: Missing
) -> PairArray:
    """Positions of pairs of row ids, shape (n_pairs, 2)."""
    found = []
    for pair in pairs:
        ends = [known.find(i) for i in pair]
        unknown = [i for i, end in zip(pair, ends, strict=True) if end < 0]
        if unknown and missing == "refuse":
            raise DataError(
                f"The constraints name the row {as_text(unknown[0])!r}, which is not "
                "among the row_ids; correct it, or leave such pairs out with "
                "missing='skip'."
            )
        if not unknown:
            found.append(ends)
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _checked_ids(constraints: Constraints, row_ids: npt.ArrayLike) -> list[Any]:
    """Return row ids as Python values, distinct as text, one for each sample named."""
    ids = plain_ids(row_ids)
    RowIds(row_ids)
    pairs = np.concatenate([constraints.must_link, constraints.cannot_link])
    if pairs.size and pairs.max() >= len(ids):
        raise DataError(
            f"row_ids has {len(ids)} entries, but the constraints name sample "
            f"{pairs.max()}; give one id per sample."
        )
    return ids
