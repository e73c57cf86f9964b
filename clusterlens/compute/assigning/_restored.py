"""Reading a segmentation from a file of any origin.

Sizes stated in the archive and the footers of its Parquet files are checked before
memory is taken, and every field before it is used.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clusterlens.compute._plain import Record, largest_unpacked, read_json
from clusterlens.compute._validation import (
    UNLABELLED,
    DataError,
    FloatArray,
    IntArray,
    read_only,
)
from clusterlens.compute.assigning._baseline import Baseline
from clusterlens.compute.assigning._record import SegmentationRecord
from clusterlens.compute.assigning._stored import ABOUT, FORMAT, ODD, ROWS
from clusterlens.compute.assigning.assigner import Assigner
from clusterlens.compute.formatting import whole
from clusterlens.compute.table.footer import claimed_sizes
from clusterlens.compute.table.plain_preparation import preparation_from_plain

MAX_BYTES = 400_000_000
_MOST = 1 << 53
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    OSError,
    ValueError,
    pa.ArrowException,
)


def read_kept(data: bytes) -> SegmentationRecord:
    """Return the segmentation in a file of any origin, or raise DataError."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            n_bytes = len(data)
            text = _member(archive, ABOUT, n_bytes)
            about = read_json(text, "the segmentation", MAX_BYTES)
            _check_format(about)
            rows, odd = (
                _numbers(_member(archive, name, n_bytes), n_bytes)
                for name in (ROWS, ODD)
            )
    except DataError:
        raise
    except _DAMAGED as error:
        raise DataError(f"it is damaged or no segmentation ({error!s:.80})") from None
    return _kept(about, rows, odd)


def _member(archive: zipfile.ZipFile, name: str, n_bytes: int) -> bytes:
    """Return a part of an archive, after checking its stated size."""
    info = archive.getinfo(name)
    packed = min(info.compress_size, n_bytes)
    if info.file_size > largest_unpacked(packed, MAX_BYTES):
        raise DataError(f"its part {name} claims {whole(info.file_size)} bytes")
    with archive.open(info) as file:
        return file.read(MAX_BYTES + 1)


def _check_format(about: Record) -> None:
    version = about.whole("format", 1, _MOST)
    if version > FORMAT:
        made = about.text("made by")
        raise DataError(
            f"it was written by {made:.40} in format {version}, this version knows "
            f"{FORMAT}; update ClusterLens"
        )


def _numbers(data: bytes, n_packed: int) -> dict[str, FloatArray]:
    """Return the columns of a Parquet file of finite numbers, sizes checked first."""
    file = pq.ParquetFile(pa.BufferReader(data))
    meta = file.metadata
    flat = all(field.type == pa.float64() for field in file.schema_arrow)
    claimed = claimed_sizes(data, meta.num_columns)
    n_bytes = sum(max(8 * n, unpacked) for _, n, unpacked in claimed)
    n_bytes = max(n_bytes, 8 * meta.num_rows * meta.num_columns)
    if not flat or n_bytes > largest_unpacked(n_packed, MAX_BYTES):
        raise DataError("it holds rows that are no numbers, or too many of them")
    table = file.read()
    table.validate(full=True)
    columns = {name: table[name].to_numpy() for name in table.column_names}
    if not all(np.isfinite(column).all() for column in columns.values()):
        raise DataError("it holds rows that are no finite numbers")
    return columns


def _kept(
    about: Record, rows: dict[str, FloatArray], odd: dict[str, FloatArray]
) -> SegmentationRecord:
    preparation = preparation_from_plain(about.part("preparation"))
    clusters = _labels(about, "clusters")
    names = about.texts("names")
    counts = _counts(about, "counts", len(clusters))
    if len(names) != len(clusters):
        raise DataError("the segmentation: names are not one per cluster")
    is_first = about.whole("format", 1, FORMAT) == 1
    assigner = _assigner(about.part("assigner"), rows, odd, is_first)
    if not set(assigner.clusters.tolist()) <= set(clusters.tolist()):
        raise DataError("the segmentation: the assigner has clusters of its own")
    width = len(preparation.get_feature_names_out())
    if assigner.centres.shape[1] != width:
        raise DataError("the segmentation: centres do not fit the preparation")
    known = [column.name for column in preparation.columns_]
    columns = tuple(_column(part) for part in about.parts("columns"))
    if [column.name for column in columns] != known:
        raise DataError("the segmentation: columns do not fit the preparation")
    _check_levels(columns, preparation.columns_)
    return SegmentationRecord(
        title=about.text("title"),
        assigner=assigner,
        preparation=preparation,
        names=dict(zip(clusters.tolist(), names, strict=True)),
        row_id=None if about.get("row id") is None else about.text("row id"),
        clusters=clusters,
        counts=counts,
        columns=columns,
    )


