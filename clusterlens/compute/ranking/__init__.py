"""Which partition is closest to the consensus, and how sure that is."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "answers": ["AnswerPosterior", "answer_posterior"],
        "hubs": ["Hubs", "find_hubs"],
        "model_map": ["ModelMap", "map_models"],
        "preview": ["LinkPreview", "preview_link"],
        "progressive": ["ProgressiveRanking", "rank_progressively"],
        "ranking": ["SCORES", "Ranking", "Score", "rank_partitions"],
        "robustness": ["Robustness", "rank_robustness"],
        "run_comparison": ["RunComparison", "compare_runs"],
        "scores": ["average_ari", "average_nmi", "discotec", "threshold_scores"],
        "suggestions": ["Suggestion", "suggest_pairs"],
        "uncertainty": ["Uncertainty"],
        "voting": ["near_copies", "vote_weights"],
    },
)
