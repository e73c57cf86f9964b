"""CLUSTERERS: the clustering algorithms a pool can run, with their costs.

One line adds another algorithm:

    CLUSTERERS["my clusterer"] = Clusterer("density", "my clusterer", MyClusterer)

The cost laws give seconds on one ordinary core and bytes at the peak, from the shape of
the data alone; they are calibrated to within a factor of about three. For algorithms
that use the shared table of neighbours, they exclude the time of the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.cluster import (
    DBSCAN,
    HDBSCAN,
    OPTICS,
    AffinityPropagation,
    AgglomerativeClustering,
    Birch,
    KMeans,
    MiniBatchKMeans,
    SpectralClustering,
)

from clusterlens.compute.estimators.border_peeling import BorderPeeling
from clusterlens.compute.estimators.cns.cns import (
    CNS,
    largest_neighborhood,
    solving_seconds,
)
from clusterlens.compute.estimators.features import FeatureLinkage, LandmarkSpectral
from clusterlens.compute.estimators.fuzzy_c_means import FuzzyCMeans
from clusterlens.compute.estimators.genie import Genie
from clusterlens.compute.estimators.graph_communities import GraphCommunities
from clusterlens.compute.estimators.knn_mean_shift import KNNMeanShift
from clusterlens.compute.estimators.sampled_dbscan import SampledDBSCAN
from clusterlens.compute.estimators.selected_models import (
    HDBSCANDBCV,
    GaussianMixtureBIC,
    KMeansSilhouette,
)
from clusterlens.compute.estimators.selective_nn import SelectiveNN
from clusterlens.compute.estimators.spanning_trees import MAX_PLAIN_SAMPLES
from clusterlens.compute.estimators.spherical_k_means import SphericalKMeans
from clusterlens.compute.estimators.spuds import SPUDS
from clusterlens.compute.estimators.torque import LISTED, TorqueClustering
from clusterlens.compute.estimators.units import (
    UnitBayesianMixture,
    UnitBisectingKMeans,
    UnitGaussianMixture,
    UnitMeanShift,
)
from clusterlens.compute.pool._features import (
    feature_tree_labels,
    feature_tree_steps,
    landmark_spectral_labels,
    landmark_steps,
)
from clusterlens.compute.pool._genie import genie_cut, genie_steps
from clusterlens.compute.pool._spectral import spectral_labels, spectral_steps
from clusterlens.compute.pool._trees import agglomerative_steps, cut_agglomerative
from clusterlens.compute.pool.clusterer import (
    Clusterer,
    Iterations,
    Law,
    Parameters,
)
from clusterlens.compute.pool.optics import optics_labels, optics_steps
from clusterlens.compute.pool.sharing import Share
from clusterlens.compute.pool.spanning import (
    dbscan_labels,
    dbscan_steps,
    hdbscan_labels,
    hdbscan_steps,
)


def _k(parameters: Parameters) -> int:
    """Return the requested number of clusters; eight if it is not a number."""
    k = parameters.get("n_clusters") or parameters.get("n_components")
    return k if isinstance(k, int) and k > 0 else 8


def _assignments(n: int, parameters: Parameters) -> int:
    """Distances of samples to centres that one iteration of every start computes."""
    starts = parameters.get("n_init", 1)
    return n * _k(parameters) * (starts if isinstance(starts, int) else 1)


def _covariance(d: int, parameters: Parameters) -> int:
    """Factor of the work per distance if covariances have d² entries."""
    full = parameters.get("covariance_type", "full") in ("full", "tied")
    return d * d if full else 0


def _is_single(parameters: Parameters) -> bool:
    """Whether the linkage is single, which never stores the distances."""
    return parameters.get("linkage") == "single"


def _is_dense(parameters: Parameters) -> bool:
    """Whether spectral clustering has an affinity of every pair of samples."""
    return parameters.get("affinity", "rbf") != "nearest_neighbors"


def _within(parameters: Parameters) -> float:
    """Share of all pairs of samples within eps of each other."""
    return float(parameters.get("share_within_eps", 0.02))


def _apart(share: float) -> dict[str, Any]:
    """Refer to a quantile of the distances of all pairs."""
    return {"quantile": share, "of": "pair distances"}


def neighbour_quantile(share: float) -> dict[str, Any]:
    """Refer to a quantile of the distances to the fifth neighbour."""
    return {"quantile": share, "of": "neighbour distances"}


def sample_share(share: float, at_most: int | None = None) -> dict[str, Any]:
    """Refer to a share of the number of samples."""
    limit = {} if at_most is None else {"at_most": at_most}
    return {"share": share, "of": "samples", **limit}


def _root(root: float, at_least: int) -> dict[str, Any]:
    """Refer to a root of the number of samples."""
    return {"root": root, "of": "samples", "at_least": at_least}


# Numbers of clusters grow with the table, because large tables hold more groups and no
# model could find these if all stopped at 15. The cube root is the growth of the bins
# of a histogram (Rice's rule); above 3,375 samples it exceeds 15. The other number lies
# between. K-means and trees use them; they would make mixtures expensive.
_MANY = [_root(3.5, 15), _root(3, 15)]


def _on_features(grid: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Run linkages that need all distances on features; keep single linkage."""
    given = grid.get("linkage", "ward")
    linkages = [given] if isinstance(given, str) else list(given)
    features = [linkage for linkage in linkages if linkage != "single"]
    name = "agglomerative on features"
    grids = [{**grid, "clusterer": name, "linkage": features}] if features else []
    if "single" in linkages:
        grids.append({**grid, "linkage": ["single"]})
    return grids


