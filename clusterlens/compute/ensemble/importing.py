"""load_partitions: partitions made in other tools, as an ensemble of your rows.

A source is one table of label columns or one file per model. Rows are matched by their
ids; without ids on both sides, by position. An unknown or repeated id is an error that
names it; the meaning of a row without a label is an argument.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from clusterlens.compute._validation import (
    DataError,
    IntArray,
    as_pandas,
    check_choice,
    check_entries,
    plain_repr,
    whole_numbers,
)
from clusterlens.compute.ensemble.ensemble import NOISE, Ensemble, NoiseMeans
from clusterlens.compute.ensemble.id_tables import (
    IdTable,
    listed,
    place_rows,
    read_id_table,
)
from clusterlens.compute.ensemble.row_ids import RowIds, as_text
from clusterlens.compute.formatting import count, whole
from clusterlens.compute.table.reading import BYTES_LIMIT

Gaps = Literal["missing", "singletons", "noise", "refuse"]
Unknown = Literal["refuse", "skip"]

# Words of other tools for samples in no cluster; here the label -1 says so.
_NOISE_WORDS = frozenset(
    ("noise", "outlier", "outliers", "unassigned", "unclustered", "unclassified")
)
# How to read a table: the column of row ids, the samples, the most bytes, the labels.
_Reading = tuple[str | None, RowIds | None, int, Sequence[str]]


def load_partitions(
    source: Any,
    row_ids: npt.ArrayLike | None = None,
    *,
    columns: Sequence[str] | None = None,
    row_id: str | None = None,
    unknown: Unknown = "refuse",
    gaps: Gaps = "missing",
    noise: NoiseMeans = "cluster",
    families: str | Mapping[str, str] = "imported",
    max_bytes: int = BYTES_LIMIT,
) -> Ensemble:
    """Read partitions made in other tools.

    Parameters
    ----------
    source : DataFrame, mapping, path, file object, bytes, sequence of these, or AnnData
        Label columns: a table with one column per model (a DataFrame, the `obs` of an
        AnnData, or a CSV, TSV, Parquet, NumPy or Excel file), a mapping of model names
        to label vectors (a Series is joined by its index), or one file per model (a
        sequence of files, a mapping of names to files, a folder). Labels are whole
        numbers or texts; -1 is noise.
    row_ids : array-like, shape (n_samples,), optional
        Ids of the samples of the ensemble, in its order (`Dataset.row_ids`), compared
        as text. Default: the rows of the first table, in its order.
    columns : sequence of str, optional
        The columns that hold labels. Default: all but the column of row ids.
    row_id : str, optional
        The column of row ids. Default: the index of a DataFrame, unless it counts 0, 1,
        2, ... to the last row; else a column named like ids; in a file also a column
        that looks like ids, or its first column with distinct values. If there is none,
        rows are matched by position.
    unknown : {"refuse", "skip"}, default "refuse"
        What to do with rows that are not among row_ids, for instance because a
        preparation dropped them.
    gaps : {"missing", "singletons", "noise", "refuse"}, default "missing"
        Meaning of a sample without a label, or without a row in the source: the model
        did not see it and has no vote on its pairs (see the Notes of `Ensemble`); a
        cluster of its own, which this model joins with no other sample; the label -1
        with the meaning of `noise`; or an error.
    noise : {"cluster", "singletons", "silent"}, default "cluster"
        As for `Ensemble`.
    families : str or mapping of str to str, default "imported"
        Kind of clusterer, for all models or by name of the model.
    max_bytes : int, default 2_000_000_000
        As for `load_table`, per file.

    Returns
    -------
    ensemble : Ensemble
        One partition per label column. Names are the column names, or the file names
        for files of one label column. `specs` hold the source, the column, the number
        of gaps, and the texts behind the codes ("classes"). Notes report how each
        file was read, skipped rows and columns, and samples without a label.

    Raises
    ------
    DataError
        If a file cannot be read, ids are unknown or repeated, lengths disagree without
        ids, or a column holds no labels.

    Notes
    -----
    Linear in the number of cells. Files of `clue`, `diceR` and ConsensusClusterPlus
    written as CSV are such tables: samples in rows, one column per partition, an
    unnamed or first column of sample names, NA where a run left a sample out.

    Examples
    --------
    >>> table = pd.DataFrame({"a": ["x", "x", "y"], "b": [1, 2, 2]}, index=[7, 8, 9])
    >>> load_partitions(table, row_ids=[9, 8, 7]).labels.tolist()
    [[1, 0, 0], [2, 2, 1]]
    """
    check_choice(unknown, ("refuse", "skip"), name="unknown")
    check_choice(gaps, ("missing", "singletons", "noise", "refuse"), name="gaps")
    if not isinstance(families, str | Mapping):
        raise ValueError(
            f"families is {plain_repr(families)}; give a text for all models, or a "
            "dict of one for each."
        )
    if not isinstance(row_id, str | int | None):
        raise ValueError(
            f"row_id is {plain_repr(row_id)}; give the name of a column, or None."
        )
    wanted = None if columns is None else check_entries(columns, "columns")
    known = None if row_ids is None else RowIds(row_ids)
    reading = (row_id, known, max_bytes, wanted or ())
    tables = list(_tables(source, "", reading))
    if not tables:
        raise DataError("source holds no partitions; give at least one label column.")
    first = tables[0]
    if known is None:
        numbered = np.arange(len(first.frame))
        known = RowIds(numbered if first.ids is None else first.ids)
    notes = _equal_notes(tables)
    found: list[_Partition] = []
    for table in tables:
        place, remarks = _places(table, known, unknown)
        notes += remarks
        for column, values in _label_columns(table, wanted):
            found.append(_partition(table, column, values, place, known.texts, gaps))
    names = _names(found, tables)
    return Ensemble(
        [one.labels for one in found],
        names,
        _families(families, names),
        noise,
        specs=[one.spec for one in found],
        notes=[
            *dict.fromkeys(notes),
            *_gap_notes(found, names, len(known), gaps),
            *_word_notes(found, names),
            *_membership_notes(found),
        ],
        missing=[one.missing for one in found] if gaps == "missing" else None,
    )


class _Partition(NamedTuple):
    """One model: its table, labels and gaps (n_samples,), and their source."""

    table: IdTable
    labels: IntArray
    missing: npt.NDArray[np.bool_]
    spec: dict[str, Any]


def _tables(source: Any, title: str, reading: _Reading) -> Iterator[IdTable]:
    """Yield the tables of a source."""
    if isinstance(getattr(source, "obs", None), pd.DataFrame):
        yield _table_of_obs(source.obs, title, reading)
    elif isinstance(source, Mapping):
        for name, entry in source.items():
            yield from _entry_tables(str(name), entry, reading)
    elif isinstance(source, (list, tuple)):
        for entry in source:
            yield from _tables(entry, title, reading)
    elif isinstance(source, (str, os.PathLike)) and Path(source).is_dir():
        for path in sorted(Path(source).iterdir()):
            if path.is_file():
                yield read_id_table(path, title, *reading)
    elif _is_table(source):
        yield read_id_table(source, title, *reading)
    else:
        raise DataError(
            f"source is, or holds, a value of type {type(source).__name__}; give a "
            "DataFrame, files, or a mapping of model names to label vectors."
        )


def _is_table(source: Any) -> bool:
    """Check whether an object is a DataFrame of any library, or a file."""
    is_file = isinstance(source, (str, os.PathLike, bytes, bytearray, memoryview))
    is_file = is_file or hasattr(source, "read")
    return is_file or isinstance(as_pandas(source), pd.DataFrame)


def _entry_tables(name: str, entry: Any, reading: _Reading) -> Iterator[IdTable]:
    """Yield the tables of one entry of a mapping: a label vector, or a file."""
    entry = as_pandas(entry)
    if not isinstance(entry, pd.DataFrame) and hasattr(entry, "__array__"):
        entry = entry if isinstance(entry, pd.Series) else np.asarray(entry)
    if isinstance(entry, (list, tuple, np.ndarray, pd.Series)):
        yield read_id_table(pd.Series(entry, name=name).to_frame(), "")
    else:
        yield from _tables(entry, name, reading)


def _table_of_obs(obs: pd.DataFrame, title: str, reading: _Reading) -> IdTable:
    """Take the categories from the annotations; numbers there are measurements."""
    labels = obs.select_dtypes(exclude="number")
    left_out = obs.columns.difference(labels.columns)
    table = read_id_table(labels, title or "obs", *reading)
    note = f"Numeric annotations are no labels: {listed(left_out)} left out."
    return replace(table, notes=[*table.notes, *[note] * bool(len(left_out))])


def _places(
    table: IdTable, known: RowIds, unknown: Unknown
) -> tuple[IntArray, list[str]]:
    """Return the sample of each row of a table, -1 for rows to skip, and notes."""
    places = place_rows(table, known)
    if table.ids is None:
        return places, [f"{table}: no row ids, rows taken by position."]
    strange = [i for i, place in zip(table.ids, places, strict=True) if place < 0]
    if not strange:
        return places, []
    if unknown == "refuse" or len(strange) == len(places):
        raise DataError(
            f"{table} has {len(strange)} of {len(places)} rows that are not among the "
            f"row ids: {listed(strange)}; correct them, or leave such rows out with "
            "unknown='skip' if others are known."
        )
    return places, [
        f"{table}: {count(len(strange), 'row')} skipped, not known: {listed(strange)}."
    ]


def _label_columns(
    table: IdTable, columns: list[Any] | None
) -> Iterator[tuple[str, pd.Series]]:
    """Yield the columns of labels."""
    chosen: list[Any] = [*table.values] if columns is None else columns
    if not chosen:
        raise DataError(
            f"{table} has no column of labels besides that of row ids; give at least "
            "one."
        )
    for name in chosen:
        yield name, table.column(name)


def _partition(
    table: IdTable,
    column: str,
    values: pd.Series,
    place: IntArray,
    samples: Sequence[str],
    gaps: Gaps,
) -> _Partition:
    """Return the labels of the samples of one column, with gaps filled by the rule."""
    codes, classes = _codes(table, column, values)
    labels = np.zeros(len(samples), np.int64)
    missing = np.ones(len(samples), bool)
    used = (place >= 0) & values.notna().to_numpy()
    labels[place[used]], missing[place[used]] = codes[used], False
    at = np.flatnonzero(missing)
    if len(at) and gaps == "refuse":
        raise DataError(
            f"{table}, column {column!r}: {len(at)} of {len(samples)} samples have no "
            f"label, {listed(samples[i] for i in at.tolist())}; label them, or "
            "choose what a gap means with gaps='singletons' or 'noise'."
        )
    if len(at) == len(samples):
        raise DataError(
            f"{table}, column {column!r} has no label; leave it out with columns=[...]."
        )
    if gaps == "singletons":
        free = np.setdiff1d(np.arange(len(samples)), labels[~missing])
        labels[at] = free[: len(at)]
    else:
        labels[at] = NOISE
    spec = {"source": table.title, "column": column, "gaps": len(at)}
    if classes is not None:
        spec["classes"] = classes
    return _Partition(table, labels, missing, spec)


def _codes(
    table: IdTable, column: str, values: pd.Series
) -> tuple[IntArray, list[str] | None]:
    """Return labels (n_rows,), 0 in gaps: whole numbers unchanged, texts numbered."""
    if values.dtype == np.int64:
        return values.to_numpy(), None
    if pd.api.types.is_bool_dtype(values.dtype):
        values = values.astype("Int64")
    labelled = values.dropna()
    is_numeric = pd.api.types.is_numeric_dtype(values.dtype)
    if (
        is_numeric
        or values.dtype == object
        or isinstance(values.dtype, pd.CategoricalDtype)
    ):
        numbers = whole_numbers(labelled.to_numpy(None if is_numeric else object))
        if numbers is not None:
            codes = np.zeros(len(values), np.int64)
            codes[values.notna()] = numbers
            return codes, None
    if is_numeric:
        is_label = labelled.abs() < 2.0**63
        is_label &= False if np.iscomplexobj(labelled) else labelled % 1 == 0
        raise DataError(
            f"{table}, column {column!r} holds {labelled[~is_label].iloc[0]:g}, which "
            "is no label; give whole numbers from -2^63 to 2^63 - 1 or texts, or leave "
            "the column out with columns=[...]."
        )
    if (
        values.dtype == object
        and not (plain := values.map(pd.api.types.is_scalar)).all()
    ):
        raise DataError(
            f"{table}, column {column!r} holds {plain_repr(values[~plain].iloc[0])}, "
            "which is no label; give whole numbers or texts, or leave the column out "
            "with columns=[...]."
        )
    texts = values.map(as_text, na_action="ignore").astype("str")
    texts = texts.mask(texts.str.fullmatch(r"-?\d+\.0+"), texts.str.split(".").str[0])
    if texts.dropna().str.fullmatch(r"0|-?[1-9]\d{0,17}").all():
        return texts.fillna("0").astype(np.int64).to_numpy(), None
    codes, classes = pd.factorize(texts.mask(texts == str(NOISE)), sort=True)
    codes = np.where(texts == str(NOISE), NOISE, np.maximum(codes, 0))
    return codes, [str(name) for name in classes]


def _names(found: Sequence[_Partition], tables: Sequence[IdTable]) -> list[str]:
    """Name models by their columns, or by files that hold one model each."""
    names = []
    for table, *_, spec in found:
        parts = [table.title, spec["column"]]
        if table.title and table.values.shape[1] == 1:
            parts = parts[:1]
        elif not table.title or len(tables) == 1:
            parts = parts[1:]
        names.append(" ".join(parts))
    total, seen = Counter(names), Counter[str]()
    for t, name in enumerate(names):
        seen[name] += 1
        if total[name] > 1:
            names[t] = f"{name} ({seen[name]})"
    return names


def _families(families: str | Mapping[str, str], names: Sequence[str]) -> list[str]:
    """Return the family of each model."""
    if isinstance(families, str):
        return [families] * len(names)
    unknown = sorted(set(families) - set(names))
    absent = [name for name in names if name not in families]
    if unknown or absent:
        what = "names no model" if unknown else "leaves out"
        raise DataError(
            f"families {what} {listed(unknown or absent)}; give the family of each of "
            f"{listed(names)}."
        )
    return [families[name] for name in names]


def _equal_notes(tables: Sequence[IdTable]) -> list[str]:
    """Collect the notes on reading, merging equal notes of several tables."""
    titles: dict[str, list[str]] = {}
    for table in tables:
        for note in table.notes:
            titles.setdefault(note, []).append(table.title)
    return [
        f"{'source' if names == [''] else listed(names)}: {note}"
        for note, names in titles.items()
    ]


def _gap_notes(
    found: Sequence[_Partition], names: Sequence[str], n_samples: int, gaps: Gaps
) -> list[str]:
    """Describe how many samples have no label, and what that means."""
    meaning = {
        "missing": "that model says nothing about them",
        "singletons": "each is a cluster of its own in that model",
        "noise": f"it is noise ({NOISE}) in that model",
    }
    models = {
        name: one.spec["gaps"]
        for one, name in zip(found, names, strict=True)
        if one.spec["gaps"]
    }
    if not models:
        return []
    fewest, most = min(models.values()), max(models.values())
    span = whole(most) if fewest == most else f"{whole(fewest)} to {whole(most)}"
    return [
        f"{listed(models)}: {span} of {whole(n_samples)} samples without a label; "
        f"{meaning[gaps]}."
    ]


def _word_notes(found: Sequence[_Partition], names: Sequence[str]) -> list[str]:
    """Name labels that seem to mean noise, but are clusters here."""
    words: dict[str, list[str]] = {}
    for one, name in zip(found, names, strict=True):
        for word in one.spec.get("classes", ()):
            if word.strip().lower() in _NOISE_WORDS:
                words.setdefault(word, []).append(name)
    return [
        f"{listed(models)}: {word!r} is a cluster like the others; write {NOISE} for "
        "samples in no cluster."
        for word, models in words.items()
    ]


def _membership_notes(found: Sequence[_Partition]) -> list[str]:
    """Name tables with columns that seem to be the clusters of one partition."""
    notes = []
    for _, of_table in groupby(found, key=lambda one: id(one.table)):
        columns = list(of_table)
        labels = [one.labels for one in columns]
        binary = all(own.min() == 0 and own.max() == 1 for own in labels)
        if len(columns) > 1 and binary and (np.add.reduce(labels) == 1).all():
            notes.append(
                f"{columns[0].table}: each row has 1 in one of the {len(columns)} "
                "columns and 0 in the others. They are read as partitions of two "
                "clusters; if they are the clusters of one partition, write it as one "
                "column of labels."
            )
    return notes
