"""Clusterers as scikit-learn estimators."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "border_peeling": ["BorderPeeling"],
        "cns.cns": ["CNS"],
        "cns.criterion": ["CriterionGrid"],
        "cns.graph": ["CNSGraph", "LiveSolution", "SmoothingStep"],
        "constrained_k_means": ["ConstrainedKMeans"],
        "fuzzy_c_means": ["FuzzyCMeans"],
        "genie": ["Genie"],
        "graph_communities": ["GraphCommunities"],
        "knn_mean_shift": ["KNNMeanShift"],
        "selected_models": ["GaussianMixtureBIC", "HDBSCANDBCV", "KMeansSilhouette"],
        "selective_nn": ["SelectiveNN"],
        "spherical_k_means": ["SphericalKMeans"],
        "spuds": ["SPUDS"],
        "torque": ["TorqueClustering"],
    },
)
