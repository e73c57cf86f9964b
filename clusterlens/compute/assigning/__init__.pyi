from .consensus_clusterer import ConsensusClusterer as ConsensusClusterer
from .drift import Drift as Drift
from .counterfactuals import smallest_changes as smallest_changes
from .few_columns import (
    TypingTool as TypingTool,
    typing_tool as typing_tool,
)
from .migrating import (
    Migration as Migration,
    migration as migration,
)
from .refitting import (
    Refit as Refit,
    refit as refit,
)
from .rules import (
    ClusterRule as ClusterRule,
    ClusterRules as ClusterRules,
    describe_clusters as describe_clusters,
)
from .segmentation import Segmentation as Segmentation
from .storing import load_segmentation as load_segmentation
