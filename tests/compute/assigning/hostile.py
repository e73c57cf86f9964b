"""A table with names, texts, types and gaps that would break a careless query."""

import duckdb
import numpy as np
import pandas as pd

import clusterlens as cl

NAMES = ['si"ze', "=1+1", "it's; DROP TABLE rows; --", "ταχύς {0}", "select", "a b"]
TEXTS = ["a'b", "A'B", "=HYPERLINK(1)", "+x*", "+x?", "@", '"q"', "a%_"]


def hostile_table(n=400):
    """Mixed columns that follow one of three groups (n,), and the groups."""
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=n)
    size = (group + rng.normal(scale=0.5, size=n)).round(2)
    size[:4] = [np.nan, np.inf, -np.inf, 0.5]
    counts = group * 7 + rng.integers(10, size=n)
    counts[5:25] = -999  # a code for "no value"
    texts = np.array(TEXTS, dtype=object)[(group * 3 + rng.integers(5, size=n)) % 8]
    texts[30:36] = None
    days = pd.Timestamp("2024-03-01 06:00") + pd.to_timedelta(
        group * 30 + rng.integers(45, size=n), "D"
    )
    single = (group + rng.normal(scale=0.4, size=n)).astype(np.float32).round(1)
    level = np.array(["low", "medium", "high"])[(group + (rng.random(n) < 0.3)) % 3]
    columns = [size, counts, texts, days, single, level]
    table = pd.DataFrame(dict(zip(NAMES, columns, strict=True)))
    table["flag"] = pd.array(
        (group == 1) ^ (rng.random(n) < 0.2), dtype="boolean"
    ).copy()
    table.loc[40:43, "flag"] = pd.NA
    table.loc[50] = None
    return table, group


def hostile_dataset(n=400):
    """The table prepared with dates as a feature, and its groups."""
    table, group = hostile_table(n)
    ds = cl.prepare(table, roles={NAMES[3]: "numeric", "flag": "categorical"})
    return ds, group[ds.table.index.get_indexer(ds.row_ids)]


def by_duckdb(query, table, name="rows"):
    """The last column that a query gives, row by row, None where it has no value."""
    engine = duckdb.connect()
    engine.register("source", table.reset_index(drop=True))
    quoted = name.replace('"', '""')
    engine.execute(f'CREATE TABLE "{quoted}" AS SELECT * FROM source')
    last = engine.execute(f"DESCRIBE {query}").fetchall()[-1][0].replace('"', '""')
    found = engine.execute(f'SELECT "{last}" FROM ({query})').fetchall()
    return [cluster for (cluster,) in found]


def as_list(clusters):
    """A column of clusters as Python values, None where there is none."""
    return [None if pd.isna(cluster) else cluster for cluster in clusters]
