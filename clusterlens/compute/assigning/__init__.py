"""Where new rows belong: assigners, segmentations, rules and drift."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "consensus_clusterer": ["ConsensusClusterer"],
        "drift": ["Drift"],
        "elsewhere": ["smallest_changes"],
        "few_columns": ["TypingTool", "typing_tool"],
        "migrating": ["Migration", "migration"],
        "refitting": ["Refit", "refit"],
        "rules": ["ClusterRule", "ClusterRules", "describe_clusters"],
        "segmentation": ["Segmentation"],
        "storing": ["load_segmentation"],
    },
)
