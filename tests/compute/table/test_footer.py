"""The footer of Parquet files: what pyarrow says of it, where pyarrow survives it."""

import io
import random
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import clusterlens as cl
from clusterlens.compute.table.footer import claimed_sizes


def packed(table, **options):
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def mixed(n=5000):
    rng = np.random.default_rng(0)
    lists = [list(range(k % 7)) for k in range(n)]
    return pa.table(
        {
            "x": rng.normal(size=n),
            "word": pa.array([f"w{k % 50}" for k in range(n)]).dictionary_encode(),
            "list": lists,
            "record": [{"a": k, "b": [k] * (k % 3)} for k in range(n)],
            "gaps": pa.array([None if k % 3 else k for k in range(n)]),
            "flag": rng.random(n) > 0.5,
        }
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"row_group_size": 700, "compression": "zstd"},
        {"write_page_index": True, "use_dictionary": False},
        {"store_schema": False, "version": "1.0"},
        {"sorting_columns": [pq.SortingColumn(0)], "write_page_checksum": True},
    ],
)
def test_chunks_are_those_that_pyarrow_names(options):
    data = packed(mixed(), **options)
    meta = pq.ParquetFile(io.BytesIO(data)).metadata
    expected = [
        (j, chunk.num_values, chunk.total_uncompressed_size)
        for k in range(meta.num_row_groups)
        for j in range(meta.num_columns)
        for chunk in [meta.row_group(k).column(j)]
    ]
    assert list(claimed_sizes(data, meta.num_columns)) == expected


def test_wide_files_and_long_metadata_are_walked():
    wide = pa.table({f"column {j}": [j] for j in range(300)})
    data = packed(wide.replace_schema_metadata({"note": "x" * 100_000}))
    assert [j for j, _, _ in claimed_sizes(data, 300)] == list(range(300))


def test_a_damaged_footer_is_refused_in_words_and_soon():
    data = packed(mixed(50))
    rng = random.Random(0)
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    refused = 0
    for _ in range(2000):
        mutant = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            mutant[rng.randrange(start, len(mutant))] = rng.randrange(256)
        try:
            found = list(claimed_sizes(bytes(mutant), 7))
        except ValueError:
            refused += 1
        else:
            assert all(min(entry) >= 0 for entry in found)
    assert refused > 100
    endless = b"PAR1" + b"\x19" + b"\x80" * 100_000
    endless += (100_001).to_bytes(4, "little") + b"PAR1"
    with pytest.raises(ValueError, match="footer is damaged"):
        list(claimed_sizes(endless, 7))


def test_no_damaged_file_ends_the_process(tmp_path):
    """Statistics that do not fit each other: pyarrow would end it."""
    frame = pd.DataFrame({"a": [1.5, 2.5] * 10, "b": ["x", "y"] * 10})
    data = packed(pa.Table.from_pandas(frame))
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for k in range(800, 900):  # the 836th did
        rng = random.Random(k)
        mutant = bytearray(data)
        for _ in range(2):
            mutant[rng.randrange(start, len(mutant) - 8)] = rng.randrange(256)
        (tmp_path / f"{k}.parquet").write_bytes(mutant)
    code = f"""
import clusterlens as cl
n = 0
for k in range(800, 900):
    try:
        cl.load_table({str(tmp_path)!r} + f"/{{k}}.parquet")
    except cl.DataError:
        n += 1
print(n)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
    assert int(done.stdout) > 20
    assert cl.load_table(data).table["a"].tolist() == frame["a"].tolist()
