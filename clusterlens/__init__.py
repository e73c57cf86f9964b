"""ClusterLens: what many clusterings of one table agree on.

The names below are the public compute interface; each lives in the module of
`clusterlens.compute` that its docstring names. The browser app is `clusterlens.ui` and
is never imported from here.
"""

from clusterlens.compute._progress import Cancelled
from clusterlens.compute._validation import DataError
from clusterlens.compute.agreement import (
    Agreement,
    agreement_seconds,
    count_agreements,
)
from clusterlens.compute.clusterers import CLUSTERERS, Clusterer
from clusterlens.compute.constraints import ConstraintError, Constraints
from clusterlens.compute.dataset import Dataset, make_dataset, prepare
from clusterlens.compute.density import density, ensemble_nmi
from clusterlens.compute.ensemble import Ensemble, match_labels
from clusterlens.compute.evidence import ConsensusTree, consensus_tree
from clusterlens.compute.examples import EXAMPLES, load_example
from clusterlens.compute.export import attach_labels, to_csv_bytes
from clusterlens.compute.overlaps import sample_disagreement
from clusterlens.compute.pool import estimate_pool, run_pool
from clusterlens.compute.profiles import cluster_profiles
from clusterlens.compute.projection import Projection, project
from clusterlens.compute.ranking import SCORES, Ranking, rank_partitions
from clusterlens.compute.reading import READERS, load_table
from clusterlens.compute.robustness import Robustness, rank_robustness
from clusterlens.compute.scores import (
    average_ari,
    average_nmi,
    discotec,
    threshold_scores,
)
from clusterlens.compute.specs import POOLS, pool_grids, pool_specs
from clusterlens.compute.tile_source import TileSource
from clusterlens.compute.tiles import Tile, consensus_tile

__version__ = "0.1.0"

__all__ = [
    "CLUSTERERS",
    "EXAMPLES",
    "POOLS",
    "READERS",
    "SCORES",
    "Agreement",
    "Cancelled",
    "Clusterer",
    "ConsensusTree",
    "ConstraintError",
    "Constraints",
    "DataError",
    "Dataset",
    "Ensemble",
    "Projection",
    "Ranking",
    "Robustness",
    "Tile",
    "TileSource",
    "agreement_seconds",
    "attach_labels",
    "average_ari",
    "average_nmi",
    "cluster_profiles",
    "consensus_tile",
    "consensus_tree",
    "count_agreements",
    "density",
    "discotec",
    "ensemble_nmi",
    "estimate_pool",
    "load_example",
    "load_table",
    "make_dataset",
    "match_labels",
    "pool_grids",
    "pool_specs",
    "prepare",
    "project",
    "rank_partitions",
    "rank_robustness",
    "run_pool",
    "sample_disagreement",
    "threshold_scores",
    "to_csv_bytes",
]
