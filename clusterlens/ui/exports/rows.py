"""Rows: the original table with labels of a model, and other tables to take away."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.ranking.ranking import Ranking
from clusterlens.compute.ranking.robustness import Robustness
from clusterlens.compute.table.dataset import Dataset
from clusterlens.compute.table.export import attach_labels, to_csv_bytes
from clusterlens.ui.analysis import Link


def labelled_rows(
    samples: Dataset,
    ensemble: Ensemble,
    model: int,
    names: npt.NDArray[np.object_] | None = None,
) -> pd.DataFrame:
    """Add the labels of a model, and its memberships, to the original rows.

    Columns and row ids stay as they were read; rows that the preparation left out have
    no label. `names`, shape (n_samples,), are what the analyst calls the clusters.
    """
    name = ensemble.names[model]
    columns: dict[str, npt.ArrayLike] = {f"cluster ({name})": ensemble.labels[model]}
    if names is not None:
        columns["cluster name"] = names
    soft = ensemble.memberships.get(model)
    if soft is not None:
        columns |= {
            f"membership {k + 1} ({name})": soft[:, k] for k in range(soft.shape[1])
        }
    return attach_labels(samples, columns)


def rows_to_csv(table: pd.DataFrame) -> bytes:
    """Write rows as CSV with their ids first."""
    return to_csv_bytes(table, index=True)


def rows_to_parquet(table: pd.DataFrame) -> bytes:
    """Write rows as Parquet with their ids as index."""
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(table.rename_axis("row id")), out)
    return out.getvalue()


def ranking_table(ranking: Ranking, robustness: Robustness | None) -> pd.DataFrame:
    """Return all models best first, with the ranges of their ranks where known."""
    table = ranking.to_frame()
    if robustness is not None:
        more = robustness.to_frame()
        new = [name for name in more.columns if name not in table.columns]
        table = table.join(more[new])
    return table


def links_to_csv(links: Sequence[Link]) -> bytes:
    """Write links as CSV by row ids, as `constraints_from_csv` reads them."""
    table = pd.DataFrame(
        {
            "kind": [f"{link.kind}-link" for link in links],
            "row_a": [str(link.a) for link in links],
            "row_b": [str(link.b) for link in links],
        },
        dtype="str",
    )
    return to_csv_bytes(table)


def links_to_json(links: Sequence[Link]) -> bytes:
    """Write links as JSON by row ids, as `constraints_from_json` reads them."""
    pairs = {
        f"{kind}_link": [[link.a, link.b] for link in links if link.kind == kind]
        for kind in ("must", "cannot")
    }
    return json.dumps(pairs, indent=1).encode()
