"""Partitions, what they agree on, and links between samples."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "agreement": [
            "Agreement",
            "AgreementCost",
            "agreement_cost",
            "agreement_seconds",
            "count_agreements",
            "estimate_agreements",
        ],
        "comparison": ["PartitionComparison", "compare_partitions"],
        "constraint_files": [
            "constraints_from_csv",
            "constraints_from_json",
            "constraints_from_labels",
            "constraints_to_csv",
            "constraints_to_json",
        ],
        "constraints": ["ConstraintError", "Constraints"],
        "contingency": ["cross_tab", "match_labels"],
        "ensemble": ["Ensemble"],
        "importing": ["load_partitions"],
        "make_up": ["PoolMakeUp", "pool_make_up"],
        "overlaps": ["sample_disagreement"],
        "storing": ["load_ensemble"],
        "votes": ["mean_consensus", "votes_together"],
    },
)
