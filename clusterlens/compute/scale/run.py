"""run_at_scale: pool and consensus of a table of any length."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from clusterlens.compute._run.context import takes_running
from clusterlens.compute._run.options import Cancel, Progress, RunOptions
from clusterlens.compute._validation import (
    RandomState,
    check_choice,
    check_mapping,
    check_optional_text,
    check_random_state,
    check_range,
)
from clusterlens.compute.assigning.assigner import ALPHA
from clusterlens.compute.pool.specs import Pool
from clusterlens.compute.scale.folder import RunFolder, check_out
from clusterlens.compute.scale.result import ScaledRun, read_run
from clusterlens.compute.scale.source import UNREADABLE_RULES, open_source
from clusterlens.compute.scale.stages import (
    FEWEST_LANDMARKS,
    MOST_DRAWN,
    Stages,
    check_held_back,
)
from clusterlens.compute.table.preparation import CATEGORICAL_RULES, SCALERS
from clusterlens.compute.table.streamed_preparation import STREAMED_MISSING_RULES

if TYPE_CHECKING:
    from distributed import Client

N_LANDMARKS = 20_000
_CHOICES = (
    ("missing", STREAMED_MISSING_RULES),
    ("scale", tuple(SCALERS)),
    ("categorical", CATEGORICAL_RULES),
    ("unreadable", UNREADABLE_RULES),
)


@takes_running
def run_at_scale(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    pool: Pool = "default",
    random_state: RandomState = 0,
    *,
    n_landmarks: int = N_LANDMARKS,
    n_held_back: int | None = None,
    rare_share: float = 0.0,
    roles: Mapping[str, str] | None = None,
    row_id: str | None = None,
    missing: str = "median",
    scale: str = "standard",
    categorical: str = "one-hot",
    alpha: float = ALPHA,
    unreadable: str = "stop",
    n_jobs: int | None = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    client: Client | str | None = None,
) -> ScaledRun:
    """Run a pool of clusterings on landmarks and label every row of a large table.

    Parameters
    ----------
    source : path
        A Parquet file, or a folder of them; folders named `key=value` are columns.
    out : path
        Folder for the results. An interrupted run in it continues; a complete run is
        returned.
    pool : str or sequence, default "default"
        As in `run_pool`.
    random_state : int, Generator or None, default 0
        Seed of everything random.
    n_landmarks : int, default 20000
        Rows that the models are fitted to, at least 100.
    n_held_back : int, optional
        Further rows. Fits of the pool to 19 samples of them measure the error of the
        landmarks, if there are at least 1,900; 0 for no such measurement. Default:
        samples of a quarter of the landmarks, at least 200 rows each.
    rare_share : float, default 0
        Share of the landmarks that are drawn by a rule that favours rare and outlying
        rows, below 1; the others are drawn uniformly. See the Notes.
    roles : mapping of str to str, optional
        Roles of columns, as in `prepare`; other roles are guessed.
    row_id : str, optional
        Column that identifies the rows, kept beside the labels.
    missing : {"median", "mean", "most frequent", "refuse"}, default "median"
        As in `prepare`.
    scale, categorical : str
        As in `prepare`.
    alpha : float, default 0.05
        Rate at which rows like the landmarks may be called "nowhere", in (0, 1).
    unreadable : {"stop", "skip"}, default "stop"
        What to do with a file that cannot be read: name it and stop, or go on without.
    n_jobs : int, optional
        Threads and worker processes. Default: all cores.
    progress : callable, optional
        Called as progress(done, total), in thousandths of the work.
    cancel : callable, optional
        Asked between blocks; True stops. Finished files stay in `out`.
    client : dask.distributed.Client or str, optional
        Cluster that fits the pool and labels the rows, or the address of its scheduler.
        Its workers must reach `source` and `out` by the same paths. Needs the extra
        "dask".

    Returns
    -------
    run : ScaledRun
        Models with scores and errors, sizes of the clusters, notes.

    Raises
    ------
    DataError
        If the table cannot be read or prepared, a file has changed since the run began,
        or `out` holds something else.
    ValueError
        If an argument is out of range, or no model of the pool survives.
    Cancelled
        If `cancel` said so.

    Notes
    -----
    The preparation is learnt from all rows in one pass: exactly, but for quantiles of
    columns with more than 100,000 different numbers; a note says their error. Dates,
    lists and text of more than 100,000 different values are no features.

    Models and consensus are fitted to the landmarks; `Assigner` carries their labels
    over to every row. Scores are estimated from rows that are drawn from all
    (`rank_progressively`), distances between models are exact.

    Rare landmarks come from a second pass: half of their expected number is divided
    equally among up to 64 cells of k-means, half goes by squared distance from the
    centre of the cell (Bachem, Lucic & Krause 2017). `landmarks.parquet` holds weights
    with which sums over the landmarks are unbiased. No method of the pool obeys them.

    The error compares assigned labels of held-back rows with the pool fitted to 19
    samples of these rows: the median and the smallest adjusted Rand index. A fit to all
    rows agrees at least as much as the smallest with a chance of 95% or more, if it
    differs from the landmarks as these fits do. Settings that count rows, such as
    `min_cluster_size`, mean another model on more rows.

    Labelling takes O(n T) time for n rows and T models. Memory depends on the landmarks
    and on pieces of 131,072 rows, not on n. Each piece is a file, which appears when it
    is complete.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3_000, 2)) + np.repeat([[0, 0], [9, 9], [0, 9]], 1_000, 0)
    >>> pool = [{"clusterer": "k-means", "n_clusters": [2, 3, 4]}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame(X, columns=["x", "y"]).to_parquet(f"{folder}/table.parquet")
    ...     run = run_at_scale(
    ...         f"{folder}/table.parquet", f"{folder}/out", pool, n_landmarks=500
    ...     )
    >>> len(run.models), run.n_labelled, run.n_landmarks
    (3, 3000, 500)
    >>> len(run.clusters), int(run.clusters["rows"].sum()) + run.n_nowhere
    (3, 3000)
    """
    run = RunOptions(n_jobs, progress, cancel, None, client)
    asked = _checked(locals())
    path = check_out(out)
    opened = open_source(source, unreadable)
    folder = RunFolder(
        path, {**asked, "files": [asdict(file) for file in opened.files]}
    )
    if (known := read_run(path)) is not None:
        return known
    return Stages(folder, opened, pool, asked, run).finish()


def _checked(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that decide on the result, as plain values."""
    roles = {} if given["roles"] is None else given["roles"]
    roles = check_mapping(roles, name="roles", to="roles")
    n = check_range(
        given["n_landmarks"],
        FEWEST_LANDMARKS,
        MOST_DRAWN,
        name="n_landmarks",
        integer=True,
    )
    return {
        "pool": repr(given["pool"]),
        "random_state": check_random_state(given["random_state"]),
        "n_landmarks": int(n),
        "n_held_back": check_held_back(given["n_held_back"], int(n)),
        "rare_share": check_range(given["rare_share"], 0, 0.999, name="rare_share"),
        "roles": {str(name): str(role) for name, role in roles.items()},
        "row_id": check_optional_text(given["row_id"], name="row_id"),
        "alpha": check_range(given["alpha"], 1e-9, 1 - 1e-9, name="alpha"),
    } | {name: check_choice(given[name], known, name=name) for name, known in _CHOICES}