def _assigner(
    about: Record,
    rows: dict[str, FloatArray],
    odd: dict[str, FloatArray],
    is_first: bool,
) -> Assigner:
    clusters = _labels(about, "clusters")
    k = len(clusters)
    centres = about.array("centres", k, -1)
    wanted = ["cluster", *(f"feature {j}" for j in range(centres.shape[1]))]
    if not centres.size or list(rows) != wanted or list(odd) != ["cluster", "oddness"]:
        raise DataError("the segmentation: prototypes do not fit the centres")
    codes = _codes(rows["cluster"], k)
    if len(codes) and len(np.unique(codes)) < k:
        raise DataError("the segmentation: a cluster has no prototype")
    rule = about.text("rule", ("neighbours", "density", "centres"))
    least = 0 if rule == "centres" else 1
    agreement = about.part("agreement")
    curve = about.array("curve", 2, -1)
    if not curve.size or (np.diff(curve[0]) < 0).any():
        raise DataError("the segmentation: the curve does not ascend")
    if curve[1].min() < 0 or curve[1].max() > 1:
        raise DataError("the segmentation: the curve leaves 0 to 1")
    scales = about.array("scales", k)
    if (scales <= 0).any():
        raise DataError("the segmentation: a scale is not above 0")
    n_neighbors = about.whole("neighbours", least, 1000 * least)
    if rule != "centres" and not len(codes):
        raise DataError("the segmentation: it has no prototypes to vote")
    if rule == "density" and not (
        clusters[0] == UNLABELLED and n_neighbors < len(codes)
    ):
        raise DataError("the segmentation: its rule does not fit its prototypes")
    of_cluster = _codes(odd["cluster"], k)
    sizes = _counts(about, "sizes", k)
    expected, widening = sizes / max(sizes.sum(), 1), np.empty((2, 0))
    if not is_first:
        expected, widening = about.array("expected", k), _widening(about)
    if expected.min() < 0 or expected.max() > 1:
        raise DataError("the segmentation: an expected share leaves 0 to 1")
    return Assigner(
        clusters=clusters,
        sizes=sizes,
        rule=rule,
        n_neighbors=n_neighbors,
        centres=read_only(centres),
        scales=read_only(scales),
        rows=read_only(np.column_stack([rows[name] for name in wanted[1:]])),
        codes=read_only(codes),
        curve=read_only(curve),
        held_out=tuple(
            read_only(np.sort(odd["oddness"][of_cluster == c])) for c in range(k)
        ),
        agreement={key: agreement.number(key, 0, 1) for key in agreement.names()},
        reproduced=about.number("reproduced", 0, 1),
        calibration_error=_share(about, "calibration error"),
        expected=read_only(expected),
        dispersion=0.0 if is_first else about.number("dispersion", 0),
        widening=read_only(widening),
        repeated=np.nan if is_first else _share(about, "repeated"),
    )


def _share(about: Record, key: str) -> float:
    """Return a number from 0 to 1, NaN if there is none."""
    return np.nan if about.get(key) is None else about.number(key, 0, 1)


def _widening(about: Record) -> FloatArray:
    """Return p-values and their widened values, both up to 1."""
    curve = about.array("widening", 2, -1)
    if curve.size and (
        (np.diff(curve) < 0).any() or curve.min() < 0 or (curve[:, -1] != 1).any()
    ):
        raise DataError("the segmentation: widening does not ascend to 1")
    return curve


def _column(about: Record) -> Baseline:
    edges = None if about.get("edges") is None else about.array("edges", -1)
    if edges is not None and (np.diff(edges) <= 0).any():
        raise DataError("the segmentation: bins of a column do not ascend")
    n = -1 if edges is None else len(edges) + 2
    return Baseline(about.text("name"), edges, _counts(about, "counts", n))


def _check_levels(columns: tuple[Baseline, ...], known: tuple[Any, ...]) -> None:
    for column, one in zip(columns, known, strict=True):
        n_levels = len(one.levels)
        has = len(column.counts) - 1 if column.edges is None else 0
        if n_levels != has:
            raise DataError(f"the segmentation: counts of {one.name!r} do not fit")


def _labels(about: Record, key: str) -> IntArray:
    values = about.array(key, -1)
    labels = np.clip(values, -_MOST, _MOST).astype(np.int64)
    if not len(values) or (np.diff(values) <= 0).any() or (labels != values).any():
        raise DataError(f"the segmentation: {key} are no ascending labels")
    return read_only(labels)


def _counts(about: Record, key: str, length: int) -> IntArray:
    values = about.array(key, length)
    if (values < 0).any() or (values != np.floor(values)).any() or values.max() > _MOST:
        raise DataError(f"the segmentation: {key} are no counts")
    return read_only(values.astype(np.int64))


def _codes(values: FloatArray, k: int) -> IntArray:
    codes = np.clip(values, -1, k).astype(np.int64)
    if (codes != values).any() or (codes < 0).any() or (codes >= k).any():
        raise DataError("the segmentation: rows of a cluster that is not there")
    return codes