def _on_landmarks(grid: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Use landmarks in place of the graph of all samples."""
    kept = {key: value for key, value in grid.items() if key == "n_clusters"}
    return [{"clusterer": "spectral on landmarks", **kept}]


def _pairs(seconds_per_pair: float) -> Law:
    """Time of a method that computes the distances of all pairs of samples."""
    return lambda n, d, p: 0.02 + seconds_per_pair * n * n * (d + 10)


def _table(n: int, parameters: Parameters) -> int | None:
    """Neighbours that border peeling and selective neighbours use."""
    given = parameters.get("n_neighbors", 20)
    return given if type(given) is int and given > 0 else None


def _links(n: int, parameters: Parameters) -> int | None:
    """Neighbours among which communities are found."""
    given = parameters.get("n_neighbors", 15)
    return min(given, n - 1) if type(given) is int and given > 0 else None


def _torque_table(n: int, parameters: Parameters) -> int | None:
    """Neighbours that Torque uses; none if it transforms the data first."""
    return LISTED if parameters.get("metric", "euclidean") == "euclidean" else None


def _cns_table(n: int, parameters: Parameters) -> int | None:
    """Neighbours that CNS uses; none if it transforms the data first."""
    if parameters.get("metric", "euclidean") != "euclidean":
        return None
    try:
        return largest_neighborhood(
            parameters.get("n_neighbors", "auto"),
            parameters.get("version", "revised"),
            n,
        )
    except ValueError:  # the fit will report it
        return None


def _sampled_seconds(n: int, d: int, parameters: Parameters) -> float:
    """Time on the sample, and for assigning the other rows."""
    sample = 0.25 + 0.17 * d if d <= 5 else 0.95 + 0.011 * d
    return sample + n * min(1.2e-7 * 2 ** (d / 1.5), 1.4e-5 + 4e-7 * d)


_METRICS = {"metric": ["euclidean", "cosine"]}

CLUSTERERS: dict[str, Clusterer] = {
    "k-means": Clusterer(
        "k-means",
        "k-means",
        KMeans,
        grid={"n_clusters": [2, 3, 4, 5, 6, 8, 10, 15, *_MANY]},
        seconds=lambda n, d, p: 0.004 + 8e-9 * _assignments(n, p) * (d + 10),
        iterations=Iterations(20, 70, 0.004, grows=True),
        reference="Arthur & Vassilvitskii (2007), k-means++",
        meaning="Round groups of similar width, the ones nearest to their centres.",
    ),
    "mini-batch k-means": Clusterer(
        "k-means",
        "mini-batch k-means",
        MiniBatchKMeans,
        grid={"n_clusters": [3, 6]},
        seconds=lambda n, d, p: 0.007 + 1e-6 * n + 1e-9 * n * _k(p) * (d + 10),
        reference="Sculley (2010), Web-scale k-means clustering",
        meaning=(
            "Groups of k-means from small draws of rows, a rougher and faster answer."
        ),
    ),
    "bisecting k-means": Clusterer(
        "k-means",
        "bisecting k-means",
        UnitBisectingKMeans,
        grid={"n_clusters": [4, 8]},
        seconds=lambda n, d, p: (
            0.003 + 1e-3 * _k(p) + 1.5e-8 * n * (d + 10) * np.log2(_k(p) + 1)
        ),
        reference="Steinbach, Karypis & Kumar (2000)",
        meaning=(
            "Groups of k-means found by splitting the widest in two, so that they nest."
        ),
    ),
    "spherical k-means": Clusterer(
        "k-means",
        "spherical k-means",
        SphericalKMeans,
        grid={"n_clusters": [2, 3, 5, 8]},
        seconds=lambda n, d, p: 0.004 + 1e-8 * _assignments(n, p) * (d + 10),
        iterations=Iterations(3, 20, 0.004, grows=True),
        meaning="Rows that point in the same direction from the mean, near or far.",
        reference="Dhillon & Modha (2001), doi:10.1023/A:1007612920971",
    ),
    "agglomerative": Clusterer(
        "agglomerative",
        "{linkage} linkage",
        AgglomerativeClustering,
        grid={
            "linkage": ["ward", "average", "complete", "single"],
            "n_clusters": [3, 5, 10, _root(3, 10)],
        },
        seconds=lambda n, d, p: (
            0.02 + n * n * (2e-9 + 1.4e-10 * d)
            if _is_single(p)
            else 0.02 + n * n * (1.7e-8 + 2.5e-10 * d)
        ),
        n_bytes=lambda n, d, p: 1e7 + 100 * n + (0 if _is_single(p) else 8) * n * n,
        max_samples=15_000,
        reference="Müllner (2011), Modern hierarchical, agglomerative clustering",
        share=Share(agglomerative_steps, cut_agglomerative),
        beyond=_on_features,
        meaning=(
            "Groups that nest: compact ones by Ward, average and complete linkage, "
            "chains of any shape by single linkage."
        ),
    ),
    "agglomerative on features": Clusterer(
        "agglomerative",
        "{linkage} linkage on features",
        FeatureLinkage,
        grid={
            "linkage": ["ward", "average", "complete"],
            "n_clusters": [3, 5, 10, _root(3, 10)],
        },
        seconds=lambda n, d, p: 0.1 + 1000 * n * (1.1e-8 + 4e-10 * d),
        n_bytes=lambda n, d, p: 1e8 + 24.0 * n * (d + 1),
        share=Share(feature_tree_steps, feature_tree_labels),
        reference="Zhang, Ramakrishnan & Livny (1996), BIRCH, cluster features",
        meaning=(
            "The trees of agglomerative clustering for tables too large for all "
            "distances."
        ),
    ),
    "Genie": Clusterer(
        "spanning tree",
        "Genie {gini_threshold}",
        Genie,
        grid={
            "gini_threshold": [0.1, 0.3, 0.5],
            "n_clusters": [2, 3, 5, 8],
            "min_samples": [5],
        },
        seconds=lambda n, d, p: 0.01 + n * n * (1.5e-9 + 4.5e-10 * d),
        max_samples=300_000,
        share=Share(genie_steps, genie_cut, lambda n, d, p: 0.001 + 1e-7 * n),
        reference="Gagolewski, Bartoszuk & Cena (2016), doi:10.1016/j.ins.2016.05.003",
        meaning=(
            "Groups of any shape, as by single linkage, but of similar sizes, so "
            "that outliers take no cluster of their own."
        ),
    ),
    "Birch": Clusterer(
        "agglomerative",
        "Birch",
        Birch,
        grid={"threshold": [_apart(0.001)], "n_clusters": [3, 5, 10]},
        seconds=lambda n, d, p: 0.03 + 2e-5 * n,
        n_bytes=lambda n, d, p: 1e7 + 0.5 * n * n,
        max_samples=50_000,
        reference="Zhang, Ramakrishnan & Livny (1996)",
        meaning=(
            "Groups of Ward's kind from small balls of rows, which smooth single "
            "rows away."
        ),
    ),
    "DBSCAN": Clusterer(
        "density",
        "DBSCAN",
        DBSCAN,
        grid={"eps": [neighbour_quantile(q) for q in (0.8, 0.9, 0.95, 0.99)]},
        seconds=lambda n, d, p: 0.01 + n * n * (6e-11 * d + 3e-8 * _within(p)),
        n_bytes=lambda n, d, p: 1e7 + 24.0 * n * n * _within(p),
        max_samples=300_000,
        share=Share(dbscan_steps, dbscan_labels, lambda n, d, p: 0.001 + 3e-7 * n),
        reference="Ester, Kriegel, Sander & Xu (1996)",
        meaning=(
            "Dense groups of any shape at one density; rows in sparse places are noise."
        ),
    ),
    "DBSCAN on a sample": Clusterer(
        "density",
        "DBSCAN on a sample",
        SampledDBSCAN,
        grid={"quantile": [0.6, 0.65, 0.7, 0.75, 0.8], "min_samples": [150]},
        seconds=_sampled_seconds,
        n_bytes=lambda n, d, p: 1e8 + 24.0 * n * (d + 1),
        least_samples=MAX_PLAIN_SAMPLES,
        reference="Jang & Jiang (2019), DBSCAN++, arXiv:1810.13105",
        meaning=(
            "Dense groups of a large table at a scale that does not shrink as it grows."
        ),
    ),
    "HDBSCAN": Clusterer(
        "density",
        "HDBSCAN",
        HDBSCAN,
        grid={
            "min_cluster_size": [sample_share(s) for s in (0.01, 0.025, 0.05, 0.1)],
            "min_samples": [5],
            "copy": [True],
        },
        seconds=lambda n, d, p: 0.01 + n * n * (1.5e-9 + 4.5e-10 * d),
        max_samples=300_000,
        share=Share(hdbscan_steps, hdbscan_labels, lambda n, d, p: 0.002 + 1e-6 * n),
        reference="Campello, Moulavi & Sander (2013)",
        meaning=(
            "Dense groups of any shape, each at the density that suits it; the rest "
            "is noise."
        ),
    ),
    "OPTICS": Clusterer(
        "density",
        "OPTICS",
        OPTICS,
        grid={
            "min_samples": [sample_share(0.02, 100)],
            "min_cluster_size": [sample_share(0.05)],
            "xi": [0.005, 0.02, 0.05],
        },
        seconds=lambda n, d, p: 5e-4 * n + 1.5e-8 * n * n,
        max_samples=300_000,
        share=Share(optics_steps, optics_labels, lambda n, d, p: 0.001 + 1e-7 * n),
        reference="Ankerst, Breunig, Kriegel & Sander (1999)",
        meaning=(
            "Dense groups as valleys of an ordering by density, where densities differ."
        ),
    ),
    "mean shift": Clusterer(
        "density",
        "mean shift",
        UnitMeanShift,
        grid={"bandwidth": [_apart(0.1), _apart(0.2)], "bin_seeding": [True]},
        seconds=lambda n, d, p: (
            0.01 + 3e-4 * n if p.get("bin_seeding") else 0.01 + 2.5e-6 * n * n
        ),
        max_samples=20_000,
        reference="Comaniciu & Meer (2002)",
        meaning=(
            "One group for each hill of the density; their number comes from the "
            "radius."
        ),
    ),
    "Gaussian mixture": Clusterer(
        "mixture",
        "Gaussian mixture ({covariance_type})",
        UnitGaussianMixture,
        grid={"n_components": [2, 3, 5, 8], "covariance_type": ["full", "diag"]},
        seconds=lambda n, d, p: (
            0.007 + 3e-9 * _assignments(n, p) * (100 + 10 * d + _covariance(d, p))
        ),
        iterations=Iterations(3, 9, 0.007),
        n_bytes=lambda n, d, p: 1e7 + 24.0 * n * (d + 2 * _k(p)),
        soft=True,
        reference="Dempster, Laird & Rubin (1977)",
        meaning=(
            "Stretched and overlapping groups of different widths, with memberships."
        ),
    ),
    "Bayesian mixture": Clusterer(
        "mixture",
        "Bayesian mixture",
        UnitBayesianMixture,
        grid={"n_components": [5, 10]},
        seconds=lambda n, d, p: (
            0.02 + 1.1e-8 * _assignments(n, p) * (400 + 8 * d + _covariance(d, p))
        ),
        iterations=Iterations(1, 55, 0.02, sums_tolerance=True),
        n_bytes=lambda n, d, p: 1e7 + 24.0 * n * (d + 2 * _k(p)),
        soft=True,
        reference="Blei & Jordan (2006), Variational inference for DP mixtures",
        meaning=(
            "Gaussian groups, of which those that the rows do not need stay empty."
        ),
    ),
    "fuzzy c-means": Clusterer(
        "k-means",
        "fuzzy c-means",
        FuzzyCMeans,
        grid={"n_clusters": [3, 6]},
        seconds=lambda n, d, p: (
            0.01 + 1.5e-7 * n * _k(p) * (d + 10) * p.get("n_init", 1)
        ),
        n_bytes=lambda n, d, p: 1e7 + 24.0 * n * (d + 2 * _k(p)),
        soft=True,
        reference="Bezdek, Ehrlich & Full (1984), FCM",
        meaning="Round groups with memberships, for rows that lie between two.",
    ),
    "spectral": Clusterer(
        "affinity",
        "spectral",
        SpectralClustering,
        grid={
            "n_clusters": [2, 3, 4, 5, 6, 8, 10],
            "affinity": ["nearest_neighbors"],
        },
        seconds=lambda n, d, p: (
            0.02 + 1.5e-5 * n + (3e-11 * n if _is_dense(p) else 6e-10 * d) * n * n
        ),
        n_bytes=lambda n, d, p: (
            1e7 + (32.0 if _is_dense(p) else 1.5) * n * n + 2000.0 * n
        ),
        max_samples=10_000,
        share=Share(
            spectral_steps, spectral_labels, lambda n, d, p: 0.012 + 4e-7 * n * _k(p)
        ),
        beyond=_on_landmarks,
        reference="von Luxburg (2007), A tutorial on spectral clustering",
        meaning=("Groups of any shape that few links of the neighbour graph connect."),
    ),
    "spectral on landmarks": Clusterer(
        "affinity",
        "spectral on landmarks",
        LandmarkSpectral,
        grid={"n_clusters": [2, 3, 4, 5, 6, 8, 10]},
        seconds=lambda n, d, p: (
            0.5 + 1000 * n * (1.1e-8 + 4e-10 * d) + 1e-6 * n * _k(p)
        ),
        n_bytes=lambda n, d, p: 1e8 + 24.0 * n * (d + 20),
        share=Share(
            landmark_steps,
            landmark_spectral_labels,
            lambda n, d, p: 0.012 + 1e-7 * n * _k(p),
        ),
        reference="Chen & Cai (2011), doi:10.1609/aaai.v25i1.7900",
        meaning=("Spectral clustering of large tables, through a thousand landmarks."),
    ),
    "affinity propagation": Clusterer(
        "affinity",
        "affinity propagation",
        AffinityPropagation,
        grid={"damping": [0.9]},
        seconds=lambda n, d, p: 0.01 + 7e-7 * n * n,
        n_bytes=lambda n, d, p: 1e7 + 34.0 * n * n,
        max_samples=2_000,
        reference="Frey & Dueck (2007)",
        meaning="Many small groups, each around a row that stands for it.",
    ),
    "CNS": Clusterer(
        "neighbour graph",
        "CNS ({metric})",
        CNS,
        grid=_METRICS,
        seconds=lambda n, d, p: 0.05 + n * n * 2e-10 * (d + 10) + solving_seconds(n, d),
        n_bytes=lambda n, d, p: 24.0 * n * d + 8000.0 * n,
        soft=True,
        neighbors=_cns_table,
        reference="Hofmeyr (2025), arXiv:2503.09134",
        meaning=(
            "Groups by random walks among neighbours, with memberships; it sets itself."
        ),
    ),
    "Torque": Clusterer(
        "agglomerative",
        "Torque ({metric})",
        TorqueClustering,
        grid=_METRICS,
        seconds=_pairs(2.5e-10),
        neighbors=_torque_table,
        reference="Yang & Lin (2024), Autonomous clustering",
        meaning=(
            "Groups whose links have a large product of size and distance; sets itself."
        ),
    ),
    "border peeling": Clusterer(
        "density",
        "border peeling",
        BorderPeeling,
        grid={"n_neighbors": [20]},
        seconds=lambda n, d, p: 0.02 + n * (7.5e-5 + 2.5e-6 * d + 2.2e-9 * n),
        neighbors=_table,
        reference="Averbuch-Elor, Bar & Cohen-Or (2020), Border-peeling clustering",
        meaning=(
            "Dense cores that are left when borders are peeled off, layer by layer."
        ),
    ),
    "communities": Clusterer(
        "neighbour graph",
        "communities {resolution}",
        GraphCommunities,
        grid={"resolution": [0.05, 0.1, 0.2]},
        seconds=lambda n, d, p: 0.02 + 1.5e-6 * n * np.log2(n + 1),
        n_bytes=lambda n, d, p: 1e7 + n * (24.0 * d + 1500.0),
        max_samples=300_000,
        neighbors=_links,
        meaning="Groups of any shape with more links among neighbours than by chance.",
        reference="Blondel et al. (2008), doi:10.1088/1742-5468/2008/10/P10008",
    ),
    "selective neighbours": Clusterer(
        "neighbour graph",
        "selective neighbours",
        SelectiveNN,
        grid={"n_neighbors": [20]},
        seconds=lambda n, d, p: 0.01 + n * (1.2e-5 + 8.5e-7 * d + 1.5e-9 * n),
        neighbors=_table,
        reference="Hofmeyr (2025), arXiv:2503.09134, methods compared",
        meaning=(
            "Groups of the neighbour graph, by the links that stay after a selection."
        ),
    ),
    "kNN mean shift": Clusterer(
        "density",
        "kNN mean shift",
        KNNMeanShift,
        seconds=_pairs(1.5e-9),
        reference="Duong, Beck, Azzag & Lebbah (2016)",
        meaning="Hills of the density, at the scale of the nearest neighbours.",
    ),
    "SPUDS": Clusterer(
        "affinity",
        "SPUDS",
        SPUDS,
        seconds=lambda n, d, p: 0.15 + n * n * (3e-9 * (d + 10) + 6e-11 * n),
        n_bytes=lambda n, d, p: 9.0 * n * n,
        max_samples=5_000,
        reference="Hofmeyr (2019), arXiv:1703.09975",
        meaning="Spectral groups, with number and scale chosen by the data.",
    ),
    "k-means by silhouette": Clusterer(
        "k-means",
        "k-means by silhouette",
        KMeansSilhouette,
        seconds=lambda n, d, p: 0.5 + 3e-5 * n * (d + 5) + 6e-8 * min(n, 10_000) ** 2,
        reference="Rousseeuw (1987), Silhouettes",
        meaning="Round groups, with the number that the silhouette prefers.",
    ),
    "mixture by BIC": Clusterer(
        "mixture",
        "mixture by BIC",
        GaussianMixtureBIC,
        seconds=lambda n, d, p: 0.3 + 4e-5 * n * (d + 5),
        soft=True,
        reference="Fraley & Raftery (2002), Model-based clustering",
        meaning="Gaussian groups, with number and shape that the BIC prefers.",
    ),
    "HDBSCAN by DBCV": Clusterer(
        "density",
        "HDBSCAN by DBCV",
        HDBSCANDBCV,
        seconds=_pairs(3e-8),
        max_samples=20_000,
        reference="Moulavi et al. (2014), Density-based clustering validation",
        meaning="Dense groups, with the settings that an index of density prefers.",
    ),
}
