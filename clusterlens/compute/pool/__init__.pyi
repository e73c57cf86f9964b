from .answer_models import (
    AnswerModels as AnswerModels,
    models_for_answers as models_for_answers,
    models_for_answers_seconds as models_for_answers_seconds,
)
from .catalogue import CLUSTERERS as CLUSTERERS
from .closer import closer_models as closer_models
from .clusterer import Clusterer as Clusterer
from .k_selection import (
    KSelection as KSelection,
    select_k as select_k,
    select_k_seconds as select_k_seconds,
)
from .nulls import (
    NullAgreement as NullAgreement,
    null_agreement as null_agreement,
    null_agreement_seconds as null_agreement_seconds,
)
from .pool import (
    PlannedStep as PlannedStep,
    PoolEstimate as PoolEstimate,
    PoolModel as PoolModel,
    estimate_pool as estimate_pool,
    iter_pool as iter_pool,
    run_pool as run_pool,
)
from .presets import POOLS as POOLS
from .resampling import (
    ResampledConsensus as ResampledConsensus,
    resample_consensus as resample_consensus,
)
from .separation import (
    ClusterSeparation as ClusterSeparation,
    cluster_separation as cluster_separation,
)
from .specs import (
    pool_grids as pool_grids,
    pool_specs as pool_specs,
)
from .stability import (
    ClusterStability as ClusterStability,
    cluster_stability as cluster_stability,
)
