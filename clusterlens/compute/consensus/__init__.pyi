from .closest import (
    ClosestCut as ClosestCut,
    closest_cut as closest_cut,
)
from .cohesion import (
    ClusterConsensus as ClusterConsensus,
    cluster_consensus as cluster_consensus,
    consensus_cdf as consensus_cdf,
)
from .criteria import (
    density as density,
    ensemble_nmi as ensemble_nmi,
    one_hot_loss as one_hot_loss,
)
from .inspection import (
    SampleReport as SampleReport,
    inspect_sample as inspect_sample,
)
from .kmeans import consensus_kmeans as consensus_kmeans
from .maximum_tree import (
    AgreementTree as AgreementTree,
    agreement_tree as agreement_tree,
)
from .ordering import order_samples as order_samples
from .partition import (
    CONSENSUS_FUNCTIONS as CONSENSUS_FUNCTIONS,
    ConsensusFunction as ConsensusFunction,
    consensus_partition as consensus_partition,
)
from .tile_source import (
    TileSource as TileSource,
    order_by_partition as order_by_partition,
)
from .tiles import (
    Tile as Tile,
    consensus_tile as consensus_tile,
)
from .tree import (
    ConsensusTree as ConsensusTree,
    consensus_tree as consensus_tree,
)
