"""From an ensemble to one partition, an ordering and pictures."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "cohesion": ["ClusterConsensus", "cluster_consensus", "consensus_cdf"],
        "criteria": ["density", "ensemble_nmi", "one_hot_loss"],
        "inspection": ["SampleReport", "inspect_sample"],
        "kmeans": ["consensus_kmeans"],
        "maximum_tree": ["AgreementTree", "agreement_tree"],
        "ordering": ["order_samples"],
        "partition": [
            "CONSENSUS_FUNCTIONS",
            "ConsensusFunction",
            "consensus_partition",
        ],
        "tile_source": ["TileSource", "order_by_partition"],
        "tiles": ["Tile", "consensus_tile"],
        "tree": ["ConsensusTree", "consensus_tree"],
    },
)
