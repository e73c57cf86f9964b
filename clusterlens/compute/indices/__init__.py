"""Internal and external indices, and whether class labels are clusters."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "agreement_reached": ["PoolAgreement", "pool_agreement"],
        "class_match": ["LabelCheck", "label_match"],
        "evidence": ["LabelEvidence", "label_evidence", "merge_classes", "merge_gains"],
        "indices": ["INDICES", "IndexValue", "external_index", "internal_index"],
        "label_anchors": ["LABEL_ANCHORS", "LabelAnchor"],
        "model_comparison": ["compare_models"],
        "pair_view": ["PairView", "class_pair_view"],
    },
)
