from typing import Any

from .compute import (
    assigning as assigning,
    consensus as consensus,
    ensemble as ensemble,
    estimators as estimators,
    fuzzy as fuzzy,
    indices as indices,
    pool as pool,
    ranking as ranking,
    scale as scale,
    table as table,
)
from .compute._run.context import running as running
from .compute._run.options import Cancelled as Cancelled
from .compute._validation import DataError as DataError
from .compute.assigning import *
from .compute.consensus import *
from .compute.ensemble import *
from .compute.estimators import *
from .compute.fuzzy import *
from .compute.indices import *
from .compute.pool import *
from .compute.ranking import *
from .compute.scale import *
from .compute.table import *
from .compute.warm import compile_kernels as compile_kernels

__version__: str

# Said here, as whoever checks a program need not read the user interface for it.
def explore(
    data: Any,
    X: Any = None,
    *,
    pool: Any = "quick",
    random_state: int = 0,
    height: int = ...,
) -> Any: ...
def plot_consensus(
    ensemble: Ensemble,
    by: str = "tree",
    *,
    kind: str = "consensus",
    threshold: int | None = None,
) -> Any: ...
def plot_ranking(ranking: Ranking, n: int = 30, *, models: Any = None) -> Any: ...
def plot_map(
    data: Any, labels: Any = None, *, width: int = 560, height: int = 420
) -> Any: ...
def plot_models(model_map: ModelMap, ranking: Ranking | None = None) -> Any: ...
def plot_threshold(agreement: Agreement, n: int = 3) -> Any: ...
def plot_k_evidence(selection: KSelection, k: int | None = None) -> Any: ...
def plot_criterion(
    grid: CriterionGrid,
    n_clusters: int | None = None,
    *,
    setting: Any = None,
    chosen: Any = None,
    tried: Any = (),
) -> Any: ...
def plot_class_pairs(check: LabelCheck, names: Any = None) -> Any: ...
def plot_memberships(projection: Projection, solution: LiveSolution) -> Any: ...
def plot_drift(drift: Drift, n: int = 30) -> Any: ...
