from .agreement import (
    Agreement as Agreement,
    count_agreements as count_agreements,
    estimate_agreements as estimate_agreements,
)
from .comparison import (
    PartitionComparison as PartitionComparison,
    compare_partitions as compare_partitions,
)
from .constraint_files import (
    constraints_from_csv as constraints_from_csv,
    constraints_from_json as constraints_from_json,
    constraints_from_labels as constraints_from_labels,
    constraints_to_csv as constraints_to_csv,
    constraints_to_json as constraints_to_json,
)
from .constraints import (
    ConstraintError as ConstraintError,
    Constraints as Constraints,
)
from .contingency import (
    cross_tab as cross_tab,
    match_labels as match_labels,
)
from .counting_cost import (
    AgreementCost as AgreementCost,
    agreement_cost as agreement_cost,
    agreement_seconds as agreement_seconds,
)
from .ensemble import Ensemble as Ensemble
from .importing import load_partitions as load_partitions
from .make_up import (
    PoolMakeUp as PoolMakeUp,
    pool_make_up as pool_make_up,
)
from .overlaps import sample_disagreement as sample_disagreement
from .storing import load_ensemble as load_ensemble
from .votes import (
    mean_consensus as mean_consensus,
    votes_together as votes_together,
)
