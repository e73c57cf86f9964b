"""Labels joined to the original rows, and a CSV that spreadsheets open safely."""

from __future__ import annotations

import codecs
import io
from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from clusterlens.compute._validation import check_flag, check_mapping, plain_repr
from clusterlens.compute.table.dataset import Dataset, check_dataset

_NUMBER = r"^[+-]?([0-9]+([.,][0-9]+)*|[.,][0-9]+)([eE][+-]?[0-9]+)?$"


def attach_labels(ds: Dataset, labels: Mapping[str, npt.ArrayLike]) -> pd.DataFrame:
    """Add columns of labels to the original rows.

    Parameters
    ----------
    ds : Dataset
        A prepared dataset.
    labels : mapping of str to array-like of shape (n_samples,)
        For each new column one label per row of ds.X, in the order of ds.row_ids.

    Returns
    -------
    table : DataFrame of shape (n_rows, n_columns + n_labels)
        All rows and columns of ds.table in their order, then the new columns. Rows that
        `prepare` dropped have a missing label; copies have the label of the row that
        represents them. A new column with a name that is taken gets " (2)", " (3)", ...
        appended.

    Raises
    ------
    ValueError
        If there is not one label per row of ds.X.

    Notes
    -----
    Linear in the number of cells. Whole numbers stay whole: integer columns with gaps
    have the type Int64.

    Examples
    --------
    >>> from clusterlens.compute.table.dataset import prepare
    >>> ds = prepare({"size": [1.0, None, 3.0, 4.0]})
    >>> attach_labels(ds, {"cluster": [7, 8, 8]})["cluster"].tolist()
    [7, <NA>, 8, 8]
    """
    ds = check_dataset(ds)
    labels = check_mapping(labels, name="labels", to="one label per row of ds.X")
    n_samples = len(ds.X)
    columns: dict[str, pd.Series] = {}
    for name, given in labels.items():
        values = np.asarray(given)
        if values.shape != (n_samples,):
            raise ValueError(
                f"labels[{plain_repr(name)}] has shape {values.shape} for {n_samples} "
                "samples; give one label per row of X."
            )
        column = pd.Series(values)
        if column.dtype.kind in "iu":
            column = column.astype("Int64" if column.dtype.kind == "i" else "UInt64")
        free = free_name(str(name), {*ds.table.columns, *columns})
        columns[free] = column.reindex(ds.positions).set_axis(ds.table.index)
    return pd.concat([ds.table, pd.DataFrame(columns, index=ds.table.index)], axis=1)


def free_name(name: str, taken: Collection[str]) -> str:
    """Return name, with " (2)", " (3)", ... appended if it is taken."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free


def to_csv_bytes(
    table: pd.DataFrame, *, index: bool = False, encoding: str = "utf-8"
) -> bytes:
    r"""Write a table as CSV that a spreadsheet opens without running formulas.

    Parameters
    ----------
    table : DataFrame
        Any table, e.g. of `attach_labels`.
    index : bool, default False
        Whether the row ids go first, in a column named "row id".
    encoding : str, default "utf-8"
        "utf-8-sig" adds the mark by which spreadsheets recognise UTF-8.

    Returns
    -------
    data : bytes
        Comma-separated, text quoted, a dot as decimal mark, empty cells for missing
        values.

    Notes
    -----
    Text cells and column names that begin with ``=``, ``+``, ``-``, ``@`` (also of
    full width), a tab or a line break get an apostrophe in front, because spreadsheets
    would compute them. Numbers are never altered, neither in numeric columns nor as
    text such as "-5": they are written in the shortest form that reads back as the
    same value.

    Examples
    --------
    >>> to_csv_bytes(pd.DataFrame({"a": ["=1+1", "-5"], "b": [-1.5, None]}))
    b'"a","b"\n"\'=1+1",-1.5\n"-5",\n'
    """
    if not isinstance(table, pd.DataFrame):
        raise ValueError(f"Table is a {type(table).__name__}; give a DataFrame.")
    _check_encoding(encoding)
    if check_flag(index, name="index"):
        table = table.copy(deep=False)
        table.insert(0, free_name("row id", set(table.columns)), table.index)
    columns = [_safe_column(table.iloc[:, j]) for j in range(table.shape[1])]
    names = protect(pa.array([str(n) for n in table.columns], pa.string())).to_pylist()
    out = io.BytesIO()
    pa_csv.write_csv(pa.Table.from_arrays(columns, names=names), out)
    text = out.getvalue()
    return text if encoding == "utf-8" else text.decode().encode(encoding)


def _check_encoding(encoding: object) -> None:
    """Check that encoding is a known name."""
    try:
        codecs.lookup(encoding)  # type: ignore[arg-type]
    except (LookupError, TypeError, ValueError):
        raise ValueError(
            f"encoding is {encoding!r}; give the name of one, such as 'utf-8' or "
            "'utf-8-sig'."
        ) from None


def _safe_column(values: pd.Series) -> pa.Array | pa.ChunkedArray:
    """Return a column (n,) for writing: text protected, unusual types as text."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(values.cat.categories.dtype)
    if not _writable(values):
        values = values.map(str, na_action="ignore").astype("str")
    array = pa.array(values, from_pandas=True)
    if pa.types.is_timestamp(array.type):
        array = _dates(array)
    is_text = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
    return protect(array) if is_text else array


def _writable(values: pd.Series) -> bool:
    """Check whether a column has numbers, truth values, text or dates."""
    kind = values.dtype
    return not pd.api.types.is_object_dtype(kind) and (
        pd.api.types.is_string_dtype(kind)
        or pd.api.types.is_datetime64_any_dtype(kind)
        or kind.kind in "biuf"
    )


def _dates(array: pa.Array) -> pa.Array:
    """Write days as days, and times with no more digits than they have."""
    text = pc.cast(array, pa.string())
    midnight = pc.all(pc.match_substring_regex(text, r" 00:00:00(\.0+)?Z?$")).as_py()
    pattern = r" 00:00:00(\.0+)?Z?$" if midnight else r"\.0+(Z?)$"
    return pc.replace_substring_regex(text, pattern, "" if midnight else r"\1")


def protect(text: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Put an apostrophe in front of text that a spreadsheet would compute."""
    starts = pc.match_substring_regex(text, r"^[\x00-\x1f=+@＝＋－＠-]")
    formula = pc.and_(starts, pc.invert(pc.match_substring_regex(text, _NUMBER)))
    return pc.if_else(formula, pc.replace_substring_regex(text, "^", "'"), text)
