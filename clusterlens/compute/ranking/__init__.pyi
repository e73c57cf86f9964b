from .answers import (
    AnswerPosterior as AnswerPosterior,
    answer_posterior as answer_posterior,
)
from .hubs import (
    Hubs as Hubs,
    find_hubs as find_hubs,
)
from .likeness import near_copies as near_copies
from .model_map import (
    ModelMap as ModelMap,
    map_models as map_models,
)
from .preview import (
    LinkPreview as LinkPreview,
    preview_link as preview_link,
)
from .progressive import (
    ProgressiveRanking as ProgressiveRanking,
    rank_progressively as rank_progressively,
)
from .ranking import (
    SCORES as SCORES,
    Ranking as Ranking,
    Score as Score,
    rank_partitions as rank_partitions,
)
from .robustness import (
    Robustness as Robustness,
    rank_robustness as rank_robustness,
)
from .run_comparison import (
    RunComparison as RunComparison,
    compare_runs as compare_runs,
)
from .scores import (
    average_ari as average_ari,
    average_nmi as average_nmi,
    discotec as discotec,
    threshold_scores as threshold_scores,
)
from .suggestions import (
    Suggestion as Suggestion,
    suggest_pairs as suggest_pairs,
)
from .uncertainty import Uncertainty as Uncertainty
from .voting import vote_weights as vote_weights
