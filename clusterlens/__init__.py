"""ClusterLens: what many clusterings of one table agree on.

The names below are the public compute interface, by the module of `clusterlens.compute`
that holds them; a module is imported when one of its names is first used. The browser
app is `clusterlens.ui` and is never imported from here.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "compute._progress": ["Cancelled"],
        "compute._validation": ["DataError"],
        "compute.adjusted_agreement": [
            "AdjustedIndex",
            "adjusted_ndc",
            "adjusted_rand",
        ],
        "compute.agreement": [
            "Agreement",
            "agreement_seconds",
            "count_agreements",
            "estimate_agreements",
        ],
        "compute.clusterer": ["Clusterer"],
        "compute.clusterers": ["CLUSTERERS"],
        "compute.cns": ["CNS"],
        "compute.cns_graph": ["CNSGraph", "LiveSolution"],
        "compute.comparators.border_peeling": ["BorderPeeling"],
        "compute.comparators.fuzzy_c_means": ["FuzzyCMeans"],
        "compute.comparators.knn_mean_shift": ["KNNMeanShift"],
        "compute.comparators.selected_models": [
            "GaussianMixtureBIC",
            "HDBSCANDBCV",
            "KMeansSilhouette",
        ],
        "compute.comparators.selective_nn": ["SelectiveNN"],
        "compute.comparators.spuds": ["SPUDS"],
        "compute.comparators.torque": ["TorqueClustering"],
        "compute.consensus_functions": [
            "CONSENSUS_FUNCTIONS",
            "ConsensusFunction",
            "consensus_partition",
        ],
        "compute.consensus_reading": [
            "ClusterConsensus",
            "cluster_consensus",
            "consensus_cdf",
        ],
        "compute.constraint_files": [
            "constraints_from_csv",
            "constraints_from_json",
            "constraints_from_labels",
            "constraints_to_csv",
            "constraints_to_json",
        ],
        "compute.constraints": ["ConstraintError", "Constraints"],
        "compute.dataset": ["Dataset", "make_dataset", "prepare"],
        "compute.density": ["density", "ensemble_nmi", "one_hot_loss"],
        "compute.dirichlet": ["DirichletFit", "fit_dirichlet"],
        "compute.contingency": ["cross_tab", "match_labels"],
        "compute.ensemble": ["Ensemble"],
        "compute.evidence": ["ConsensusTree", "consensus_kmeans", "consensus_tree"],
        "compute.examples": ["EXAMPLES", "load_example"],
        "compute.export": ["attach_labels", "to_csv_bytes"],
        "compute.fuzzy": ["NDC", "BrouwerIndex", "brouwer_index", "ndc"],
        "compute.fuzzy_partition": ["FuzzyPartition"],
        "compute.hubs": ["Hubs", "find_hubs"],
        "compute.indices": [
            "INDICES",
            "IndexValue",
            "external_index",
            "internal_index",
        ],
        "compute.kernels": ["compile_kernels"],
        "compute.label_match": ["LabelCheck", "label_match"],
        "compute.nulls": ["NullAgreement", "null_agreement"],
        "compute.overlaps": ["sample_disagreement"],
        "compute.pool": ["PoolEstimate", "estimate_pool", "run_pool"],
        "compute.profiles": ["ClusterProfiles", "cluster_profiles"],
        "compute.progressive": ["ProgressiveRanking", "rank_progressively"],
        "compute.projection": ["Projection", "project"],
        "compute.random_models": ["RANDOM_MODELS"],
        "compute.ranking": ["SCORES", "Ranking", "Score", "rank_partitions"],
        "compute.reading": ["READERS", "load_table"],
        "compute.resampling": ["ResampledConsensus", "resample_consensus"],
        "compute.robustness": ["Robustness", "rank_robustness"],
        "compute.scores": [
            "average_ari",
            "average_nmi",
            "discotec",
            "threshold_scores",
        ],
        "compute.spanning_tree": ["AgreementTree", "agreement_tree"],
        "compute.specs": ["POOLS", "pool_grids", "pool_specs"],
        "compute.suggestions": ["Suggestion", "suggest_pairs"],
        "compute.tile_source": ["TileSource", "order_by_partition"],
        "compute.tiles": ["Tile", "consensus_tile"],
    },
)
