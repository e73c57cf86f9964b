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
        "compute._validation": ["DataError"],
        "compute._run.options": ["Cancelled"],
        "compute.table.dataset": ["Dataset", "make_dataset", "prepare"],
        "compute.table.examples": ["EXAMPLES", "load_example"],
        "compute.table.export": ["attach_labels", "to_csv_bytes"],
        "compute.table.profiles": ["ClusterProfiles", "cluster_profiles"],
        "compute.table.projection": ["Projection", "project"],
        "compute.table.reading": ["READERS", "load_table"],
        "compute.ensemble.agreement": [
            "Agreement",
            "AgreementCost",
            "agreement_cost",
            "agreement_seconds",
            "count_agreements",
            "estimate_agreements",
        ],
        "compute.ensemble.constraint_files": [
            "constraints_from_csv",
            "constraints_from_json",
            "constraints_from_labels",
            "constraints_to_csv",
            "constraints_to_json",
        ],
        "compute.ensemble.constraints": ["ConstraintError", "Constraints"],
        "compute.ensemble.contingency": ["cross_tab", "match_labels"],
        "compute.ensemble.ensemble": ["Ensemble"],
        "compute.ensemble.importing": ["load_partitions"],
        "compute.ensemble.overlaps": ["sample_disagreement"],
        "compute.ranking.hubs": ["Hubs", "find_hubs"],
        "compute.ranking.progressive": ["ProgressiveRanking", "rank_progressively"],
        "compute.ranking.ranking": ["SCORES", "Ranking", "Score", "rank_partitions"],
        "compute.ranking.robustness": ["Robustness", "rank_robustness"],
        "compute.ranking.scores": [
            "average_ari",
            "average_nmi",
            "discotec",
            "threshold_scores",
        ],
        "compute.ranking.uncertainty": ["Uncertainty"],
        "compute.ranking.suggestions": ["Suggestion", "suggest_pairs"],
        "compute.consensus.agreement_tree": ["AgreementTree", "agreement_tree"],
        "compute.consensus.cluster_consensus": [
            "ClusterConsensus",
            "cluster_consensus",
            "consensus_cdf",
        ],
        "compute.consensus.density": ["density", "ensemble_nmi", "one_hot_loss"],
        "compute.consensus.kmeans": ["consensus_kmeans"],
        "compute.consensus.partition": [
            "CONSENSUS_FUNCTIONS",
            "ConsensusFunction",
            "consensus_partition",
        ],
        "compute.consensus.tile_source": ["TileSource", "order_by_partition"],
        "compute.consensus.tiles": ["Tile", "consensus_tile"],
        "compute.consensus.tree": ["ConsensusTree", "consensus_tree"],
        "compute.indices.indices": [
            "INDICES",
            "IndexValue",
            "external_index",
            "internal_index",
        ],
        "compute.indices.label_match": ["LabelCheck", "label_match"],
        "compute.fuzzy.adjusted": ["AdjustedIndex", "adjusted_ndc", "adjusted_rand"],
        "compute.fuzzy.concordance": ["NDC", "BrouwerIndex", "brouwer_index", "ndc"],
        "compute.fuzzy.dirichlet": ["DirichletFit", "fit_dirichlet"],
        "compute.fuzzy.partition": ["FuzzyPartition"],
        "compute.fuzzy.random_models": ["RANDOM_MODELS"],
        "compute.estimators.border_peeling": ["BorderPeeling"],
        "compute.estimators.cns.cns": ["CNS"],
        "compute.estimators.cns.criterion": ["CriterionGrid"],
        "compute.estimators.cns.graph": ["CNSGraph", "LiveSolution", "SmoothingStep"],
        "compute.estimators.fuzzy_c_means": ["FuzzyCMeans"],
        "compute.estimators.knn_mean_shift": ["KNNMeanShift"],
        "compute.estimators.selected_models": [
            "GaussianMixtureBIC",
            "HDBSCANDBCV",
            "KMeansSilhouette",
        ],
        "compute.estimators.selective_nn": ["SelectiveNN"],
        "compute.estimators.spuds": ["SPUDS"],
        "compute.estimators.torque": ["TorqueClustering"],
        "compute.pool.catalogue": ["CLUSTERERS"],
        "compute.pool.clusterer": ["Clusterer"],
        "compute.pool.nulls": ["NullAgreement", "null_agreement"],
        "compute.pool.pool": ["PoolEstimate", "estimate_pool", "run_pool"],
        "compute.pool.resampling": ["ResampledConsensus", "resample_consensus"],
        "compute.pool.specs": ["POOLS", "pool_grids", "pool_specs"],
        "compute.pool.stability": ["ClusterStability", "cluster_stability"],
        "compute.warm": ["compile_kernels"],
    },
)
