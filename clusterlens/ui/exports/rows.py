"""Rows: the original table with labels of a model, and other tables to download."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from clusterlens.compute.ensemble.contingency import match_labels
from clusterlens.compute.ranking.ranking import Ranking
from clusterlens.compute.ranking.robustness import Robustness
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.export import attach_labels, to_csv_bytes
from clusterlens.ui.state.analysis import Link
from clusterlens.ui.state.links import UNSURE, Unsure, links_as_json
from clusterlens.ui.widgets.palette import cluster_name, file_labels, noise_last


def file_stem(name: str) -> str:
    """Return the name of a table as the stem of a file name."""
    return re.sub(r"[^\w.-]+", "-", name.rsplit(".", 1)[0])[:60].strip("-.") or "table"


def labelled_rows(
    samples: Dataset,
    clusters: npt.NDArray[np.int64],
    names: Mapping[int, str],
    soft: npt.NDArray[np.float64] | None = None,
) -> pd.DataFrame:
    """Add a partition to the original rows.

    Columns and row ids stay unchanged; rows that the preparation left out have no
    cluster. The new columns have the same names as in the script, for every partition,
    so that programs can read the file of another partition, too.

    Parameters
    ----------
    samples : Dataset
        The prepared table of n samples.
    clusters : array of int, shape (n,)
        Cluster of each sample by its number on screen from 0, noise -1; written from 1.
    names : mapping of int to str
        Names of clusters; the others have their number.
    soft : array of float, shape (n, K), optional
        Memberships.
    """
    found, at = np.unique(clusters, return_inverse=True)
    called = np.array([cluster_name(k, names) for k in found.tolist()], object)
    columns: dict[str, npt.ArrayLike] = {
        "cluster": file_labels(clusters),
        "cluster name": called[at],
    }
    if soft is not None:
        named = membership_columns(clusters, soft)
        columns |= {name: soft[:, k] for name, k in named.items()}
    return attach_labels(samples, columns)


def membership_columns(
    clusters: npt.NDArray[np.int64], soft: npt.NDArray[np.float64]
) -> dict[str, int]:
    """Name memberships (n, K) by cluster (n,), and map each name to its column.

    The number in a name is the cluster's number on screen. Memberships that are no
    row's largest come last.
    """
    top = soft.argmax(axis=1)
    found, first = np.unique(top, return_index=True)
    numbers = (match_labels(noise_last(clusters), top)[first] + 1).tolist()
    unmatched = np.setdiff1d(np.arange(soft.shape[1]), found)
    at = dict(zip(numbers, found.tolist(), strict=True))
    at |= dict(enumerate(unmatched.tolist(), max(numbers) + 1))
    return {f"membership {number}": at[number] for number in sorted(at)}


def rows_to_csv(table: pd.DataFrame) -> bytes:
    """Write rows as CSV with their ids first."""
    return to_csv_bytes(table, index=True)


def rows_to_parquet(table: pd.DataFrame) -> bytes:
    """Write rows as Parquet with their ids as index."""
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(table.rename_axis("row id")), out)
    return out.getvalue()


def ranking_table(ranking: Ranking, robustness: Robustness | None) -> pd.DataFrame:
    """Return all models best first, with the ranges of their ranks if known."""
    table = ranking.to_frame()
    if robustness is not None:
        more = robustness.to_frame()
        new = [name for name in more.columns if name not in table.columns]
        table = table.join(more[new])
    return table


def links_to_csv(links: Sequence[Link], unsure: Unsure = ()) -> bytes:
    """Write links as CSV by row ids, as `constraints_from_csv` reads them.

    If any respondent is known, a column names the respondents.
    """
    rows = [(f"{link.kind}-link", str(link.a), str(link.b), link.by) for link in links]
    rows += [(UNSURE, str(a), str(b), "".join(map(str, by))) for a, b, *by in unsure]
    table = pd.DataFrame(rows, columns=["kind", "row_a", "row_b", "by"], dtype="str")
    return to_csv_bytes(table if table["by"].any() else table.drop(columns="by"))


def links_to_json(links: Sequence[Link], unsure: Unsure = ()) -> bytes:
    """Write links as JSON by row ids, as `constraints_from_json` reads them."""
    return links_as_json(links, unsure, indent=1).encode()
