"""Concordance of soft partitions under explicit random models."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "adjusted": ["AdjustedIndex", "adjusted_ndc", "adjusted_rand"],
        "comparison": ["SampleDiscordance", "compare_fuzzy", "sample_discordance"],
        "concordance": ["NDC", "BrouwerIndex", "brouwer_index", "ndc"],
        "dirichlet": ["DirichletFit", "fit_dirichlet"],
        "importing": ["load_memberships"],
        "partition": ["FuzzyPartition"],
        "random_models": ["RANDOM_MODELS"],
        "toy": ["toy_partitions"],
    },
)
