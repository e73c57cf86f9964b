"""Many clusterings of one table."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "answer_models": [
            "AnswerModels",
            "models_for_answers",
            "models_for_answers_seconds",
        ],
        "catalogue": ["CLUSTERERS"],
        "clusterer": ["Clusterer"],
        "k_selection": ["KSelection", "select_k", "select_k_seconds"],
        "nulls": ["NullAgreement", "null_agreement", "null_agreement_seconds"],
        "pool": [
            "PlannedStep",
            "PoolEstimate",
            "PoolModel",
            "estimate_pool",
            "iter_pool",
            "run_pool",
        ],
        "resampling": ["ResampledConsensus", "resample_consensus"],
        "separation": ["ClusterSeparation", "cluster_separation"],
        "specs": ["POOLS", "pool_grids", "pool_specs"],
        "stability": ["ClusterStability", "cluster_stability"],
    },
)
