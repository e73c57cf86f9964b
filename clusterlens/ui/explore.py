"""explore: the page Consensus in a notebook."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from sklearn.decomposition import TruncatedSVD

from clusterlens.compute._validation import DataError, FloatArray, check_features
from clusterlens.compute.ensemble.ensemble import Ensemble
from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.ranking.voting import CHOSEN_VOTES, VoteBy, vote_weights
from clusterlens.compute.table.dataset import Dataset, make_dataset, prepare
from clusterlens.ui.composition import new_session
from clusterlens.ui.pages.consensus.page import ConsensusPage
from clusterlens.ui.server.server import Server
from clusterlens.ui.state.analysis import Analysis, Run
from clusterlens.ui.state.history import Step
from clusterlens.ui.widgets.toolkit import pn

HEIGHT = 760


def explore(
    data: Any,
    X: Any = None,
    *,
    pool: Any = "quick",
    random_state: int = 0,
    height: int = HEIGHT,
) -> Any:
    """Show ranking, map and matrices of a consensus in a notebook, linked and live.

    Parameters
    ----------
    data : Ensemble, Dataset, DataFrame or array-like
        Partitions, or a table of features on which the pool is run first.
    X : array-like of shape (n_samples, n_features) or Dataset, optional
        Features of the samples of an Ensemble, for the map. Default: the two leading
        components of the memberships in all clusters, which place samples near each
        other if many partitions join them.
    pool : str or list of dict, default "quick"
        Pool to run if data is a table, as for `run_pool`.
    random_state : int, default 0
        Seed of the pool.
    height : int, default 760
        Height of the workbench in pixels.

    Returns
    -------
    view : panel.Column
        The workbench of the Consensus page; the last line of a cell shows it.

    Raises
    ------
    DataError
        If X has another number of rows than the partitions.

    Notes
    -----
    The page computes on threads of this process while it is shown, so the notebook must
    be running.
    """
    votes: VoteBy = "models"
    if isinstance(data, Ensemble):
        ensemble, dataset = data, _dataset(_places(data) if X is None else X)
    else:
        dataset = _dataset(data)
        ensemble = run_pool(dataset.X, pool, random_state=random_state)
        votes = CHOSEN_VOTES
        ensemble = ensemble.with_weights(vote_weights(ensemble, votes))
    if ensemble.n_samples != len(dataset.X):
        raise DataError(
            f"X has {len(dataset.X)} rows for partitions of {ensemble.n_samples} "
            "samples; give one row per sample."
        )
    session = new_session(_server())
    entries = () if isinstance(data, Ensemble) or isinstance(pool, str) else pool
    made = Run(
        "r1", "run 1", dataset, tuple(entries), random_state, ensemble, votes=votes
    )
    analysis = Analysis(table=dataset, dataset=dataset, runs_made=1).with_run(made)
    session.history.do(Step("explore", "Explore", analysis))
    session.view_state.page = "consensus"
    pn.extension("tabulator")
    page = ConsensusPage(session)
    page.set_visible(True)
    return pn.Column(page.view, height=height, sizing_mode="stretch_width")


@cache
def _server() -> Server:
    """Return the server of all workbenches of a notebook, without a store."""
    return Server()


def _dataset(table: Any) -> Dataset:
    """Prepare a table; an array is taken as features without preparation."""
    if isinstance(table, Dataset):
        return table if table.prepared is not None else prepare(table)
    if isinstance(table, pd.DataFrame):
        return prepare(make_dataset(table))
    X = check_features(table)
    names = [f"x{k + 1}" for k in range(X.shape[1])]
    return prepare(make_dataset(pd.DataFrame(X, columns=names)), scale="none")


def _places(ensemble: Ensemble) -> FloatArray:
    """Return two leading components of the one-hot rows, shape (n_samples, 2)."""
    n = ensemble.n_samples
    starts = np.cumsum([0, *ensemble.n_codes[:-1]])
    seen = np.array([ensemble.seen_by(t) for t in range(ensemble.n_partitions)])
    columns = (ensemble.codes_and_gaps + starts[:, None])[seen]
    rows = np.broadcast_to(np.arange(n), seen.shape)[seen]
    shape = (n, max(int(ensemble.n_codes.sum()), 3))
    one_hot = coo_array((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()
    return TruncatedSVD(2, random_state=0).fit_transform(one_hot)
