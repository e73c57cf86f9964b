from .adjusted import (
    AdjustedIndex as AdjustedIndex,
    adjusted_brouwer as adjusted_brouwer,
    adjusted_ndc as adjusted_ndc,
    adjusted_rand as adjusted_rand,
)
from .comparison import (
    SampleDiscordance as SampleDiscordance,
    compare_fuzzy as compare_fuzzy,
    sample_discordance as sample_discordance,
)
from .concordance import (
    NDC as NDC,
    BrouwerIndex as BrouwerIndex,
    brouwer_index as brouwer_index,
    ndc as ndc,
)
from .dirichlet import (
    DirichletFit as DirichletFit,
    fit_dirichlet as fit_dirichlet,
)
from .importing import load_memberships as load_memberships
from .partition import FuzzyPartition as FuzzyPartition
from .random_models import RANDOM_MODELS as RANDOM_MODELS
from .toy import toy_partitions as toy_partitions
