"""ClusterLens: what many clusterings of one table agree on.

The public compute interface is in groups: `cl.consensus`, `cl.fuzzy`, `cl.indices` and
the others below, each with the names of its room of `clusterlens.compute`. What most
work needs is what completion offers on top; every name of a group is there as well. A
module is imported when one of its names is first used. The browser app is
`clusterlens.ui`, which only the plots and `explore` load.
"""

from typing import Any

import lazy_loader

from clusterlens.compute import (
    assigning,
    consensus,
    ensemble,
    estimators,
    fuzzy,
    indices,
    pool,
    ranking,
    scale,
    table,
)

__version__ = "0.1.0"

_GROUPS = (
    table,
    pool,
    ensemble,
    ranking,
    consensus,
    indices,
    fuzzy,
    estimators,
    assigning,
    scale,
)
# What most work needs.
_FRONT = [
    "DataError",
    "load_table",
    "load_example",
    "prepare",
    "run_pool",
    "estimate_pool",
    "running",
    "POOLS",
    "CLUSTERERS",
    "Ensemble",
    "load_ensemble",
    "load_partitions",
    "Constraints",
    "count_agreements",
    "rank_partitions",
    "discotec",
    "suggest_pairs",
    "answer_posterior",
    "models_for_answers",
    "consensus_partition",
    "consensus_kmeans",
    "consensus_tree",
    "consensus_tile",
    "order_samples",
    "select_k",
    "cluster_stability",
    "cluster_profiles",
    "inspect_sample",
    "INDICES",
    "external_index",
    "internal_index",
    "label_evidence",
    "label_match",
    "FuzzyPartition",
    "load_memberships",
    "compare_fuzzy",
    "CNS",
    "ConsensusClusterer",
    "Segmentation",
    "load_segmentation",
    "describe_clusters",
    "attach_labels",
    "plot_consensus",
    "plot_ranking",
    "explore",
]
_own, _, _own_names = lazy_loader.attach(
    __name__,
    submod_attrs={
        "compute._validation": ["DataError"],
        "compute._run.context": ["running"],
        "compute._run.options": ["Cancelled"],
        "compute.warm": ["compile_kernels"],
        "ui.explore": ["explore"],
        "ui.plots.matrix": ["plot_consensus"],
        "ui.plots.ranking": ["plot_ranking"],
        "ui.plots.samples": ["plot_map"],
        "ui.plots.models": ["plot_models"],
        "ui.plots.threshold": ["plot_threshold"],
        "ui.plots.k_evidence": ["plot_k_evidence"],
        "ui.plots.criterion": ["plot_criterion"],
        "ui.plots.class_pairs": ["plot_class_pairs"],
        "ui.plots.drift": ["plot_drift"],
        "ui.plots.maps": ["plot_memberships"],
    },
)
_HOMES = {name: group for group in _GROUPS for name in group.__all__}

__all__ = [*_HOMES, *_own_names]


def __getattr__(name: str) -> Any:
    return getattr(_HOMES[name], name) if name in _HOMES else _own(name)


def __dir__() -> list[str]:
    groups = [group.__name__.rpartition(".")[2] for group in _GROUPS]
    return sorted([*groups, *_FRONT, "__version__"])
