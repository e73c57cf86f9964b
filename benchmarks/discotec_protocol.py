"""The published protocol of DISCOTEC: data sets, pools of models, metrics, summaries.

A pool has the models of one column of the printed tables, and a case is one pool on one
data set: a frame with one row per model, its adjusted Rand index with the classes
(`ari`), and the 24 metrics, larger being better. Details missing in the text of the
paper follow the published notebooks:

- Models see standardised features. On FCPS the 18 indices see the raw columns.
- With a fixed number of clusters, UCI has four agglomerative models, FCPS seven.
- DBSCAN runs five times, and every copy has its votes.
- Noise is one cluster; partitions of one cluster are left out.
- Models are numbered agglomerative, DBSCAN, k-means everywhere.

References
----------
Ohl, L., Lindsten, F. Discriminative ordering through ensemble consensus (2025),
sections 4.2 to 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from clusterlens.compute._run.options import RunOptions
from clusterlens.compute.ensemble.agreement import Agreement, count_agreements
from clusterlens.compute.ensemble.constraints import Constraints
from clusterlens.compute.ensemble.ensemble import Ensemble, distinct_partitions
from clusterlens.compute.indices._clusters import Clusters
from clusterlens.compute.indices._pairs import SmallestDistances
from clusterlens.compute.indices.registry import INDICES
from clusterlens.compute.pool.pool import run_pool
from clusterlens.compute.pool.presets import POOLS
from clusterlens.compute.ranking.ranking import TIE_DECIMALS, rank_partitions

COLLECTIONS = {
    "FCPS": (
        "Atom",
        "Chainlink",
        "EngyTime",
        "Hepta",
        "LSun3D",
        "Target",
        "Tetra",
        "TwoDiamonds",
        "WingNut",
    ),
    "UCI": (
        "Dermatology",
        "Digits",
        "Glass",
        "Ionosphere",
        "Iris",
        "Lung",
        "Segmentation",
        "WDBC",
        "Wine",
    ),
}
# Collections with indices computed on the raw features.
RAW = ("FCPS",)
# With scikit-learn, where the folder has no file.
BUNDLED = {
    "Digits": datasets.load_digits,
    "Iris": datasets.load_iris,
    "WDBC": datasets.load_breast_cancer,
    "Wine": datasets.load_wine,
}
# Names of the tables -> names of the library.
CONSENSUS_METRICS = {
    "AARI": "aari",
    "ANMI": "anmi",
    "H": "discotec-hellinger",
    "KL": "discotec-kl",
    "TV": "discotec-tv",
    "Binary": "discotec-binary",
}
INDEX_METRICS = [name for name in INDICES if "paper" in INDICES[name].definitions]
METRICS = [*CONSENSUS_METRICS, *INDEX_METRICS]
FAMILIES = {"Agg": "agglomerative", "DBSCAN": "DBSCAN", "Kmeans": "k-means"}
COLUMNS = {"fixed": ("Agg", "Kmeans"), "free": ("Agg", "DBSCAN", "Kmeans", "All")}


Case = tuple[tuple, Callable[[], pd.DataFrame]]


class Part(NamedTuple):
    """An experiment: names of a case's key, cases given a data folder, and a report.

    The report takes all rows and the folder for plots.
    """

    key: list[str]
    cases: Callable[[Path | None], Iterator[Case]]
    report: Callable[[pd.DataFrame, Path], None]


@dataclass(frozen=True)
class DataSet:
    """Features that models see, features that indices see, and classes."""

    collection: str
    name: str
    X: np.ndarray
    index_X: np.ndarray
    classes: np.ndarray

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.classes.max()) + 1


def data_sets(folder: Path | None) -> Iterator[DataSet]:
    """Read all sets that are there, in the order of COLLECTIONS."""
    for collection, names in COLLECTIONS.items():
        for name in names:
            found = read(folder, collection, name)
            if found is not None:
                yield found


def missing(folder: Path | None) -> list[str]:
    """Return names of the sets that are neither in the folder nor in scikit-learn."""
    there = {data.name for data in data_sets(folder)}
    return [n for names in COLLECTIONS.values() for n in names if n not in there]


def read(folder: Path | None, collection: str, name: str) -> DataSet | None:
    """Read FOLDER/collection/name.csv.gz, features first and `label` last, if there."""
    path = (folder or Path()) / collection.lower() / f"{name.lower()}.csv.gz"
    if folder is not None and path.exists():
        table = pd.read_csv(path)
        raw = table.drop(columns="label").to_numpy(float)
        labels = table["label"]
    elif name in BUNDLED:
        raw, labels = BUNDLED[name](return_X_y=True)
    else:
        return None
    X = StandardScaler().fit_transform(raw)
    classes = pd.factorize(np.asarray(labels))[0]
    return DataSet(collection, name, X, raw if collection in RAW else X, classes)


def specs(data: DataSet, protocol: str, column: str = "All") -> list[dict[str, Any]]:
    """Return specifications of a pool with a "fixed" or "free" number of clusters."""
    pool = _fixed(data) if protocol == "fixed" else _free()
    return [spec for spec in pool if column in ("All", _column(spec))]


def _fixed(data: DataSet) -> list[dict[str, Any]]:
    """Return specifications with as many clusters as classes (section 4.3.1)."""
    metrics = ["euclidean", "manhattan"] if data.collection == "FCPS" else ["manhattan"]
    trees = [
        {
            "clusterer": "agglomerative",
            "linkage": linkage,
            "metric": ["euclidean"] if linkage == "ward" else metrics,
            "n_clusters": data.n_classes,
        }
        for linkage in ("single", "complete", "ward", "average")
    ]
    return [
        *trees,
        {"clusterer": "k-means", "n_clusters": data.n_classes, "copies": 50},
    ]


def _free() -> list[dict[str, Any]]:
    """From 2 to 20 clusters, and DBSCAN (section 4.3.2)."""
    order = list(FAMILIES.values())
    return sorted(POOLS["paper"], key=lambda spec: order.index(spec["clusterer"]))


def _column(spec: Mapping[str, Any]) -> str:
    """Column of the tables that a model belongs to."""
    return next(c for c, name in FAMILIES.items() if name == spec["clusterer"])


def fit(
    data: DataSet, protocol: str, column: str = "All", random_state: int = 0
) -> Ensemble:
    """Run a pool; the seed matters to k-means."""
    return run_pool(data.X, specs(data, protocol, column), random_state, n_jobs=1)


def measure(data: DataSet, ensemble: Ensemble) -> pd.DataFrame:
    """Return one case: the names, `ari` and all metrics of each model of a pool."""
    names = pd.Series(ensemble.names, name="model")
    ari = pd.Series(truth(data, ensemble), name="ari")
    indices = index_metrics(data.index_X, ensemble)
    return pd.concat([names, ari, consensus_metrics(ensemble), indices], axis=1)


def measure_columns(data: DataSet, protocol: str) -> pd.DataFrame:
    """Return the cases of all columns of the tables, marked by `column`.

    An index does not depend on the rest of the pool and is computed once.
    """
    ensemble = fit(data, protocol)
    whole = measure(data, ensemble)
    columns = np.array([_column(spec) for spec in ensemble.specs])
    cases = []
    for column in COLUMNS[protocol]:
        members = np.flatnonzero((columns == column) | (column == "All"))
        case = whole.iloc[members].reset_index(drop=True)
        part = ensemble.select(members)
        case[list(CONSENSUS_METRICS)] = consensus_metrics(part)
        case.insert(0, "column", column)
        cases.append(case)
    return pd.concat(cases, ignore_index=True)


def truth(data: DataSet, ensemble: Ensemble) -> np.ndarray:
    """Adjusted Rand index of each model with the classes, shape (n_partitions,)."""
    return np.array([adjusted_rand_score(data.classes, row) for row in ensemble.labels])


def consensus_metrics(
    source: Ensemble | Agreement,
    metrics: Iterable[str] = CONSENSUS_METRICS,
    constraints: Constraints | None = None,
    constraint_weight: float = 1.0,
) -> pd.DataFrame:
    """Return values of metrics that compare models with each other, all six by default.

    Rounded, or identical partitions would differ in the last bits and change a rank
    correlation.
    """
    if isinstance(source, Ensemble):
        source = count_agreements(source, n_jobs=1)
    columns = {}
    for metric in metrics:
        ranking = rank_partitions(
            source,
            CONSENSUS_METRICS[metric],
            constraints=constraints,
            constraint_weight=constraint_weight,
            n_jobs=1,
        )
        sign = 1 if ranking.greater_is_better else -1
        columns[metric] = sign * np.round(ranking.values, TIE_DECIMALS)
    return pd.DataFrame(columns)


def index_metrics(X: np.ndarray, ensemble: Ensemble) -> pd.DataFrame:
    """Return the 18 indices in their `paper` definition, equal partitions once."""
    first, group = distinct_partitions(ensemble)
    run = RunOptions(n_jobs=1)
    shared = SmallestDistances(X, run, many=True)
    rows = []
    for labels in ensemble.labels[first]:
        clusters = Clusters.sort(X, labels, run, shared)
        rows.append({name: _index(name, clusters) for name in INDEX_METRICS})
    return pd.DataFrame(rows).iloc[group].reset_index(drop=True)


def _index(name: str, clusters: Clusters) -> float:
    """Value of an index, larger where it is better; NaN or the limit if undefined."""
    index = INDICES[name]
    sign = 1 if index.greater_is_better else -1
    return sign * index.definitions["paper"].measure(clusters)[0]


def correlations(case: pd.DataFrame, method: str = "kendall") -> pd.Series:
    """Return the correlation of each metric with the truth; NaN where one is constant.

    Models for which a metric is undefined are left out of its correlation.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return case.filter(METRICS).corrwith(case["ari"], method=method)


def chosen_ari(case: pd.DataFrame) -> pd.Series:
    """Truth of the model that each metric likes best, the first of equals."""
    best = {
        metric: case["ari"].loc[case[metric].idxmax()]
        for metric in METRICS
        if case[metric].notna().any()
    }
    return pd.Series(best).reindex(METRICS)


def regret(values: pd.Series) -> pd.Series:
    """Return how far each metric is behind the best metric (not the best model)."""
    return values.max() - values


def summary(rows: pd.DataFrame) -> pd.Series:
    """Return mean and standard deviation over data sets, one pair per metric."""
    pairs = zip(rows.mean(), rows.std(ddof=1), strict=True)
    return pd.Series(list(pairs), index=rows.columns)


def draw_curves(values: pd.DataFrame, along: str, path: Path) -> None:
    """Draw one axis per column; a line per value of the other index level, if any."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        1,
        values.shape[1],
        figsize=(4 * values.shape[1], 3.5),
        sharey=True,
        layout="constrained",
        squeeze=False,
    )
    for axis, (name, column) in zip(axes[0], values.items(), strict=True):
        column.unstack([n for n in values.index.names if n != along]).plot(ax=axis)
        axis.set(title=name, xlabel=along, ylabel="mean correlation")
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
